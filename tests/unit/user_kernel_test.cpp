// Parsing and recording of string kernels. Compiles nothing.
#include "jit/user_kernel.hpp"
#include "tests/unit/messages.hpp"

#include <gtest/gtest.h>

namespace {

using namespace sinter;
using jit::input;
using jit::node_ref;
using jit::op;

const place here{"model.cpp", "step", 17};

node_ref leaf(dtype type, const shape& extents = {3}) { return jit::make_node(op::buffer, type, extents, {}, here); }
input in(const node_ref& x) { return {x.get(), {}, here}; }
input in(scalar x) { return {nullptr, x, here}; }

auto parse(std::string_view inputs, std::string_view outputs, std::string_view name = "k",
           std::string_view body = "z = x") {
  return jit::parse_user_kernel(name, inputs, outputs, body, "", {}, here);
}

template <class... X>
std::vector<node_ref> call(const std::shared_ptr<const jit::user_kernel>& k, const X&... x) {
  const input list[] = {in(x)...};
  const node_ref made = jit::record_call(*k, list, here);
  std::vector<node_ref> out;
  for (std::size_t n = 0; n < k->outputs.size(); ++n) out.push_back(jit::result_of(made, n));
  return out;
}

TEST(user_kernel, parameters_have_types_and_names) {
  const auto k = parse("T x,\n  float32 y , int64 w,double v", "T z, bool flag");
  ASSERT_EQ(k->inputs.size(), 4u);
  EXPECT_TRUE(k->inputs[0].is_placeholder());
  EXPECT_EQ(k->inputs[1].type, "f32");
  EXPECT_EQ(k->inputs[1].name, "y");
  EXPECT_EQ(k->inputs[2].type, "i64");
  EXPECT_EQ(k->inputs[3].type, "f64");
  ASSERT_EQ(k->outputs.size(), 2u);
  EXPECT_EQ(k->outputs[1].type, "bool");
  EXPECT_TRUE(parse(" ", "f32 z")->inputs.empty());
}

TEST(user_kernel, f_is_a_placeholder_not_float) {
  EXPECT_TRUE(parse("f x", "f z")->inputs[0].is_placeholder());
}

TEST(user_kernel, bad_types_and_keywords_are_type_errors) {
  EXPECT_TRUE(contains(message_of<type_error>([] { parse("float33 x", "T z"); }), "unknown type \"float33\""));
  EXPECT_TRUE(contains(message_of<type_error>([] { parse("raw raw x", "T z"); }), "\"raw\" stands before the type"));
  EXPECT_TRUE(contains(message_of<type_error>([] { parse("other x", "T z"); }), "unknown type \"other\""));
  EXPECT_TRUE(contains(message_of<type_error>([] { parse("const T x", "T z"); }), "\"const\" is not needed"));
  EXPECT_TRUE(contains(message_of<type_error>([] { parse("fast T x", "T z"); }), "unknown keyword \"fast\""));
  EXPECT_THROW(parse("? x", "T z"), type_error);
}

TEST(user_kernel, bad_syntax_is_an_error) {
  EXPECT_TRUE(contains(message_of<error>([] { parse("T x,", "T z"); }), "is not a type and a name"));
  EXPECT_THROW(parse("T x,, T y", "T z"), error);
  EXPECT_THROW(parse("x", "T z"), error);
  EXPECT_THROW(parse("T x", ""), error);
  EXPECT_THROW(parse("T x", "T z", "k", " \n"), error);
  std::string many = "f32 x0";
  for (int k = 1; k <= 16; ++k) many += ", f32 x" + std::to_string(k);
  EXPECT_THROW(parse(many, "T z"), error);
}

TEST(user_kernel, names_are_identifiers_of_their_own) {
  for (const char* name : {"1x", "x-y", "int", "for", "i", "n", "_x", "x__y", "f32", "float32", "*x", "x[3]"})
    EXPECT_THROW(parse(std::string("T ") + name, "T z"), error) << name;
  EXPECT_TRUE(contains(message_of<error>([] { parse("T x, T y", "T x"); }), "\"x\" is used twice"));
  EXPECT_TRUE(contains(message_of<error>([] { parse("T T", "f32 z"); }), "both a type and a parameter"));
}

TEST(user_kernel, kernel_names_are_identifiers) {
  for (const char* name : {"", "double", "my kernel", "2d", "a::b", "_k"})
    EXPECT_THROW(parse("T x", "T z", name), error) << name;
  EXPECT_TRUE(contains(message_of<error>([] { parse("T x", "T z", "double"); }), "keyword"));
}

TEST(user_kernel, equal_text_is_one_kernel) {
  const auto k = parse("T x", "T z", "same", "z = x + 1");
  EXPECT_EQ(parse(" T  x ", "T z", "same", "z = x + 1"), k);
  const auto other = parse("T x", "T z", "same", "z = x + 2");
  EXPECT_NE(other, k);
  EXPECT_NE(other->identity, k->identity);
  EXPECT_NE(jit::parse_user_kernel("same", "T x", "T z", "z = x + 1", "", {"-O1"}, here), k);
  EXPECT_NE(jit::parse_user_kernel("same", "T x", "T z", "z = x + 1", "int k;", {}, here), k);
}

TEST(user_kernel, calls_bind_placeholders_to_arrays) {
  const auto k = parse("T x, T y, U w", "T z, U v");
  const auto out = call(k, leaf(f32, {4, 1}), 2, leaf(i8, {3}));
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0]->type, f32);
  EXPECT_EQ(out[1]->type, i8);
  EXPECT_EQ(out[0]->extents, (shape{4, 3}));
  EXPECT_EQ(out[1]->facts->output, 1);
  const jit::node* c = out[0]->operands()[0];
  EXPECT_EQ(c, out[1]->operands()[0]);
  EXPECT_EQ(c->code, op::call);
  EXPECT_EQ(c->operands()[1]->code, op::scalar);
  EXPECT_EQ(c->operands()[1]->number.as_f64, 2.0);
  EXPECT_EQ(c->facts->kernel->input_types, (std::vector<dtype>{f32, f32, i8}));
  EXPECT_EQ(c->facts->kernel->output_types, (std::vector<dtype>{f32, i8}));
}

TEST(user_kernel, calls_with_equal_dtypes_share_the_bound_kernel) {
  const auto k = parse("T x, U y", "T z", "shared");
  const auto kernel_of = [](const std::vector<node_ref>& out) { return out[0]->operands()[0]->facts->kernel; };
  const auto a = kernel_of(call(k, leaf(f32), 1)), b = kernel_of(call(k, leaf(f32, {7}), 5));
  EXPECT_EQ(a, b);
  EXPECT_NE(a, kernel_of(call(k, leaf(f64), 1)));
  EXPECT_NE(a->identity, kernel_of(call(k, leaf(f64), 1))->identity);
  EXPECT_NE(a->identity, k->identity);
}

TEST(user_kernel, arrays_bind_before_numbers_wherever_they_stand) {
  EXPECT_EQ(call(parse("T x, T y", "T z"), 2, leaf(f32))[0]->type, f32);
}

TEST(user_kernel, placeholders_of_numbers_alone_take_cpp_dtypes) {
  const auto k = parse("T x, U y", "U z", "alone");
  EXPECT_EQ(call(k, leaf(f32), 2)[0]->type, i64);
  EXPECT_EQ(call(k, leaf(f32), 2.0)[0]->type, f64);
  EXPECT_EQ(call(k, leaf(f32), true)[0]->type, boolean);
  EXPECT_EQ(call(k, leaf(f32), complex128{0, 1})[0]->type, c128);
  EXPECT_EQ(call(parse("T x, T y", "T z"), 1, 2.5)[0]->type, f64);
}

TEST(user_kernel, arrays_are_not_converted) {
  const auto k = parse("T x, T y", "T z", "strict");
  const std::string text = message_of<type_error>([&] { call(k, leaf(f32), leaf(f64)); });
  EXPECT_TRUE(contains(text, "strict: y is f64, but its parameter is f32, since T is f32")) << text;
  EXPECT_TRUE(contains(text, "y.astype(f32)")) << text;
  EXPECT_THROW(call(parse("i32 x", "T z"), leaf(i64)), type_error);
}

TEST(user_kernel, numbers_must_fit_their_parameter) {
  EXPECT_THROW(call(parse("T x, T y", "T z"), leaf(u8), 256), type_error);
  EXPECT_THROW(call(parse("T x, T y", "T z"), leaf(i32), 1.5), type_error);
  EXPECT_EQ(call(parse("f32 x", "f32 z"), 3)[0]->extents.rank(), 0);
}

TEST(user_kernel, an_output_no_input_determines_is_an_error) {
  EXPECT_TRUE(contains(message_of<type_error>([] { call(parse("T x", "U z"), leaf(f32)); }), "not deducible"));
}

TEST(user_kernel, operands_are_counted_and_broadcast) {
  const auto k = parse("T x, T y", "T z", "pairwise");
  EXPECT_THROW(call(k, leaf(f32)), type_error);
  const std::string text = message_of<shape_error>([&] { call(k, leaf(f32, {4}), leaf(f32, {3})); });
  EXPECT_TRUE(contains(text, "pairwise: shapes [4] and [3] do not broadcast (axis 0: 4 against 3)")) << text;
}

TEST(user_kernel, raw_parameters_and_structs) {
  const auto k = jit::parse_user_kernel("k", "raw T x, ab p, int32 v", "raw T z", "z[i] = x[n - 1]",
                                        "struct ab { float a; };", {}, here);
  EXPECT_TRUE(k->inputs[0].is_raw && k->inputs[0].is_placeholder() && k->outputs[0].is_raw);
  EXPECT_TRUE(k->inputs[1].is_struct && !k->inputs[1].is_raw);
  EXPECT_TRUE(k->runs_alone());
  EXPECT_EQ(k->reason_to_run_alone(), "it may write anywhere in its raw output z");
  for (const char* preamble :
       {"class ab {};", "typedef struct { int x; } ab;", "union ab { int x; };", "using ab = int;"})
    EXPECT_TRUE(jit::parse_user_kernel("k", "ab p", "f32 z", "z = 1", preamble, {}, here)->inputs[0].is_struct)
        << preamble;
  for (const char* preamble : {"// struct ab", "const char* s = \"struct ab\";", "struct abc {};", "int ab;"})
    EXPECT_THROW(jit::parse_user_kernel("k", "ab p", "f32 z", "z = 1", preamble, {}, here), type_error) << preamble;
}

TEST(user_kernel, what_a_body_asks_for) {
  const auto asks = [](std::string_view body) {
    const auto k = parse("T x", "T z", "asking", body);
    return std::string(k->wants_position ? "i" : "") + (k->wants_count ? "n" : "") + (k->wants_index ? "_" : "");
  };
  EXPECT_EQ(asks("z = x"), "");
  EXPECT_EQ(asks("z = i + n"), "in");
  EXPECT_EQ(asks("z = _ind.get()[0]"), "_");
  EXPECT_EQ(asks("return i;"), "i");
  EXPECT_EQ(asks("for (int i = 0; i < 3; ++i) z += i"), "");
  EXPECT_EQ(asks("int n = 0; z = n"), "");
  EXPECT_EQ(asks("auto i = x; size_t n = i;"), "");
  EXPECT_EQ(asks("z = i; int n = i"), "i");
  EXPECT_EQ(asks("z = p.i + q->n + s::n"), "");
  EXPECT_EQ(asks("z = x; // i and n"), "");
  EXPECT_EQ(asks("z = x /* n */ + 'i' + \"n\"[0]"), "");
}

TEST(user_kernel, kinds_of_calls) {
  const auto code_of = [](const std::vector<node_ref>& out) { return out[0]->operands()[0]->code; };
  EXPECT_EQ(code_of(call(parse("T x", "T z"), leaf(f32))), op::call);
  EXPECT_EQ(code_of(call(parse("T x, raw T t", "T z"), leaf(f32), leaf(f32, {5, 6}))), op::raw_call);
  const auto read = call(parse("T x, raw T t", "T z"), leaf(f32), leaf(f32, {5, 6}));
  EXPECT_EQ(read[0]->extents, (shape{3}));
  const jit::node* c = read[0]->operands()[0];
  EXPECT_TRUE(jit::reads_anywhere(c, 1) && !jit::reads_anywhere(c, 0));
  EXPECT_TRUE(jit::reads_own_element(c, 0) && !jit::reads_own_element(c, 1));
  const auto placed = call(parse("T x", "T z", "placed", "z = x + i"), leaf(f32, {2, 3}));
  EXPECT_EQ(placed[0]->operands()[0]->operand_count, 2u);
  EXPECT_EQ(placed[0]->operands()[0]->operands()[1]->extents, (shape{2, 3}));
}

TEST(user_kernel, given_outputs_are_operands) {
  const auto k = parse("T x", "T z, U w", "given", "z += x; w = 1");
  const node_ref from = leaf(f32), z = leaf(f32, {3}), w = leaf(i64, {3}), narrow = leaf(i64, {1});
  const input x[] = {in(from)}, outputs[] = {in(z), in(w)};
  const node_ref made = jit::record_call(*k, x, here, {-1, outputs});
  EXPECT_EQ(made->operand_count, 3u);
  EXPECT_EQ(jit::base_operand(*made, 1), 2u);
  EXPECT_EQ(jit::result_of(made, 1)->type, i64);
  const input one[] = {in(z)};
  EXPECT_THROW(jit::record_call(*k, x, here, {-1, one}), type_error);
  const input short_one[] = {in(z), in(narrow)};
  EXPECT_THROW(jit::record_call(*k, x, here, {-1, short_one}), shape_error);
}

TEST(user_kernel, headers_are_refused) {
  EXPECT_TRUE(
      contains(message_of<error>([] { parse("T x", "T z", "k", "z = x;\n  #  include <cmath>"); }), "no headers"));
  EXPECT_NO_THROW(parse("T x", "T z", "k", "#define STEP 1\nz = x + STEP"));
}

}  // namespace
