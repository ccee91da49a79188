// A pointer has no extents: array(pointer, dtype, shape) names them.
// expect: no match for .operator\*.|invalid operands to binary expression
#include <sinter/sinter.hpp>

sinter::array scaled(const sinter::array& a, const float* factors) { return a * factors; }
