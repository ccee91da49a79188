// expect: use of deleted function|overload resolution selected deleted operator
#include <sinter/sinter.hpp>

void shift(sinter::array& a) {
  auto column = a(sinter::all, 0);
  column += 1;
}
