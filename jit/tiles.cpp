// Loops that read the same elements for many elements of the domain, as sum(f(x[i, k], y[j, k]), k) does for all i and
// j: a thread takes a tile of results, so that what it reads once serves several of them, and a block shares it.
#include "jit/codegen/tile_facts.hpp"
#include "jit/lower_internal.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

// Threads of a block next to each other, and below each other: these share the iterations where a tile has one row.
constexpr std::int64_t side_of_square = 16, width_of_line = 32, height_of_line = 8;
// Measured on an H200 for squared distances of 8192 x 8192 points of 64 coordinates, us: depth 16, sums of 16 in f32
// and then in f64, 4 x 4 results a thread take 446, 4 x 8 take 472 (registers run out), 8 x 8 take 600; all in f32, 387
// with 8 x 8. Without fetching a chunk while the one before is used, 4 x 4 take 571. One result a thread takes 3539.
constexpr std::int64_t depth = 16, words_of_tile = 64;
// n-body of 16384 bodies: 4 results a thread take 187 us with 4 pieces, 188 with 8, and 199 with 2 results; one 1288.
constexpr std::int64_t results_of_line = 4, blocks_of_lines = 528;
constexpr std::int64_t blocks_of_device = 264;  // that run at a time: fewer, with smaller tiles, are done sooner
constexpr std::int64_t least_work = std::int64_t{1} << 22;  // iterations; less is done as soon
constexpr std::int64_t least_blocks = 32, chunks_of_piece = 8, least_side = 16, least_line = 1024,
                       least_trips_of_line = 256;
constexpr std::int64_t most_shared_bytes = 40 << 10, padding = 4;
constexpr std::int64_t most_shared_bytes_of_lines = 32 << 10;  // what threads below each other find needs up to 16 KiB
constexpr std::int64_t most_words_of_tile = 256;


/// Whether a kernel's work is one loop, in which nothing is written, called, or drawn.
bool is_plain(const kernel& k, const loop_nest& nest) {
  if (nest.loops().size() != 1 || draws_words(k)) return false;
  const loop_nest::loop& l = nest[0];
  if (l.reductions.empty() || !l.scans.empty()) return false;
  return std::none_of(k.body.begin() + l.begin, k.body.begin() + l.end, [](const inst& i) {
    return i.code == op::store || i.code == op::atomic || i.code == op::bound || i.code == op::memory;
  });
}

}  // namespace

/// What the loop reads, by the dims of the domain that it depends on.
struct lowering::tile_choice {
  std::vector<std::uint32_t> loads;
  std::int64_t trips = 1, elements = 1;
  std::int64_t words = 0;            ///< registers of what a result's reductions have
  std::int64_t widest = 4;           ///< bytes of a value that results share
  std::int64_t across = 0, along = 0, alone = 0;  ///< bytes of shared memory for a column, a row, an iteration
};

/// The outer dim that most of the loads depend on without depending on the inner one, too; or none.
std::uint8_t lowering::dim_of_tile(const tile_choice& c) const {
  const kernel& k = out_->ir;
  const std::uint32_t column = 1u << (k.domain_rank - 1);
  std::uint8_t best = result_tile::none;
  std::ptrdiff_t most = 0;
  for (std::uint8_t d = 0; d + 1u < k.domain_rank; ++d) {
    const std::uint32_t row = 1u << d;
    const auto both = [&](std::uint32_t mask) { return (mask & row) && (mask & column); };
    if (final_extents_[d] < least_side || std::ranges::any_of(c.loads, both)) continue;
    const std::ptrdiff_t count = std::ranges::count_if(c.loads, [&](std::uint32_t mask) { return (mask & row) != 0; });
    if (count <= most) continue;
    most = count;
    best = d;
  }
  return best;
}

/// Whether each result has an own value to reduce, and what the results of a tile share is worth it.
bool lowering::fits_tile(std::uint8_t dim, tile_choice& c) const {
  const kernel& k = out_->ir;
  const loop_nest nest(k);
  const tile_facts facts(k, nest, dim);
  const tile_side whole = dim == result_tile::none ? tile_side::column : tile_side::both;
  bool own = false;
  for (const std::uint32_t r : nest[0].reductions) {
    own |= facts.side(raw(k.body[r].arg[0])) == whole;
    const bool in_parts = sums_in_parts(k.body[r]);
    const bool position = k.body[r].code == op::reduce_argmin || k.body[r].code == op::reduce_argmax;
    const std::int64_t words = std::max<std::int64_t>(size_of(k.body[r].type), size_of(k[k.body[r].arg[0]].type)) / 4;
    const bool wider = k.body[r].code == op::reduce_sum || k.body[r].code == op::reduce_prod;
    c.words += std::max<std::int64_t>(words, 1) * (wider ? 2 + in_parts : 1) + 2 * position;
  }
  for (const std::uint32_t v : facts.staged()) {
    const std::int64_t bytes = k.body[v].code == op::index ? 8 : std::max<std::int64_t>(size_of(k.body[v].type), 4);
    c.widest = std::max(c.widest, bytes);
    if (is_complex(k.body[v].type)) return false;  // they keep the usual schedules
    const tile_side side = facts.side(v);
    (side == tile_side::row ? c.along : side == tile_side::column ? c.across : c.alone) += bytes;
  }
  return own && !facts.holds_tiles() && c.words <= most_words_of_tile && c.widest <= 16;
}

bool lowering::distribute_tiles() {
  kernel& k = out_->ir;
  tile_choice c;
  if (k.loops.size() != 1 || k.loops[0].serial != 0 || !k.calls.empty()) return false;
  for (std::uint32_t d = 0; d < final_extents_.size(); ++d)
    (d < k.domain_rank ? c.elements : c.trips) *= final_extents_[d];
  if (c.trips < 2 || c.elements < least_line || c.elements < least_work / c.trips) return false;
  const loop_nest nest(k);  // a launch of this much work hides what looking costs
  if (!is_plain(k, nest)) return false;
  const std::vector<std::uint32_t> dims = domain_dims(k, nest);
  for (std::uint32_t v = nest[0].begin; v < nest[0].end; ++v)
    if (k.body[v].code == op::load) c.loads.push_back(dims[v]);
  const std::uint8_t dim = dim_of_tile(c);
  const std::uint32_t column = 1u << (k.domain_rank - 1);
  const auto along_inner = [&](std::uint32_t mask) { return (mask & column) != 0; };
  if (dim == result_tile::none && std::ranges::any_of(c.loads, along_inner)) return false;
  if (std::ranges::all_of(c.loads, along_inner) || !fits_tile(dim, c)) return false;
  k.lanes = static_cast<std::uint8_t>(std::clamp<std::int64_t>(16 / c.widest, 1, 4));
  return dim == result_tile::none ? distribute_lines(c) : distribute_squares(dim, c);
}

/// Tiles of both axes: of those that registers and shared memory have room for, the ones that take the shortest.
bool lowering::distribute_squares(std::uint8_t dim, const tile_choice& c) {
  constexpr std::int64_t sides[][2] = {{8, 8}, {4, 8}, {8, 4}, {4, 4}, {2, 4}, {4, 2}, {2, 2}};
  kernel& k = out_->ir;
  const std::int64_t inner = final_extents_[k.domain_rank - 1], outer = final_extents_[dim];
  if (inner < least_side) return false;
  std::int64_t least = INT64_MAX, tiles = 0, pieces = 1;
  for (const auto& [rows, columns] : sides) {
    const std::int64_t high = rows * side_of_square, wide = columns * side_of_square;
    const std::int64_t bytes = depth * (c.along * (high + padding) + c.across * (wide + padding) + c.alone);
    if (rows * columns * c.words > words_of_tile && rows * columns > 4) continue;
    if (bytes > most_shared_bytes) continue;
    const std::int64_t count = ceil_div(outer, high) * ceil_div(inner, wide);
    const std::int64_t blocks = count * (c.elements / std::max<std::int64_t>(outer * inner, 1));
    const std::int64_t most = std::max<std::int64_t>(c.trips / (chunks_of_piece * depth), 1);
    const std::int64_t parts = std::clamp<std::int64_t>(blocks_of_device / blocks, 1, most);
    if (blocks * parts < least_blocks) continue;
    const std::int64_t of_thread = 64 * (rows * columns + rows + columns);
    const std::int64_t cost = ceil_div(blocks * parts, blocks_of_device) * of_thread / parts;
    if (cost >= least) continue;
    least = cost;
    tiles = blocks;
    pieces = parts;
    k.tile = {dim, static_cast<std::uint8_t>(rows), static_cast<std::uint8_t>(columns),
              static_cast<std::uint8_t>(depth)};
  }
  if (tiles == 0) {
    k.lanes = 1;
    return false;
  }
  k.lanes = std::min(k.lanes, k.tile.columns);
  k.over = distribution::tiles;
  out_->numbers.blocks = tiles * pieces;
  if (pieces > 1) write_pieces(pieces, 1, tiles * k.threads * k.tile.rows * k.tile.columns, tiles, bytes_of_totals());
  return true;
}

/// One row a tile: results that differ from one another by values from before the loop.
bool lowering::distribute_lines(const tile_choice& c) {
  kernel& k = out_->ir;
  const std::int64_t lanes = c.words <= 16 ? results_of_line : 2;
  const std::int64_t inner = final_extents_[k.domain_rank - 1];
  const bool fits = height_of_line * depth * c.alone <= most_shared_bytes_of_lines;
  if (!fits || inner < least_side || c.trips < least_trips_of_line) return k.lanes = 1, false;
  k.lanes = static_cast<std::uint8_t>(lanes);
  k.tile = {result_tile::none, 1, k.lanes, static_cast<std::uint8_t>(depth)};
  k.over = distribution::tiles;
  const std::int64_t blocks = c.elements / inner * ceil_div(inner, width_of_line * lanes);
  const std::int64_t pieces = std::min(blocks_of_lines / blocks, c.trips / (4 * height_of_line * depth));
  out_->numbers.blocks = blocks * std::max<std::int64_t>(pieces, 1);
  if (pieces > 1) write_pieces(pieces, 1, c.elements, blocks, bytes_of_totals());
  return true;
}

/// What one result's reductions take, at most.
std::size_t lowering::bytes_of_totals() const {
  const auto reductions = std::ranges::count_if(out_->ir.body, [](const inst& i) { return is_reduction(i.code); });
  return bytes_of_accumulator * static_cast<std::size_t>(reductions);
}

}  // namespace sinter::jit
