// Which threads run the iterations of a kernel's outermost loops, and how many there are.
#include "jit/lower_internal.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace sinter::jit {

namespace {

// Threads that keep a large GPU busy (132 multiprocessors of 2048), and half of them, from where more don't help.
constexpr std::int64_t threads_of_device = 270336, threads_to_fill = 135168;
// Rows this short are read by one thread each, when there are enough of them.
constexpr std::int64_t most_elements_a_thread = 32;
constexpr std::int64_t least_rows_for_threads = 32768;
constexpr std::int64_t vectors_a_thread = 4;
// Rows this short don't gain by more than a block of usual size, which other work can share a launch with.
constexpr std::int64_t most_vectors_of_block = 8;
// Vectors of all kept loads a thread holds in registers: 32 of them are 4 f32 each at 8 a load.
constexpr std::int64_t most_kept = 8;
constexpr std::int64_t threads_of_warp = 32, threads_of_block = 256, threads_of_split = 512, most_threads = 1024;
constexpr std::int64_t most_bytes_of_vector = 32;  // so that a tile's values fit into shared memory
// Scans whose rows several blocks share. Smaller tiles would wait for each other more often, more values a thread don't
// fit into registers. 2^28 f32 take 750 us with as many threads as run at the same time, which take tile after tile.
constexpr std::int64_t vectors_of_tile = 4, threads_of_scan = 512, threads_scanning = 135168;
constexpr std::int64_t least_columns = 32;   // threads side by side, so that a row of them is whole cache lines
// Host: iterations that are worth a thread of their own, and the most pieces; the same whatever threads there are, so
// that results are.
constexpr std::int64_t iterations_a_piece = 1 << 15, most_pieces_on_host = 64;
constexpr std::size_t most_bytes_of_users = 256;

std::uint64_t log_of(std::int64_t x) {
  return static_cast<std::uint64_t>(std::countr_zero(static_cast<std::uint64_t>(x)));
}

}  // namespace

/// What the outermost loops read, run and give.
struct lowering::loop_facts {
  std::int64_t outer = 1, inner = 1;  ///< of the loop with the most iterations: all its dims but the last, and the last
  std::int64_t elements = 1;          ///< of the domain
  int loops = 0;
  bool beside = false;                ///< serial loops stand beside them: not what threads can share
  bool stages = false;                ///< some loop needs what another found
  bool reduces = false, scans = false, scans_floats = false;
  bool one_dim = true;                ///< each loop has a single dim
  std::int64_t common = 0;            ///< divides the extent of each loop's last dim
  std::int64_t along_loop = 0, along_domain = 0;  ///< accesses to neighbours, by which counter they are such
  std::int64_t widest = 0, conditional = 0;       ///< of the accesses that count: bytes; asking whether to happen
  std::size_t accumulator_bytes = 0;
  std::int64_t widest_scan = 4;       ///< bytes of a value that goes into or comes out of a scan
  std::int64_t kept = 0;              ///< loads that several loops over the same dims have in common
};

lowering::loop_facts lowering::look_at_loops() {
  kernel& k = out_->ir;
  loop_facts f;
  for (std::uint32_t d = 0; d < k.domain_rank; ++d) f.elements *= final_extents_[d];
  std::vector<std::uint32_t> open;  // loop instructions
  std::uint32_t apart = 0;          // loops open from a serial one on that stands in no other: all of it is one
                                    // thread's
  std::vector<bool> found(k.body.size());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> seen;  // (loop number, origin) of loads in outermost loops
  const auto in_form = [&](const form& x) {
    return std::any_of(k.terms.begin() + x.first, k.terms.begin() + x.first + x.count,
                       [&](const term& t) { return !t.is_dim() && found[t.atom & ~term::computed]; });
  };
  const auto uses_result = [&](const inst& i) {
    if (std::ranges::any_of(i.arg, [&](value a) { return a != value::none && found[raw(a)]; })) return true;
    if (i.code == op::index) return in_form(k.forms[i.attr]);
    if (i.code == op::load || i.code == op::store || i.code == op::atomic)
      return in_form(k.forms[k.accesses[i.attr].form]);
    const auto in_list = [&](const auto& x) {
      const auto operands = k.call_operands.begin() + x.first;
      return std::any_of(operands, operands + x.count, [&](value a) { return found[raw(a)]; });
    };
    if (i.code == op::call || i.code == op::reduce_call) return in_list(k.calls[i.attr]);
    return i.code == op::iterate && in_list(k.iterations[i.attr]);
  };
  for (std::uint32_t v = 0; v < k.body.size(); ++v) {
    const inst& i = k.body[v];
    if (i.code == op::loop && (apart > 0 || (open.empty() && k.loops[i.attr].serial != 0))) ++apart;
    if (apart > 0) {
      f.beside = true;
      apart -= i.code == op::end;
      continue;
    }
    const bool uses = uses_result(i);
    found[v] = uses || (is_reduction(i.code) && open.size() == 1);
    if (i.code == op::loop) {
      open.push_back(v);
      if (open.size() == 1) note_loop(k.loops[i.attr], f);
    } else if (i.code == op::end) {
      open.pop_back();
    }
    if (open.empty() || i.code == op::loop) continue;
    f.stages |= uses;
    if (is_scan(i.code)) {
      f.scans = true;
      f.scans_floats |= is_inexact(i.type);
      f.widest_scan = std::max({f.widest_scan, size_of(i.type), size_of(k[i.arg[0]].type)});
    }
    if (is_reduction(i.code) && open.size() == 1) {
      f.reduces = true;
      f.accumulator_bytes += i.code == op::reduce_call ? most_bytes_of_users : bytes_of_accumulator;
    }
    if (i.code == op::load && open.size() == 1) {
      const std::pair<std::uint32_t, std::uint32_t> key{k.body[open[0]].attr, k.origins[v]};
      const auto times = std::ranges::count(seen, key);
      seen.push_back(key);
      f.kept += times == 1;
    }
  }
  return f;
}

void lowering::note_loop(const loop_dims& dims, loop_facts& f) const {
  std::int64_t outer = 1;
  for (std::uint32_t d = dims.first; d + 1 < dims.first + dims.count; ++d) outer *= final_extents_[d];
  const std::int64_t inner = final_extents_[dims.first + dims.count - 1];
  ++f.loops;
  f.one_dim &= dims.count == 1;
  f.common = std::gcd(f.common, inner);
  if (outer * inner < f.outer * f.inner) return;
  f.outer = outer;
  f.inner = inner;
}

/// Counts the accesses inside loops by the counter along which they touch neighbours: `columns`, the domain's inner
/// one, else the innermost of the outermost loop around them.
void lowering::count_neighbours(bool columns, loop_facts& f) {
  const kernel& k = out_->ir;
  f.widest = f.conditional = 0;
  std::int64_t whole = 0;
  std::uint32_t depth = 0, inner = 0;
  moves_.assign(k.body.size(), false);
  for (std::uint32_t v = 0; v < k.body.size(); ++v) {
    const inst& i = k.body[v];
    if (i.code == op::loop && depth++ == 0)
      inner = columns ? k.domain_rank - 1 : k.loops[i.attr].first + k.loops[i.attr].count - 1;
    if (i.code == op::end) --depth;
    for (const value a : i.arg)
      if (a != value::none && moves_[raw(a)]) moves_[v] = true;
    const bool access = i.code == op::load || i.code == op::store;
    if (i.code != op::index && !access) continue;
    bool unit = false;
    const form& x = k.forms[access ? k.accesses[i.attr].form : i.attr];
    for (std::uint32_t t = x.first; t < x.first + x.count; ++t) {
      const term& s = k.terms[t];
      if (s.atom == inner) moves_[v] = true;
      unit |= s.atom == inner && s.coefficient == term::unit;
      if (!s.is_dim() && moves_[s.atom & ~term::computed]) moves_[v] = true;
    }
    if (!access || depth == 0 || !unit) continue;
    const value predicate = i.code == op::load ? i.arg[0] : i.arg[1];
    ++(predicate != value::none && moves_[raw(predicate)] ? f.conditional : whole);
    f.widest = std::max(f.widest, size_of(k.parameters[k.accesses[i.attr].pointer].type));
  }
  (columns ? f.along_domain : f.along_loop) = whole + f.conditional;
  if (f.conditional > whole) f.widest = 0;
}

void lowering::distribute() {
  kernel& k = out_->ir;
  arguments& a = out_->numbers;
  a.pieces = 1;
  a.workspace_bytes = a.ticket_count = 0;
  if (!k.tables.empty()) return;
  a.blocks = 1;
  a.shared_bytes = 0;
  if (k.loops.empty()) return;
  if (for_cuda_ && distribute_tiles()) return align_loops();
  loop_facts f = look_at_loops();
  if (f.loops == 0 || f.beside) return;  // each thread runs the loops of its element
  count_neighbours(true, f);
  count_neighbours(false, f);
  const bool columns = f.along_domain > f.along_loop && final_extents_[k.domain_rank - 1] > 1;
  if (columns) count_neighbours(true, f);
  k.over = columns ? distribution::columns : distribution::rows;
  if (!for_cuda_) return distribute_on_host(f);
  const bool only_draws = f.widest == 0 && !f.scans && !columns && draws_words(k);  // four neighbours share a block
  k.lanes = only_draws ? 4 : f.widest == 0 ? 1 : static_cast<std::uint8_t>(16 / f.widest);
  if (columns) distribute_columns(f);
  else if (f.scans) distribute_scans(f);
  else distribute_rows(f);
  align_loops();
}

void lowering::distribute_rows(const loop_facts& f) {
  kernel& k = out_->ir;
  // Blocks that run parts of several stages stay until the last: half of the threads is what all of them have room for.
  const bool shares = group_->shares_launch;
  const std::int64_t of_split = shares ? threads_of_block : threads_of_split;
  const std::int64_t most = shares ? threads_of_block : most_threads;
  const std::int64_t vectors = ceil_div(f.inner, k.lanes) * f.outer;
  std::int64_t team = 1;
  if (f.inner * f.outer > most_elements_a_thread || f.elements < least_rows_for_threads) {
    team = power_of_two(ceil_div(vectors, vectors_a_thread));
    while (team * f.elements < threads_to_fill && team < vectors) team *= 2;
    if (vectors <= most_vectors_of_block * threads_of_block) team = std::min(team, threads_of_block);
  }
  const bool few = f.elements * std::min(team, most) < threads_to_fill;
  const std::int64_t least_for_pieces = 2 * of_split;
  const bool split = !f.stages && f.reduces && few && vectors > least_for_pieces;
  team = std::min(team, split ? of_split : most);
  const bool apart = team > threads_of_warp && team * f.elements >= threads_of_device;  // teams wait for no other team
  k.threads = static_cast<std::uint16_t>(std::max(team, split ? of_split : apart ? team : threads_of_block));
  if (split) team = k.threads;
  const std::int64_t own = power_of_two(ceil_div(vectors, team));
  if (f.kept > 0 && f.stages && f.one_dim && own * f.kept <= most_kept) k.kept = static_cast<std::uint8_t>(own);
  k.whole = k.kept > 0 && f.common % k.lanes == 0;
  const std::int64_t across = std::min(team, power_of_two(ceil_div(f.inner, k.lanes))), down = team / across;
  std::int64_t pieces_down = 1, pieces_across = 1;
  if (split) {
    const std::int64_t threads = shares ? threads_to_fill : threads_of_device;
    const std::int64_t wanted = std::min(ceil_div(threads, f.elements * k.threads), ceil_div(vectors, 2 * k.threads));
    pieces_down = std::min(wanted, ceil_div(f.outer, down));
    pieces_across = std::min(ceil_div(wanted, pieces_down), ceil_div(ceil_div(f.inner, k.lanes), across));
  }
  write_team(across, down);
  if (team == 1) unroll_rows(f.inner * f.outer, f.inner, f.elements, f.widest);
  const std::int64_t pieces = pieces_down * pieces_across, each = std::max<std::int64_t>(k.unrolled, 1);
  out_->numbers.blocks = split ? f.elements * pieces : ceil_div(f.elements, k.threads / team * each);
  if (split) write_pieces(pieces_down, pieces_across, f.elements, f.elements, f.accumulator_bytes);
}

/// Scans run along one dim; a team takes chunks of it one after another, or blocks take tiles and look back.
void lowering::distribute_scans(const loop_facts& f) {
  kernel& k = out_->ir;
  const bool fixed_order = how_->deterministic && f.scans_floats;
  while (k.lanes > 1 && k.lanes * f.widest_scan > most_bytes_of_vector) k.lanes /= 2;
  const std::int64_t threads = k.lanes * f.widest_scan <= 16 ? threads_of_scan : threads_of_scan / 2;
  const std::int64_t vectors = ceil_div(f.inner, k.lanes), tile = threads * k.lanes * vectors_of_tile;
  const bool split = !f.stages && !f.reduces && f.loops == 1 && !fixed_order && f.inner > 4 * tile &&
                     f.elements * threads_of_block < threads_to_fill;
  std::int64_t team = threads;
  if (!split) {
    // A warp a row where there are rows enough: no thread waits for another warp.
    team = f.inner <= most_elements_a_thread && f.elements >= least_rows_for_threads ? 1 : power_of_two(vectors);
    std::int64_t most = threads_of_warp;
    while (f.elements * most < threads_to_fill && most < threads_of_block) most *= 2;
    team = std::min(team, most);
  }
  k.threads = static_cast<std::uint16_t>(std::max(team, threads_of_block));
  write_team(team, 1);
  out_->numbers.blocks = ceil_div(f.elements, k.threads / team);
  if (!split) return;
  k.kept = vectors_of_tile;
  const std::int64_t tiles = ceil_div(f.inner, tile);
  const std::int64_t scans = scans_of_body();
  out_->numbers.blocks = std::min(f.elements * tiles, threads_scanning / threads);
  write_pieces(1, tiles, f.elements, 4 + 4 * scans * f.elements * tiles,
               2 * bytes_of_accumulator * static_cast<std::size_t>(scans));
}

std::int64_t lowering::scans_of_body() const {
  return std::ranges::count_if(out_->ir.body, [](const inst& i) { return is_scan(i.code); });
}

void lowering::distribute_columns(const loop_facts& f) {
  kernel& k = out_->ir;
  const std::int64_t inner = final_extents_[k.domain_rank - 1], rows = f.elements / std::max<std::int64_t>(inner, 1);
  const std::int64_t vectors = ceil_div(inner, k.lanes), trips = f.inner * f.outer;
  std::int64_t down = 1;
  if (f.scans) return distribute_column_scans(f, rows, inner);
  while (rows * vectors * down < threads_to_fill && down * 4 < trips && down < threads_of_block / least_columns)
    down *= 2;
  const std::int64_t across = std::min(threads_of_block / down, power_of_two(vectors));
  down = threads_of_block / across;
  const std::int64_t tiles = ceil_div(inner, across * k.lanes), blocks = rows * tiles;
  const std::int64_t wanted = threads_to_fill / threads_of_block;
  const bool split = !f.stages && f.reduces && blocks * 2 <= wanted && trips > 8 * down;
  const std::int64_t pieces = split ? std::min(ceil_div(wanted, blocks), ceil_div(trips, 4 * down)) : 1;
  k.threads = threads_of_block;
  write_team(across, down);
  out_->numbers.blocks = blocks * pieces;
  if (split) write_pieces(pieces, 1, f.elements, blocks, f.accumulator_bytes);
}

/// Whether a loop does nothing but what can be done row by row between scans.
bool lowering::scans_only(const loop_facts& f) const {
  const kernel& k = out_->ir;
  const auto loops = std::ranges::count_if(k.body, [](const inst& i) { return i.code == op::loop; });
  const bool atomics = std::ranges::any_of(k.body, [](const inst& i) { return i.code == op::atomic; });
  return !f.stages && !f.reduces && loops == 1 && f.one_dim && k.checks.empty() && k.calls.empty() && !atomics;
}

/// Tiles of rows, which look up what those above them have found: true when there are too few columns for a thread
/// each.
bool lowering::tile_column_scans(const loop_facts& f, std::int64_t rows, std::int64_t inner) {
  // A thread has one column, or as many as make four bytes, and so many rows of it that waiting for other tiles, which
  // takes a few microseconds, is a small part. Of 65536 x 1024 and of 2^20 x 64 f32, us on an H200: 220 and 333 with 32
  // rows a thread and 2 x 256 threads a multiprocessor, 245 and 277 with 512; 322 and 450 with 16 rows and 2 x 512, 256
  // and 429 with two columns of 16 rows each.
  constexpr std::int64_t bytes_of_lanes = 4, bytes_of_column = 128, least_threads = 128, least_rows = 32,
                         few_chains = 8;
  kernel& k = out_->ir;
  const std::uint8_t wanted = k.lanes;
  while (k.lanes > 1 && k.lanes * f.widest > bytes_of_lanes) k.lanes /= 2;
  const std::int64_t rows_a_thread = std::max<std::int64_t>(bytes_of_column / (k.lanes * f.widest_scan), 4);
  const std::int64_t vectors = ceil_div(inner, k.lanes), across = std::min(threads_of_warp, power_of_two(vectors));
  const std::int64_t width = across * k.lanes, chains = rows * ceil_div(inner, width);
  std::int64_t threads = chains < few_chains ? threads_of_scan : threads_of_block;
  while (threads > least_threads && threads / across * rows_a_thread >= 2 * f.inner) threads /= 2;
  const std::int64_t down = threads / across, tiles = ceil_div(f.inner, down * rows_a_thread);
  const bool fixed_order = how_->deterministic && f.scans_floats && tiles > 1;
  if (rows * inner >= threads_to_fill / 3 || f.inner < least_rows || fixed_order || !scans_only(f)) {
    k.lanes = wanted;
    return false;
  }
  k.threads = static_cast<std::uint16_t>(threads);
  k.kept = static_cast<std::uint8_t>(rows_a_thread);
  write_team(across, down);
  const std::int64_t scans = scans_of_body();
  out_->numbers.blocks = std::min(chains * tiles, threads_scanning / 2 / threads);
  const std::int64_t flags = scans * chains * tiles * ceil_div(width, 32);
  write_pieces(tiles, 1, chains, 4 + ceil_div(flags, 4) * 4,
               2 * bytes_of_accumulator * static_cast<std::size_t>(scans * width));
  return true;
}

/// Else a thread a column, so that what counts is to have many: single columns and small blocks where there are few.
void lowering::distribute_column_scans(const loop_facts& f, std::int64_t rows, std::int64_t inner) {
  kernel& k = out_->ir;
  if (tile_column_scans(f, rows, inner)) return;
  if (rows * inner < threads_to_fill * k.lanes) k.lanes = 1;
  const std::int64_t vectors = ceil_div(inner, k.lanes);
  std::int64_t across = threads_of_block;
  while (across > least_columns && rows * ceil_div(vectors, across) * across < threads_to_fill) across /= 2;
  k.threads = static_cast<std::uint16_t>(across);
  write_team(across, 1);
  out_->numbers.blocks = rows * ceil_div(vectors, across);
}

void lowering::distribute_on_host(const loop_facts& f) {
  kernel& k = out_->ir;
  const bool columns = k.over == distribution::columns;
  const bool only_draws = f.widest == 0 && !f.scans && !columns && draws_words(k);
  const bool one_by_one = f.widest == 0 || (f.scans && !columns);
  k.lanes = only_draws ? 32 : one_by_one ? 1 : static_cast<std::uint8_t>(std::min<std::int64_t>(64 / f.widest, 16));
  if (f.stages || !f.reduces || f.scans) return;
  const std::int64_t trips = f.outer * f.inner;
  const std::int64_t pieces = std::min(trips * f.elements / iterations_a_piece, most_pieces_on_host);
  if (f.elements >= most_pieces_on_host || pieces < 2 || trips < 2 * pieces) return;
  const bool down = columns || f.outer >= pieces;
  write_pieces(down ? pieces : 1, down ? 1 : pieces, f.elements, 0, f.accumulator_bytes);
}

void lowering::write_team(std::int64_t across, std::int64_t down) {
  parameter(parameter_kind::team, dtype::u64, static_cast<std::int64_t>(log_of(across) | log_of(down) << 8));
}

void lowering::write_pieces(std::int64_t down, std::int64_t across, std::int64_t elements, std::int64_t tickets,
                            std::size_t bytes_each) {
  kernel& k = out_->ir;
  arguments& a = out_->numbers;
  k.split = 1;
  a.pieces = down * across;
  a.ticket_count = static_cast<std::size_t>(tickets);
  a.workspace_bytes = static_cast<std::size_t>(elements * a.pieces) * bytes_each;
  parameter(parameter_kind::pieces, dtype::i64, down);
  parameter(parameter_kind::pieces, dtype::i64, across);
  parameter(parameter_kind::workspace, dtype::i64);
  parameter(for_cuda_ ? parameter_kind::tickets : parameter_kind::phase, dtype::i64);
}

}  // namespace sinter::jit
