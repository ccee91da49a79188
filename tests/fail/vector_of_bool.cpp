// std::vector<bool> is packed and has no contiguous elements to copy to.
// expect: no matching (member )?function (for call to|for call)
// expect: to_vector<bool>|to_vector
#include <sinter/sinter.hpp>

#include <vector>

std::vector<bool> read(const sinter::array& a) { return a.to_vector<bool>(); }
