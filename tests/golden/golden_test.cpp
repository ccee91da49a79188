// IR and sources of typical expressions against files beside this one. SINTER_UPDATE_GOLDEN=1 rewrites them; reviewers
// read the difference. Every source is also given to its compiler.
#include "jit/build.hpp"
#include "jit/codegen/emit.hpp"
#include "jit/fold/batch.hpp"
#include "jit/fold/trace_recorder.hpp"
#include "jit/fuse.hpp"
#include "jit/lone_call.hpp"
#include "jit/lower.hpp"

#include <gtest/gtest.h>
#include <sinter/sinter.hpp>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <tuple>

namespace {

using namespace sinter;

class evaluated_only final : public jit::stored_values {
 public:
  bool contains(const jit::node* n) const override { return n->values() != nullptr; }
};

struct golden_case {
  std::string name;
  std::function<std::vector<array>()> make;
  bool wide = false;
};

array floats(const shape& s) {
  std::vector<float> v(static_cast<std::size_t>(s.size()));
  for (std::size_t k = 0; k < v.size(); ++k) v[k] = static_cast<float>(k % 17);
  return array(v, s);
}

/// Rows picked by columns of one-hot values, put below each other one by one.
std::vector<array> appended_rows() {
  array x = floats({30, 40}), w = floats({30, 64}), h = w(argmax(x(all, 0)), all)(newaxis, all);
  for (int k = 1; k < 40; ++k) h = concat({h, w(argmax(x(all, k)), all)(newaxis, all)}, 0);
  jit::node* roots[] = {h.node()};
  jit::batch_joins(roots);
  return {h};
}

std::vector<golden_case> cases() {
  return {
      {"chain", [] { array a = floats({1000}), b = floats({1000}); return std::vector{sqrt(a * a + b * b) * 0.5 + exp(-a)}; }},
      {"outer_difference", [] { array x = floats({30}), y = floats({40}); return std::vector{square(x(all, newaxis) - y(newaxis, all))}; }},
      {"row_gather", [] { array w = floats({50, 64}); return std::vector{w(array{3, -1, 7}, all) * 0.5}; }},
      {"appended_rows", appended_rows},
      {"transposed_sum", [] { array a = floats({32, 48}), b = floats({48, 32}); return std::vector{a + transpose(b)}; }},
      {"large_transposed_sum", [] { array a = floats({500, 700}), b = floats({700, 500}); return std::vector{a + transpose(b)}; }},
      {"large_permutations", [] { array a = floats({70, 80, 90}), b = floats({80, 90, 70}), c = floats({90, 70, 80}); return std::vector{transpose(a, {2, 0, 1}) * c + transpose(b, {1, 2, 0})}; }},
      {"heat_step", [] { array u = floats({34, 50}); array m = u(range(1, -1), range(1, -1)); return std::vector{m + 0.1 * (u(range(2, end), range(1, -1)) + u(range(0, -2), range(1, -1)) + u(range(1, -1), range(2, end)) + u(range(1, -1), range(0, -2)) - 4 * m)}; }},
      {"permuted_rank_4", [] { array a = floats({3, 4, 5, 6}); return std::vector{transpose(a, {2, 0, 3, 1}) + 1}; }},
      {"reshaped_slice", [] { array a = floats({8, 9}); return std::vector{reshape(a(range(1, 7), range(0, 8)), {3, 16}) * 2}; }},
      {"two_outputs", [] { array a = floats({100}), b = floats({100}); return std::vector{a + b, (a - b).astype(i32)}; }},
      {"half", [] { array a = floats({100}).astype(f16); eval(a); return std::vector{a * a + 1}; }},
      {"bytes", [] { array a = arange(64).astype(u8); eval(a); return std::vector{(a + a) >> 1}; }},
      {"complex_product", [] { array a = floats({16}).astype(c64); eval(a); return std::vector{a * conj(a)}; }},
      {"ramp", [] { return std::vector{arange(10) * 2 + 1}; }},
      {"row_sums", [] { array a = floats({20, 30}); return std::vector{sum(a * a, 1)}; }},
      {"arg_minimum", [] { array a = floats({20, 30}); return std::vector{argmin(a, 0)}; }},
      {"softmax_rows", [] { array a = floats({200, 300}); return std::vector{softmax(a, 1)}; }},
      {"column_means", [] { array a = floats({300, 64}); return std::vector{mean(a, 0), max(a, 0)}; }},
      {"full_sum", [] { array a = floats({40000}); return std::vector{sum(a)}; }},
      {"running_sums", [] { array a = floats({60000}); return std::vector{cumsum(a)}; }},
      {"running_column_sums", [] { array a = floats({600, 70}), b = floats({70}); return std::vector{cumsum(a * b, 0) / b}; }},
      {"running_row_sums", [] { array a = floats({3000, 700}); return std::vector{cumsum(a, 1)}; }},
      {"short_row_norms", [] { array a = floats({40000, 6}); return std::vector{norm(a, 2, 1)}; }},
      {"rows_of_three", [] { array a = floats({1 << 20, 3}); return std::vector{sqrt(sum(square(a), 1))}; }},
      {"squared_distances", [] { array x = floats({600, 24}), y = floats({500, 24}); return std::vector{sum(square(x(all, newaxis, all) - y(newaxis, all, all)), 2)}; }},
      {"sums_over_pairs", [] { array x = floats({2000}), y = floats({4100}), d = y(newaxis, all) - x(all, newaxis); return std::vector{sum(d * rsqrt(d * d + 1), 1), max(abs(d), 1)}; }},
      {"string_reduction", [] { const reduction k{"l2", "T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0"}; array a = floats({20, 30}); return std::vector{k(a, 1)}; }},
      {"string_kernel", [] { const elementwise k{"squared_diff", "T x, T y", "T z", "z = (x - y) * (x - y)"}; array x = floats({30}), y = floats({40}); return std::vector{sqrt(k(x(all, newaxis), y(newaxis, all))) + 1}; }},
      {"string_raw_input", [] { struct line { float a, b; }; const elementwise k{"look_up", "line p, T x, raw T t", "T y", "ptrdiff_t at[] = {_ind.get()[1], i % n};\ny = p.a * x + t[at]", {.preamble = "struct line { float a, b; };"}}; array x = floats({30, 40}), t = transpose(floats({2000, 50})); eval(t); return std::vector{sqrt(k(by_value(line{2, 1}), x, t(range(0, 45), range(1, end, 2)))) + 1}; }},
      {"string_raw_output", [] { const elementwise k{"histogram", "int32 x, raw T weights", "raw T t", "if (x < 0) continue;\natomicAdd(&t[x], weights[i])"}; array x = floats({1000}).astype(i32), w = floats({1000}), t = zeros({17}, f32); eval(x); return std::vector{k.into(t)(x, w)}; }},
      {"string_own_loop", [] { const elementwise k{"counts", "T x, int32 least", "T y, raw int32 t", "y += x;\nc += x >= least;", {.loop_prep = "int c = 0;", .after_loop = "atomicAdd(&t[0], c)"}}; array x = floats({30, 40}), y = floats({30, 50}), t = zeros({1}, i32); return k.into(y(all, range(0, 40)), t).results(x(all, newaxis, all)(all, 0, all), 3); }},
      {"while_loop", [] { array x = floats({4, 50}), c = floats({50}); const std::tuple start{x, zeros({4, 50}, i32)}; auto [z, n] = while_loop(start, [](const auto& s) { return std::get<0>(s) < 100; }, [&](const auto& s) { return std::tuple{std::get<0>(s) * 2 + c, std::get<1>(s) + 1}; }); return std::vector{z, n}; }},
      {"for_loop_table", [] { array x = floats({50}), table = arange(50); eval(table); return std::vector{for_loop(7, zeros({50}, f32), [&](const array& i, const array& s) { return s * 0.5 + x(table(i)) * x(i); })}; }},
      {"recurrence", [] { array u = floats({40, 64}); for (int t = 1; t < 40; ++t) u(t, all) = u(t - 1, all) * 0.5 + u(t, all); return std::vector{u}; }},
      {"uniform_numbers", [] { return std::vector{random::uniform(random::key(1), {1000}, f32)}; }},
      {"monte_carlo", [] { array k = random::split(random::key(1)); array x = random::uniform(k(0), {1 << 20}, f32), y = random::uniform(k(1), {1 << 20}, f32); return std::vector{mean((x * x + y * y < 1).astype(f64))}; }},
      {"wide_indices", [] { array a = floats({6, 7}); return std::vector{a(range(end, begin, -1), all) + 1}; }, true},
  };
}

struct made {
  std::string text;
  jit::lowered cuda, host;
  std::string name;
};

std::string make_text(const golden_case& c, made& m) {
  const std::vector<array> arrays = c.make();
  std::vector<jit::node*> roots;
  for (const array& a : arrays) roots.push_back(a.node());
  jit::resolve(roots);
  jit::options how = jit::current_options();
  how.force_wide_index = c.wide;
  jit::node* const from = roots[0]->code == jit::op::result ? roots[0]->operands()[0] : nullptr;
  if (from && from->code == jit::op::lone_call) {
    jit::evaluate(jit::operands_in_memory(*from), {});
    jit::lower_lone_call(from, how, false, m.host);
    jit::lower_lone_call(from, how, true, m.cuda);
  } else {
    jit::plan p;
    jit::fuse(roots, how, {}, p);
    EXPECT_EQ(p.count, 1u) << c.name << " is one launch";
    jit::lower(p.pool[0], evaluated_only(), how, false, m.host);
    jit::lower(p.pool[0], evaluated_only(), how, true, m.cuda);
  }
  jit::verify(m.host.ir);
  jit::verify(m.cuda.ir);
  const jit::kernel* const cuda[] = {&m.cuda.ir};
  const jit::kernel* const host[] = {&m.host.ir};
  m.name = jit::kernel_name(cuda, jit::stable_identity(cuda));
  const auto rule = [](const char* title) { return std::string("==== ") + title + " ====\n"; };
  return rule("ir") + jit::to_string(m.cuda.ir, m.name) + rule("cuda") +
         jit::emit(cuda, m.name, jit::dialect::cuda) + rule("host") +
         jit::emit(host, m.name, jit::dialect::host);
}

class golden : public testing::TestWithParam<golden_case> {};

TEST_P(golden, matches_its_file) {
  made m;
  const std::string text = make_text(GetParam(), m);
  const std::string path = std::string(SINTER_TESTS_FOLDER) + "/golden/" + GetParam().name + ".txt";
  if (std::getenv("SINTER_UPDATE_GOLDEN")) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file) << path << " is missing; SINTER_UPDATE_GOLDEN=1 writes it";
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str());
}

TEST_P(golden, compiles_for_sm_90) {
  std::string why;
  if (jit::nvrtc_version(&why).empty()) GTEST_SKIP() << why;
  made m;
  make_text(GetParam(), m);
  jit::compile_request r;
  r.name = m.name;
  r.target = "sm_90";
  const jit::kernel* const parts[] = {&m.cuda.ir};
  r.source = jit::emit(parts, m.name, jit::dialect::cuda);
  EXPECT_FALSE(jit::compile_cuda(r).empty());
}

TEST_P(golden, is_the_same_text_each_time) {
  made first, second;
  EXPECT_EQ(make_text(GetParam(), first), make_text(GetParam(), second));
}

INSTANTIATE_TEST_SUITE_P(expressions, golden, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<golden_case>& i) { return i.param.name; });

}  // namespace
