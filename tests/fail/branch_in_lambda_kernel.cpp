// A kernel's function records: it can't branch on values. `where` chooses.
// expect: could not convert .* to .bool.|not contextually convertible to .bool.
#include <sinter/sinter.hpp>

const sinter::elementwise k{[](auto x) { return x > 0 ? x : -x; }};
