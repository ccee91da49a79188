// A second source with the whole of sinter: headers that define something not inline would not link.
#include <sinter/sinter.hpp>

sinter::array twice(const sinter::array& x) { return 2 * x; }
