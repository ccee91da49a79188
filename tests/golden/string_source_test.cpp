// Sources of string kernels for cuda that no golden file shows: each must compile, with no GPU at hand.
#include "jit/build.hpp"
#include "jit/codegen/emit.hpp"
#include "jit/fuse.hpp"
#include "jit/lone_call.hpp"
#include "jit/lower.hpp"

#include <gtest/gtest.h>
#include <sinter/sinter.hpp>

namespace {

using namespace sinter;

class evaluated_only final : public jit::stored_values {
 public:
  bool contains(const jit::node* n) const override { return n->values() != nullptr; }
};

/// Gives the last launch that `y` needs to NVRTC; what it reads from memory is evaluated before.
void compile(const array& y, const char* what) {
  SCOPED_TRACE(what);
  jit::node* root = y.node();
  jit::lowered l;
  const jit::options how = jit::current_options();
  jit::node* const from = root->code == jit::op::result ? root->operands()[0] : nullptr;
  if (from && from->code == jit::op::lone_call) {
    jit::evaluate(jit::operands_in_memory(*from), {});
    jit::lower_lone_call(from, how, true, l);
  } else {
    jit::plan p;
    jit::fuse({&root, 1}, how, {}, p);
    ASSERT_EQ(p.count, 1u);
    jit::lower(p.pool[0], evaluated_only(), how, true, l);
  }
  jit::verify(l.ir);
  const jit::kernel* const parts[] = {&l.ir};
  jit::compile_request r;
  r.name = jit::kernel_name(parts, jit::stable_identity(parts));
  r.target = "sm_90";
  r.source = jit::emit(parts, r.name, jit::dialect::cuda);
  try {
    EXPECT_FALSE(jit::compile_cuda(r).empty());
  } catch (const compile_error& e) { ADD_FAILURE() << e.what() << "\n" << e.source(); }
}

array ramp(const shape& s, dtype type = f32) {
  const array x = reshape(arange(s.size()), s).astype(type);
  eval(x);
  return x;
}

class string_source : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (jit::nvrtc_version(&why).empty()) GTEST_SKIP() << why;
  }
};

TEST_F(string_source, raw_inputs_of_every_dtype) {
  const elementwise k{"reads", "T x, raw T t", "T y",
                      "ptrdiff_t at[] = {i % 2, i % 3};\ny = x;\ny = t[i] == t[at] ? x : t[0]"};
  for (int t = 0; t < dtype_count; ++t)
    compile(k(ramp({6}, static_cast<dtype>(t)), ramp({2, 3}, static_cast<dtype>(t))), to_string(static_cast<dtype>(t)));
}

TEST_F(string_source, raw_views_reductions_and_scans) {
  const elementwise k{"reads", "T x, raw T t", "T y", "y = x + t[n - 1 - i] + t.strides()[0] + t.shape()[0]"};
  const array x = ramp({40, 500}), t = ramp({40, 1000})(range(end, begin, -1), range(0, end, 2));
  compile(k(x, t) * 2, "a view");
  compile(sum(k(x, t), 1), "rows");
  compile(sum(k(x, t), 0), "columns");
  compile(cumsum(k(x, t), 1), "a scan");
  compile(k(x, ramp({})), "a raw array without axes");
  set_wide_index(true);
  compile(k(x, t) * 2, "wide indices");
  set_wide_index(false);
}

TEST_F(string_source, positions_and_leaving) {
  compile(elementwise("places", "T x", "int64 y", "if (x < 0) return;\nfor (int j = 0; j < 3; ++j) { if (j == n) continue; y += i + _ind.get()[1] + _ind.size() + _ind.ndim; }")(ramp({3, 4})), "rank 2");
  compile(elementwise("place", "", "int64 y", "y = _ind.size() + i + n")(), "rank 0");
}

TEST_F(string_source, helpers_need_no_device) {
  compile(elementwise("helped", "float x", "float y", "y = twice(x) + STEP",
                      {.preamble = "#define STEP 1\nfloat twice(float v) { return 2 * v; }"})(ramp({6})),
          "preamble");
}

TEST_F(string_source, given_outputs) {
  for (const dtype type : {f16, f32, boolean, c64}) {
    array y = ramp({2, 3}, type);
    compile(elementwise("adds", "T x", "T y", "y = y == x ? x : y").into(y)(ramp({3}, type)), to_string(type));
  }
}

TEST_F(string_source, structs) {
  struct large { double v[20]; char last; };
  compile(elementwise("sums", "large p, T x", "T y", "y = p.v[3] * x + p.last",
                      {.preamble = "struct large { double v[20]; char last; };"})(by_value(large{}), ramp({6})),
          "struct");
}

TEST_F(string_source, raw_outputs) {
  for (const dtype type : {i32, u32, i64, u64, f32, f64}) {
    array t = ramp({4, 2}, type);
    compile(elementwise("sums", "T x", "raw T t", "atomicAdd(&t[0], x);\nint at[] = {1, 1};\nt[at] = x")
                .into(t)(ramp({100}, type)),
            to_string(type));
  }
  const elementwise both{"both", "T x, raw T w", "T y, raw int32 t",
                         "y = x * w[i % 4];\nif (y > 3) atomicMax(&t[0], (int)i)"};
  array y = ramp({3, 8}), t = ramp({1}, i32);
  compile(both.into(y(all, range(0, 6)), t).results(ramp({3, 6}), ramp({4}))[0], "beside others");
  compile(elementwise("fills", "raw T x", "raw T y", "y[n - 1 - i] = x[i]").sized(5)(ramp({5})), "sized");
}

TEST_F(string_source, code_around_the_loop) {
  struct line { float a, b; };
  const elementwise k{"around",
                      "line p, T x, raw T w, T scale",
                      "T y, raw int32 t",
                      "if (x < 0) continue;\ny = slope * x + w[i % 2] + _ind.get()[0] + n;\n++c",
                      {.preamble = "struct line { float a, b; };",
                       .loop_prep = "int c = 0; const T slope = p.a * scale; // once",
                       .after_loop = "atomicAdd(&t[0], c) // all"}};
  for (const shape& s : {shape{100}, shape{3, 40}, shape{2, 3, 4}, shape{}}) {
    array y = ramp(s), t = ramp({1}, i32);
    compile(k.into(y, t).results(by_value(line{}), ramp(s), ramp({2}), 3)[0], to_string(s).c_str());
  }
  array y = ramp({10, 20}), t = ramp({1}, i32);
  compile(k.into(y(all, range(0, 10)), t).results(by_value(line{}), ramp({10}), ramp({2}), 3)[0], "broadcast");
}

}  // namespace
