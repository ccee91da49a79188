// Joins of operands of all kinds give what their operands do when each is evaluated by itself.
#include "tests/backend/plain_loop.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

using namespace sinter;
using namespace sinter_test;

namespace {

using batch_kinds = fold;

constexpr int operands = 24;

/// Of f(0), f(1), ..: joined, evaluated together, and one by one. `launches`: of the join, at most; 0: any number.
void check(const std::string& name, std::uint64_t launches, const std::function<array(int)>& f) {
  SCOPED_TRACE(name);
  std::vector<array> list, together;
  std::vector<host_array> want;
  for (int k = 0; k < operands; ++k) {
    list.push_back(f(k));
    together.push_back(f(k));
    const array alone = f(k);
    want.push_back(from_device(alone));
  }
  const array joined = stack(list, -1);
  const std::uint64_t taken = counted([&] { eval(joined); }).launches;
  EXPECT_LE(taken, launches > 0 ? launches : 2u * operands);
  eval_all(together);
  for (std::size_t k = 0; k < want.size(); ++k) {
    EXPECT_TRUE(equals(joined(ellipsis, static_cast<std::int64_t>(k)), want[k], {0, 0, true})) << k;
    EXPECT_TRUE(equals(together[k], want[k], {0, 0, true})) << k;
  }
}

TEST_F(batch_kinds, operations_that_move_elements) {
  const array a = scattered_values<float>({operands + 8, 6, 4}).made();
  check("transposes", 1, [&](int k) { return transpose(a(k, all, all)) + 1; });
  check("reshapes", 1, [&](int k) { return reshape(a(range(k, k + 2), all, all) * 2, {8, 6}); });
  check("flips", 1, [&](int k) { return flip(a(k, all, all), 0) - a(k + 3, all, all); });
  check("rolls", 1, [&](int k) { return roll(a(k, all, all), 2, 1); });
  check("rolls by more and more", 0, [&](int k) { return roll(a(k, all, all), k, 0); });
  check("pads", 0, [&](int k) { return pad(a(k, all, all), 2, pad_mode::constant, k); });
  check("pads that mirror", 0, [&](int k) { return pad(a(k, all, all), 1, pad_mode::reflect); });
  check("broadcasts", 1, [&](int k) { return a(k, all, newaxis, 0) * a(k + 1, newaxis, all, 1); });
  check("diagonals", 1, [&](int k) { return diagonal(a(operands - k, range(1, 5), all)); });
  check("tiles", 1, [&](int k) { return tile(a(k, 0, all), {2, 3}); });
  check("repeats", 1, [&](int k) { return repeat(a(k, all, 2), 3, 0); });
}

TEST_F(batch_kinds, reductions_and_rows) {
  const array a = scattered_values<float>({operands + 8, 30}).made(), n = scattered_values<int>({operands, 7}).made();
  const reduction longest{"longest", "T x", "T y", "x", "a > b ? a : b", "y = a", "0"};
  check("string reductions", 1, [&](int k) { return longest(a(k, all) * k); });
  check("softmax", 1, [&](int k) { return softmax(a(k, all), 0); });
  check("variances", 1, [&](int k) { return var(a(k, range(k % 3, k % 3 + 20))); });
  check("means with masks", 1, [&](int k) { return mean(a(k, all), {.where = a(k, all) < 40}); });
  check("several axes", 1, [&](int k) { return max(a(range(k, k + 4), all), {0, 1}); });
  check("norms of windows", 1, [&](int k) { return sum(square(a(range(k, k + 5), range(3, 9))), 1); });
  check("totals of everything", 1, [&](int k) { return sum(n) + k; });
  check("running products", 1, [&](int k) { return cumprod(n(k, all) % 5 + 1, 0); });
  check("counts", 1, [&](int k) { return count_nonzero(n(k, all) % 3); });
  check("positions", 1, [&](int k) { return argmin(n(operands - 1 - k, all), 0); });
  check("products", 0, [&](int k) { return matmul(a(range(k, k + 3), range(0, 4)), a(range(0, 4), range(k, k + 2))); });
}

TEST_F(batch_kinds, gathers_loops_and_writes) {
  const array a = scattered_values<float>({operands + 8, 9}).made(), ids = arange(operands) * 7 % 9, some{0, 3, 5};
  check("elements", 1, [&](int k) { return a(k, ids(k)); });
  check("index arrays", 1, [&](int k) { return a(some + k % 4, ids(k)); });
  check("one-hot products", 1, [&](int k) { return matmul(one_hot(ids(range(k, k + 1)), 9), transpose(a)); });
  check("choices", 1, [&](int k) { return where(a(k, all) > k, a(k, all), a(k + 1, all) * 0.5f); });
  check("scatters", 0, [&](int k) {
    array x = zeros({9}, f32);
    x(ids(range(0, 4))) += a(k, range(0, 4));
    return x;
  });
  check("updates", 0, [&](int k) {
    array x = a(k, all) + 1;
    x(range(2, 5)) = k;
    x(0) *= 3;
    return x;
  });
  check("loops in kernels", 0, [&](int k) {
    return for_loop(k % 5, a(k, all), [](const array& s) { return s * 2; });
  });
  check("masks", 0, [&](int k) {
    array x = a(k, all);
    x(x > 20) = -1;
    return x;
  });
}

TEST_F(batch_kinds, dtypes) {
  for (int t = 0; t < dtype_count; ++t) {
    const auto type = static_cast<dtype>(t);
    const array a = (scattered_values<int>({operands + 2, 5}).made() % 7).astype(type);
    eval(a);
    check(std::string(to_string(type)) + " views", 1, [&](int k) { return a(k, range(end, begin, -1)); });
    if (type == i8 || type == f16 || type == c64)
      check(std::string(to_string(type)) + " numbers", 0, [&](int k) { return a(k, all) * (k % 3); });
  }
}

}  // namespace
