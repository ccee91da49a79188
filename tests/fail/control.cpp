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

sinter::array written(sinter::array a) {
  sinter::array column = a(sinter::all, 0);
  column(0) = 1;
  a(sinter::all, 0) = column;
  a(0, 1) += 2;
  return a;
}
