#include "jit/cache/memory.hpp"

#include "jit/user_kernel.hpp"
#include "runtime/own.hpp"

#include <array>
#include <unordered_map>

namespace sinter::jit {

namespace {

struct shared_table {
  std::mutex mutex;
  std::unordered_multimap<std::uint64_t, std::unique_ptr<cached_kernel>> entries;
  std::vector<std::unique_ptr<cached_kernel>> unshared;
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
using recent_table = std::array<recent, recent_slots>;

std::unique_ptr<cached_kernel> make_entry(const kernel_key& key) {
  auto fresh = std::make_unique<cached_kernel>();
  for (const kernel* k : key.parts) fresh->parts.push_back(*k);
  for (const kernel& k : fresh->parts) fresh->list.push_back(&k);
  fresh->key = {fresh->list, key.where, key.how};
  return fresh;
}

cached_kernel& find_shared(const kernel_key& key, std::uint64_t h) {
  shared_table& t = table();
  const std::lock_guard lock(t.mutex);
  const auto [first, last] = t.entries.equal_range(h);
  for (auto e = first; e != last; ++e)
    if (same(e->second->key, key)) return *e->second;
  return *t.entries.emplace(h, make_entry(key))->second;
}

}  // namespace

cached_kernel& find_or_add(const kernel_key& key) {
  const std::uint64_t h = hash(key);
  recent& r = runtime::own_of_thread<recent_table>()[h % recent_slots];
  if (r.entry && r.hash == h && same(r.entry->key, key)) return *r.entry;
  r = {h, &find_shared(key, h)};
  return *r.entry;
}

cached_kernel* find_ready(const kernel_key& key) {
  shared_table& t = table();
  const std::lock_guard lock(t.mutex);
  const auto [first, last] = t.entries.equal_range(hash(key));
  for (auto e = first; e != last; ++e)
    if (same(e->second->key, key)) return e->second->ready.load(std::memory_order_acquire) ? e->second.get() : nullptr;
  return nullptr;
}

cached_kernel& add_unshared(const kernel_key& key) {
  shared_table& t = table();
  const std::lock_guard lock(t.mutex);
  t.unshared.push_back(make_entry(key));
  return *t.unshared.back();
}

std::vector<cached_kernel*> all_kernels() {
  shared_table& t = table();
  const std::lock_guard lock(t.mutex);
  std::vector<cached_kernel*> all;
  for (const auto& [h, entry] : t.entries) all.push_back(entry.get());
  for (const auto& entry : t.unshared) all.push_back(entry.get());
  return all;
}

}  // namespace sinter::jit
