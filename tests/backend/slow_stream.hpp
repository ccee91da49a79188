// Work that takes long on a GPU, so that what follows on other streams would overtake it.
#pragma once

#include "tests/backend/expect.hpp"

#include <sinter/elementwise.hpp>
#include <sinter/stream.hpp>

#include "runtime/stream.hpp"

#include <cstdint>
#include <vector>

namespace sinter_test {

using namespace sinter;

inline bool overlaps() { return default_device().is_cuda(); }
/// Steps of a chain that keep one thread of a GPU busy for some 50 ms.
inline std::int32_t many_steps() { return overlaps() ? 20'000'000 : 1000; }

inline const elementwise& chain() {
  static const elementwise k{"chain", "uint32 x, int32 steps", "uint32 y",
                             "y = x; for (int k = 0; k < steps; ++k) y = y * 1664525u + 1013904223u"};
  return k;
}
/// Evaluated on the current stream; done much later.
inline array slow(std::uint32_t seed) {
  const array y = chain()(array{seed}, many_steps());
  eval(y);
  return y;
}
inline std::uint32_t slow_result(std::uint32_t seed) {
  for (std::int32_t k = 0; k < many_steps(); ++k) seed = seed * 1664525u + 1013904223u;
  return seed;
}

inline std::vector<std::uint32_t> all_of(std::size_t n, std::uint32_t value) {
  return std::vector<std::uint32_t>(n, value);
}
inline array filled(std::int64_t n, std::uint32_t value) {
  const array a = full({n}, value, u32);
  eval(a);
  return a;
}

/// Compiles what the hazards launch, so that no compiler gives the slow launch time to end.
inline void warm_up() {
  const array x = filled(1000, 1) + slow(1);
  array a = filled(1000, 1);
  eval(x, a);
  a += std::uint32_t{1};
  eval(a);
  synchronize();
}

}  // namespace sinter_test
