// A raw kernel writes whole variables, which lie in one piece; elements of them are written by `a(...) = variable`.
// expect: deleted function|marked deleted
#include <sinter/raw_kernel.hpp>
#include <sinter/sinter.hpp>

void f(const sinter::raw_kernel<void(sinter::inout<float>)>& k, sinter::array& a) {
  k(sinter::for_each(4), a(sinter::all, 0));
}
