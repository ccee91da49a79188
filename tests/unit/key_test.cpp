// What belongs to a kernel's identity.
#include "tests/unit/kernel_builder.hpp"

#include "jit/cache/key.hpp"

#include <gtest/gtest.h>

#include <functional>

using namespace sinter_test;

namespace {

/// out[i] = sum over j of a[i, j]; the numbers differ from call to call, the kernel does not.
kernel row_sums(std::int64_t rows) {
  static const std::vector<float> a(12);
  static std::vector<float> out(3);
  kernel_builder b{rows};
  const value l = b.loop(f32, {12 / rows});
  const value x = b.load(f32, a, b.form({{0, 12 / rows}, {1}}));
  b.store(f32, out.data(), b.form({{0}}), b.reduce_and_end(op::reduce_sum, f32, x, l));
  return b.k;
}

struct identity {
  std::uint64_t hash, stable;
  bool operator==(const identity&) const = default;
};

identity identity_of(const kernel& k) {
  const kernel* const part = &k;
  return {hash({{&part, 1}, nullptr, target_kind::host}), stable_identity({&part, 1})};
}

bool same_kernels(const kernel& x, const kernel& y) {
  const kernel *const one = &x, *const other = &y;
  return same({{&one, 1}, nullptr, target_kind::host}, {{&other, 1}, nullptr, target_kind::host});
}

TEST(key, numbers_do_not_count) {
  EXPECT_TRUE(same_kernels(row_sums(3), row_sums(2)));
  EXPECT_EQ(identity_of(row_sums(3)), identity_of(row_sums(2)));
}

TEST(key, how_loops_lie_over_threads_counts) {
  const std::vector<std::function<void(kernel&)>> changes = {
      [](kernel& k) { k.over = distribution::columns; }, [](kernel& k) { k.split = 1; },
      [](kernel& k) { k.kept = 1; },                     [](kernel& k) { k.kept = 2; },
      [](kernel& k) { k.threads = 128; },                [](kernel& k) { k.lanes = 2; },
      [](kernel& k) { k.origins[1] = k.origins[0]; },    [](kernel& k) { k.origins[2] = k.origins[0]; }};
  std::vector<kernel> kernels = {row_sums(3)};
  for (const auto& change : changes) change(kernels.emplace_back(row_sums(3)));
  for (std::size_t i = 0; i < kernels.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(same_kernels(kernels[i], kernels[j])) << i << " and " << j;
      EXPECT_NE(identity_of(kernels[i]).hash, identity_of(kernels[j]).hash) << i << " and " << j;
      EXPECT_NE(identity_of(kernels[i]).stable, identity_of(kernels[j]).stable) << i << " and " << j;
    }
}

}  // namespace
