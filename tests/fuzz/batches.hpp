// Random joins of many operands that are more or less alike, as data. Run through the library, and by plain loops.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sinter_test::fuzz {

/// What operands compute, apart from their numbers: a matrix of `rows` by the program's columns, or the other way
/// round.
struct batch_form {
  enum class kind { part, two_parts, gathered, halves, number } what = kind::part;
  int rows = 1, columns = 1;
  int a = 0, b = 0;            ///< which arrays
  int steps[4] = {1, 1, 1, 1}; ///< of the parts' rows and columns
  int operation = 0;           ///< of two parts, + - *
  int with_number = 0;         ///< nothing, + * minimum
  int reduced = 0;             ///< of three rows: not, maximum, sum; of one: 3, running sum
};

struct batch_operand {
  int form = 0;
  int first[4] = {0, 0, 0, 0};  ///< rows and columns where the parts begin
  int number = 0;
};

struct batch_program {
  enum class how { concat, grow_behind, grow_before, nested, stack, used_twice, evaluated } join = how::concat;
  int element = 0;  ///< i64, i32, f64
  int axis = 0;
  bool pending = false;  ///< whether the arrays are not computed yet
  std::vector<batch_form> forms;
  std::vector<batch_operand> operands;
};

batch_program random_batch(std::uint64_t seed);

/// Empty when every element is right.
std::optional<std::string> failure_of(const batch_program& p);

/// A program with fewer operands that still fails.
batch_program shrunk(batch_program p, double seconds);

std::string to_text(const batch_program& p);

}  // namespace sinter_test::fuzz
