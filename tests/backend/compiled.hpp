// What the tests of compile(f) share.
#pragma once

#include "dsl/compile.hpp"
#include "tests/backend/expect.hpp"

#include <utility>

namespace sinter_test {

using namespace sinter;

inline array ramp(std::int64_t n, dtype type = f32) { return counting(type, {n}).to_device(); }

inline array evaluated(array x) {
  eval(x);
  return x;
}

inline array diffused(array u) {
  u(range(1, -1)) += 0.1f * (u(range(2, end)) + u(range(0, -2)) - 2 * u(range(1, -1)));
  return u;
}

}  // namespace sinter_test
