// The order of an evaluation's launches: who reads memory goes before who overwrites it.
#pragma once

#include "jit/epoch_map.hpp"
#include "jit/fuse.hpp"
#include "jit/lower.hpp"

#include <deque>
#include <vector>

namespace sinter::jit {

class launch_order {
 public:
  /// Orders the groups of `p`, lowered in `l`. Where readers and writers of a memory wait for each other, decisions to
  /// copy are added instead: false. As many as this order takes; with `all`, one for each that waits, since other
  /// plans have other circles.
  bool arrange(const plan& p, const std::deque<lowered>& l, bool all, std::vector<decision>& decided);
  /// The k-th group to launch.
  std::size_t operator[](std::size_t k) const { return order_[k]; }

 private:
  struct edge {
    std::uint32_t before, after;
    const node* taker;  ///< whose memory `before` needs until then; null: no matter of memory
  };
  void put_in_order(const plan& p);
  bool give_memory(const plan& p, bool all, std::vector<decision>& decided);
  void collect_edges(const plan& p, const std::deque<lowered>& l);
  void note_use(epoch_map& of_memory, const node* memory, std::uint32_t group);
  template <class F>
  void each_use(epoch_map& of_memory, const node* memory, F&& f);

  /// Uses of one memory, as lists through uses_.
  struct use {
    std::uint32_t group, next;
  };

  std::vector<std::uint32_t> order_, waits_for_;
  std::vector<std::uint32_t> ready_;  ///< a heap: the plan's order wherever nothing speaks against it
  std::vector<bool> is_placed_;
  std::vector<edge> edges_;
  std::vector<use> uses_;
  epoch_map writers_, readers_;  ///< of a memory: its latest use of the kind
};

}  // namespace sinter::jit
