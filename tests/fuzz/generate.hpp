// Random programs.
#pragma once

#include "tests/fuzz/operations.hpp"
#include "tests/fuzz/reference.hpp"

#include <random>

namespace sinter_test::fuzz {

/// Program number `seed`; `data_set` 0, 1, 2, ... keeps what it does where it can, and changes its values and extents.
program generate(std::uint64_t seed, int data_set, int statements);

/// Makes one statement (and what it needs before it) for the variables as they are.
class statement_maker {
 public:
  /// `newest`: the last result, which most often goes on; or -1.
  statement_maker(const reference& variables, std::uint64_t structure, std::uint64_t data,
                  std::span<const std::int64_t> extents, int newest)
      : now_(variables), random_(structure), data_(data), extents_(extents), newest_(newest) {}

  std::vector<step> make();
  /// Variable k from data.
  std::vector<step> make_variable(int k);

 private:
  using method = void (statement_maker::*)();
  struct weighted {
    int weight;
    method what;
  };

  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  bool once_in(std::int64_t n) { return below(n) == 0; }
  int any_variable() { return static_cast<int>(below(variable_count)); }
  /// A variable that has elements, most of the time.
  int some_variable();
  /// One of which f(variable) holds, or -1.
  template <class F>
  int variable_where(F f);
  /// One that broadcasts with variable k and has a common dtype with it; at times any.
  int partner_of(int k);
  const variable& at(int k) const { return now_[k]; }
  const sinter::shape& extents_of(int k) const { return now_[k].h.extents; }

  sinter::dtype any_type();
  sinter::shape any_shape();
  /// One long axis, and a short one at times.
  sinter::shape long_shape();
  host_array values(sinter::dtype type, const sinter::shape& extents);
  host_array whole_values(sinter::dtype type, const sinter::shape& extents);
  host_array real_values(sinter::dtype type, const sinter::shape& extents);
  number any_number(sinter::dtype beside);
  std::int64_t signed_axis(std::int64_t axis, int rank) { return once_in(2) ? axis : axis - rank; }
  std::int64_t any_axis(int rank);
  std::vector<std::int64_t> some_axes(int rank, std::int64_t count);
  sinter::shape factors_of(std::int64_t size);
  /// `to` without some first axes, and with extents of 1.
  sinter::shape narrowed(const sinter::shape& to);
  host_array indices(const sinter::shape& extents, std::int64_t n, bool apart);
  pick slice_of(std::int64_t n);
  std::vector<pick> picks_for(const sinter::shape& extents, bool apart);
  pick array_pick(const host_array& values);

  step& add(verb what, std::vector<int> from);
  step& add_result(verb what, std::vector<int> from);
  /// Adds the variable that holds the right side of a write and gives its number; never `target`.
  int value_for(const sinter::shape& selection, sinter::dtype target_type, int target);

  void make_data();
  void make_lazily();
  void copy_variable();
  void unary_operation();
  void binary_operation();
  void number_operation();
  void choose_or_clip();
  void convert();
  void string_kernel();
  void string_reduction();
  void compound();
  void reshape();
  void reorder();
  void axes_added();
  void mirror();
  void repeat();
  void read_index();
  void read_mask();
  void take();
  void write_index();
  void write_mask();
  void scatter();
  void join();
  void pad();
  void split();
  void reduce();
  void scan();
  void difference();
  void exponentials();
  void multiply();
  void multiply_matrices();
  void by_value();
  void evaluate();
  void check();
  void mistake();

  // Row programs: several statements on one array of rows (generate_rows.cpp).
  struct rows {
    int x;
    sinter::shape extents;
    sinter::dtype type;
    int axis;
    std::vector<int> free;  ///< other variables, for results
  };
  /// An array with elements and axes, as it is or made for the purpose; real ones only where wanted.
  rows some_rows(bool real);
  step& into(int result, verb what, std::vector<int> from);
  void apply_into(int result, binary op, int a, int b) {
    into(result, verb::binary_call, {a, b}).code = static_cast<int>(op);
  }
  void apply_into(int result, unary op, int a) { into(result, verb::unary_call, {a}).code = static_cast<int>(op); }
  step& reduce_into(int result, reduction op, int x, std::vector<std::int64_t> over, bool keep);
  void center();
  void share();
  void normalise();
  void find_and_gather();
  void reduce_again();
  void reduce_together();
  void spread_back();
  void write_reduced();
  void run_along();
  void weigh();

  /// The right side of a write: a variable or a number.
  void give_value(std::size_t statement, const sinter::shape& selection);

  const reference& now_;
  std::mt19937_64 random_, data_;
  std::span<const std::int64_t> extents_;
  int newest_;
  std::vector<step> made_;
};

template <class F>
int statement_maker::variable_where(F f) {
  const int first = any_variable();
  for (int k = 0; k < variable_count; ++k)
    if (const int v = (first + k) % variable_count; f(at(v))) return v;
  return -1;
}

}  // namespace sinter_test::fuzz
