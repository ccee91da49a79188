// A selection that was kept is a copy: writing to it would not reach the array.
// expect: use of deleted function|overload resolution selected deleted operator
#include <sinter/sinter.hpp>

void clear(sinter::array& a) {
  auto column = a(sinter::all, 0);
  column = 0;
}
