// `array t = s` copies what was selected; two selections of one array would not be two values.
// expect: use of deleted function|call to deleted constructor
#include <sinter/sinter.hpp>

sinter::array twice(sinter::array& a) {
  auto s = a(sinter::all, 0);
  auto t = s;
  return s + t;
}
