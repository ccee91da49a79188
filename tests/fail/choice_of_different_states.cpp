// Both sides of a choice are states of one type.
// expect: both sides of if_else are states of one type
#include <sinter/sinter.hpp>

#include <tuple>

auto chosen(const sinter::array& x) { return sinter::if_else(x > 0, std::tuple{x, x}, x); }
