#include "jit/cache/memory.hpp"

#include "jit/user_kernel.hpp"

#include <array>
#include <unordered_map>

namespace sinter::jit {

namespace {

struct shared_table {
  std::mutex mutex;
  std::unordered_multimap<std::uint64_t, std::unique_ptr<cached_kernel>> entries;
};

shared_table& table() {
  static auto* t = new shared_table;  // never destroyed: kernels may be launched from other objects' destructors
  return *t;
}

/// What this thread used, by hash; a collision only costs the lock.
struct recent {
  std::uint64_t hash = 0;
  cached_kernel* entry = nullptr;
};
constexpr std::size_t recent_slots = 1024;
thread_local std::array<recent, recent_slots> recently_used;

cached_kernel& find_shared(const kernel_key& key, std::uint64_t h) {
  shared_table& t = table();
  const std::lock_guard lock(t.mutex);
  const auto [first, last] = t.entries.equal_range(h);
  for (auto e = first; e != last; ++e)
    if (same(e->second->key, key)) return *e->second;
  auto fresh = std::make_unique<cached_kernel>();
  for (const kernel* k : key.parts) fresh->parts.push_back(*k);
  for (const kernel& k : fresh->parts) fresh->list.push_back(&k);
  fresh->key = {fresh->list, key.where, key.how};
  return *t.entries.emplace(h, std::move(fresh))->second;
}

}  // namespace

cached_kernel& find_or_add(const kernel_key& key) {
  const std::uint64_t h = hash(key);
  recent& r = recently_used[h % recent_slots];
  if (r.entry && r.hash == h && same(r.entry->key, key)) return *r.entry;
  r = {h, &find_shared(key, h)};
  return *r.entry;
}

}  // namespace sinter::jit
