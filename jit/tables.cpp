// Scatters into small arrays on cuda: each block adds values up in shared memory, and adds the sums to memory.
#include "jit/tables.hpp"

#include "jit/lower_internal.hpp"
#include "jit/planning.hpp"
#include "runtime/module.hpp"

#include <algorithm>
#include <bit>

namespace sinter::jit {

namespace {

// Measured on an H200, us: 2^26 f32 added to 65536 places chosen at random 396 (atomics in memory 835), to places of
// which one in ten is the same 1108 (11900); 2^28 bytes counted 242 (2630).
// Blocks begin with a table of zeros and end with an atomic for each of its elements: much less than what they add.
constexpr std::int64_t least_elements = std::int64_t{1} << 20, least_elements_each = 64;
// With tables this small four blocks of 512 threads run on a multiprocessor; what is left holds copies, by lane: then
// the threads of a warp meet neither at an element nor at a bank.
constexpr std::int64_t most_bytes_of_copies = 48 << 10, most_copies = 32;
constexpr std::uint16_t threads_with_copies = 512, threads_of_large = 1024;
constexpr std::int64_t most_parts = 2;  // of a table too large for a block: each part's blocks read all there is


/// What a block may have.
std::int64_t shared_bytes_of(const group& g) {
  constexpr std::int64_t own = 1 << 10, usual = 48 << 10;  // `own`: the system's
  runtime::device& d = device_of(g);
  return (d.kind() == runtime::device_kind::cuda ? d.processors().shared_bytes_of_block : usual) - own;
}

}  // namespace

bool pays_tables(std::int64_t values, std::int64_t places) {
  return values >= least_elements && values / least_elements_each >= places;
}

/// Whether an atomic's table can hold 32-bit sums of what it adds: a number, as often as there are elements.
bool lowering::counts_in_32_bits(const inst& i, std::int64_t elements) const {
  if (i.combine != op::add || !is_integer(i.type) || size_of(i.type) != 8) return false;
  const inst& x = out_->ir[i.arg[0]];
  if (x.code != op::scalar) return false;
  for (const pending_number& n : out_->pending_numbers)
    if (n.parameter == x.attr) return false;
  const std::int64_t step = out_->numbers.slots[x.attr].as_i64;
  constexpr std::int64_t most = (std::int64_t{1} << 32) - 1;
  return step > 0 && step <= most && elements <= most / step;
}

/// Bytes of all tables once; 0: atomics go to memory.
std::int64_t lowering::bytes_of_tables() {
  kernel& k = out_->ir;
  if (!for_cuda_ || !k.loops.empty() || !k.calls.empty()) return 0;
  std::int64_t elements = 1, bytes = 0, places = 0, tables = 0;
  for (const std::int64_t n : final_extents_) elements *= n;
  for (const inst& i : k.body) {
    if (i.code == op::store) return 0;
    if (i.code != op::atomic) continue;
    const pending_pointer& p = out_->pointers[i.attr];
    const bool adds = i.combine == op::add || i.combine == op::subtract;
    if (!adds || p.offset != 0 || is_complex(i.type) || size_of(i.type) < 4) return 0;
    if (k.parameters[p.parameter].aliased) return 0;
    const std::int64_t size = p.source->extents.size();
    places += size;
    bytes += ceil_div(size * (counts_in_32_bits(i, elements) ? 4 : size_of(i.type)), 16) * 16;
    ++tables;
  }
  if (tables == 0 || !pays_tables(elements, places)) return 0;
  const std::int64_t parts = ceil_div(std::max<std::int64_t>(bytes, 1), shared_bytes_of(*group_));
  return parts == 1 || (parts <= most_parts && tables == 1) ? bytes : 0;
}

/// Gives each atomic a table. Behind a table's size come the logarithm of its copies, and how many of its elements a
/// block holds; behind the last table's the blocks that the work would be for, across and down, and the logarithm of
/// their width.
void lowering::write_tables(std::int64_t bytes) {
  kernel& k = out_->ir;
  arguments& a = out_->numbers;
  const std::int64_t parts = ceil_div(bytes, shared_bytes_of(*group_));
  std::int64_t copies = 1;
  while (copies < most_copies && 2 * copies * bytes <= most_bytes_of_copies) copies *= 2;
  k.threads = bytes <= most_bytes_of_copies ? threads_with_copies : threads_of_large;
  a.shared_bytes = static_cast<std::uint32_t>(parts == 1 ? bytes * copies : ceil_div(bytes, parts) + 16);
  std::int64_t elements = 1;
  for (const std::int64_t n : final_extents_) elements *= n;
  for (inst& i : k.body) {
    if (i.code != op::atomic) continue;
    i.reserved = counts_in_32_bits(i, elements);
    const pending_pointer& p = out_->pointers[i.attr];
    const std::int64_t size = p.source->extents.size();
    k.tables.push_back({p.parameter, parameter(parameter_kind::size, dtype::i64, size)});
    const int shift = std::countr_zero(static_cast<std::uint64_t>(copies));
    jit::parameter& fixed = k.parameters[parameter(parameter_kind::size, dtype::i64, shift)];
    fixed.fixed = 1;
    fixed.number = shift;
    parameter(parameter_kind::size, dtype::i64, ceil_div(size, parts));
  }
  const auto vectors = static_cast<std::uint64_t>(ceil_div(a.inner, k.lanes));
  const std::int64_t fits = static_cast<std::int64_t>(std::bit_ceil(vectors));
  const std::int64_t width = a.rows == 1 ? k.threads : std::min<std::int64_t>(k.threads, fits);
  const std::int64_t across = ceil_div(a.inner + k.lanes, width * k.lanes), down = ceil_div(a.rows, k.threads / width);
  parameter(parameter_kind::size, dtype::i64, across);
  parameter(parameter_kind::size, dtype::i64, down);
  parameter(parameter_kind::size, dtype::i64, std::countr_zero(static_cast<std::uint64_t>(width)));
  a.blocks = std::min<std::int64_t>(across * down * parts, 0x7fffffff);
}

}  // namespace sinter::jit
