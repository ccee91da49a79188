#include "jit/variants.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_map>

namespace sinter::jit {

bool may_be_added(kernel_list general, const cached_kernel& wanted) {
  struct known_variants {
    std::mutex guard;
    std::unordered_map<std::uint64_t, std::vector<const cached_kernel*>> of;
  };
  static auto* const known = new known_variants;  // never destroyed, as kernels aren't
  const std::uint64_t identity = stable_identity(general);
  if (identity == stable_identity(wanted.list)) return true;
  const std::lock_guard lock(known->guard);
  std::vector<const cached_kernel*>& list = known->of[identity];
  if (std::ranges::find(list, &wanted) != list.end()) return true;
  if (list.size() + 1 >= most_variants) return false;  // one more is the general one
  list.push_back(&wanted);
  return true;
}

}  // namespace sinter::jit
