// A kernel writes to variables and parts of them, not to temporaries such as a broadcast array.
// expect: cannot bind non-const lvalue reference|no matching|expects an lvalue|no viable conversion
#include <sinter/sinter.hpp>

void add_one(const sinter::elementwise& k, const sinter::array& x) { k.into(sinter::broadcast_to(x, {3, 3}))(x); }
