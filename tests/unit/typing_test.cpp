// dtype rules, shapes and messages of recorded operations. Runs no kernel.
#include "jit/typing.hpp"
#include "tests/unit/messages.hpp"

#include <gtest/gtest.h>

namespace {

using namespace sinter;
using jit::input;
using jit::node_ref;
using jit::op;

const place here{"model.cpp", "step", 17};

node_ref leaf(dtype type, const shape& extents = {3}, std::uint32_t line = 9) {
  return jit::make_node(op::buffer, type, extents, {}, {"model.cpp", "load", line});
}
input in(const node_ref& x) { return {x.get(), {}, here}; }
input in(scalar x) { return {nullptr, x, here}; }

template <class... X>
node_ref record(op code, const X&... x) {
  const input list[] = {in(x)...};
  return jit::record(code, list, here);
}
/// The dtype of `code` applied to fresh arrays or numbers.
template <class... X>
dtype result(op code, const X&... x) {
  return record(code, x...)->type;
}
/// The dtype the operands were converted to.
dtype computed_in(const node_ref& n) { return n->operands()[0]->type; }

TEST(typing, promotion_table) {
  struct row {
    dtype a, b, common;
  };
  const row rows[] = {{i8, i32, i32},   {u8, u64, u64},   {i8, u8, i16},    {i16, u8, i16},   {i32, u32, i64},
                      {i64, u32, i64},  {u16, i16, i32},  {boolean, u8, u8}, {boolean, c64, c64}, {i64, f32, f32},
                      {u64, f16, f16},  {i8, bf16, bf16}, {f16, bf16, f32}, {f16, f32, f32},  {f32, f64, f64},
                      {bf16, f64, f64}, {c64, f64, c128}, {c64, f32, c64},  {c64, i64, c64},  {c64, c128, c128},
                      {c128, f16, c128}, {f16, c64, c64}};
  for (const row& r : rows) {
    EXPECT_EQ(jit::promote(r.a, r.b, "add", here), r.common) << to_string(r.a) << " " << to_string(r.b);
    EXPECT_EQ(jit::promote(r.b, r.a, "add", here), r.common) << to_string(r.b) << " " << to_string(r.a);
  }
  for (int t = 0; t < dtype_count; ++t)
    EXPECT_EQ(jit::promote(static_cast<dtype>(t), static_cast<dtype>(t), "add", here), static_cast<dtype>(t));
}

TEST(typing, u64_has_no_common_dtype_with_signed_integers) {
  for (const dtype s : {i8, i16, i32, i64}) {
    const std::string text = message_of<type_error>([&] { record(op::less, leaf(u64), leaf(s)); });
    EXPECT_TRUE(contains(text, "less: no dtype holds both u64 and")) << text;
    EXPECT_TRUE(contains(text, "cast one first")) << text;
  }
}

TEST(typing, numbers_adopt_the_dtype_of_arrays_when_their_kind_fits) {
  EXPECT_EQ(result(op::multiply, leaf(f32), 2.0), f32);
  EXPECT_EQ(result(op::multiply, leaf(f16), 2), f16);
  EXPECT_EQ(result(op::multiply, 2, leaf(u8)), u8);
  EXPECT_EQ(result(op::multiply, leaf(i32), 2.5), f64);
  EXPECT_EQ(result(op::multiply, leaf(boolean), 2), i64);
  EXPECT_EQ(result(op::multiply, leaf(boolean), 2.0), f64);
  EXPECT_EQ(result(op::add, leaf(boolean), true), boolean);
  EXPECT_EQ(result(op::add, leaf(boolean), complex128{0, 1}), c128);
  EXPECT_EQ(result(op::add, leaf(i8), complex128{0, 1}), c128);
  EXPECT_EQ(result(op::add, leaf(bf16), complex128{0, 1}), c64);
  EXPECT_EQ(result(op::add, leaf(f64), complex128{0, 1}), c128);
  EXPECT_EQ(result(op::add, leaf(c64), complex128{0, 1}), c64);
  EXPECT_EQ(result(op::add, leaf(u64), 3u), u64);
}

TEST(typing, numbers_out_of_range_are_errors) {
  const std::string text = message_of<type_error>([] { record(op::add, leaf(u8), -1); });
  EXPECT_TRUE(contains(text, "-1 does not fit u8 [0, 255]")) << text;
  EXPECT_TRUE(contains(text, "at model.cpp:17 in step()")) << text;
  EXPECT_THROW(record(op::less, leaf(u8), 300), type_error);
}

TEST(typing, numbers_alone_have_their_cpp_dtypes) {
  EXPECT_EQ(result(op::add, 1, 2), i64);
  EXPECT_EQ(result(op::add, 1, 2.5), f64);
  EXPECT_EQ(result(op::add, 1, 2u), i64);
  EXPECT_EQ(result(op::add, -1, 2u), i64);
  EXPECT_EQ(result(op::add, 1, ~std::uint64_t{0}), u64);
  EXPECT_THROW(record(op::add, -1, ~std::uint64_t{0}), type_error);
  EXPECT_EQ(result(op::add, true, 1), i64);
  EXPECT_EQ(result(op::sin, 1), f64);
}

TEST(typing, boolean_arithmetic_is_logic_or_an_error) {
  EXPECT_EQ(record(op::add, leaf(boolean), leaf(boolean))->code, op::logical_or);
  EXPECT_EQ(record(op::multiply, leaf(boolean), leaf(boolean))->code, op::logical_and);
  const node_ref x = leaf(boolean);
  EXPECT_EQ(record(op::square, x).get(), x.get());
  for (const op code : {op::subtract, op::divide, op::modulo, op::power, op::floor_divide, op::remainder})
    EXPECT_THROW(record(code, leaf(boolean), leaf(boolean)), type_error) << info(code).name;
  EXPECT_TRUE(contains(message_of<type_error>([] { record(op::negative, leaf(boolean)); }),
                       "negative: not defined for bool\n  at model.cpp:17 in step()\n  hint: "));
  EXPECT_THROW(record(op::sign, leaf(boolean)), type_error);
  EXPECT_EQ(result(op::minimum, leaf(boolean), leaf(boolean)), boolean);
}

TEST(typing, order_is_not_defined_for_complex_numbers) {
  for (const op code : {op::minimum, op::fmax, op::floor_divide, op::less, op::greater_equal, op::modulo, op::atan2})
    EXPECT_THROW(record(code, leaf(c64), leaf(f32)), type_error) << info(code).name;
  EXPECT_THROW(record(op::floor, leaf(c64)), type_error);
  EXPECT_THROW(record(op::signbit, leaf(c64)), type_error);
  EXPECT_EQ(result(op::equal, leaf(c64), leaf(f64)), boolean);
}

TEST(typing, functions_of_integers_compute_in_f64) {
  EXPECT_EQ(result(op::sqrt, leaf(i8)), f64);
  EXPECT_EQ(result(op::exp, leaf(boolean)), f64);
  EXPECT_EQ(result(op::sin, leaf(f16)), f16);
  EXPECT_EQ(result(op::exp, leaf(c64)), c64);
  EXPECT_EQ(result(op::atan2, leaf(i32), 1), f64);
  EXPECT_EQ(result(op::hypot, leaf(i32), leaf(f32)), f32);
  EXPECT_THROW(record(op::erf, leaf(c64)), type_error);
}

TEST(typing, operations_without_effect_give_the_operand) {
  const node_ref i = leaf(i32), u = leaf(u8), x = leaf(f32);
  EXPECT_EQ(record(op::floor, i).get(), i.get());
  EXPECT_EQ(record(op::round, u).get(), u.get());
  EXPECT_EQ(record(op::absolute, u).get(), u.get());
  EXPECT_EQ(record(op::conj, x).get(), x.get());
  EXPECT_EQ(record(op::real_part, x).get(), x.get());
}

TEST(typing, complex_parts) {
  EXPECT_EQ(result(op::absolute, leaf(c64)), f32);
  EXPECT_EQ(result(op::absolute, leaf(i32)), i32);
  EXPECT_EQ(result(op::real_part, leaf(c128)), f64);
  EXPECT_EQ(result(op::arg, leaf(c64)), f32);
  const node_ref zeros = record(op::imag_part, leaf(f32));
  EXPECT_EQ(zeros->type, f32);
  EXPECT_EQ(zeros->extents, (shape{3}));
  EXPECT_EQ(record(op::arg, leaf(i32))->code, op::atan2);
  EXPECT_EQ(result(op::arg, leaf(i32)), f64);
  EXPECT_EQ(result(op::make_complex, leaf(f16), leaf(bf16)), c64);
  EXPECT_EQ(result(op::make_complex, leaf(i32), 1), c128);
  EXPECT_EQ(computed_in(record(op::make_complex, leaf(f16), leaf(f16))), f32);
}

TEST(typing, tests_of_integers_are_constants) {
  const node_ref nan = record(op::isnan, leaf(i32)), finite = record(op::isfinite, leaf(u8));
  EXPECT_EQ(nan->type, boolean);
  EXPECT_EQ(nan->extents, (shape{3}));
  EXPECT_FALSE(nan->operands()[0]->number.as_bool);
  EXPECT_TRUE(finite->operands()[0]->number.as_bool);
  EXPECT_EQ(record(op::signbit, leaf(i8))->code, op::less);
  EXPECT_EQ(record(op::isnan, leaf(c64))->code, op::isnan);
}

TEST(typing, logic_converts_each_operand_to_bool) {
  const node_ref n = record(op::logical_and, leaf(f32), leaf(i64));
  EXPECT_EQ(n->type, boolean);
  EXPECT_EQ(n->operands()[0]->type, boolean);
  EXPECT_EQ(n->operands()[1]->type, boolean);
}

TEST(typing, bits_and_shifts_take_integers) {
  EXPECT_EQ(record(op::bit_not, leaf(boolean))->code, op::logical_not);
  EXPECT_EQ(record(op::bit_xor, leaf(boolean), true)->code, op::logical_xor);
  EXPECT_EQ(result(op::bit_and, leaf(u8), 15), u8);
  EXPECT_THROW(record(op::bit_and, leaf(f32), leaf(f32)), type_error);
  EXPECT_THROW(record(op::bit_or, leaf(i32), 1.5), type_error);
  EXPECT_EQ(result(op::shift_left, leaf(u8), 3), u8);
  EXPECT_EQ(result(op::shift_right, leaf(i16), leaf(i32)), i32);
  EXPECT_THROW(record(op::shift_left, leaf(boolean), 1), type_error);
  EXPECT_THROW(record(op::shift_left, leaf(i32), 1.0), type_error);
}

TEST(typing, select_takes_any_condition_and_a_common_dtype) {
  const node_ref n = record(op::select, leaf(f32, {4, 1}), leaf(i32), 2.5);
  EXPECT_EQ(n->type, f64);
  EXPECT_EQ(n->extents, (shape{4, 3}));
  EXPECT_EQ(n->operands()[0]->type, boolean);
  EXPECT_EQ(result(op::select, leaf(boolean), 1, 2.5), f64);
}

TEST(typing, operands_are_left_alone_when_they_fit) {
  const node_ref x = leaf(f32, {4, 1}), y = leaf(f32, {3});
  const node_ref n = record(op::add, x, y);
  EXPECT_EQ(n->extents, (shape{4, 3}));
  EXPECT_EQ(n->operands()[0], x.get());
  EXPECT_EQ(n->operands()[1], y.get());
  EXPECT_EQ(n->site.line, here.line);
}

TEST(typing, shapes_that_do_not_broadcast_are_named_with_their_origin) {
  const std::string text = message_of<shape_error>([] { record(op::add, leaf(f32, {4, 3}), leaf(f32, {5, 3}, 17)); });
  EXPECT_EQ(text,
            "add: shapes [4, 3] and [5, 3] do not broadcast (axis 0: 4 against 5)\n"
            "  left operand from model.cpp:9\n"
            "  at model.cpp:17 in step()\n"
            "  hint: x(all, newaxis) inserts an axis");
  EXPECT_THROW(record(op::select, leaf(f32, {2}), leaf(f32, {3}), 1), shape_error);
}

TEST(typing, fresh_operands_belong_to_their_user_alone) {
  const node_ref x = leaf(i32);
  {
    const node_ref n = record(op::select, x, x, 2.5);
    for (const jit::node* operand : n->operands()) EXPECT_EQ(operand->references.load(), 1u);
    EXPECT_EQ(x->references.load(), 3u);
  }
  EXPECT_EQ(x->references.load(), 1u);
}

// ---- Reductions ----

node_ref reduce(op code, const node_ref& x, std::uint32_t axes, bool keep = false) {
  return jit::record_reduction(code, in(x), axes, keep, here);
}

TEST(typing, reductions_find_their_dtype) {
  EXPECT_EQ(reduce(op::reduce_sum, leaf(i8), 1)->type, i64);
  EXPECT_EQ(reduce(op::reduce_prod, leaf(u32), 1)->type, u64);
  EXPECT_EQ(reduce(op::reduce_sum, leaf(boolean), 1)->type, i64);
  EXPECT_EQ(reduce(op::reduce_sum, leaf(f16), 1)->type, f16);
  EXPECT_EQ(reduce(op::reduce_sum, leaf(c64), 1)->type, c64);
  EXPECT_EQ(reduce(op::reduce_max, leaf(u8), 1)->type, u8);
  EXPECT_EQ(reduce(op::reduce_any, leaf(f32), 1)->type, boolean);
  EXPECT_EQ(reduce(op::reduce_argmax, leaf(f32), 1)->type, i64);
  EXPECT_THROW(reduce(op::reduce_min, leaf(c64), 1), type_error);
  EXPECT_THROW(reduce(op::reduce_argmin, leaf(c64), 1), type_error);
}

TEST(typing, reductions_drop_or_keep_their_axes) {
  const node_ref x = leaf(f32, {2, 3, 4});
  EXPECT_EQ(reduce(op::reduce_sum, x, 0b101)->extents, (shape{3}));
  EXPECT_EQ(reduce(op::reduce_sum, x, 0b101, true)->extents, (shape{1, 3, 1}));
  EXPECT_EQ(reduce(op::reduce_sum, x, 0b111)->extents, shape{});
  EXPECT_EQ(reduce(op::reduce_sum, x, 0).get(), x.get());
  EXPECT_EQ(reduce(op::reduce_argmin, x, 0)->extents, x->extents);
  EXPECT_EQ(reduce(op::reduce_argmin, x, 0)->type, i64);
}

TEST(typing, the_extremum_of_nothing_is_an_error) {
  for (const op code : {op::reduce_min, op::reduce_max, op::reduce_argmin, op::reduce_argmax}) {
    EXPECT_THROW(reduce(code, leaf(f32, {0, 2}), 0b01), shape_error);
    EXPECT_EQ(reduce(code, leaf(f32, {0, 2}), 0b10)->extents, (shape{0}));
  }
  EXPECT_EQ(reduce(op::reduce_sum, leaf(f32, {0, 3}), 0b01)->extents, (shape{3}));
  EXPECT_EQ(reduce(op::reduce_all, leaf(f32, {0}), 0b1)->extents, shape{});
}

}  // namespace
