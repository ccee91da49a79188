#include "runtime/host/stream.hpp"

namespace sinter::runtime {

bool prompt_stream::may_have_fault() {
  return std::atomic_ref(fault_.set).load(std::memory_order_acquire) != 0;
}

bool prompt_stream::take_fault(index_fault& out) {
  const std::atomic_ref<std::int32_t> set(fault_.set);
  if (set.load(std::memory_order_acquire) != 2) return false;
  const std::lock_guard lock(fault_guard_);  // of several takers, one gets it
  if (set.load(std::memory_order_acquire) != 2) return false;
  out = {2, fault_.ordinal, fault_.launch, fault_.index, fault_.size, fault_.position};
  set.store(0, std::memory_order_release);  // from here on a kernel may write the next one
  return true;
}

}  // namespace sinter::runtime
