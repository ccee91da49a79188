// A copy that nobody holds would be waited for at once: copy_to says so.
// expect: nodiscard|unused
// expect: copy_to_async
#pragma GCC diagnostic error "-Wunused-result"
#include <sinter/transfer.hpp>

#include <vector>

void copy(const sinter::array& a, std::vector<float>& to) { sinter::copy_to_async(a, to); }
