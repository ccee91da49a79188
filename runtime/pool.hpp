// Memory for small objects that come and go all the time, such as nodes of the graph.
#pragma once

#include <cstdint>
#include <new>

namespace sinter::runtime {

/// Blocks for objects of type T. Each thread keeps some of those it frees, the last one first in line, so that
/// recording seldom meets the allocator.
template <class T>
class pool {
 public:
  static void* take() {
    block* b = kept_.head;
    if (!b) return ::operator new(sizeof(T));
    kept_.head = b->next;
    --kept_.count;
    return b;
  }

  static void give(void* memory) noexcept {
    if (kept_.count >= kept_.limit && !may_keep_more()) return ::operator delete(memory);
    kept_.head = new (memory) block{kept_.head};
    ++kept_.count;
  }

 private:
  struct block {
    block* next;
  };
  /// Trivially destructible: usable until the very end of a thread, when a limit of 0 sends memory back at once.
  struct blocks {
    block* head;
    std::uint32_t count, limit;
    bool opened;
  };
  struct closer {
    ~closer() {
      kept_.limit = kept_.count = 0;
      while (block* b = kept_.head) {
        kept_.head = b->next;
        ::operator delete(b);
      }
    }
  };

#ifdef __SANITIZE_ADDRESS__
  static constexpr std::uint32_t most_kept = 0;  // reuse would hide accesses to freed objects
#else
  static constexpr std::uint32_t most_kept = (16u << 20) / sizeof(T);
#endif

  /// The first block a thread frees has its kept ones freed at the thread's end.
  [[gnu::noinline]] static bool may_keep_more() noexcept {
    if (kept_.opened) return false;
    thread_local closer at_end;
    static_cast<void>(at_end);
    kept_.opened = true;
    kept_.limit = most_kept;
    return most_kept > 0;
  }

  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local blocks kept_{};
};

}  // namespace sinter::runtime
