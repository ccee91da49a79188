// Transposes: where an array's neighbours in memory aren't neighbours along the domain's inner dim, each access of a
// warp would touch as many cache lines as it has threads. A block takes a tile of the domain that is wide along the
// inner dim and along the array's own fastest one, moves the array's part of it through shared memory in the array's
// order, and everything else in the domain's. Several arrays, each with a fastest dim of its own, make a tile of as
// many dims. Whatever the strides are, the kernel is right; the choice is one of speed alone.
//
// 16384 x 16384 f32, a + transpose(b), on an H200: 2090 us without tiles.
#include "jit/transposes.hpp"

#include "jit/lower_internal.hpp"
#include "jit/user_kernel.hpp"

#include <algorithm>
#include <bit>

namespace sinter::jit {

namespace {

// Fewer elements are in the cache whatever their order, and most of the time goes into the launch.
constexpr std::int64_t least_elements = 1 << 18, least_on_host = 1 << 16;
// Threads next to each other take rows where these are shorter, and so touch neighbours along the outer dim.
constexpr std::int64_t least_across = 32;
// What is read so many times over stays in a cache.
constexpr std::int64_t most_repeats = 8;
constexpr std::int64_t threads_of_tile = 256, most_volume = 4096, most_bytes_of_array = 16384, least_volume = 1024;
constexpr std::int64_t most_shared_bytes = 48 << 10;  // what a block may have without being asked for
constexpr std::int64_t blocks_to_fill = 264;          // two for each multiprocessor
constexpr std::uint32_t least_side = 16;              // 64 bytes of f32: two sectors
constexpr std::size_t most_tiled_dims = 4;

}  // namespace

std::vector<std::int64_t> tile_pitches(const kernel& k, std::int64_t size) {
  const std::int64_t pad = std::max<std::int64_t>(1, 4 / size);
  std::vector<std::int64_t> pitches{1};
  for (const tiled_dim& t : k.tiled) pitches.push_back(pitches.back() * t.extent + (&t == &k.tiled.back() ? 0 : pad));
  return pitches;
}

std::int64_t tile_volume(const kernel& k) {
  std::int64_t volume = 1;
  for (const tiled_dim& t : k.tiled) volume *= t.extent;
  return volume;
}

/// Instructions that need nothing but counters and numbers: where they are needed again they are computed again.
void lowering::find_counted(std::vector<bool>& counted) const {
  const kernel& k = out_->ir;
  counted.assign(k.body.size(), false);
  for (std::uint32_t v = 0; v < k.body.size(); ++v) {
    const inst& i = k.body[v];
    const bool arithmetic = i.code == op::scalar || i.code == op::index || i.code == op::quotient ||
                            i.code == op::inside || is_elementwise(i.code);
    counted[v] = arithmetic && std::ranges::all_of(i.arg, [&](value a) { return a == value::none || counted[raw(a)]; });
    if (i.code != op::index) continue;
    const form& f = k.forms[i.attr];
    for (std::uint32_t t = f.first; t < f.first + f.count; ++t)
      if (!k.terms[t].is_dim() && !counted[k.terms[t].atom & ~term::computed]) counted[v] = false;
  }
}

/// The domain's dim along which an access touches neighbours in memory, when it isn't the inner one; else none.
std::uint32_t lowering::fastest_dim(std::uint32_t access_number) const {
  constexpr std::int64_t most_bytes_between = 8;
  const kernel& k = out_->ir;
  const std::uint32_t inner = k.domain_rank - 1;
  const std::size_t f = raw_accesses_[raw_of_access_[access_number]].form;
  const auto step = [&](std::uint32_t d) { return std::abs(factors_[f * factor_stride_ + d]); };
  std::int64_t least = step(inner), elements = 1, touched = 1;
  if (least < 2) return access::alone;
  std::uint32_t fastest = access::alone;
  for (std::uint32_t d = 0; d < k.domain_rank; ++d) {
    elements *= final_extents_[d];
    if (step(d) == 0) continue;
    touched *= final_extents_[d];
    if (step(d) >= least) continue;
    least = step(d);
    fastest = d;
  }
  const std::int64_t size = size_of(k.parameters[k.accesses[access_number].pointer].type);
  const bool dense = least == 1 || least * size <= most_bytes_between;
  return dense && touched * most_repeats >= elements ? fastest : access::alone;
}

void lowering::choose_transposes() {
  kernel& k = out_->ir;
  const std::uint32_t inner = k.domain_rank - 1;
  if (how_->layout != layout_knowledge::all || how_->single_lane || !k.loops.empty() || !k.tables.empty()) return;
  if (k.domain_rank < 2 || final_extents_[inner] < least_across) return;
  if (out_->numbers.rows * out_->numbers.inner < (for_cuda_ ? least_elements : least_on_host)) return;
  if (std::ranges::any_of(k.calls, [](const call& c) { return c.kernel->runs_alone(); })) return;
  std::vector<bool> counted;
  find_counted(counted);
  for (const inst& i : k.body) {
    if (i.code != op::load && i.code != op::store) continue;
    const value predicate = i.code == op::load ? i.arg[0] : i.arg[1];
    const form& f = k.forms[k.accesses[i.attr].form];
    bool plain = predicate == value::none || counted[raw(predicate)];
    for (std::uint32_t t = f.first; t < f.first + f.count; ++t)
      plain = plain && (k.terms[t].is_dim() || counted[k.terms[t].atom & ~term::computed]);
    const std::uint32_t fastest = plain ? fastest_dim(i.attr) : access::alone;
    const bool known = std::ranges::any_of(k.tiled, [&](const tiled_dim& t) { return t.dim == fastest; });
    if (fastest == access::alone || (!known && k.tiled.size() + 1 == most_tiled_dims)) continue;
    if (!known) k.tiled.push_back({fastest, 1});
    k.accesses[i.attr].staged = fastest;  // its number, when all are known
  }
  if (k.tiled.empty()) return;
  if (!for_cuda_) return take_strips();
  k.tiled.push_back({inner, 1});
  std::ranges::sort(k.tiled, std::greater(), &tiled_dim::dim);
  const bool fits = fit_tiled_dims();
  if (!fits) k.tiled.clear();
  for (access& a : k.accesses)
    if (a.staged != access::alone)
      a.staged = fits ? static_cast<std::uint32_t>(
                            std::ranges::find(k.tiled, a.staged, &tiled_dim::dim) - k.tiled.begin())
                      : access::alone;
  if (!fits) return;
  k.over = distribution::transposed;
  // Vectors that begin anywhere would be moved element by element, a thread's neighbours at a time: those of a warp had
  // better be neighbours.
  for (std::uint32_t a = 0; a < k.accesses.size(); ++a) {
    const form& f = k.forms[k.accesses[a].form];
    const bool unit = std::any_of(k.terms.begin() + f.first, k.terms.begin() + f.first + f.count, [&](const term& t) {
      return t.atom == inner && t.coefficient == term::unit;
    });
    if (unit && !out_->pointers[a].aligned_steps) k.lanes = 1;
  }
}

/// Host: rows one after another, but only so much of each that the cache lines which it shares with the next rows are
/// still there then. 4096 x 4096 f32, a + transpose(b), on one thread of a Zen 3: 414 ms in whole rows, 188, 114, 94,
/// 56, 83 and 82 with 8 to 256 elements at a time; that rows end somewhere, too, changes little.
void lowering::take_strips() {
  constexpr std::uint32_t width = 64;
  kernel& k = out_->ir;
  k.tiled.assign(1, {k.domain_rank - 1, width});
  for (access& a : k.accesses) a.staged = access::alone;
  k.over = distribution::transposed;
}

/// Extents of tiles: about equal, but no larger than the domain; false when shared memory has no room for them.
bool lowering::fit_tiled_dims() {
  kernel& k = out_->ir;
  std::int64_t widest = 1;
  for (const access& a : k.accesses)
    if (a.staged != access::alone) widest = std::max(widest, size_of(k.parameters[a.pointer].type));
  int left = std::countr_zero(static_cast<std::uint64_t>(std::min(most_volume, most_bytes_of_array / widest)));
  for (std::size_t t = k.tiled.size(); t-- > 0;) {  // what outer ones don't need is the inner ones'
    const std::int64_t needed = power_of_two(std::min(final_extents_[k.tiled[t].dim], most_volume));
    const int most = std::countr_zero(static_cast<std::uint64_t>(needed));
    const int own = std::min(left / static_cast<int>(t + 1), most);
    k.tiled[t].extent = 1u << own;
    left -= own;
  }
  const auto covered = [&](const tiled_dim& t, std::int64_t extent) {
    return ceil_div(final_extents_[t.dim], extent) * extent;
  };
  for (tiled_dim& t : k.tiled)
    while (t.extent > least_side && tile_volume(k) > least_volume &&
           covered(t, t.extent / 2) * 8 < covered(t, t.extent) * 7)
      t.extent /= 2;
  const auto blocks = [&] {
    std::int64_t count = out_->numbers.rows * out_->numbers.inner;
    for (const tiled_dim& t : k.tiled)
      count = count / final_extents_[t.dim] * ceil_div(final_extents_[t.dim], t.extent);
    return count;
  };
  const auto bytes = [&] {
    std::int64_t all = 0;
    for (const inst& i : k.body) {
      if ((i.code != op::load && i.code != op::store) || k.accesses[i.attr].staged == access::alone) continue;
      const std::int64_t size = size_of(k.parameters[k.accesses[i.attr].pointer].type);
      all += ceil_div(size * tile_pitches(k, size).back(), 16) * 16;
    }
    return all;
  };
  const auto too_large = [&] {
    if (tile_volume(k) > least_volume && blocks() < blocks_to_fill) return true;
    return tile_volume(k) > threads_of_tile && bytes() > most_shared_bytes;
  };
  while (too_large()) {
    tiled_dim& largest = *std::ranges::max_element(k.tiled, {}, &tiled_dim::extent);
    if (largest.extent <= k.lanes) break;
    largest.extent /= 2;
  }
  out_->numbers.blocks = blocks();
  return bytes() <= most_shared_bytes && k.tiled[0].extent >= k.lanes;
}

}  // namespace sinter::jit
