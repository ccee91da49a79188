// An open-addressing table from (pointer, number) to two numbers, emptied in O(1) by a new epoch: the memo of planning
// and lowering, which run at every evaluation and must not allocate.
#pragma once

#include <cstdint>
#include <vector>

namespace sinter::jit {

class epoch_map {
 public:
  struct entry {
    const void* key = nullptr;
    std::uint32_t number = 0, epoch = 0;
    std::uint32_t value = 0, extra = 0;
  };

  void clear() {
    if (++epoch_ == 0) {
      table_.assign(table_.size(), entry{});
      epoch_ = 1;
    }
    used_ = 0;
  }

  /// The slot of (key, number): `holds` tells whether it is filled.
  entry& at(const void* key, std::uint32_t number = 0) {
    if (used_ * 2 >= table_.size()) grow();
    std::size_t k = start(key, number);
    while (holds(table_[k]) && (table_[k].key != key || table_[k].number != number)) k = (k + 1) & (table_.size() - 1);
    return table_[k];
  }
  bool holds(const entry& e) const { return e.epoch == epoch_; }
  void set(entry& e, const void* key, std::uint32_t number, std::uint32_t value, std::uint32_t extra = 0) {
    if (!holds(e)) ++used_;
    e = {key, number, epoch_, value, extra};
  }
  /// The value of (key, number), or null.
  const std::uint32_t* find(const void* key, std::uint32_t number = 0) {
    const entry& e = at(key, number);
    return holds(e) ? &e.value : nullptr;
  }
  bool empty() const { return used_ == 0; }

 private:
  std::size_t start(const void* key, std::uint32_t number) const {
    const std::uint64_t h =
        (reinterpret_cast<std::uintptr_t>(key) >> 4 ^ std::uint64_t{number} << 40) * 0x9e3779b97f4a7c15ull;
    return (h >> 32) & (table_.size() - 1);
  }
  void grow() {
    std::vector<entry> old(table_.size() * 2);
    old.swap(table_);
    used_ = 0;
    for (const entry& e : old)
      if (e.epoch == epoch_) set(at(e.key, e.number), e.key, e.number, e.value, e.extra);
  }

  std::vector<entry> table_ = std::vector<entry>(256);
  std::uint32_t epoch_ = 1;
  std::size_t used_ = 0;
};

}  // namespace sinter::jit
