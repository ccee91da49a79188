// The rest of the grammar of elementwise kernels, restated from CuPy's tests (core_tests/test_userkernel.py,
// test_elementwise.py, test_carray.py): raw parameters, positions, sizes, given outputs, code around the loop, structs.
#include "tests/backend/expect.hpp"

#include <cmath>
#include <functional>

using namespace sinter;
using namespace sinter_test;

namespace {

array ramp(const shape& extents, dtype type = i32) { return counting(type, extents).to_device(); }

std::string text_of_launches(const array& a) { return explain(a); }

// ---- raw inputs ----

// E08
TEST(string_grammar, a_raw_array_knows_its_size) {
  const elementwise k{"size_of", "raw int32 x", "int32 y", "y = x.size()"};
  EXPECT_TRUE(equals(k.sized(1)(ramp({3})), std::vector<std::int32_t>{3}));
  EXPECT_TRUE(equals(k.sized(2)(ramp({3, 5})), std::vector<std::int32_t>{15, 15}));
}

// E10
TEST(string_grammar, a_raw_array_is_read_by_its_number_in_c_order) {
  const elementwise k{"by_number", "raw T x", "int32 y", "y = x[i]"};
  array y = zeros({2, 3, 4}, i32);
  k.into(y)(ramp({2, 3, 4}));
  EXPECT_TRUE(equals(y, counting(i32, {2, 3, 4})));
}

// E12
TEST(string_grammar, a_raw_array_is_read_by_an_index_per_axis) {
  const elementwise k{"by_index", "raw T x", "int32 y", "ptrdiff_t k[] = {i / 12, i / 4 % 3, i % 4};\ny = x[k]"};
  array y = zeros({2, 3, 4}, i32);
  k.into(y)(ramp({2, 3, 4}));
  EXPECT_TRUE(equals(y, counting(i32, {2, 3, 4})));
  const elementwise ints{"by_ints", "raw T x", "int32 y", "int k[] = {1, i};\ny = x[k] + x.ndim"};
  EXPECT_TRUE(equals(ints.sized(3)(ramp({2, 3})), std::vector<std::int32_t>{5, 6, 7}));
}

TEST(string_grammar, a_raw_array_tells_its_shape_and_strides) {
  const elementwise k{"layout_of", "raw T x", "int64 y", "y = i < x.ndim ? x.shape()[i] : x.strides()[i - x.ndim]"};
  EXPECT_TRUE(equals(k.sized(6)(ramp({2, 3, 4})), std::vector<std::int64_t>{2, 3, 4, 48, 16, 4}));
}

TEST(string_grammar, raw_views_are_read_where_they_lie) {
  const elementwise numbered{"numbered", "raw T x", "T y", "y = x[i]"};
  const array base = ramp({4, 6}), cube = ramp({2, 3, 4});
  eval(base, cube);
  const auto flat = [&](const array& view) {
    array y;
    EXPECT_EQ(counted([&] { eval(y = numbered.sized(view.size())(view)); }).launches, 1u) << "a view needs no copy";
    return y;
  };
  const auto plain = [](const array& view) { return from_device(reshape(view, shape{view.size()})); };
  for (const array& view :
       {array(base(all, range(1, end, 2))), array(base(range(end, begin, -1), all)), transpose(base),
        array(cube(1, range(end, begin, -2), all)), transpose(cube), broadcast_to(base(1, all), shape{3, 6}),
        array(base(2, 3)), array(cube(all, newaxis, 0, all))})
    EXPECT_TRUE(equals(flat(view), plain(view)));
  const elementwise axes{"axes_of", "raw T x", "T y", "ptrdiff_t k[] = {n - 1 - i, i};\ny = x[k]"};
  EXPECT_TRUE(equals(axes.sized(4)(transpose(base)(range(0, 4), all)), std::vector<std::int32_t>{3, 8, 13, 18}));
}

// cupy#913, #3095: an expanded array, and a slice, passed as raw arrays.
TEST(string_grammar, raw_views_count_their_own_elements) {
  const elementwise fifth{"fifth", "raw T x, int64 at", "T y", "y = x[at]"};
  EXPECT_EQ(fifth.sized(1)(broadcast_to(array{10, 11, 12}, shape{2, 3}), 4).item<std::int32_t>(), 11);
  EXPECT_EQ(fifth.sized(1)(ramp({2, 5})(all, range(0, 4)), 6).item<std::int32_t>(), 7);
}

TEST(string_grammar, a_raw_input_is_computed_first_and_its_kernel_fuses) {
  const elementwise look_up{"look_up", "T x, raw T table", "T y", "y = x + table[n - 1 - i]"};
  const array x = ramp({4}, f32), table = sqrt(ramp({4}, f32)) * 2;
  const array y = look_up(x * 10, table) + 1;
  const std::string plan = text_of_launches(y);
  EXPECT_NE(plan.find("a string kernel reads any of its elements"), std::string::npos) << plan;
  EXPECT_EQ(counted([&] { eval(y); }).launches, 1u);  // of two stages
  std::vector<float> want;
  for (int k = 0; k < 4; ++k) want.push_back(static_cast<float>(10 * k + 1) + 2 * std::sqrt(static_cast<float>(3 - k)));
  EXPECT_TRUE(equals(y, want, {1e-6, 1e-6, false}));
  const array summed = sum(look_up(x, table), 0);  // inside a reduction
  EXPECT_TRUE(equals(summed, host_array(std::vector<float>{6 + 2 * (1 + std::sqrt(2.f) + std::sqrt(3.f))}, {}),
                     {1e-6, 1e-6, false}));
}

TEST(string_grammar, raw_inputs_of_every_kind_of_expression) {
  const elementwise at{"reverse_of", "raw T x", "T y", "y = x[n - 1 - i]"};
  const auto reversed = [&](const array& x) { return at.sized(x.size())(x); };
  EXPECT_TRUE(equals(reversed(arange(3)), std::vector<std::int64_t>{2, 1, 0}));
  EXPECT_TRUE(equals(reversed(full({2}, 5, i32)), std::vector<std::int32_t>{5, 5}));
  EXPECT_TRUE(equals(reversed(concat({array{1, 2}, array{3}}, 0)), std::vector<std::int32_t>{3, 2, 1}));
  EXPECT_TRUE(equals(reversed(array(array{1, 2, 3}(array{2, 0}))), std::vector<std::int32_t>{1, 3}));
  EXPECT_TRUE(equals(reversed(sum(ramp({2, 3}), 0)), std::vector<std::int64_t>{7, 5, 3}));
  EXPECT_TRUE(equals(reversed(cumsum(array{1, 2, 3})), std::vector<std::int64_t>{6, 3, 1}));
  EXPECT_TRUE(equals(reversed(reshape(transpose(ramp({2, 2})), shape{4})), std::vector<std::int32_t>{3, 1, 2, 0}));
  array written = ramp({4});
  written(1) = 50;
  EXPECT_TRUE(equals(reversed(written), std::vector<std::int32_t>{3, 2, 50, 0}));
  EXPECT_TRUE(equals(reversed(reversed(array{1, 2, 3})), std::vector<std::int32_t>{1, 2, 3}));
}

TEST(string_grammar, an_array_read_anywhere_is_not_overwritten_meanwhile) {
  const elementwise reversal{"reversal", "T x, raw T all_of_x", "T y", "y = x * 0 + all_of_x[n - 1 - i]"};
  array x = ramp({100000});
  eval(x);
  x = reversal(x, x);
  std::vector<std::int32_t> want(100000);
  for (int k = 0; k < 100000; ++k) want[static_cast<std::size_t>(k)] = 99999 - k;
  EXPECT_TRUE(equals(x, want));
  x(range(0, 50000)) = reversal(x(range(0, 50000)), x(range(50000, end)));
  for (int k = 0; k < 50000; ++k) want[static_cast<std::size_t>(k)] = k;
  EXPECT_TRUE(equals(x, want));
}

TEST(string_grammar, bad_raw_indices_read_zero_and_are_reported) {
  const elementwise shifted{"shifted_up", "raw T x", "T y", "y = x[i + 1]"};
  const std::string line = "string_grammar_test.cpp:" + std::to_string(place::here().line + 1);
  const array y = shifted.sized(3)(array{1, 2, 3});
  eval(y);
  EXPECT_TRUE(
      throws<index_error>([] { synchronize(); }, {"shifted_up", "index 3", "3 elements of x", "element 2", line}));
  EXPECT_TRUE(equals(y, std::vector<std::int32_t>{2, 3, 0}));
  const elementwise axis{"off_axis", "raw T x", "T y", "ptrdiff_t k[] = {-1, i};\ny = x[k]"};
  EXPECT_TRUE(throws<index_error>(
      [&] {
        axis.sized(2)(ramp({2, 2})).to_vector<std::int32_t>();
      },
      {"off_axis", "index -1"}));
}

// E28, E30
TEST(string_grammar, sizes_are_given_where_nothing_else_tells_them) {
  const elementwise raw{"only_raw", "raw T x", "T y", "y = x[0]"}, mixed{"mixed", "raw T x, T v", "T y", "y = v"},
      plain{"plain", "T x", "T y", "y = x"}, none{"seven", "", "float32 y", "y = 7"};
  const array x = ramp({4});
  EXPECT_TRUE(throws<error>([&] { raw(x); }, {"only_raw", "how many elements", "sized(n)"}));
  for (const std::function<void()>& f : std::vector<std::function<void()>>{
           [&] { plain.sized(2)(x); }, [&] { mixed.sized(2)(x, x); },
           [&] { array y = x; plain.sized(4).into(y)(x); }, [&] { array y = x; raw.sized(4).into(y)(x); },
           [&] { array y = ramp({3}, f32); none.sized(3).into(y)(); }})
    EXPECT_TRUE(throws<error>(f, {"a size is given"}));
  EXPECT_TRUE(equals(mixed.sized(2)(x, 5), std::vector<std::int32_t>{5, 5}));
  EXPECT_TRUE(throws<shape_error>([&] { raw.sized(-3); }, {"-3"}));
  EXPECT_TRUE(throws<type_error>([&] { raw.sized(2)(7); }, {"raw", "number"}));
  EXPECT_EQ(raw.sized(0)(x).size(), 0);
}

// ---- positions ----

TEST(string_grammar, positions_are_those_of_the_broadcast_shape) {
  const elementwise k{"places", "T x", "int64 y",
                      "y = 1000 * i + 100 * _ind.get()[0] + 10 * _ind.get()[1] + n + _ind.size()"};
  host_array want(i64, {2, 3});
  for (std::int64_t e = 0; e < 6; ++e)
    want.set(e, {static_cast<double>(1000 * e + 100 * (e / 3) + 10 * (e % 3) + 12), 0});
  EXPECT_TRUE(equals(k(broadcast_to(ramp({3}), shape{2, 3})), want));
  const array y = k(ramp({2, 3}));
  EXPECT_TRUE(equals(y(range(end, begin, -1), 1), std::vector<std::int64_t>{4122, 1022})) << "seen through a view";
  EXPECT_TRUE(equals(transpose(y)(2, all), std::vector<std::int64_t>{2032, 5132}));
  EXPECT_EQ(counted([&] { eval(transpose(y * 2) + 1); }).launches, 1u);
}

TEST(string_grammar, a_body_may_have_names_of_positions_for_itself) {
  const elementwise k{"own_names", "T x", "T y", "int n = 0;\nfor (int i = 0; i < 3; ++i) n += i;\ny = x + n"};
  EXPECT_TRUE(equals(k(array{1, 2}), std::vector<std::int32_t>{4, 5}));
  const elementwise both{"both_names", "T x", "T y", "y = x + i;\nint i = 100;\ny += i"};
  EXPECT_TRUE(equals(both(array{1, 2}), std::vector<std::int32_t>{101, 103}));
}

TEST(string_grammar, positions_in_recorded_loops_are_those_of_each_call) {
  const elementwise k{"first_place", "T x", "int64 y", "y = x * 10 + i + n"};
  const array x = ramp({50});
  array y = zeros({50}, i64);
  for (int j = 0; j < 50; ++j) y(j) = k(x(j));
  std::vector<std::int64_t> want;
  for (int j = 0; j < 50; ++j) want.push_back(10 * j + 1);
  EXPECT_TRUE(equals(y, want));
}

TEST(string_grammar, raw_tables_in_recorded_loops) {
  const elementwise k{"from_table", "T x, raw T table", "T y", "y = x + table[x]"};
  const array x = ramp({50}), table = ramp({50}) * 3;
  array y = zeros({50}, i32);
  for (int j = 0; j < 50; ++j) y(j) = k(x(j), table);
  std::vector<std::int32_t> want;
  for (int j = 0; j < 50; ++j) want.push_back(4 * j);
  EXPECT_TRUE(equals(y, want));
}

TEST(string_grammar, raw_tables_in_loops_inside_kernels) {
  const elementwise next{"next_of", "T at, raw T table", "T y", "y = table[at]"};
  const array table = array{1, 2, 3, 0} * 1;
  const array y = for_loop(5, array{0, 1, 2}, [&](const array&, const array& s) { return next(s, table); });
  EXPECT_TRUE(equals(y, std::vector<std::int32_t>{1, 2, 3}));
  // Other elements of a state: over whole arrays, one after another; not where each element has its own number.
  const array squared = for_loop(5, array{1, 2, 0}, [&](const array&, const array& s) { return next(s, s); });
  EXPECT_TRUE(equals(squared, std::vector<std::int32_t>{2, 0, 1}));
  EXPECT_TRUE(throws<type_error>([&] {
    while_loop(array{1, 2, 0}, [](const array& s) { return s < 2; }, [&](const array& s) { return next(s, s); });
  }, {"other elements of a state"}));
}

// ---- leaving an element ----

TEST(string_grammar, return_and_continue_end_the_element_alone) {
  for (const char* leave : {"return", "continue"}) {
    const elementwise k{"leaves", "T x", "T y",
                        std::string("y = 1;\nif (x < 2) ") + leave +
                            ";\nfor (int j = 0; j < 3; ++j) { if (j == 1) continue; y += x; }"};
    EXPECT_TRUE(equals(k(array{1, 2, 3}), std::vector<std::int32_t>{1, 5, 7})) << leave;
  }
}

// ---- given outputs ----

// E04
TEST(string_grammar, a_given_output_is_written_and_returned) {
  const elementwise k{"squared_diff", "float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)"};
  array z = zeros({2, 5}, f32);
  const array before = z, returned = k.into(z)(ramp({2, 5}, f32), ramp({5}, f32));
  const host_array want(std::vector<float>{0, 0, 0, 0, 0, 25, 25, 25, 25, 25}, {2, 5});
  EXPECT_TRUE(equals(z, want));
  EXPECT_TRUE(equals(returned, want));
  EXPECT_TRUE(equals(before, host_array(f32, {2, 5}))) << "copies keep what they held";
}

TEST(string_grammar, given_outputs_bind_letters) {
  const elementwise k{"open", "X x, Y y", "Z z", "z = (x - y) * (x - y)"};
  array z = zeros({}, f64);
  k.into(z)(1.5f, 1);
  EXPECT_EQ(z.item<double>(), 0.25);
  array wrong = zeros({2}, f64);
  const elementwise same{"same_types", "T x", "T y", "y = x"};
  EXPECT_TRUE(throws<type_error>([&] { same.into(wrong)(array{1.f, 2.f}); }, {"same_types", "f64", "f32"}));
}

TEST(string_grammar, outputs_begin_as_what_they_were) {
  const elementwise adds{"adds", "T x", "T y", "y += x"}, sets_some{"sets_some", "T x", "T y", "if (x > 1) y = x"};
  array y = array{10, 20, 30};
  adds.into(y)(array{1, 2, 3});
  EXPECT_TRUE(equals(y, std::vector<std::int32_t>{11, 22, 33}));
  sets_some.into(y)(array{1, 2, 0});
  EXPECT_TRUE(equals(y, std::vector<std::int32_t>{11, 2, 33}));
  EXPECT_TRUE(equals(adds(array{1, 2}), std::vector<std::int32_t>{1, 2})) << "zero when not given";
}

// E24
TEST(string_grammar, outputs_do_not_broadcast) {
  const elementwise k{"adds", "T x", "T y", "y += x"};
  array y = zeros({4});
  EXPECT_TRUE(throws<shape_error>([&] { k.into(y)(ones({3, 4})); }, {"adds", "output y", "[4]", "[3, 4]"}));
  array wide = zeros({3, 4});
  k.into(wide)(ones({4}));
  EXPECT_TRUE(equals(sum(wide), host_array(std::vector<float>{12}, {})));
}

// E38
TEST(string_grammar, parts_of_an_array_are_outputs) {
  const elementwise copy{"copy", "T x", "T z", "z = x"}, adds{"adds", "T x", "T y", "y += x"};
  array b = zeros({2, 4}, i32);
  copy.into(b(all, range(0, end, 2)))(array{{1, 2}, {3, 4}});
  EXPECT_TRUE(equals(b, host_array(std::vector<std::int32_t>{1, 0, 2, 0, 3, 0, 4, 0}, {2, 4})));
  const array part = adds.into(b(1, all))(array{10, 20, 30, 40});
  EXPECT_TRUE(equals(part, std::vector<std::int32_t>{13, 20, 34, 40}));
  EXPECT_TRUE(equals(b(1, all), std::vector<std::int32_t>{13, 20, 34, 40}));
  copy.into(b(array{1, 0}, array{0, 3}))(array{7, 8});
  EXPECT_TRUE(equals(b, host_array(std::vector<std::int32_t>{1, 0, 2, 8, 7, 20, 34, 40}, {2, 4})));
}

// E40
TEST(string_grammar, an_input_may_be_the_output) {
  const elementwise twice{"twice", "T x", "T z", "z = 2 * x"};
  array x = array{1, 2, 3};
  eval(x);
  twice.into(x)(x);
  EXPECT_TRUE(equals(x, std::vector<std::int32_t>{2, 4, 6}));
  array big = ramp({1 << 16}, f32);
  eval(big);
  const std::uint64_t live = stats().bytes_in_use;
  twice.into(big)(big);
  eval(big);
  EXPECT_LE(stats().bytes_in_use, live) << "in place";
}

// cupy#2407, #8406 and #10085: outputs that overlap inputs.
TEST(string_grammar, inputs_are_as_they_were_before_the_call) {
  const elementwise twice{"twice", "T x", "T z", "z = 2 * x"}, adds{"adds", "T x", "T y", "y += x"};
  array x = ramp({10});
  twice.into(x(range(1, end)))(x(range(0, -1)));
  EXPECT_TRUE(equals(x, std::vector<std::int32_t>{0, 0, 2, 4, 6, 8, 10, 12, 14, 16}));
  array m = reshape(arange(10000), shape{100, 100});
  eval(m);
  adds.into(m)(transpose(m));
  EXPECT_EQ(sum(m).item<std::int64_t>(), 99990000);
}

TEST(string_grammar, several_outputs_are_given_together) {
  const elementwise powers{"powers", "T x", "T s, T c", "s = x * x; c = s * x"};
  array s = zeros({3}, i32), c = zeros({3}, i32);
  const auto [a, b] = powers.into(s, c).results<2>(array{1, 2, 3});
  EXPECT_TRUE(equals(s, std::vector<std::int32_t>{1, 4, 9}));
  EXPECT_TRUE(equals(c, std::vector<std::int32_t>{1, 8, 27}));
  EXPECT_TRUE(equals(b, std::vector<std::int32_t>{1, 8, 27}));
  EXPECT_TRUE(equals(a, std::vector<std::int32_t>{1, 4, 9}));
  EXPECT_TRUE(throws<type_error>([&] { powers.into(s).results(array{1, 2, 3}); }, {"2 output(s), 1 given"}));
}

// E30
TEST(string_grammar, no_inputs_and_a_given_output) {
  const elementwise k{"seven", "", "float32 y", "y = 7"};
  array y = zeros({3}, f32);
  k.into(y)();
  EXPECT_TRUE(equals(y, std::vector<float>{7, 7, 7}));
}

// E54
TEST(string_grammar, axes_are_not_merged) {
  const elementwise k{"lower_triangle", "T x", "T y", "y = (_ind.get()[1] - _ind.get()[0] <= 0) ? x : T(0)"};
  array y = ones({3, 3}, f32);
  k.into(y)(y);
  EXPECT_TRUE(equals(y, host_array(std::vector<float>{1, 0, 0, 1, 1, 0, 1, 1, 1}, {3, 3})));
}

// ---- raw outputs, and code around the loop ----

TEST(string_grammar, a_histogram_by_atomics) {
  const elementwise k{"histogram", "int32 x", "raw int32 t", "atomicAdd(&t[x], 1)"};
  array t = zeros({4}, i32);
  const array before = t;
  k.into(t)(array{0, 1, 1, 3, 3, 3} * 1);
  k.into(t)(ramp({4000}) % 4);
  EXPECT_TRUE(equals(t, std::vector<std::int32_t>{1001, 1002, 1000, 1003}));
  EXPECT_TRUE(equals(before, std::vector<std::int32_t>{0, 0, 0, 0}));
  EXPECT_TRUE(equals(t + 1, std::vector<std::int32_t>{1002, 1003, 1001, 1004}));
}

TEST(string_grammar, atomics_of_every_kind) {
  const elementwise k{
      "extremes", "int32 x", "raw int32 t",
      "atomicMin(&t[0], x); atomicMax(&t[1], x); atomicSub(&t[2], x); atomicOr(&t[3], x); atomicXor(&t[4], x);"
      "atomicAnd(&t[5], x | 8); atomicCAS(&t[6], 0, 9);"};
  array t = array{100, -100, 0, 0, 0, -1, 0};
  k.into(t)(ramp({8}));
  EXPECT_TRUE(equals(t, std::vector<std::int32_t>{0, 7, -28, 7, 0, 8, 9}));
  const elementwise sums{"sums", "T x", "raw T t", "atomicAdd(&t[0], x)"};
  for (const dtype type : {i32, u32, i64, u64, f32, f64}) {
    array total = zeros({1}, type);
    sums.into(total)(ramp({100}, type));
    EXPECT_TRUE(equals(total.astype(f64), std::vector<double>{4950})) << to_string(type);
  }
}

TEST(string_grammar, a_raw_output_that_is_not_given_begins_as_zeros) {
  const elementwise k{"every_third", "raw T x", "raw T y", "if (i % 3 == 0) y[n - 1 - i] = x[i]"};
  EXPECT_TRUE(equals(k.sized(4)(array{5, 6, 7, 8}), std::vector<std::int32_t>{8, 0, 0, 5}));
  EXPECT_TRUE(throws<error>([&] { elementwise("no_place", "T x", "raw T y", "y[i] = x")(array{1}); }, {"into(t)"}));
}

TEST(string_grammar, raw_outputs_beside_others) {
  const elementwise k{"split", "T x, raw T scale", "T y, raw int32 count",
                      "y = x * scale[0]; if (y > 5) atomicAdd(&count[0], 1)"};
  array y = zeros({4}, i32), count = zeros({1}, i32);
  k.into(y, count).results(ramp({4}) + 1, array{2});
  const array more = y + 1;
  EXPECT_TRUE(equals(more, std::vector<std::int32_t>{3, 5, 7, 9}));
  EXPECT_TRUE(equals(count, std::vector<std::int32_t>{2}));
}

TEST(string_grammar, raw_outputs_of_any_rank) {
  const elementwise k{"transposes", "raw T x", "raw T y",
                      "ptrdiff_t from[] = {i / 3, i % 3}, to[] = {i % 3, i / 3};\ny[to] = x[from]"};
  array y = zeros({3, 2}, i32);
  elementwise_call call = k.sized(6).into(y);
  call(ramp({2, 3}));
  EXPECT_TRUE(equals(y, host_array(std::vector<std::int32_t>{0, 3, 1, 4, 2, 5}, {3, 2})));
}

TEST(string_grammar, bad_indices_of_raw_outputs_write_nothing) {
  const elementwise k{"writes_past", "T x", "raw T y", "y[2 * i] = x"};
  array y = zeros({4}, i32);
  k.into(y)(array{1, 2, 3});
  eval(y);
  EXPECT_TRUE(throws<index_error>([] { synchronize(); }, {"writes_past", "index 4", "y"}));
  EXPECT_TRUE(equals(y, std::vector<std::int32_t>{1, 0, 2, 0}));
}

// E46
TEST(string_grammar, code_around_the_loop_runs_once_for_each_worker) {
  const elementwise k{"counts", "T x", "T y, raw int32 t", "y = x;\nc++;",
                      {.loop_prep = "int c = 0;", .after_loop = "atomicAdd(&t[0], c);\natomicAdd(&t[1], 1)"}};
  for (const shape& extents : {shape{1000}, shape{1}, shape{7, 11}, shape{100000}}) {
    array y = zeros(extents, f32), t = zeros({2}, i32);
    k.into(y, t).results(ramp(extents, f32));
    const std::vector<std::int32_t> counts = t.to_vector<std::int32_t>();
    EXPECT_EQ(counts[0], extents.size());
    EXPECT_GE(counts[1], 1);
    EXPECT_TRUE(equals(y, counting(f32, extents)));
  }
  array y = zeros({3}, f32), t = zeros({2}, i32);
  k.into(y, t).results(ramp({2, 3}, f32)(range(0, 1), all)(0, all));
  EXPECT_TRUE(equals(y, std::vector<float>{0, 1, 2}));
}

TEST(string_grammar, code_around_the_loop_sees_numbers_structs_and_sizes) {
  struct line { float a, b; };
  const elementwise k{"prepared", "line p, T x, float scale", "T y", "y = slope * x + p.b + count",
                      {.preamble = "struct line { float a, b; };",
                       .loop_prep = "const float slope = p.a * scale; const int count = n;"}};
  EXPECT_TRUE(equals(k(by_value(line{2, 1}), array{1.f, 2.f}, 10), std::vector<float>{23, 43}));
}

TEST(string_grammar, explain_says_why_a_kernel_runs_alone) {
  const elementwise raw{"scatters", "T x", "raw T t", "t[i] = x"},
      around{"prepares", "T x", "T y", "y = x + one", {.loop_prep = "T one = 1;"}};
  array t = zeros({3}, i32);
  raw.into(t)(array{1, 2, 3});
  const std::string why = explain(t + 1);
  EXPECT_NE(why.find("scatters of [3]"), std::string::npos) << why;
  EXPECT_NE(why.find("may write anywhere in its raw output t"), std::string::npos) << why;
  EXPECT_NE(explain(around(array{1, 2})).find("code around the loop"), std::string::npos);
  EXPECT_TRUE(equals(around(array{1, 2} * 2) * 2, std::vector<std::int32_t>{6, 10}));
}

TEST(string_grammar, thousands_of_calls_that_run_alone) {
  const elementwise k{"adds_alone", "T x", "raw T t", "t[i] += x"};
  const recording deep({.operations = 100000});
  array t = zeros({8}, i32);
  for (int step = 0; step < 3000; ++step) k.into(t)(full({8}, 1, i32));
  EXPECT_TRUE(equals(t, std::vector<std::int32_t>(8, 3000)));
}

TEST(string_grammar, nothing_runs_alone_without_elements) {
  const elementwise k{"adds_alone", "T x", "raw T t", "t[i] += x"};
  array t = zeros({2}, i32);
  k.into(t)(zeros({0}, i32));
  EXPECT_TRUE(equals(t, std::vector<std::int32_t>{0, 0}));
}

// ---- structs ----

// cupy#9588.
TEST(string_grammar, structs_are_passed_by_value) {
  struct line { float a, b; };
  const elementwise k{
      "line_at", "line p, T x", "T y", "y = p.a * x + p.b", {.preamble = "struct line { float a, b; };"}};
  EXPECT_TRUE(equals(k(by_value(line{2, 1}), array{1.f, 2.f}), std::vector<float>{3, 5}));
  EXPECT_EQ(counted([&] { eval(k(by_value(line{5, 0.5f}), array{1.f, 2.f})); }).compiles, 0u);
  struct large { double values[25]; std::int8_t last; };
  large l{};
  for (int v = 0; v < 25; ++v) l.values[v] = v;
  l.last = -3;
  const elementwise sums{"sum_of", "large l, T x", "double y", "y = l.last; for (double v : l.values) y += v * x",
                         {.preamble = "struct large { double values[25]; signed char last; };"}};
  EXPECT_TRUE(equals(sums(by_value(l), array{1.f, 2.f}) + 1, std::vector<double>{298, 598}));
  EXPECT_TRUE(throws<type_error>([&] { k(1.f, array{1.f}); }, {"line_at", "struct line", "by_value"}));
  EXPECT_TRUE(
      throws<type_error>([] { elementwise("unknown", "other p, T x", "T y", "y = x"); }, {"unknown type \"other\""}));
  struct short_line { float a; };
  EXPECT_TRUE(throws<compile_error>([&] { eval(sums(by_value(short_line{1}), array{1.f})); }, {"another size"}));
}

// ---- preambles ----

TEST(string_grammar, macros_end_with_their_kernel) {
  const elementwise one{"one_macro", "T x", "T y", "y = x + STEP", {.preamble = "#define STEP 1\n#define v3 broken("}},
      two{"two_macro", "T x", "T y", "y = x + STEP", {.preamble = "#define STEP 2"}};
  const array x{0, 10};
  EXPECT_TRUE(equals(one(two(x)) + one(x), std::vector<std::int32_t>{4, 24}));
  EXPECT_TRUE(
      throws<error>([] { elementwise("includes", "T x", "T y", "y = x", {.preamble = "\n# include <vector>\n"}); },
                    {"includes", "<vector>", "no headers"}));
}

TEST(string_grammar, the_integer_types_of_cstdint_are_there) {
  const elementwise k{
      "widths", "T x", "int64 y",
      "int8_t a = x; uint16_t b = x; int32_t c = x; uint64_t d = x; size_t e = sizeof(int64_t); ptrdiff_t f = x;\n"
      "y = a + b + c + (int64_t)d + (int64_t)e + f"};
  EXPECT_TRUE(equals(k(array{1, 2}), std::vector<std::int64_t>{13, 18}));
}

}  // namespace
