// Reductions given as strings: parsing, recording, and what the code made of them computes.
#include "jit/codegen/user_code.hpp"
#include "jit/user_kernel.hpp"
#include "tests/unit/messages.hpp"
#include "tests/unit/native_library.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

namespace {

using namespace sinter;
using jit::host_compiler;
using jit::input;
using jit::node_ref;
using jit::op;
using jit::reduction_text;
using kernel_pointer = std::shared_ptr<const jit::user_kernel>;

const place here{"model.cpp", "step", 17};

node_ref leaf(dtype type, const shape& extents = {3}) { return jit::make_node(op::buffer, type, extents, {}, here); }
input in(const node_ref& x) { return {x.get(), {}, here}; }
input in(scalar x) { return {nullptr, x, here}; }

kernel_pointer parse(const reduction_text& text, std::string_view inputs = "T x", std::string_view outputs = "T y",
                     std::string_view name = "k", std::string_view preamble = "") {
  return jit::parse_user_reduction(name, inputs, outputs, text, preamble, {}, here);
}
const reduction_text sum_text{.map = "x", .reduce = "a + b", .post_map = "", .identity = "0", .accumulator = ""};

template <class... X>
std::vector<node_ref> reduced(const kernel_pointer& k, std::uint32_t axes, bool keep_dims, const X&... x) {
  const input list[] = {in(x)...};
  const node_ref made = jit::record_user_reduction(*k, list, axes, keep_dims, here);
  std::vector<node_ref> out;
  for (std::size_t n = 0; n < k->outputs.size(); ++n) out.push_back(jit::result_of(made, n));
  return out;
}
const jit::node* call_of(const std::vector<node_ref>& out) { return out[0]->operands()[0]; }

// ---- Parsing ----

TEST(user_reduction, its_strings_are_kept_as_they_are_but_for_blanks) {
  const kernel_pointer k = parse({.map = "x * x", .reduce = " a + b ", .post_map = " \n", .identity = " ",
                                  .accumulator = " double "});
  EXPECT_TRUE(k->is_reduction());
  EXPECT_EQ(k->reduction.map, "x * x");
  EXPECT_EQ(k->reduction.reduce, " a + b ");
  EXPECT_EQ(k->reduction.post_map, "");
  EXPECT_EQ(k->reduction.identity, "");
  EXPECT_EQ(k->reduction.accumulator, "double");
  EXPECT_FALSE(jit::parse_user_kernel("k", "T x", "T y", "y = x", "", {}, here)->is_reduction());
}

TEST(user_reduction, equal_text_is_one_kernel) {
  const kernel_pointer k = parse(sum_text, "T x", "T y", "one");
  EXPECT_EQ(parse(sum_text, " T  x", "T y", "one"), k);
  const auto differs = [&](auto&& change) {
    reduction_text other = sum_text;
    change(other);
    const kernel_pointer another = parse(other, "T x", "T y", "one");
    return another != k && another->identity != k->identity;
  };
  EXPECT_TRUE(differs([](reduction_text& t) { t.map = "x + 1"; }));
  EXPECT_TRUE(differs([](reduction_text& t) { t.reduce = "a * b"; }));
  EXPECT_TRUE(differs([](reduction_text& t) { t.post_map = "y = a + 1"; }));
  EXPECT_TRUE(differs([](reduction_text& t) { t.identity = "1"; }));
  EXPECT_TRUE(differs([](reduction_text& t) { t.accumulator = "double"; }));
}

TEST(user_reduction, map_and_reduce_are_expressions) {
  const auto message = [](auto&& change) {
    reduction_text text = sum_text;
    change(text);
    return message_of<error>([&] { parse(text); });
  };
  EXPECT_TRUE(contains(message([](reduction_text& t) { t.map = " "; }), "k: the map expression is empty"));
  EXPECT_TRUE(contains(message([](reduction_text& t) { t.reduce = ""; }), "k: the reduce expression is empty"));
  EXPECT_TRUE(contains(message([](reduction_text& t) { t.map = "x; "; }), "the map expression ends with \";\""));
  EXPECT_TRUE(contains(message([](reduction_text& t) { t.reduce = "a + b;"; }), "the reduce expression ends"));
  EXPECT_TRUE(contains(message([](reduction_text& t) { t.identity = "0;"; }), "the identity expression ends"));
  EXPECT_TRUE(contains(message([](reduction_text& t) { t.reduce = ""; }), "model.cpp:17"));
}

TEST(user_reduction, positions_and_raw_inputs_are_refused_by_name) {
  for (const char* word : {"_J", "_in_ind", "_out_ind", "_raw_x"}) {
    const std::string use = std::string("x + ") + word + ".size()";
    for (const reduction_text& text : {reduction_text{use, "a + b", "", "0", ""}, reduction_text{"x", use, "", "0", ""},
                                       reduction_text{"x", "a + b", "y = a + " + use, "0", ""}}) {
      const std::string message = message_of<error>([&] { parse(text); });
      EXPECT_TRUE(contains(message, std::string("\"") + word + "\"")) << message;
      EXPECT_TRUE(contains(message, "not available in this version")) << message;
    }
  }
  EXPECT_NO_THROW(parse({"x_J + my_in_ind", "a + b", "", "", ""}));
  EXPECT_TRUE(contains(message_of<type_error>([] { parse(sum_text, "raw T x"); }), "not available in this version"));
}

TEST(user_reduction, parameters_follow_the_rules_of_elementwise_kernels) {
  EXPECT_THROW(parse(sum_text, "T x", "T y", "1"), error);
  EXPECT_THROW(parse(sum_text, "T 1"), error);
  EXPECT_THROW(parse(sum_text, "float33 x"), type_error);
  EXPECT_TRUE(contains(message_of<error>([] { parse(sum_text, "T x", "T x"); }), "\"x\" is used twice"));
  EXPECT_TRUE(contains(message_of<error>([] { parse(sum_text, ""); }), "no input parameters"));
  EXPECT_TRUE(contains(message_of<error>([] { parse(sum_text, "T x", ""); }), "no output parameters"));
  EXPECT_TRUE(contains(message_of<error>([] { parse(sum_text, "T x", "T y, T z"); }), "the post-map is empty"));
  EXPECT_NO_THROW(parse(sum_text, "T a, T b", "T c"));
  EXPECT_NO_THROW(parse(sum_text, "T x", "T a"));
}

// ---- Recording ----

TEST(user_reduction, axes_go_and_every_output_has_a_node) {
  const kernel_pointer k = parse({"x", "a + b", "y = a; z = a", "0", ""}, "T x, i8 w", "T y, f64 z");
  const auto out = reduced(k, 0b101, false, leaf(f32, {4, 3, 2}), leaf(i8, {2}));
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0]->code, op::result);
  EXPECT_EQ(out[0]->type, f32);
  EXPECT_EQ(out[1]->type, f64);
  EXPECT_EQ(out[1]->extents, (shape{3}));
  EXPECT_EQ(out[1]->facts->output, 1);
  const jit::node* c = call_of(out);
  EXPECT_EQ(c, out[1]->operands()[0]);
  EXPECT_EQ(c->code, op::reduce_call);
  EXPECT_EQ(c->type, f32);
  EXPECT_EQ(c->extents, (shape{3}));
  EXPECT_EQ(c->facts->reduced, 0b101u);
  EXPECT_EQ(c->facts->kernel->output_types, (std::vector<dtype>{f32, f64}));
  ASSERT_EQ(c->operands().size(), 2u);
  for (const jit::node* x : c->operands()) EXPECT_EQ(x->extents, (shape{4, 3, 2}));
  EXPECT_EQ(reduced(k, 0b101, true, leaf(f32, {4, 3, 2}), 1)[0]->extents, (shape{1, 3, 1}));
}

TEST(user_reduction, operands_broadcast_together_first) {
  const kernel_pointer dot = parse({"x * y", "a + b", "", "0", ""}, "T x, T y", "T z", "dot");
  EXPECT_EQ(reduced(dot, 0b11, false, leaf(i64, {3, 1}), leaf(i64, {4}))[0]->extents, shape{});
  const std::string text = message_of<shape_error>([&] { reduced(dot, 1, false, leaf(f32, {4}), leaf(f32, {3})); });
  EXPECT_TRUE(contains(text, "dot: shapes [4] and [3] do not broadcast")) << text;
  EXPECT_TRUE(contains(message_of<type_error>([&] { reduced(dot, 1, false, leaf(f32)); }), "takes 2 input(s)"));
  EXPECT_TRUE(contains(message_of<type_error>([&] { reduced(dot, 1, false, leaf(f32), leaf(f64)); }), "y is f64"));
}

TEST(user_reduction, without_axes_each_element_is_reduced_alone) {
  const kernel_pointer k = parse(sum_text);
  for (const auto& out : {reduced(k, 0, true, leaf(f32, {2, 3})), reduced(k, 0, false, leaf(f32, {2, 3}))}) {
    EXPECT_EQ(out[0]->extents, (shape{2, 3}));
    EXPECT_EQ(call_of(out)->operands()[0]->extents, (shape{2, 3, 1}));
    EXPECT_EQ(call_of(out)->facts->reduced, 0b100u);
  }
  EXPECT_EQ(reduced(k, 0, false, 2.5)[0]->extents, shape{});
}

TEST(user_reduction, no_elements_need_an_identity) {
  reduction_text text = sum_text;
  EXPECT_EQ(reduced(parse(text), 1, false, leaf(f32, {0, 3}))[0]->extents, (shape{3}));
  text.identity = "";
  const std::string message = message_of<shape_error>([&] { reduced(parse(text), 1, false, leaf(f32, {0, 3})); });
  EXPECT_TRUE(contains(message, "k: shape [0, 3] has no elements along the reduced axes")) << message;
  EXPECT_TRUE(contains(message, "model.cpp:17")) << message;
  EXPECT_EQ(reduced(parse(text), 2, false, leaf(f32, {0, 3}))[0]->extents, (shape{0}));
  EXPECT_EQ(reduced(parse(text), 1, false, leaf(f32, {0, 0}))[0]->extents, (shape{0}));
}

TEST(user_reduction, the_accumulator_is_the_first_output_unless_named) {
  const auto accumulator = [](const char* name, dtype type, const char* outputs = "T y") {
    reduction_text text = sum_text;
    text.accumulator = name;
    return call_of(reduced(parse(text, "T x", outputs), 1, false, leaf(type)))->facts->kernel;
  };
  EXPECT_EQ(accumulator("", i8)->accumulator_type, i8);
  EXPECT_EQ(accumulator("", f16)->accumulator_type, f32);
  EXPECT_EQ(accumulator("", bf16)->accumulator_type, f32);
  EXPECT_EQ(accumulator("", i8, "f64 y")->accumulator_type, f64);
  EXPECT_EQ(accumulator("float", f16)->accumulator_type, f32);
  EXPECT_EQ(accumulator("int64", i8)->accumulator_type, i64);
  EXPECT_EQ(accumulator("long long", i8)->accumulator_type, i64);
  EXPECT_EQ(accumulator("complex<double>", f32)->accumulator_type, c128);
  EXPECT_EQ(accumulator("T", f16)->accumulator_type, f16);
  EXPECT_FALSE(accumulator("pair", f32)->accumulator_type.has_value());
  EXPECT_EQ(accumulator("pair", f32)->accumulator_bytes(), 0);
}

// ---- Generated code ----

/// The kernel of a call with `inputs` of these dtypes, as source.
struct generated {
  explicit generated(const kernel_pointer& k, std::initializer_list<dtype> inputs) {
    std::vector<node_ref> leaves;
    std::vector<input> list;
    for (const dtype t : inputs) leaves.push_back(leaf(t));
    for (const node_ref& n : leaves) list.push_back(in(n));
    bound = jit::record_user_reduction(*k, list, 1, false, here)->facts->kernel;
    table.calls.push_back({bound, 0, static_cast<std::uint32_t>(list.size()),
                           static_cast<std::uint32_t>(bound->outputs.size())});
  }
  std::string source(jit::dialect d) const {
    const jit::kernel* const parts[] = {&table};
    return jit::user_code(parts).source(d);
  }
  std::string accumulator() const {
    const jit::kernel* const parts[] = {&table};
    return jit::user_code(parts).accumulator_of(*bound);
  }

  const jit::user_kernel* bound = nullptr;
  jit::kernel table;
};

/// Reduces n elements of x by the kernel, split in two after `cut` of them; and tells how large an accumulator is.
template <class T, class R>
struct reducer {
  explicit reducer(const kernel_pointer& k, const char* input_type, const char* output_type)
      : code(k, {dtype_of<T>}),
        lib(code.source(jit::dialect::host) +
            fmt::format(R"(extern "C" void reduce(const {1}* x, int n, int cut, {2}* y) {{
  {0} left, right;
  for (int k = 0; k < cut; ++k) left.add(x[k]);
  for (int k = cut; k < n; ++k) right.add(x[k]);
  left.merge(right);
  left.result(*y);
}}
extern "C" int bytes() {{ return sizeof({0}); }}
)",
                        code.accumulator(), input_type, output_type)) {}

  R operator()(const std::vector<T>& x, int cut = 0) const {
    R y = {};
    lib.template get<void(const T*, int, int, R*)>("reduce")(x.data(), static_cast<int>(x.size()), cut, &y);
    return y;
  }
  int bytes() const { return lib.template get<int()>("bytes")(); }

  generated code;
  sinter_test::library lib;
};

TEST(user_reduction_code, map_reduce_and_post_map_are_applied_in_turn) {
  SINTER_NEEDS_COMPILER();
  const kernel_pointer k = parse({"x * x", "a + b", "y = sqrt(a)", "0", ""}, "T x", "T y", "l2");
  const reducer<float, float> l2(k, "float", "float");
  for (int cut = 0; cut <= 4; ++cut) EXPECT_EQ(l2({1, 2, 4, 2}, cut), 5.0f) << cut;
  EXPECT_EQ(l2({}), 0.0f);
  EXPECT_EQ(l2.bytes(), l2.code.bound->accumulator_bytes());
}

TEST(user_reduction_code, the_identity_counts_once_and_only_if_there_is_one) {
  SINTER_NEEDS_COMPILER();
  const reducer<int, int> one(parse({"x", "a + b", "", "1", ""}, "int x", "int y", "one_more"), "int", "int");
  for (int cut = 0; cut <= 3; ++cut) EXPECT_EQ(one({5, 6, 7}, cut), 19) << cut;
  EXPECT_EQ(one({}), 1);
  const reducer<int, int> least(parse({"x", "a < b ? a : b", "", "", ""}, "int x", "int y", "least"), "int", "int");
  for (int cut = 0; cut <= 3; ++cut) EXPECT_EQ(least({5, 3, 7}, cut), 3) << cut;
}

// CuPy's REDUCE(a, b) and POST_MAP(a) are macros, to which precedence, side effects and names are open.
TEST(user_reduction_code, expressions_are_functions) {
  SINTER_NEEDS_COMPILER();
  const reducer<int, int> low(parse({"x + 1, x | 8", "a & b // both", "y = a ^ 1 // odd", "~0", ""}, "int x", "int y",
                                    "bits"), "int", "int");
  EXPECT_EQ(low({15, 13}), 12);
  const kernel_pointer in_place =
      parse({"x", "a + b", "a = 2 * a; if (a > 10) return; a = 0", "0", "double"}, "int x", "int a", "in_place");
  const reducer<int, int> doubled(in_place, "int", "int");
  EXPECT_EQ(doubled({1, 2, 3}), 12);
  EXPECT_EQ(doubled({1, 2}), 0);
  const reducer<int, int> same(parse({"a", "a + b", "", "", ""}, "int a", "int b", "same_names"), "int", "int");
  EXPECT_EQ(same({1, 2}), 3);
  const kernel_pointer awkward = parse({"value + (any - any)", "a + b", "total = a", "0", ""}, "int value", "int total",
                                       "awkward", "static int any = 3;");
  const reducer<int, int> named(awkward, "int", "int");
  EXPECT_EQ(named({1, 2}), 3);
}

TEST(user_reduction_code, half_floats_accumulate_wide_and_round_once) {
  SINTER_NEEDS_COMPILER();
  const auto sum = [](const char* accumulator, const char* name) {
    return reducer<float16, float16>(parse({"x", "a + b", "", "0", accumulator}, "T x", "T y", name), "float16",
                                     "float16");
  };
  const auto wide = sum("", "sum_float"), narrow = sum("float16", "sum_half"), wider = sum("double", "sum_double");
  const std::vector<float16> ones(4096, float16(1.0f));
  EXPECT_EQ(static_cast<float>(wide(ones)), 4096.0f);
  EXPECT_EQ(static_cast<float>(narrow(ones)), 2048.0f);
  // In float, 2^-24 vanishes beside 1 + 2^-11, which then lies half way between two half floats.
  const std::vector<float16> tie{float16(1.0f), float16(0x1p-11f), float16(0x1p-24f)};
  EXPECT_EQ(static_cast<float>(wide(tie)), 1.0f);
  EXPECT_EQ(static_cast<float>(wider(tie)), 1 + 0x1p-10f);
  EXPECT_EQ(narrow.bytes(), 4);
}

TEST(user_reduction_code, types_of_the_preamble_accumulate) {
  SINTER_NEEDS_COMPILER();
  const char* preamble = R"(struct best { float value; int at; };
static best better(best a, best b) { return b.value > a.value || (b.value == a.value && b.at < a.at) ? b : a; }
)";
  const kernel_pointer k = parse({"best{x, at}", "better(a, b)", "index = a.at; most = a.value", "", "best"},
                                 "float x, int at", "int index, float most", "find_best", preamble);
  const generated code(k, {f32, i32});
  const sinter_test::library lib(code.source(jit::dialect::host) + fmt::format(R"(
extern "C" void find(const float* x, int n, int* index, float* most) {{
  {0} low, high;
  for (int k = 0; k < n; ++k) (k % 2 ? low : high).add(x[k], k);
  low.merge(high);
  low.result(*index, *most);
}}
)", code.accumulator()));
  const float x[] = {3, 9, 4, 9, 9};
  int index = -1;
  float most = 0;
  lib.get<void(const float*, int, int*, float*)>("find")(x, 5, &index, &most);
  EXPECT_EQ(index, 1);
  EXPECT_EQ(most, 9.0f);
}

TEST(user_reduction_code, faults_are_in_the_users_own_text) {
  SINTER_NEEDS_COMPILER();
  const auto message = [](const reduction_text& text, std::string_view preamble = "") {
    const generated code(parse(text, "float x", "float y", "faulty", preamble), {f32});
    jit::compile_request r;
    r.name = "faulty";
    const std::string source = code.source(jit::dialect::host);
    r.source = jit::prelude_for(source, jit::dialect::host) + source;
    return message_of<compile_error>([&] { jit::compile_host(r); });
  };
  EXPECT_TRUE(contains(message({"x +\nnowhere", "a + b", "", "0", ""}), "faulty (map):2"));
  EXPECT_TRUE(contains(message({"x", "a + nowhere", "", "0", ""}), "faulty (reduce):1"));
  EXPECT_TRUE(contains(message({"x", "a + b", "\n\ny = nowhere", "0", ""}), "faulty (post-map):3"));
  EXPECT_TRUE(contains(message({"x", "a + b", "", "nowhere", ""}), "faulty (identity):1"));
  EXPECT_TRUE(contains(message({"x", "a = b", "", "0", ""}), "faulty (reduce):1")) << "operands are const";
  EXPECT_TRUE(contains(message({"x", "a + b", "a = 1", "0", ""}), "faulty (post-map):1")) << "the total is const";
  EXPECT_TRUE(contains(message({"x; x", "a + b", "", "0", ""}), "faulty (map):1")) << "statements are no expression";

  const reduction_text by_type{"acc{x}", "a", "y = a.x", "", "acc"};
  EXPECT_TRUE(contains(message(by_type, "struct acc { float x, more[60]; };"), "faulty: accumulators take at most"));
  EXPECT_TRUE(contains(message(by_type, "struct acc { float x; ~acc() {} };"), "faulty: accumulators are copied"));
  EXPECT_EQ(message(by_type, "struct acc { float x, more[59]; };"), "nothing thrown");
}

TEST(user_reduction_code, cuda_compiles_it_too) {
  std::string why;
  if (jit::nvrtc_version(&why).empty()) GTEST_SKIP() << why;
  for (int t = 0; t < dtype_count; ++t) {
    const auto type = static_cast<dtype>(t);
    const bool ordered = !is_complex(type);
    const generated code(parse({"x", ordered ? "max(a, b)" : "a * b", "y = a; z = x0(a) == y ? 1 : 2", "0", ""}, "T x",
                               "T y, f64 z", "all_types", "template <class A> __device__ A x0(A x) { return x; }"),
                         {type});
    jit::compile_request r;
    r.name = "try_it";
    r.target = "sm_90";
    const std::string source = code.source(jit::dialect::cuda) + fmt::format(R"(
extern "C" __global__ void try_it(const {1}* x, {1}* y, double* z) {{
  {0} total, other;
  total.add(x[threadIdx.x]);
  other.add(x[threadIdx.x + 1]);
  total.merge(other);
  total.result(y[threadIdx.x], z[threadIdx.x]);
}}
)", code.accumulator(), jit::c_type(type));
    r.source = jit::prelude_for(source, jit::dialect::cuda) + source;
    EXPECT_NO_THROW(jit::compile_cuda(r)) << to_string(type);
  }
}

}  // namespace
