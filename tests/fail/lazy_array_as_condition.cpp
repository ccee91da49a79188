// F18. A lazy array has no truth value: item<bool>() reads one.
// expect: could not convert .* to .bool.|not contextually convertible to .bool.
#include <sinter/sinter.hpp>

int sign(const sinter::array& a) {
  if (a > 0) return 1;
  return -1;
}
