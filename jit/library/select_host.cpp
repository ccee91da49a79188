// The first few of long rows in order, the cpu device's way: one pass that keeps the best ones met so far. A long row
// alone is shared by all threads, whose best ones are put together.
#include "jit/library/sort.hpp"
#include "runtime/backend.hpp"
#include "runtime/module.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

/// Elements that are worth a thread of their own.
constexpr std::int64_t least_part = 1 << 15;
constexpr std::int64_t most_bytes = 1 << 24;  // of what is kept of the rows at work

template <class Key>
class row_selector {
 public:
  struct element {
    Key key;
    std::int64_t position;
    friend bool operator<(const element& a, const element& b) {
      return a.key != b.key ? a.key < b.key : a.position < b.position;
    }
  };

  row_selector(const sort_task& t, library_run& r)
      : t_(t), order_(key_order<Key>::of(t.type, t.descending, t.positions != nullptr)) {
    const auto threads = static_cast<std::int64_t>(r.where.processors().processors);
    if (t_.rows < 2 * threads)
      parts_ = std::clamp<std::int64_t>(t_.length / least_part, 1, (2 * threads + t_.rows - 1) / t_.rows);
    const std::int64_t bytes = parts_ * room_of_part() * static_cast<std::int64_t>(sizeof(element));
    rows_at_once_ = std::min(t_.rows, std::max(most_bytes / bytes, 4 * threads));
    const auto tasks = static_cast<std::size_t>(rows_at_once_ * parts_);
    room_ = static_cast<element*>(r.scratch(static_cast<std::size_t>(rows_at_once_ * bytes)));
    counts_ = static_cast<std::int64_t*>(r.scratch(tasks * sizeof(std::int64_t)));
  }

  void select() {
    for (first_ = 0; first_ < t_.rows; first_ += rows_at_once_) {
      const std::int64_t rows = std::min(rows_at_once_, t_.rows - first_);
      in_parallel(rows * parts_, t_.length / parts_, [this](std::int64_t task) { find(task); });
      in_parallel(rows, parts_ * t_.kept, [this](std::int64_t row) { finish(row); });
    }
  }

 private:
  std::int64_t room_of_part() const { return 2 * t_.kept; }

  template <class F>
  static void in_parallel(std::int64_t tasks, std::int64_t elements, const F& f) {
    runtime::launch_shape shape;
    shape.rows = tasks;
    shape.cost = static_cast<int>(std::clamp<std::int64_t>(elements, 1, 1 << 28)) * 4;
    runtime::parallel_for(shape, [&](std::int64_t begin, std::int64_t end, std::int64_t, std::int64_t) {
      for (std::int64_t k = begin; k < end; ++k) f(k);
    });
  }

  /// The best ones of a part of a row, in no order.
  void find(std::int64_t task) const {
    const std::int64_t row = first_ + task / parts_, part = task % parts_;
    const Key* const source = static_cast<const Key*>(t_.source) + row * t_.length;
    element* const best = room_ + task * room_of_part();
    std::int64_t count = 0;
    bool is_full = false;
    Key worst = 0;  // of the best ones; what comes later and is equal is no better
    for (std::int64_t at = t_.length * part / parts_; at < t_.length * (part + 1) / parts_; ++at) {
      const Key key = order_.key_of(source[at]);
      if (is_full && key >= worst) continue;
      best[count++] = {key, at};
      if (count < room_of_part()) continue;
      count = t_.kept;
      std::nth_element(best, best + count - 1, best + room_of_part());
      worst = best[count - 1].key;
      is_full = true;
    }
    if (count > t_.kept) std::nth_element(best, best + t_.kept - 1, best + count);
    counts_[task] = std::min(count, t_.kept);
  }

  /// Puts together what the parts of a row have found; `k`: its number among those at work.
  void finish(std::int64_t k) const {
    const std::int64_t row = first_ + k;
    element* const first = room_ + k * parts_ * room_of_part();
    element* end = first;
    for (std::int64_t part = 0; part < parts_; ++part) {
      const element* const best = first + part * room_of_part();
      end = std::copy_n(best, counts_[k * parts_ + part], end);
    }
    std::partial_sort(first, first + t_.kept, end);
    for (std::int64_t place = 0; place < t_.kept; ++place) {
      const element& e = first[place];
      const std::int64_t to = row * t_.kept + place;
      if (t_.positions) t_.positions[to] = e.position;
      if (t_.values)
        static_cast<Key*>(t_.values)[to] = t_.positions
                                               ? static_cast<const Key*>(t_.source)[row * t_.length + e.position]
                                               : order_.bits_of(e.key);
    }
  }

  const sort_task& t_;
  key_order<Key> order_;
  std::int64_t parts_ = 1;         ///< of each row
  std::int64_t rows_at_once_ = 1;  ///< what they find is kept until they are finished
  std::int64_t first_ = 0;         ///< of the rows at work
  element* room_ = nullptr;
  std::int64_t* counts_ = nullptr;
};

}  // namespace

bool select_on_host(const sort_task& t, library_run& r) {
  constexpr std::int64_t least_length = 256, least_ratio = 8;
  if (t.length < least_length || t.kept > t.length / least_ratio) return false;
  with_key(size_of(t.type), [&]<class Key>(std::type_identity<Key>) { row_selector<Key>(t, r).select(); });
  return true;
}

}  // namespace sinter::jit
