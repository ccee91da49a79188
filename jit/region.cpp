#include "jit/region.hpp"

#include <algorithm>
#include <numeric>

namespace sinter::jit {

namespace {

__extension__ typedef __int128 wide;  // products of two 64-bit numbers

/// The inverse of a modulo m, coprime, m > 0.
wide inverse(wide a, wide m) {
  wide r0 = m, r1 = (a % m + m) % m, s0 = 0, s1 = 1;
  while (r1 != 0) {
    const wide q = r0 / r1;
    r0 -= q * r1;
    std::swap(r0, r1);
    s0 -= q * s1;
    std::swap(s0, s1);
  }
  return (s0 % m + m) % m;
}

}  // namespace

/// Elements of both solve first_a + step_a * k = first_b (mod step_b): one in each lcm(step_a, step_b), if any.
bool disjoint(const progression& a, const progression& b) {
  const std::int64_t low = std::max(a.first, b.first), high = std::min(a.last(), b.last());
  if (low > high) return true;
  const std::int64_t common = std::gcd(a.step, b.step);
  if ((b.first - a.first) % common != 0) return true;
  const wide modulus = b.step / common;
  const wide k = (b.first - a.first) / common * inverse(a.step / common, modulus) % modulus;
  const wide one = a.first + a.step * ((k + modulus) % modulus), every = static_cast<wide>(a.step) * modulus;
  const wide ahead = ((low - one) % every + every) % every;  // from low back to the element at or below it
  const wide first = low + (ahead == 0 ? 0 : every - ahead);
  return first > high;
}

bool disjoint(std::span<const axis_map> a, const shape& a_extents, std::span<const axis_map> b,
              const shape& b_extents) {
  for (std::size_t k = 0; k < a.size(); ++k)
    if (disjoint(taken(a[k], a_extents), taken(b[k], b_extents))) return true;
  return false;
}

bool contains(std::span<const axis_map> outer, const shape& outer_extents, std::span<const axis_map> inner,
              const shape& inner_extents) {
  for (std::size_t k = 0; k < outer.size(); ++k)
    if (!contains(taken(outer[k], outer_extents), taken(inner[k], inner_extents))) return false;
  return true;
}

}  // namespace sinter::jit
