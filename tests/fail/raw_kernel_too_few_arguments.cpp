// A signature says how many arguments a raw kernel takes.
// expect: no match for call|no matching function|too few arguments
#include <sinter/raw_kernel.hpp>
#include <sinter/sinter.hpp>

void f(const sinter::raw_kernel<void(float, sinter::inout<float>)>& k) { k(sinter::for_each(4), 1.0f); }
