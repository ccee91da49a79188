// From roots to launches that are planned, lowered and in order, but neither compiled nor given memory.
#pragma once

#include "jit/epoch_map.hpp"
#include "jit/fuse.hpp"
#include "jit/launch_order.hpp"
#include "jit/lower.hpp"
#include "runtime/backend.hpp"

#include <deque>
#include <vector>

namespace sinter::jit {

/// Values that this evaluation will have computed before group `current`.
class planned_values final : public stored_values {
 public:
  struct entry {
    node* n;
    const node* giver;           ///< whose memory it takes over; null: new memory
    std::size_t group, last_use; ///< the last group to write it, the last launch to use it
    reference<runtime::buffer> memory;
    bool wanted = false;  ///< a root: stays
    std::uint32_t next_to_drop = none;  ///< the next entry whose last use is the same group's
  };
  static constexpr std::uint32_t none = 0xffffffffu;

  void clear() {
    entries.clear();
    stand_ins.clear();
    index_.clear();
  }
  /// `group` writes to the memory of `n`; groups come in order.
  void add(node* n, std::size_t group, const node* giver) {
    if (entry* e = find(n)) {
      e->group = group;
      return;
    }
    index_.set(index_.at(n), n, 0, static_cast<std::uint32_t>(entries.size()));
    entries.push_back({n, giver, group, 0, {}, false, none});
  }
  entry* find(const node* n) const {
    const std::uint32_t* k = index_.find(n);
    return k ? &entries[*k] : nullptr;
  }
  bool contains(const node* n) const override {
    if (n->values()) return true;
    const entry* e = find(n);
    return e && e->group < current;
  }
  /// Of a node that has values before the evaluation.
  runtime::buffer* buffer_of(const node* n) const {
    for (const auto& [placeholder, memory] : stand_ins)
      if (placeholder == n) return memory;
    return n->values();
  }
  runtime::buffer& place_of(const node* n) const {
    runtime::buffer* b = buffer_of(n);
    return b ? *b : *find(n)->memory;
  }
  void* memory_of(const node* n) const { return place_of(n).data; }

  mutable std::vector<entry> entries;
  std::vector<std::pair<const node*, runtime::buffer*>> stand_ins;  ///< what placeholders of a loop stand for now
  std::size_t current = 0;

 private:
  mutable epoch_map index_;
};

/// Where a group runs.
runtime::device& device_of(const group& g);

/// Groups that share a launch: `count` of the launch order from `first` on, by stage (kernel::stage).
struct launch_range {
  std::size_t first, count;
};

/// Reused from one evaluation to the next, so that a warm one allocates nothing.
class planning {
 public:
  /// False: everything is computed already. `in_stages`: groups that need each other may share a launch, too.
  bool run(std::span<node* const> roots, const options& how, bool in_stages = true);

  /// Lowers the k-th group in launch order once more, in another way.
  void lower_again(std::size_t k, const options& how, jit::lowered& out);

  plan groups;
  launch_order order;
  std::deque<jit::lowered> lowered;  ///< by group
  std::vector<launch_range> launches;
  planned_values values;

 private:
  // bundle.cpp: what shares a launch
  void bundle(const options& how, bool in_stages);
  bool joins(const launch_range& before, std::size_t k, const options& how, bool in_stages);
  bool is_beside(const launch_range& before, std::size_t k) const;
  bool needs_others(const launch_range& before, std::size_t k) const;
  bool has_room(const launch_range& before, std::size_t k, bool same_domain) const;
  bool depends(std::size_t later, std::size_t earlier) const;
  void fit_blocks(std::size_t k, const options& how);
  bool lower_groups(const options& how, bool bounded);
  bool is_settled(int plans);
  bool settle_conflicts();
  bool is_decided(const node* n) const;

  std::vector<decision> decided_;
};

}  // namespace sinter::jit
