// The order that sorts must find, by merging runs: nothing of the library's.
#pragma once

#include "tests/support/host_array.hpp"

#include <cstdint>
#include <vector>

namespace sinter_test {

/// The positions of the row's elements in order, equal ones as they are. NaN is greater than all numbers.
std::vector<std::int64_t> order_of(const std::vector<long double>& row, bool descending);

/// What sorting along `axis` must give, and where it comes from: the first `kept` of each row; -1: all.
struct sorted_reference {
  host_array values, positions;
};
sorted_reference sorted_along(const host_array& x, int axis, bool descending, std::int64_t kept = -1);

/// Numbers of any real dtype, many of them equal. Floating point ones with NaN of both signs, infinities, zeros of both
/// signs and subnormals among them; integers with both ends of their range.
host_array numbers_to_sort(sinter::dtype type, const sinter::shape& extents, std::uint32_t seed);

}  // namespace sinter_test
