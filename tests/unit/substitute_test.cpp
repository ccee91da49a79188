// Kernels that know less of a launch than its own: what they leave out, what equals a kernel made for another launch,
// that CUDA's compiler takes them; and the thread that compiles what they stand in for.
#include "jit/background.hpp"
#include "jit/cache/key.hpp"
#include "jit/codegen/emit.hpp"
#include "jit/compile/compiler.hpp"
#include "jit/fuse.hpp"
#include "jit/lower.hpp"
#include "jit/substitute.hpp"

#include <gtest/gtest.h>
#include <sinter/sinter.hpp>

#include <atomic>
#include <optional>
#include <set>
#include <vector>

using namespace sinter;

namespace {

class evaluated_only final : public jit::stored_values {
 public:
  bool contains(const jit::node* n) const override { return n->values() != nullptr; }
};

array ramp(const shape& s) { return array(std::vector<float>(static_cast<std::size_t>(s.size()), 1), s); }

jit::lowered lowered_of(const array& a, const jit::options& how) {
  jit::lowered l;
  jit::node* const root = a.node();
  jit::plan p;
  jit::fuse({&root, 1}, how, {}, p);
  EXPECT_EQ(p.count, 1u);
  jit::lower(p.pool[0], evaluated_only(), how, true, l);
  jit::verify(l.ir);
  return l;
}

std::uint64_t identity_of(const jit::lowered& l) {
  const jit::kernel* parts[] = {&l.ir};
  return jit::stable_identity(parts);
}

TEST(substitute, there_are_twelve_ways_with_the_wanted_one) {
  std::set<std::tuple<bool, bool, int>> ways{{false, false, 0}};
  for (std::size_t k = 0; k < jit::substitute_count; ++k) {
    const jit::options how = jit::less_specialised({}, k);
    ways.emplace(how.force_wide_index, how.single_lane, static_cast<int>(how.layout));
  }
  EXPECT_EQ(ways.size(), 12u);
}

TEST(substitute, each_way_leaves_out_what_it_says) {
  const array y = ramp({4, 8}) * 2 + ramp({8});
  for (std::size_t k = 0; k < jit::substitute_count; ++k) {
    const jit::options how = jit::less_specialised({}, k);
    const jit::lowered l = lowered_of(y, how);
    EXPECT_EQ(l.ir.index_bits, how.force_wide_index ? 64 : 32) << k;
    const bool knows = how.layout != jit::layout_knowledge::none;  // vectors lie along strides that are 1
    EXPECT_EQ(l.ir.lanes == 1, how.single_lane || !knows) << k;
    EXPECT_EQ(l.ir.domain_rank, 2u) << "a row is broadcast: two dims in any case";
    const bool plain =
        std::ranges::any_of(l.ir.terms, [](const jit::term& t) { return t.coefficient == jit::term::unit; });
    EXPECT_EQ(plain, knows) << k;
  }
  EXPECT_EQ(lowered_of(ramp({4, 8}) * 2, {}).ir.domain_rank, 1u);
  EXPECT_EQ(lowered_of(ramp({4, 8}) * 2, {.layout = jit::layout_knowledge::unmerged}).ir.domain_rank, 2u);
}

TEST(substitute, rows_of_a_larger_array_have_the_kernel_of_dims_that_are_not_merged) {
  const array wide = ramp({4, 12}), narrow = ramp({4, 8});  // stay: nothing is done in place
  const array part = wide(all, range(0, 8)) * 2, whole = narrow * 2;
  EXPECT_NE(identity_of(lowered_of(part, {})), identity_of(lowered_of(whole, {})));
  const jit::lowered made = lowered_of(part, {}),
                     wanted = lowered_of(whole, {.layout = jit::layout_knowledge::unmerged});
  EXPECT_EQ(identity_of(made), identity_of(wanted))
      << jit::to_string(made.ir, "made") << jit::to_string(wanted.ir, "wanted");
}

TEST(substitute, any_layout_of_a_rank_has_one_kernel_that_knows_nothing) {
  const jit::options nothing{.layout = jit::layout_knowledge::none};
  const auto identity = [&](const array& a) { return identity_of(lowered_of(a * 2, nothing)); };
  const std::uint64_t one = identity(ramp({4, 8}));
  EXPECT_EQ(identity(transpose(ramp({8, 4}))), one);
  EXPECT_EQ(identity(ramp({8, 16})(range(0, end, 2), range(end, begin, -2))), one);
  EXPECT_EQ(identity(broadcast_to(ramp({8}), {4, 8})), one);
}

TEST(substitute, loops_differ_in_their_indices_alone) {
  const array rows = sum(ramp({40, 80}) * 3, 1);
  const std::uint64_t narrow = identity_of(lowered_of(rows, {})),
                      wide = identity_of(lowered_of(rows, {.force_wide_index = true}));
  EXPECT_NE(narrow, wide);
  for (std::size_t k = 0; k < jit::substitute_count; ++k) {
    const jit::options how = jit::less_specialised({}, k);
    EXPECT_EQ(identity_of(lowered_of(rows, how)), how.force_wide_index ? wide : narrow) << k;
  }
}

TEST(substitute, cuda_compiles_each) {
  std::string why;
  if (jit::nvrtc_version(&why).empty()) GTEST_SKIP() << why;
  const array a = ramp({6, 8}), y = concat({a(range(0, -1), all) - a(range(1, end), all), a}) * ramp({8});
  for (std::size_t k = 0; k < jit::substitute_count; ++k) {
    const jit::lowered l = lowered_of(y, jit::less_specialised({}, k));
    const jit::kernel* const parts[] = {&l.ir};
    jit::compile_request r;
    r.name = "substitute";
    r.target = "sm_90";
    r.source = jit::emit(parts, r.name, jit::dialect::cuda);
    EXPECT_FALSE(jit::compile_cuda(r).empty()) << k;
  }
}

TEST(background, tasks_run_in_order_once_nobody_holds_them) {
  std::vector<int> done;
  std::atomic<int> count{0};
  std::optional<jit::background_hold> held(std::in_place);
  for (int k = 0; k < 3; ++k)
    ASSERT_TRUE(jit::run_in_background([&, k] {
      done.push_back(k);
      ++count;
    }));
  EXPECT_EQ(count.load(), 0);
  held.reset();
  jit::wait_for_background();
  EXPECT_EQ(done, (std::vector<int>{0, 1, 2}));
}

}  // namespace
