// Launch shapes of users' kernels: what a device can do, what is left open, and what is slow.
#include "jit/raw/call.hpp"
#include "jit/raw/emulated_module.hpp"
#include "runtime/error.hpp"
#include "runtime/log.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sinter::jit {

namespace {

constexpr std::int64_t most_blocks[] = {2147483647, 65535, 65535}, most_threads[] = {1024, 1024, 64};
constexpr std::int64_t warp = 32;
// So many blocks that what each of them wastes adds up.
constexpr std::uint64_t many_blocks = 64;

std::string text_of(const std::int64_t (&d)[3]) { return fmt::format("[{}, {}, {}]", d[0], d[1], d[2]); }

raw_extents extents_of(const std::int64_t (&d)[3]) {
  return {static_cast<std::uint32_t>(d[0]), static_cast<std::uint32_t>(d[1]), static_cast<std::uint32_t>(d[2])};
}

void check_limits(const raw_entry& e, const std::int64_t (&grid)[3], const std::int64_t (&block)[3], const place& at) {
  for (int k = 0; k < 3; ++k)
    if (grid[k] < 0 || grid[k] > most_blocks[k])
      throw_shape_error(
          fmt::format("{}: a grid of {} blocks: axis {} can have 0 to {}", e.name, text_of(grid), k, most_blocks[k]),
          at);
  for (int k = 0; k < 3; ++k)
    if (block[k] < 1 || block[k] > most_threads[k])
      throw_shape_error(fmt::format("{}: a block of {} threads: axis {} can have 1 to {}", e.name, text_of(block), k,
                                    most_threads[k]),
                        at);
  const std::int64_t threads = block[0] * block[1] * block[2], most = e.facts.max_threads;
  if (threads <= most) return;
  const std::string why =
      e.facts.registers > 0 && most < 1024
          ? fmt::format("each takes {} registers; __launch_bounds__({}) makes the compiler use fewer",
                        e.facts.registers, threads)
          : std::string();
  throw_shape_error(fmt::format("{}: a block of {} threads: the kernel can have {}", e.name, threads, most), at, why);
}

void check_shared(const raw_entry& e, std::int64_t bytes, const place& at) {
  const std::int64_t most =
      e.facts.max_dynamic_bytes >= 0 ? e.facts.max_dynamic_bytes : e.where->processors().shared_bytes_of_block;
  if (bytes >= 0 && bytes <= most) return;
  throw_shape_error(fmt::format("{}: {} bytes of dynamic shared memory: a block can have {}{}", e.name, bytes, most,
                                e.facts.shared_bytes > 0
                                    ? fmt::format(" besides the {} that the kernel declares", e.facts.shared_bytes)
                                    : std::string()),
                    at);
}

/// Threads of a block that keep the device busiest: of those that do, the fewest, which share most evenly.
int find_usual_threads(raw_entry& e, std::size_t shared_bytes) {
  constexpr int candidates[] = {256, 128, 512, 1024, 64, 32};
  runtime::module_function* code = e.code.load(std::memory_order_acquire);
  int best = 256, most = 0;
  if (!code) return best;
  for (const int threads : candidates) {
    if (threads > e.facts.max_threads) continue;
    const int resident = threads * code->resident_blocks(threads, shared_bytes);
    if (resident > most) {
      most = resident;
      best = threads;
    }
  }
  return best;
}

std::int64_t usual_threads(raw_entry& e, std::int64_t shared_bytes) {
  if (shared_bytes > 0) return find_usual_threads(e, static_cast<std::size_t>(shared_bytes));
  int known = e.usual_threads.load(std::memory_order_relaxed);
  if (known == 0) {
    known = find_usual_threads(e, 0);
    e.usual_threads.store(known, std::memory_order_relaxed);
  }
  return known;
}

void check_cooperative(raw_entry& e, const raw_dims& d, const place& at) {
  runtime::module_function* code = e.code.load(std::memory_order_acquire);
  const auto threads = static_cast<int>(d.block.count());
  const std::uint64_t most = code ? static_cast<std::uint64_t>(code->resident_blocks(threads, d.shared_bytes)) *
                                        static_cast<std::uint64_t>(e.where->processors().processors)
                                  : emulated_module::most_cooperative_blocks(d.block);
  if (d.grid.count() <= most) return;
  throw_shape_error(fmt::format("{}: a cooperative grid of {} blocks of {} threads: at most {} run at once on {}",
                                e.name, d.grid.count(), threads, most, e.where->name()),
                    at, "let each thread take several elements, in steps of gridDim.x * blockDim.x");
}

// ---- Warnings ----

/// How many elements the launch is for, as far as that can be told: said, or an integer argument that is the number of
/// elements of something written. -1: can't be told.
std::int64_t expected_elements(const raw_entry& e, const raw_shape& how, std::span<const raw_argument> arguments) {
  if (how.elements >= 0 || e.strides || how.grid[1] * how.grid[2] * how.block[1] * how.block[2] != 1)
    return how.elements;
  for (std::size_t k = 0; k < arguments.size() && e.knows_parameters; ++k) {
    const raw_argument& a = arguments[k];
    if (!a.is_output() || e.parameters[k].element_bytes == 0) continue;
    const std::int64_t count =
        a.array->extents.size() * size_of(a.array->type) / static_cast<std::int64_t>(e.parameters[k].element_bytes);
    for (const raw_argument& n : arguments) {
      std::int64_t value = 0;
      if (n.how != raw_argument::access::number || !is_integer(n.type) || n.bytes > sizeof value) continue;
      std::copy_n(static_cast<const unsigned char*>(n.data), n.bytes, reinterpret_cast<unsigned char*>(&value));
      if (value == count) return count;
    }
  }
  return -1;
}

std::string idle_lanes(std::int64_t threads) {
  const std::int64_t last = threads % warp, lanes = (threads + warp - 1) / warp * warp;
  return fmt::format("blocks of {} threads end in a warp of {}: {}% of the lanes idle; take a multiple of 32", threads,
                     last, (lanes - threads) * 100 / lanes);
}

std::string complaint_about(const raw_entry& e, const raw_shape& how, const raw_dims& d,
                            std::span<const raw_argument> arguments) {
  const std::uint64_t blocks = d.grid.count(), threads = d.block.count();
  if (threads == 1 && blocks > 1)
    return "blocks of 1 thread leave 31 of 32 lanes idle and few of them run at once: 79 times slower than blocks of "
           "256 in "
           "a kernel that streams memory; for_each(n) chooses a block";
  if (threads % warp != 0 && blocks >= many_blocks) return idle_lanes(static_cast<std::int64_t>(threads));
  if (how.is_chosen) return "";
  const std::int64_t n = expected_elements(e, how, arguments);
  if (n < 0 || blocks * threads >= static_cast<std::uint64_t>(n)) return "";
  return fmt::format(
      "{} block(s) of {} threads don't cover {} elements: nothing is computed from element {} on; for_each({}) "
      "covers all",
      blocks, threads, n, blocks * threads, n);
}

/// Whether this line's launches of the kernel have been warned about: once is enough.
bool is_told(raw_entry& e, const place& at) {
  if (!e.has_warned.load(std::memory_order_acquire)) return false;
  const std::lock_guard lock(e.warning);
  return std::ranges::any_of(e.warned, [&](const place& p) { return p.line == at.line && p.file == at.file; });
}

void tell(raw_entry& e, const raw_shape& how, const std::string& complaint) {
  {
    const std::lock_guard lock(e.warning);
    e.warned.push_back(how.at);
    e.has_warned.store(true, std::memory_order_release);
  }
  runtime::log(runtime::level::warning, error_text(fmt::format("raw kernel {}: {}", e.name, complaint), how.at));
}

bool may_be_slow(const raw_shape& how, const raw_dims& d) { return !how.is_chosen || d.block.count() % warp != 0; }

}  // namespace

raw_dims find_dims(raw_entry& e, const raw_shape& how, std::span<const raw_argument> arguments) {
  std::int64_t grid[3] = {how.grid[0], how.grid[1], how.grid[2]}, block[3] = {how.block[0], how.block[1], how.block[2]};
  check_shared(e, how.shared_bytes, how.at);
  if (how.is_chosen) {
    if (how.elements < 0) throw_shape_error(fmt::format("{}: for_each({})", e.name, how.elements), how.at);
    if (block[0] == 0) block[0] = usual_threads(e, how.shared_bytes);
    grid[0] = block[0] < 1 ? how.elements : how.elements / block[0] + (how.elements % block[0] != 0);
  }
  check_limits(e, grid, block, how.at);
  raw_dims d{extents_of(grid), extents_of(block), static_cast<std::uint32_t>(how.shared_bytes), how.cooperative,
             grid[0] * grid[1] * grid[2] == 0};
  if (d.is_empty) return d;
  if (d.cooperative) check_cooperative(e, d, how.at);
  if (may_be_slow(how, d) && !is_told(e, how.at)) {
    const std::string complaint = complaint_about(e, how, d, arguments);
    if (!complaint.empty()) tell(e, how, complaint);
  }
  return d;
}

}  // namespace sinter::jit
