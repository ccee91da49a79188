// Starts the kernels of jit/device/radix_sort.cuh: one launch for rows that fit a block, else one for each digit and
// two before them.
#include "jit/library/sort_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace sinter::jit {

namespace device {
extern const std::string_view radix_sort;
}

namespace {

constexpr std::int64_t threads = 256, digits = 256;
constexpr std::int64_t most_places = 1024;  ///< of sort_short_rows, in a block
constexpr std::int64_t most_short = 256;    ///< elements of a row that it sorts
/// Counts of shorter rows leave room in 32 bits for what else is in a word of a block's progress.
constexpr std::int64_t least_wide_counts = std::int64_t{1} << 27;

/// `step` of the kernels.
struct kernel_step {
  const void* keys = nullptr;
  const void* positions = nullptr;
  void* next_keys = nullptr;
  void* next_positions = nullptr;
};

template <class Key>
class kernel_sorter {
 public:
  kernel_sorter(const sort_task& t, library_run& r, bool wide)
      : t_{t.source,
           t.values,
           t.positions,
           t.rows,
           t.length,
           t.kept,
           key_order<Key>::of(t.type, t.descending, t.positions != nullptr)},
        run_(r),
        program_(r, "radix_sort", std::string(device::radix_sort)),
        wide_counts_(wide || t.length >= least_wide_counts),
        wide_positions_(wide || t.length > std::int64_t{1} << 32) {}

  void sort() {
    const std::string key = unsigned_name(sizeof(Key));
    if (t_.length <= most_short) {
      const int places = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(t_.length)));
      const std::int64_t rows_of_block = most_places / places;
      return program_.launch(fmt::format("sort_short_rows<{}>", key),
                             blocks_for((t_.rows + rows_of_block - 1) / rows_of_block), t_, places);
    }
    for (const std::int64_t items : {4, sizeof(Key) == 8 ? 8 : 16})
      if (t_.length <= threads * items)
        return program_.launch(fmt::format("sort_rows<{}, {}>", key, items), blocks_for(t_.rows), t_);
    if (wide_counts_) sort_digits<std::uint64_t>();
    else sort_digits<std::uint32_t>();
  }

 private:
  static constexpr int passes = static_cast<int>(sizeof(Key));

  /// Two buffers by turns, of which the last digit doesn't need the second. That one may be `own`, an output: the last
  /// digit reads the other one.
  struct buffers {
    void *odd = nullptr, *even = nullptr;
    void* before_last(int digits_left) const { return digits_left % 2 != 0 ? odd : even; }
  };
  buffers make_buffers(std::size_t bytes, void* own) {
    buffers b;
    if (passes > 1) b.odd = run_.scratch(bytes);
    if (passes > 2) b.even = own ? own : run_.scratch(bytes);
    return b;
  }

  template <class Count>
  void sort_digits() {
    const std::size_t index_bytes = wide_positions_ ? 8 : 4;
    const bool with_positions = t_.positions != nullptr;
    const std::int64_t items = sizeof(Key) + (with_positions ? index_bytes : 0) <= 8 ? 16 : 8;
    const std::int64_t tile = threads * items, blocks_of_row = (t_.length + tile - 1) / tile;
    const auto elements = static_cast<std::size_t>(t_.rows * t_.length);
    const bool all = t_.kept == t_.length;
    const buffers keys = make_buffers(elements * sizeof(Key), all && !with_positions ? t_.values : nullptr);
    const buffers positions =
        with_positions ? make_buffers(elements * index_bytes, all ? t_.positions : nullptr) : buffers{};

    const std::int64_t tickets = 8, counted = t_.rows * passes * digits, found = t_.rows * blocks_of_row * digits;
    const auto count_words = static_cast<std::int64_t>(sizeof(Count)) * (counted + found) / 8;
    auto* const words = static_cast<std::uint64_t*>(run_.scratch(static_cast<std::size_t>(tickets + count_words) * 8));
    auto* const counts = reinterpret_cast<Count*>(words + tickets);

    const std::string key = unsigned_name(sizeof(Key)), count = unsigned_name(sizeof(Count));
    const std::string count_kernel = fmt::format("count_digits<{}, {}>", key, count),
                      digit_kernel = fmt::format("sort_digit<{}, {}, {}, {}, {}>", key, unsigned_name(index_bytes),
                                                 count, items, with_positions);
    program_.want({"clear_words", count_kernel, digit_kernel});
    const long long all_words = tickets + count_words;
    program_.launch("clear_words", blocks_for((all_words + threads - 1) / threads), words, all_words);
    const long long part_length = 16 * tile, parts = (t_.length + part_length - 1) / part_length;
    program_.launch(count_kernel, t_.rows * parts, t_, counts, parts, part_length);
    const long long row_blocks = blocks_of_row;
    for (int pass = 0; pass < passes; ++pass) {
      const int left = passes - 1 - pass;
      kernel_step s{keys.before_last(left + 1), positions.before_last(left + 1), keys.before_last(left),
                    positions.before_last(left)};
      program_.launch(digit_kernel, t_.rows * blocks_of_row, t_, s, counts, counts + counted, words, row_blocks, pass);
    }
  }

  kernel_task<Key> t_;
  library_run& run_;
  sort_program program_;
  bool wide_counts_, wide_positions_;
};

}  // namespace

void sort_by_kernels(const sort_task& t, library_run& r, bool wide) {
  if (!wide && is_selection(t)) return select_by_kernels(t, r);
  with_key(size_of(t.type), [&]<class Key>(std::type_identity<Key>) { kernel_sorter<Key>(t, r, wide).sort(); });
}

}  // namespace sinter::jit
