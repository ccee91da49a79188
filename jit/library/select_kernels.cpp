// Starts the kernels of jit/device/radix_select.cuh: one launch when there are rows enough for a block each to keep the
// device busy, else one for each digit of keys and positions, which blocks find out at once to have nothing left to do,
// and three around them.
#include "jit/library/sort_program.hpp"

#include <fmt/format.h>

#include <bit>

namespace sinter::jit {

namespace device {
extern const std::string_view radix_select, radix_sort;
}

namespace {

// Of the kernels.
constexpr int step_bits = 11;
constexpr std::int64_t bins = 1 << step_bits, most_selected = 2048;

/// Rows as long as this are not sorted by a block alone; they are read about as often as they have digits of 8 bits.
constexpr std::int64_t least_length = 4097;
/// So many rows keep a device busy with a block each, and so do short ones be as quick as launches are.
constexpr std::int64_t rows_for_blocks = 1024, short_length = 1 << 15;
/// Parts of rows that several blocks share, and how many are enough.
constexpr std::int64_t least_part = 1 << 14, most_parts = 2048;

/// `selection` and `select_step` of the kernels.
struct kernel_selection {
  std::uint64_t key, position, wanted, collected;
  std::uint32_t blocks, done;
};
struct kernel_step {
  int high, low, of_position;
};

int position_bits(std::int64_t length) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(length - 1)));
}

template <class Key>
class kernel_selector {
 public:
  kernel_selector(const sort_task& t, library_run& r)
      : t_{t.source,
           t.values,
           t.positions,
           t.rows,
           t.length,
           t.kept,
           key_order<Key>::of(t.type, t.descending, t.positions != nullptr)},
        run_(r),
        program_(r, "radix_select", std::string(device::radix_sort) + std::string(device::radix_select)) {}

  void select() {
    const std::string key = unsigned_name(sizeof(Key));
    const int places = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(t_.kept)));
    if (t_.rows >= rows_for_blocks || t_.length <= short_length)
      return program_.launch(fmt::format("select_rows<{}>", key), blocks_for(t_.rows), t_, position_bits(t_.length),
                             places);
    const std::string narrow = fmt::format("narrow_selection<{}>", key),
                      collect = fmt::format("collect_selection<{}>", key),
                      sort = fmt::format("sort_selection<{}>", key);
    program_.want({"begin_selection", narrow, collect, sort});
    const std::int64_t shared = (t_.rows * t_.length + most_parts - 1) / most_parts;
    const long long part = std::max(least_part, (shared + 1023) / 1024 * 1024), parts = (t_.length + part - 1) / part;
    void* const rows = run_.scratch(static_cast<std::size_t>(t_.rows) * sizeof(kernel_selection));
    void* const counts = run_.scratch(static_cast<std::size_t>(t_.rows * bins) * 8);
    const auto wanted = static_cast<std::size_t>(t_.rows * t_.kept);
    void* const keys = run_.scratch(wanted * sizeof(Key));
    void* const positions = run_.scratch(wanted * 8);
    program_.launch("begin_selection", blocks_for((t_.rows * bins + 255) / 256), rows, counts, t_.rows, t_.kept);
    for (const int of_position : {0, 1}) {
      int high = of_position ? position_bits(t_.length) : 8 * static_cast<int>(sizeof(Key));
      for (; high > 0; high = std::max(high - step_bits, 0)) {
        const kernel_step s{high, std::max(high - step_bits, 0), of_position};
        program_.launch(narrow, t_.rows * parts, t_, rows, counts, parts, part, s);
      }
    }
    program_.launch(collect, t_.rows * parts, t_, rows, keys, positions, parts, part);
    program_.launch(sort, blocks_for(t_.rows), t_, keys, positions, places);
  }

 private:
  kernel_task<Key> t_;
  library_run& run_;
  sort_program program_;
};

}  // namespace

bool is_selection(const sort_task& t) {
  return t.kept <= most_selected && t.length >= least_length && t.kept <= t.length / 2;
}

void select_by_kernels(const sort_task& t, library_run& r) {
  with_key(size_of(t.type), [&]<class Key>(std::type_identity<Key>) { kernel_selector<Key>(t, r).select(); });
}

}  // namespace sinter::jit
