// Only variables are written to; of a constant array, indices read.
// expect: no match for .operator=.|passing .* as .this. argument discards qualifiers|no viable overloaded '='
#include <sinter/sinter.hpp>

void clear(const sinter::array& a) { a(0) = 0; }
