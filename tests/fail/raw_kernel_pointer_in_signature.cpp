// Pointers are said as what the kernel does with them.
// expect: a kernel's pointers are in<T>, inout<T> or out<T> here
#include <sinter/raw_kernel.hpp>
#include <sinter/sinter.hpp>

const sinter::raw_kernel<void(const float*, int)> k{"k", "__global__ void k(const float* x, int n) {}"};
