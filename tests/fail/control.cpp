// expect: ok
// What its neighbours do wrong, done right.
#include <sinter/sinter.hpp>

bool any_above(const sinter::array& a, float limit) {
  const sinter::array above = a > limit;
  return above.item<bool>();
}

sinter::array shifted(const sinter::array& a, const float* values) {
  return a + 1.5f + sinter::array(values, sinter::f32, sinter::shape{3});
}
