// Memory that may not be written is no place to copy to.
// expect: host_memory
#include <sinter/transfer.hpp>

#include <span>

void copy(const sinter::array& a, std::span<const float> to) { sinter::copy_to(a, to); }
