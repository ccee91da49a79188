// a(0, 1) = 2 writes one element; a(0)(1) is read from a copy.
// expect: no match for .operator=.|passing .* as .this. argument discards qualifiers|no viable overloaded '='
#include <sinter/sinter.hpp>

void set(sinter::array& a) { a(0)(1) = 2; }
