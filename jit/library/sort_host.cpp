// The cpu device's sort. Rows are spread over threads; a long row alone is sorted by all of them, digit by digit: each
// thread counts the digits of its part, and knows from the counts of the others where its part goes.
#include "jit/library/sort.hpp"
#include "runtime/backend.hpp"
#include "runtime/module.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sinter::jit {

namespace {

constexpr int digits = 256;
/// Rows with fewer elements for each digit are compared rather than counted: counting takes 256 steps a digit, however
/// few there are.
constexpr std::int64_t most_compared = 16;
/// Rows from this length on are worth waking all threads for each digit.
constexpr std::int64_t least_shared = 1 << 16;

using histogram = std::array<std::int64_t, digits>;

struct no_position {};

template <class Key>
int digit_of(Key key, int pass) {
  return static_cast<int>(key >> (8 * pass)) & (digits - 1);
}

/// Index: what positions are kept in, or no_position.
template <class Key, class Index>
class row_sorter {
 public:
  static constexpr bool with_positions = !std::is_same_v<Index, no_position>;
  static constexpr int passes = static_cast<int>(sizeof(Key));
  struct element {
    Key key;
    [[no_unique_address]] Index position;
  };

  explicit row_sorter(const sort_task& t)
      : t_(t), order_(key_order<Key>::of(t.type, t.descending, t.positions != nullptr)) {}

  void sort(library_run& r) {
    const auto threads = static_cast<std::int64_t>(r.where.processors().processors);
    if (threads > 1 && t_.rows < threads && t_.length >= least_shared) return sort_with_all(r, threads);
    // A few parts a thread, each with room of its own: bodies can't ask for memory.
    const std::int64_t parts = std::min(t_.rows, 4 * threads);
    const std::int64_t room = 2 * t_.length;
    auto* const all = static_cast<element*>(r.scratch(static_cast<std::size_t>(parts * room) * sizeof(element)));
    runtime::launch_shape shape;
    shape.rows = parts;
    shape.cost = cost_of(t_.rows / parts * t_.length);
    runtime::parallel_for(shape, [&](std::int64_t begin, std::int64_t end, std::int64_t, std::int64_t) {
      for (std::int64_t p = begin; p < end; ++p)
        for (std::int64_t row = t_.rows * p / parts; row < t_.rows * (p + 1) / parts; ++row)
          sort_row(row, all + p * room, all + p * room + t_.length);
    });
  }

 private:
  static int cost_of(std::int64_t elements) {
    return static_cast<int>(std::clamp<std::int64_t>(elements, 1, 1 << 28)) * 4;
  }

  element load(std::int64_t row, std::int64_t at) const {
    element e{};
    e.key = order_.key_of(static_cast<const Key*>(t_.source)[row * t_.length + at]);
    if constexpr (with_positions) e.position = static_cast<Index>(at);
    return e;
  }

  void store(std::int64_t row, std::int64_t at, const element& e) const {
    if constexpr (with_positions) {
      const auto position = static_cast<std::int64_t>(e.position);
      t_.positions[row * t_.kept + at] = position;
      if (t_.values)
        static_cast<Key*>(t_.values)[row * t_.kept + at] =
            static_cast<const Key*>(t_.source)[row * t_.length + position];
    } else {
      static_cast<Key*>(t_.values)[row * t_.kept + at] = order_.bits_of(e.key);
    }
  }

  static bool comes_before(const element& a, const element& b) {
    if constexpr (with_positions) return a.key != b.key ? a.key < b.key : a.position < b.position;
    else return a.key < b.key;
  }

  void sort_row(std::int64_t row, element* here, element* other) const {
    const std::int64_t n = t_.length;
    for (std::int64_t k = 0; k < n; ++k) here[k] = load(row, k);
    if (n <= most_compared * passes) {
      if (t_.kept < n) std::partial_sort(here, here + t_.kept, here + n, comes_before);
      else std::sort(here, here + n, comes_before);
    } else {
      std::array<histogram, passes> counts{};
      for (std::int64_t k = 0; k < n; ++k)
        for (int p = 0; p < passes; ++p) ++counts[static_cast<std::size_t>(p)][digit_at(here[k], p)];
      for (int p = 0; p < passes; ++p) {
        histogram& places = counts[static_cast<std::size_t>(p)];
        if (places[digit_at(here[0], p)] == n) continue;  // all have the same digit
        std::int64_t sum = 0;
        for (std::int64_t& count : places) count = std::exchange(sum, sum + count);
        for (std::int64_t k = 0; k < n; ++k) other[places[digit_at(here[k], p)]++] = here[k];
        std::swap(here, other);
      }
    }
    for (std::int64_t k = 0; k < t_.kept; ++k) store(row, k, here[k]);
  }

  static std::size_t digit_at(const element& e, int pass) { return static_cast<std::size_t>(digit_of(e.key, pass)); }

  void sort_with_all(library_run& r, std::int64_t threads) const {
    const std::int64_t n = t_.length, parts = 2 * threads;
    auto* here = static_cast<element*>(r.scratch(static_cast<std::size_t>(n) * sizeof(element)));
    auto* other = static_cast<element*>(r.scratch(static_cast<std::size_t>(n) * sizeof(element)));
    auto* const counts = static_cast<histogram*>(r.scratch(static_cast<std::size_t>(parts) * sizeof(histogram)));
    runtime::launch_shape shape;
    shape.rows = parts;
    shape.cost = cost_of(n / parts);
    const auto in_parts = [&](auto&& body) {
      runtime::parallel_for(shape, [&](std::int64_t begin, std::int64_t end, std::int64_t, std::int64_t) {
        for (std::int64_t p = begin; p < end; ++p) body(p, n * p / parts, n * (p + 1) / parts);
      });
    };
    for (std::int64_t row = 0; row < t_.rows; ++row) {
      in_parts([&](std::int64_t, std::int64_t begin, std::int64_t end) {
        for (std::int64_t k = begin; k < end; ++k) here[k] = load(row, k);
      });
      for (int pass = 0; pass < passes; ++pass) {
        in_parts([&](std::int64_t p, std::int64_t begin, std::int64_t end) {
          counts[p] = {};
          for (std::int64_t k = begin; k < end; ++k) ++counts[p][digit_at(here[k], pass)];
        });
        if (!places_from(counts, parts, n)) continue;
        in_parts([&](std::int64_t p, std::int64_t begin, std::int64_t end) {
          for (std::int64_t k = begin; k < end; ++k) other[counts[p][digit_at(here[k], pass)]++] = here[k];
        });
        std::swap(here, other);
      }
      in_parts([&](std::int64_t, std::int64_t begin, std::int64_t end) {
        for (std::int64_t k = begin; k < std::min(end, t_.kept); ++k) store(row, k, here[k]);
      });
    }
  }

  /// Counts become where the first element of each digit and part goes; false when all n have the same digit.
  static bool places_from(histogram* counts, std::int64_t parts, std::int64_t n) {
    std::int64_t sum = 0;
    for (std::size_t d = 0; d < digits; ++d) {
      const std::int64_t before = sum;
      for (std::int64_t p = 0; p < parts; ++p) counts[p][d] = std::exchange(sum, sum + counts[p][d]);
      if (sum - before == n) return false;
    }
    return true;
  }

  const sort_task& t_;
  key_order<Key> order_;
};

}  // namespace

void sort_on_host(const sort_task& t, library_run& r) {
  if (select_on_host(t, r)) return;
  with_key(size_of(t.type), [&]<class Key>(std::type_identity<Key>) {
    if (!t.positions) row_sorter<Key, no_position>(t).sort(r);
    else if (t.length <= std::int64_t{1} << 32) row_sorter<Key, std::uint32_t>(t).sort(r);
    else row_sorter<Key, std::uint64_t>(t).sort(r);
  });
}

}  // namespace sinter::jit
