// What a raw kernel writes must be a variable: the result of an expression would be lost.
// expect: cannot bind|no known conversion|could not convert|no viable conversion|invalid initialization
#include <sinter/raw_kernel.hpp>
#include <sinter/sinter.hpp>

void f(const sinter::raw_kernel<void(sinter::inout<float>)>& k, sinter::array& a) { k(sinter::for_each(4), a + 1); }
