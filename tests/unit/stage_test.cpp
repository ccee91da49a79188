// Kernels of several stages as CUDA source: what they declare, where they wait, and that they compile.
#include "jit/codegen/emit.hpp"
#include "jit/compile/compiler.hpp"
#include "jit/planning.hpp"

#include <gtest/gtest.h>
#include <sinter/sinter.hpp>

#include <deque>

namespace {

using namespace sinter;

/// The plan's only launch, lowered for a GPU.
struct staged {
  std::deque<jit::lowered> parts;
  std::string source;
};

void lower_for_cuda(const array& a, staged& out) {
  jit::node* const roots[] = {a.node()};
  jit::planning p;
  p.run(roots, jit::options{});
  ASSERT_EQ(p.launches.size(), 1u);
  std::vector<const jit::kernel*> kernels;
  for (std::size_t k = 0; k < p.groups.count; ++k) {
    jit::group& g = p.groups.pool[p.order[k]];
    g.shares_launch = true;
    p.values.current = p.order[k];
    jit::lowered& l = out.parts.emplace_back();
    jit::lower(g, p.values, jit::options{}, true, l);
    l.ir.stage = p.lowered[p.order[k]].ir.stage;
    jit::verify(l.ir);
    kernels.push_back(&l.ir);
  }
  out.source = jit::emit(kernels, "staged", jit::dialect::cuda);
}

std::size_t times(const std::string& text, std::string_view word) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; at += word.size()) ++n;
  return n;
}

array means_of_bins(std::int64_t n) {
  const array x(std::vector<double>(static_cast<std::size_t>(n), 1.0)), bin = (x / max(x) * 5).astype(i64);
  return bincount(bin, x, 6) / bincount(bin, 6);
}

TEST(stage_source, waits_between_stages) {
  staged s;
  lower_for_cuda(means_of_bins(100'000), s);
  EXPECT_EQ(times(s.source, "wait_for_grid(arrivals);"), s.parts.back().ir.stage) << s.source;
  EXPECT_EQ(s.parts.back().ir.stage, 2);
}

TEST(stage_source, a_kernel_does_not_promise_that_only_it_writes_what_it_reads) {
  staged s;
  lower_for_cuda(means_of_bins(1000), s);
  const std::size_t kernel = s.source.find("__global__");
  ASSERT_NE(kernel, std::string::npos);
  EXPECT_EQ(s.source.find("__restrict__", kernel), std::string::npos) << s.source.substr(kernel);
}

TEST(stage_source, loops_in_pieces_have_the_blocks_of_the_others) {
  staged s;
  lower_for_cuda(means_of_bins(1'000'000), s);
  EXPECT_EQ(s.parts[0].ir.split, 1);
  for (const jit::lowered& l : s.parts) EXPECT_EQ(l.ir.threads, 256);
}

TEST(stage_source, compiles) {
  std::string why;
  if (jit::nvrtc_version(&why).empty()) GTEST_SKIP() << why;
  const array x(std::vector<float>(60'000, 1.0f), {200, 300});
  const elementwise last{"last", "raw T x", "T y", "y = x[n - 1 - i]"};
  for (const array& a : {means_of_bins(100'000), sum(abs(x - mean(x))), last.sized(300)(sum(x, 0) / sum(x)) + 1,
                         last.sized(200)(cumsum(sum(x, 1))) / max(x)}) {
    staged s;
    lower_for_cuda(a, s);
    jit::compile_request r;
    r.name = "staged";
    r.source = s.source;
    r.target = "sm_90";
    EXPECT_GT(jit::compile_cuda(r).size(), 1000u);
  }
}

}  // namespace
