// Each element asks for itself whether to go on: a C++ bool would be asked once, while the loop is recorded.
// expect: the condition of while_loop is a boolean array
#include <sinter/sinter.hpp>

sinter::array doubled(const sinter::array& x) {
  return sinter::while_loop(
      x, [](const sinter::array& s) { return s.rank() > 0; }, [](const sinter::array& s) { return s * 2; });
}
