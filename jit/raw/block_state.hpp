// The state of one block of an emulated kernel: which threads run, wait, or have exited. See block_runner.hpp.
#pragma once

#include "jit/raw/block_runner.hpp"

namespace sinter::jit {

enum class waiting : std::uint8_t { no, at_barrier, for_lanes, at_active_mask, for_grid };

struct block_state;

/// What a switch needs lies in one line of the cache.
struct alignas(64) fiber {
  context registers;
  emulation::uint3 thread{};  ///< whom it runs, while that is suspended
  waiting state = waiting::no;
  bool prepared = false;
  emulation::word result = 0;             ///< of the operation it waits in
  fiber* next = nullptr;                  ///< in the queue of those that can go on
  const char* what = "";                  ///< the operation
  const emulation::spot* at = nullptr;    ///< where, in the frame of who called
  const block_state* block = nullptr;
  std::size_t number = 0;  ///< of its stack
  sanitized_stack stack;
};

/// Fibers with their stacks, for one thread of the processor.
class fiber_pool {
 public:
  explicit fiber_pool(std::size_t most, void (*body)(void*));
  fiber* take();
  void give_back(fiber* f) { idle_.push_back(f); }
  /// All fibers are idle, whatever they were doing.
  void abandon_all();
  bool stack_is_whole(const fiber& f) const { return stacks_.is_whole(f.number); }
  const std::vector<std::unique_ptr<fiber>>& all() const { return fibers_; }

 private:
  stack_set stacks_;
  void (*body_)(void*);
  std::vector<std::unique_ptr<fiber>> fibers_;
  std::vector<fiber*> idle_;
};

struct block_state {
  emulation::thread_loop loop{};
  emulation::uint3 index{};
  std::uint64_t number = 0;

  fiber *first_ready = nullptr, *last_ready = nullptr;

  struct lane {
    fiber* who = nullptr;
    unsigned mask = 0;
    emulation::word value = 0, extra = 0;
    emulation::combine_function combine = nullptr;
  };
  struct warp {
    unsigned arrived = 0, asking = 0;  ///< lanes in an exchange, lanes in __activemask
    lane lanes[32];
  };
  std::vector<warp> warps;

  std::vector<fiber*> at_barrier;
  emulation::barrier_kind kind{};
  emulation::spot barrier_at{};
  int votes = 0;  ///< threads that brought a true predicate

  std::vector<fiber*> for_grid;
  std::vector<std::byte> kept;  ///< shared memory, while another block of the thread runs

  void start(const raw_extents& block, emulation::uint3 at, std::uint64_t block_number);
  /// To be called by a thread that is going to wait: from now on it is kept who has exited.
  void track(unsigned rank);

  unsigned alive() const { return loop.count - loop.exited; }
  void make_ready(fiber* f);
  fiber* pop_ready();

  void release_barrier(fiber* last);
  /// Whether the exchange that this lane is in could be completed; results are in the fibers then, all of them ready
  /// but `last`.
  bool complete_exchange(warp& w, unsigned number, int lane, fiber* last);
  void complete_active_mask(warp& w, fiber* last);
  /// After threads have exited, and nobody can run: lets those go on that waited for these only.
  bool advance();
};

}  // namespace sinter::jit
