// Lists of launches whose arguments may change from one start to the next.
#pragma once

#include "backend.hpp"

namespace sinter::runtime {

class launch_graph : public launch_list {
 public:
  /// After the first start: the k-th launch added has other arguments, or blocks, from now on; earlier starts keep
  /// theirs.
  virtual void change(std::size_t k, function& f, std::span<void* const> arguments, const launch_shape& shape) = 0;
};

}  // namespace sinter::runtime
