// Loops in generated code: what the host's compiler makes of them against plain loops, and that NVRTC takes all
// variants.
#include "jit/codegen/emit.hpp"
#include "jit/compile/compiler.hpp"
#include "jit/user_kernel.hpp"
#include "tests/unit/loop_kernels.hpp"
#include "tests/unit/native_library.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

using namespace sinter_test;

namespace {

using host_function = void(void* const*, long long, long long, long long, long long);

compile_request request_for(const kernel& k) {
  const kernel* const part = &k;
  compile_request r;
  r.name = "tested";
  r.source = emit({&part, 1}, r.name, dialect::host);
  return r;
}

void expect_wanted(const loop_case& c, const std::string& how) {
  for (std::size_t k = 0; k < c.wanted.size(); ++k)
    ASSERT_NEAR((*c.out)[k], c.wanted[k], c.tolerance * std::max(1.0, std::abs(c.wanted[k])))
        << c.name << ", " << how << ", " << k;
}

void run_on_host(loop_case c) {
  verify(c.kernel->k);
  loop_kernel& b = *c.kernel;
  const loaded_image loaded(request_for(b.k));
  host_function* const f = loaded.get<host_function>("tested");
  const std::string how = fmt::format("{} lanes", b.how.lanes);
  if (b.how.split) b.set_phase(launch_phase::whole);
  f(b.arguments().data(), 0, b.rows(), 0, b.inner());
  expect_wanted(c, how);
  if (!b.how.split) return;
  std::ranges::fill(*c.out, -1.0);
  b.set_phase(launch_phase::piece);
  const std::int64_t pieces = b.how.pieces_down * b.how.pieces_across;
  const std::int64_t tasks = pieces * (b.k.over == distribution::rows ? b.elements() : b.rows());
  for (std::int64_t t = tasks; t-- > 0;) {  // in any order; columns in two parts
    f(b.arguments().data(), t, t + 1, 0, b.inner() / 2);
    if (b.k.over == distribution::columns) f(b.arguments().data(), t, t + 1, b.inner() / 2, b.inner());
  }
  b.set_phase(launch_phase::rest);
  f(b.arguments().data(), 0, b.rows(), 0, b.inner());
  expect_wanted(c, how + ", in pieces");
}

loop_options host(int lanes, std::int64_t pieces_down = 0, std::int64_t pieces_across = 0) {
  loop_options o;
  o.lanes = lanes;
  o.split = pieces_down != 0;
  o.pieces_down = pieces_down;
  o.pieces_across = pieces_across;
  return o;
}

bool no_compiler() { return host_compiler().empty(); }

TEST(host_loops, several_reductions_share_a_loop) {
  if (no_compiler()) GTEST_SKIP();
  run_on_host(three_reductions(3, 103, host(1)));
  run_on_host(three_reductions(3, 103, host(8)));
  run_on_host(three_reductions(5, 7, host(16)));
  run_on_host(three_reductions(2, 1000, host(8, 1, 3)));
}

TEST(host_loops, a_loop_runs_over_several_dims) {
  if (no_compiler()) GTEST_SKIP();
  run_on_host(sum_around(4, 3, 50, host(8)));
  run_on_host(sum_around(5, 2, 301, host(4, 2, 3)));
  run_on_host(sum_around(5, 2, 301, host(1, 5, 1)));
}

TEST(host_loops, a_later_loop_uses_what_earlier_ones_found) {
  if (no_compiler()) GTEST_SKIP();
  run_on_host(softmax(2, 3, 77, host(16)));
  run_on_host(column_spread(2, 31, 1200, host(16)));
  run_on_host(column_spread(1, 5, 3, host(1)));
}

TEST(host_loops, columns_are_split_along_the_loop) {
  if (no_compiler()) GTEST_SKIP();
  run_on_host(column_spread(2, 100, 701, host(8, 7, 1), false));
  run_on_host(column_spread(1, 3, 40, host(8, 3, 1), false));
}

TEST(host_loops, scans_keep_running_values) {
  if (no_compiler()) GTEST_SKIP();
  run_on_host(running(3, 200, distribution::rows, host(1)));
  run_on_host(running(600, 20, distribution::columns, host(16)));
}

/// The loops of an element run one after another in its thread.
loop_case in_elements(loop_case c) {
  c.kernel->k.over = distribution::elements;
  return c;
}

TEST(host_loops, a_thread_may_run_all_loops_of_its_element) {
  if (no_compiler()) GTEST_SKIP();
  run_on_host(in_elements(three_reductions(3, 103, host(1))));
  run_on_host(in_elements(softmax(2, 3, 77, host(1))));
  run_on_host(in_elements(running(3, 50, distribution::rows, host(1))));
}

/// The Euclidean norm, as a user writes it.
const user_kernel& norm() {
  static const user_kernel u = [] {
    user_kernel k;
    k.name = "norm";
    k.reduction = {"x * x", "a + b", "y = sqrt(a)", "0", ""};
    k.inputs = {{"f32", "x"}};
    k.outputs = {{"f64", "y"}};
    k.input_types = {f32};
    k.output_types = {f64};
    k.accumulator_type = f64;
    return k;
  }();
  return u;
}

/// Norms of the columns, or the rows, of [n, m], doubled.
loop_case norms(std::int64_t n, std::int64_t m, distribution over, const loop_options& o) {
  const bool columns = over == distribution::columns;
  loop_case c{"norms", std::make_unique<loop_kernel>(std::initializer_list<std::int64_t>{columns ? m : n}, over, o),
              {noise(n * m, 17)}, space(columns ? m : n), {}, 1e-6};
  loop_kernel& b = *c.kernel;
  const value l = b.loop(f64, {columns ? n : m});
  const auto d = static_cast<int>(b.dim_of(l));
  const value v = b.load(f32, *c.floats[0], columns ? b.form({{d, m}, 0}) : b.form({{0, m}, d}));
  b.k.calls.push_back({&norm(), 0, 1, 1});
  b.k.call_operands.push_back(v);
  const value reduced = b.add(op::reduce_call, f64, {v, l}, 0);
  b.end(l);
  const value y = b.add(op::result, f64, {reduced}, 0);
  store_as_double(b, b.add(op::add, f64, {y, y}), *c.out, b.form({0}));
  b.finish();
  for (std::size_t r = 0; r < c.out->size(); ++r) {
    double total = 0;
    for (std::size_t j = 0; j < static_cast<std::size_t>(columns ? n : m); ++j) {
      const auto width = static_cast<std::size_t>(m);
      const double x = double{(*c.floats[0])[columns ? j * width + r : r * width + j]};
      total += x * x;
    }
    c.wanted.push_back(2 * std::sqrt(total));
  }
  return c;
}

TEST(host_loops, a_users_reduction_is_one_like_others) {
  if (no_compiler()) GTEST_SKIP();
  run_on_host(norms(3, 103, distribution::rows, host(8)));
  run_on_host(norms(3, 103, distribution::rows, host(4, 1, 5)));
  run_on_host(norms(33, 19, distribution::columns, host(8)));
  run_on_host(norms(33, 19, distribution::columns, host(8, 4, 1)));
}

// ---- cuda ----

class cuda_loops : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (nvrtc_version(&why).empty()) GTEST_SKIP() << why;
  }
};

loop_options cuda(int lanes, int bits = 32) {
  loop_options o;
  o.d = dialect::cuda;
  o.lanes = lanes;
  o.bits = bits;
  return o;
}

loop_options split(loop_options o) {
  o.split = true;
  return o;
}

loop_options kept(loop_options o, int vectors) {
  o.kept = vectors;
  return o;
}

/// Compiles; a variable that nobody uses, and the like, is an error.
void compile_for_cuda(const loop_case& c) {
  verify(c.kernel->k);
  const kernel* const part = &c.kernel->k;
  compile_request r;
  r.name = c.name;
  r.source = emit({&part, 1}, r.name, dialect::cuda);
  r.target = "sm_90";
  r.options = {"--diag-error=177,550,128,111,39,186"};
  try {
    EXPECT_GT(compile_cuda(r).size(), 1000u);
  } catch (const std::exception& e) { ADD_FAILURE() << e.what() << "\n" << r.source; }
}

TEST_F(cuda_loops, rows_compile) {
  for (const int bits : {32, 64})
    for (const int lanes : {1, 4}) {
      compile_for_cuda(three_reductions(3, 103, cuda(lanes, bits)));
      compile_for_cuda(sum_around(4, 3, 50, cuda(lanes, bits)));
      compile_for_cuda(softmax(2, 3, 77, kept(cuda(lanes, bits), lanes == 4 ? 3 : 0)));
    }
  compile_for_cuda(sum_around(4, 3, 50, split(cuda(4))));
}

TEST_F(cuda_loops, users_reductions_compile) {
  for (const distribution over : {distribution::rows, distribution::columns}) {
    compile_for_cuda(norms(3, 103, over, cuda(4)));
    compile_for_cuda(norms(3, 103, over, split(cuda(4))));
  }
}

TEST_F(cuda_loops, loops_in_elements_compile) {
  compile_for_cuda(in_elements(three_reductions(3, 103, cuda(1))));
  compile_for_cuda(in_elements(running(3, 50, distribution::rows, cuda(1))));
}

TEST_F(cuda_loops, parts_of_one_launch_compile_side_by_side) {
  const loop_case rows = three_reductions(3, 103, cuda(4)), columns = column_spread(2, 31, 300, cuda(4, 64));
  const kernel* const parts[] = {&rows.kernel->k, &columns.kernel->k, &rows.kernel->k};
  compile_request r;
  r.name = "parts";
  r.source = emit(parts, r.name, dialect::cuda);
  r.target = "sm_90";
  EXPECT_NE(r.source.find("parts_1(block, "), std::string::npos);
  EXPECT_GT(compile_cuda(r).size(), 1000u);
}

TEST_F(cuda_loops, scans_compile) {
  for (const int bits : {32, 64})
    for (const int lanes : {1, 4}) {
      compile_for_cuda(running(3, 200, distribution::rows, cuda(lanes, bits)));
      loop_options tiles = split(kept(cuda(lanes, bits), 4));
      tiles.pieces_across = 3;
      compile_for_cuda(running(3, 10000, distribution::rows, tiles));
    }
}

TEST_F(cuda_loops, columns_compile) {
  for (const int bits : {32, 64})
    for (const int lanes : {1, 4}) {
      compile_for_cuda(column_spread(2, 31, 300, cuda(lanes, bits)));
      compile_for_cuda(column_spread(2, 31, 300, split(cuda(lanes, bits)), false));
      compile_for_cuda(running(600, 20, distribution::columns, cuda(lanes, bits)));
    }
}

}  // namespace
