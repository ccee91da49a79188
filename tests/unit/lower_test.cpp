// Lowering: which views become plain strides, which dims merge, what enters a kernel's identity.
#include "jit/cache/key.hpp"
#include "jit/fold/trace_recorder.hpp"
#include "jit/fuse.hpp"
#include "jit/lower.hpp"
#include "jit/planning.hpp"

#include <gtest/gtest.h>
#include <sinter/sinter.hpp>

#include <algorithm>

namespace {

using namespace sinter;

class evaluated_only final : public jit::stored_values {
 public:
  bool contains(const jit::node* n) const override { return n->values() != nullptr; }
};

array ramp(const shape& s) {
  std::vector<float> v(static_cast<std::size_t>(s.size()));
  for (std::size_t k = 0; k < v.size(); ++k) v[k] = static_cast<float>(k);
  return array(v, s);
}

jit::lowered lowered_of(const array& a, bool for_cuda = true) {
  jit::lowered l;
  const jit::group all{.outputs = {{a.node(), a.node()}}};
  jit::lower(all, evaluated_only(), jit::options{}, for_cuda, l);
  jit::verify(l.ir);
  return l;
}

std::uint64_t identity_of(const array& a) { const jit::lowered l = lowered_of(a);
  const jit::kernel* parts[] = {&l.ir};
  return jit::stable_identity(parts); }

std::size_t count_of(const jit::kernel& k, jit::op code) {
  return static_cast<std::size_t>(std::ranges::count(k.body, code, &jit::inst::code));
}

TEST(lower, contiguous_axes_merge_into_one_dim) {
  const auto l = lowered_of(ramp({3, 4, 5}) * ramp({3, 4, 5}));
  EXPECT_EQ(l.ir.domain_rank, 1u);
  EXPECT_EQ(l.numbers.inner, 60);
}

TEST(lower, a_transposed_operand_keeps_two_dims) {
  EXPECT_EQ(lowered_of(ramp({3, 4}) + transpose(ramp({4, 3}))).ir.domain_rank, 2u);
}

TEST(lower, any_chain_of_views_over_memory_is_one_offset) {
  array a = ramp({6, 8, 10});
  array v = flip(transpose(a(range(1, 5), all, range(end, begin, -2)), {2, 0, 1}), 1)(range(0, 3), newaxis, all, 3);
  const auto l = lowered_of(v * 2);
  EXPECT_EQ(count_of(l.ir, jit::op::load), 1u);
  EXPECT_EQ(count_of(l.ir, jit::op::quotient), 0u);
  EXPECT_EQ(count_of(l.ir, jit::op::index), 0u);
}

TEST(lower, a_reshape_of_a_computed_value_costs_no_division) {
  const auto l = lowered_of(reshape(reshape(ramp({3, 4}) * 2, {12}) + 1, {2, 6}) * 3);
  EXPECT_EQ(l.ir.domain_rank, 1u);
  EXPECT_EQ(count_of(l.ir, jit::op::quotient), 0u);
}

TEST(lower, splitting_an_axis_costs_no_division_and_joining_sliced_ones_does) {
  EXPECT_EQ(count_of(lowered_of(reshape(ramp({12, 3})(range(0, 8), all), {2, 4, 3}) + 1).ir, jit::op::quotient), 0u);
  EXPECT_EQ(count_of(lowered_of(reshape(ramp({4, 6})(all, range(0, 4)), {16}) + 1).ir, jit::op::quotient), 1u);
}

TEST(lower, equal_subexpressions_are_computed_once) {
  array x = ramp({10}), y = ramp({10});
  const auto l = lowered_of((x - y) * (x - y));
  EXPECT_EQ(count_of(l.ir, jit::op::subtract), 1u);
  EXPECT_EQ(count_of(l.ir, jit::op::load), 2u);
}

TEST(lower, numbers_are_not_part_of_a_kernels_identity) {
  EXPECT_EQ(identity_of(ramp({10}) * 2), identity_of(ramp({10}) * 3));
  EXPECT_EQ(identity_of(ramp({10}) * 2), identity_of(ramp({1001}) * 2));
  EXPECT_EQ(identity_of(ramp({10, 12})(3, all) + 1), identity_of(ramp({10, 12})(0, all) + 1));
  EXPECT_EQ(identity_of(ramp({10, 12})(all, range(2, 9)) + 1), identity_of(ramp({20, 15})(all, range(1, 4)) + 1));
  EXPECT_EQ(identity_of(arange(10) + 1), identity_of(arange(500) + 1));
}

TEST(lower, operations_dtypes_and_layout_are) {
  array a = ramp({10, 10});
  EXPECT_NE(identity_of(a * 2), identity_of(a + 2));
  EXPECT_NE(identity_of(a * 2), identity_of(a.astype(f64) * 2));
  EXPECT_NE(identity_of(a + a), identity_of(a + transpose(a)));
}

TEST(lower, small_kernels_index_with_32_bits_on_cuda_only) {
  EXPECT_EQ(lowered_of(ramp({10}) + 1, true).ir.index_bits, 32);
  EXPECT_EQ(lowered_of(ramp({10}) + 1, false).ir.index_bits, 64);
  const array big = broadcast_to(ramp({1}), {1 << 16, 1 << 16});
  EXPECT_EQ(lowered_of(big + 1, true).ir.index_bits, 64);
}

TEST(lower, vectors_are_16_bytes_of_the_widest_element) {
  EXPECT_EQ(lowered_of(ramp({10}) + 1).ir.lanes, 4);
  EXPECT_EQ(lowered_of(ramp({10}).astype(f64) + 1).ir.lanes, 2);
  EXPECT_EQ(lowered_of((ramp({10}) > 1) && (ramp({10}) < 5)).ir.lanes, 4)
      << "the floats read are wider than the result";
  EXPECT_EQ(lowered_of(ramp({10}) + 1, false).ir.lanes, 1) << "the host compiler vectorises by itself";
}

TEST(lower, unaligned_memory_is_known_when_pointers_are_bound) {
  const auto aligned_mask = [](const array& a) {
    auto l = lowered_of(a);
    alignas(256) static char memory[4096];
    jit::bind_pointers(l, [](void*, const jit::node*) -> void* { return memory; }, nullptr);
    for (std::size_t p = 0; p < l.ir.parameters.size(); ++p)
      if (l.ir.parameters[p].kind == jit::parameter_kind::aligned) return l.numbers.slots[p].as_u64;
    return std::uint64_t{99};
  };
  array a = ramp({64}), b = ramp({8, 9});
  EXPECT_EQ(aligned_mask(a + 1), 3u);
  EXPECT_EQ(aligned_mask(a(range(1, 60)) + 1), 2u) << "the source starts in the middle of a vector";
  EXPECT_EQ(aligned_mask(b(all, range(0, 8)) + 1), 2u) << "rows of 9 floats are not all aligned";
}

/// Instructions of `n` loops, each of which begins with what the one before gives and reads it in its body, too.
std::size_t instructions_of_loops(int n) {
  array x = ramp({8});
  for (int k = 0; k < n; ++k) x = for_loop(3, x, [&](const array& s) { return s * 2 + x; });
  return lowered_of(x).ir.body.size();
}

TEST(lower, loops_that_read_each_other_are_there_once) {
  const std::size_t few = instructions_of_loops(4), more = instructions_of_loops(8), many = instructions_of_loops(16);
  EXPECT_EQ(many - more, 2 * (more - few));
}

TEST(lower, what_a_loop_has_from_around_is_outside_of_it) {
  const array a = ramp({8}), b = ramp({8}) + 1;
  const auto l =
      lowered_of(for_loop(3, a, [&](const array& s) { return for_loop(4, s, [&](const array& t) { return t * b; }); }));
  const auto first_loop = std::ranges::find(l.ir.body, jit::op::loop, &jit::inst::code);
  EXPECT_EQ(std::ranges::count(l.ir.body.begin(), first_loop, jit::op::load, &jit::inst::code), 2);
  EXPECT_EQ(count_of(l.ir, jit::op::load), 2u);
}

/// `n` times the sum of both neighbours inside of an array: as many ways to the first values as 2 to the n-th.
array neighbours(int n) {
  const jit::statements_paused as_it_is;
  array x = ramp({64});
  for (int k = 0; k < n; ++k) {
    const array before = x;
    x(range(1, 63)) = before(range(0, 62)) + before(range(2, 64));
  }
  return x;
}

TEST(lower, gives_up_kernels_that_would_be_too_large) {
  const array x = neighbours(24);
  const jit::group all{.outputs = {{x.node(), x.node()}}};
  jit::lowered l;
  jit::lower(all, evaluated_only(), jit::options{}, true, l, true);
  EXPECT_NE(l.oversized, nullptr);
}

TEST(lower, what_would_be_too_large_is_stored_in_between) {
  const array x = neighbours(24);
  jit::node* roots[] = {x.node()};
  jit::planning p;
  ASSERT_TRUE(p.run(roots, jit::options{}));
  EXPECT_GT(p.groups.count, 1u);
  for (std::size_t g = 0; g < p.groups.count; ++g) EXPECT_LT(p.lowered[g].ir.body.size(), 8192u);
}

TEST(lower, gpu_kernels_have_as_many_parameters_as_fit) {
  const jit::statements_paused as_it_is;
  array x = ramp({16});
  eval(x);
  for (int k = 0; k < 400; ++k) x = x * (1.0f + static_cast<float>(k)) + 0.5f * static_cast<float>(k);
  const jit::group all{.outputs = {{x.node(), x.node()}}};
  for (const bool for_cuda : {true, false}) {
    jit::lowered l;
    jit::lower(all, evaluated_only(), jit::options{}, for_cuda, l, true);
    EXPECT_EQ(l.oversized != nullptr, for_cuda);
  }
}

}  // namespace
