// The new version of a temporary would be lost at once.
// expect: no match for .operator\+=.|passing .* as .this. argument discards qualifiers|no viable overloaded '\+='
#include <sinter/sinter.hpp>

void add(const sinter::array& a) { (a * 2)(0) += 1; }
