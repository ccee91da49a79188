// What a loop carries on is made of arrays: a C++ number is no state.
// expect: no matching function for call to .*for_loop
#include <sinter/sinter.hpp>

int total() {
  return sinter::for_loop(3, 5, [](int s) { return s + 1; });
}
