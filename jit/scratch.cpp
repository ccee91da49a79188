#include "jit/scratch.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace sinter::jit {

namespace {

constexpr std::size_t least_bytes = std::size_t{1} << 16;

struct block {
  void* memory = nullptr;
  std::size_t bytes = 0;

  /// True when the memory is new.
  bool grow(runtime::device& d, std::size_t wanted) {
    if (wanted <= bytes) return false;
    const std::size_t fresh = std::max({wanted, 2 * bytes, least_bytes});
    void* const more = d.allocate(fresh);
    if (memory) d.release(memory, bytes);
    memory = more;
    bytes = fresh;
    return true;
  }
};

struct device_scratch {
  std::mutex guard;
  block workspace, tickets;
};

device_scratch& scratch_of_device(const runtime::device& d) {
  static std::mutex guard;
  static auto& all = *new std::map<const runtime::device*, device_scratch>;  // lives as long as the devices
  const std::lock_guard lock(guard);
  return all[&d];
}

}  // namespace

scratch scratch_of(runtime::device& d, std::size_t workspace_bytes, std::size_t ticket_count) {
  if (d.kind() == runtime::device_kind::cpu) {
    static thread_local std::vector<std::max_align_t> own;
    own.resize(std::max(own.size(), workspace_bytes / sizeof(std::max_align_t) + 1));
    return {own.data(), nullptr, {}};
  }
  device_scratch& own = scratch_of_device(d);
  std::unique_lock held(own.guard);
  own.workspace.grow(d, workspace_bytes);
  if (own.tickets.grow(d, ticket_count * sizeof(std::uint32_t))) {
    const std::vector<std::byte> zeros(own.tickets.bytes);
    d.copy_from_host(own.tickets.memory, zeros.data(), zeros.size());
  }
  return {own.workspace.memory, own.tickets.memory, std::move(held)};
}

}  // namespace sinter::jit
