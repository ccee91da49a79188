// A signature says what a raw kernel takes: a number isn't an array.
// expect: cannot convert|no known conversion|could not convert|no viable conversion
#include <sinter/raw_kernel.hpp>
#include <sinter/sinter.hpp>

void f(const sinter::raw_kernel<void(float, sinter::inout<float>)>& k, sinter::array& a) {
  k(sinter::for_each(4), a, a);
}
