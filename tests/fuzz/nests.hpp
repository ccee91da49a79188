// Random loops of statements: nests of any shape over arrays of a few elements, as data. Run as loops of statements of
// the library, and by plain loops, one element after another.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace sinter_test::fuzz {

inline constexpr int deepest_nest = 4;

/// constant + sum of per_loop[l] * the counter of the l-th loop around it + an entry of a table, picked by a counter.
struct loop_number {
  int constant = 0;
  int per_loop[deepest_nest] = {};
  std::vector<int> table = {};
  int table_loop = -1;
};

/// What a statement computes with: elements of arrays, numbers, operations on earlier terms.
struct loop_term {
  enum class kind { element, part, number, fraction, add, subtract, multiply, least, choose } what = kind::number;
  int array = 0;                     ///< element, part
  std::vector<loop_number> at = {};  ///< element: all axes; part: all but the last
  loop_number number = {};           ///< number; part: first element of the last axis
  int step = 1;                      ///< part
  int a = 0, b = 0;                  ///< operations: earlier terms
};

struct loop_statement {
  enum class kind { element, part, whole, copy, swap, reduce, keep, evaluate } what = kind::element;
  int target = 0, other = 0;  ///< other: copy, swap, reduce
  std::vector<loop_number> at = {};
  loop_number first = {};  ///< part: of the last axis
  int length = 1, step = 1;
  bool adds = false;                  ///< += instead of =
  std::vector<loop_term> terms = {};  ///< the last one is assigned
  loop_number when = {};              ///< keep, evaluate: where it is 0
};

struct loop_item {
  bool is_loop = false;
  loop_number count = {};
  std::vector<loop_item> body = {};
  loop_statement statement = {};
};

struct loop_program {
  int element = 0;  ///< f64, f32, i64, i32
  std::vector<std::vector<int>> extents;
  std::vector<int> same_as;   ///< arrays that begin as copies of another; -1: with values of their own
  std::vector<bool> computed_late;  ///< whose first values are not computed yet
  std::vector<loop_item> items;
  int most_pending = 0;  ///< operations that may wait for each other; 0: as many as usual
};

loop_program random_loops(std::uint64_t seed);

/// Empty when every array is right at the end, and every copy that was kept.
std::optional<std::string> failure_of(const loop_program& p);

/// A program with fewer statements or shorter loops that still fails.
loop_program shrunk(loop_program p, double seconds);

/// As C++ that can be pasted into a test.
std::string to_text(const loop_program& p);

}  // namespace sinter_test::fuzz
