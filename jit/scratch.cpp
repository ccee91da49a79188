#include "jit/scratch.hpp"

#include "runtime/stream.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace sinter::jit {

namespace {

using runtime::stream_scratch;

constexpr std::size_t least_bytes = std::size_t{1} << 16;
constexpr std::size_t bytes_of_arrivals = 128;  // before the tickets: a cache line of its own

/// Twice the old size at least: what is outgrown is no more than what is in use.
void grow(stream_scratch& all, stream_scratch::block& b, runtime::device& d, std::size_t wanted, bool zeroed) {
  if (wanted <= b.bytes) return;
  const std::size_t fresh = std::max({wanted, 2 * b.bytes, least_bytes});
  const std::vector<std::byte> zeros(zeroed ? fresh : 0);
  all.outgrown.reserve(all.outgrown.size() + 1);
  void* const more = d.allocate(fresh);
  try {
    if (zeroed) d.copy_from_host(more, zeros.data(), fresh);
  } catch (...) {
    d.release(more, fresh);
    throw;
  }
  if (b.memory) all.outgrown.push_back(b);
  b = {more, fresh};
}

}  // namespace

scratch scratch_of(runtime::device& d, std::size_t workspace_bytes, std::size_t ticket_count) {
  if (d.kind() == runtime::device_kind::cpu) {
    static thread_local std::vector<std::max_align_t> own;
    own.resize(std::max(own.size(), workspace_bytes / sizeof(std::max_align_t) + 1));
    return {own.data(), nullptr, nullptr, {}};
  }
  stream_scratch& own = current_stream(d).scratch();
  std::unique_lock held(own.guard);
  grow(own, own.workspace, d, workspace_bytes, false);
  grow(own, own.tickets, d, bytes_of_arrivals + ticket_count * sizeof(std::uint32_t), true);
  auto* const arrivals = static_cast<std::byte*>(own.tickets.memory);
  return {own.workspace.memory, arrivals + bytes_of_arrivals, arrivals, std::move(held)};
}

}  // namespace sinter::jit
