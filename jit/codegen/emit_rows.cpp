#include "jit/codegen/emit_rows.hpp"

#include <algorithm>

namespace sinter::jit {

row_emitter::row_emitter(const kernel& k, const user_code& users, writer& w)
    : team_emitter(k, users, w, false), first_kept_(k.body.size(), loop_nest::none) {
  if (k.kept == 0 || k.origins.empty()) return;
  find_kept();
  find_saved();
}

void row_emitter::body() {
  const std::string_view I = index_type();
  if (scans_tiles()) return tiles_body();
  w_.line("const team_of own({});", k_.unrolled ? "0" : "team");
  if (is_split()) {
    w_.line("const {} pieces = pieces0 * pieces1, piece = block % pieces;", I);
    w_.line("const {} piece_down = piece / pieces1, piece_across = piece - piece_down * pieces1;", I);
  }
  const std::string_view of_pieces = is_split() ? " / pieces" : "";
  w_.line("const {} total = {}, at_once = {} / own.size;", I, product(0, k_.domain_rank), k_.threads);
  declare_staged();
  if (k_.unrolled > 1) return several_elements();
  const auto elements = w_.block("for ({0} base = block{1} * at_once; base < total; base += blocks{1} * at_once)", I,
                                 of_pieces);
  fetch_staged();
  element();
}

/// A thread's elements that are loaded together before the first of them is used.
void row_emitter::several_elements() {
  const std::string_view I = index_type();
  const loop& l = first_top();
  const auto several =
      w_.block("for ({0} some = block * {1}; some < total; some += blocks * {1})", I, k_.threads * k_.unrolled);
  const auto each = fmt::format("for (int which = 0; which < {}; ++which)", k_.unrolled);
  const auto base = fmt::format("const {} base = some + which * {};", I, k_.threads);
  const std::vector<std::uint32_t> loads = packed_loads(l);
  declare_loads(l, loads);
  w_.line("loads{} ahead[{}][({} + {}) / {}];", l.begin, k_.unrolled, extent(nest_.innermost(l)), lanes_ - 1, lanes_);
  w_.line("#pragma unroll");
  {
    const auto early = w_.block("{}", each);
    w_.line("{}", base);
    find_own();
    const auto vectors = unrolled_vectors(l);
    find_vector(l);
    for (const std::uint32_t v : loads)
      load_lanes(v, lane_dim(l), fmt::format("ahead[which][first / {}].whole{}", lanes_, v));
  }
  w_.line("#pragma unroll");
  const auto late = w_.block("{}", each);
  w_.line("{}", base);
  find_own();
  statements_in_order();
}

writer::scope row_emitter::unrolled_vectors(const loop& l) {
  w_.line("#pragma unroll");
  return w_.block("for (int first = 0; first < {}; first += {})", extent(nest_.innermost(l)), lanes_);
}

void row_emitter::find_vector(const loop& l) {
  w_.line("const int left = {0} - first < {1} ? {0} - first : {1};", extent(nest_.innermost(l)), lanes_);
}

/// The element of a team, of those from `base` on.
void row_emitter::find_own() {
  const std::string_view I = index_type();
  w_.line("const bool active = base + own.number < total;");
  w_.line("const {} e = active ? base + own.number : total - 1;", I);
  find_element();
  here_.position = "(long long)e";
}

void row_emitter::element() {
  find_own();
  for (std::size_t s = 0; s < k_.staged.size(); ++s)
    w_.line("const {0}* const row{1} = rows{1} + (int)(e - base) * {2};",
            c_type(k_.parameters[k_.staged[s].pointer].type), s, k_.staged[s].pitch | 1);
  for (std::uint32_t v = 0; v < k_.body.size(); ++v)
    if (first_kept_[v] == v) w_.line("{} kept{}[{}];", pack_type(v), v, k_.kept);
    else if (!saved_[v].empty()) w_.line("{} saved{}[{}][{}];", value_type(k_, k_.body[v]), v, k_.kept, lanes_);
  if (is_split()) split_statements();
  else statements_in_order();
}

int row_emitter::least_blocks() const {
  // Unrolled loops leave so much to do at once that a thread would get all registers there are.
  if (scans_tiles() || k_.unrolled != 0) return 1024 / k_.threads;
  return threads_for_kept() / k_.threads;
}

/// Rows in registers wait for memory, then for arithmetic: what counts is how many a multiprocessor holds. Measured on
/// 65536 rows of 1024 f32: layer norm takes 137 us with 1280 threads of it (48 registers each) and 158 with the
/// compiler's 768; softmax, which has more to keep, 141 with 1152 and 161 with 1280, where registers run out.
int row_emitter::threads_for_kept() const {
  constexpr std::size_t most_instructions = 64, few_instructions = 20;
  constexpr std::int64_t few_registers = 16, most_registers = 32;  // of a thread, for kept elements
  if (k_.kept == 0 || !k_.calls.empty() || k_.body.size() > most_instructions) return 0;
  std::int64_t registers = 0;
  bool wide = false;
  for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
    if (first_kept_[v] != v) continue;
    const std::int64_t words = std::max<std::int64_t>(size_of(k_.body[v].type) / 4, 1);
    registers += k_.kept * lanes_ * words;
    wide |= words > 1;
  }
  const bool saves = std::ranges::any_of(saved_, [](const std::string& name) { return !name.empty(); });
  if (registers <= few_registers && !saves && !wide) return 1280;
  if (registers <= few_registers && saves && k_.body.size() <= few_instructions) return 1152;
  return registers <= few_registers || (registers <= most_registers && !saves) ? 1024 : 0;
}

/// Rows in shared memory, one array after another.
void row_emitter::declare_staged() {
  if (k_.staged.empty()) return;
  w_.line("extern __shared__ __align__(16) unsigned char staged[];");
  std::string begin = "staged";
  for (std::size_t s = 0; s < k_.staged.size(); ++s) {
    const staged_rows& r = k_.staged[s];
    const std::string_view type = c_type(k_.parameters[r.pointer].type);
    w_.line("{0}* const rows{1} = ({0}*){2};", type, s, begin);
    begin = fmt::format("(((unsigned long long)(rows{} + {}) + 47) / 16 * 16)", s, k_.threads * (r.pitch | 1));
  }
}

void row_emitter::fetch_staged() {
  if (k_.staged.empty()) return;
  w_.line("if (base != block * at_once) __syncthreads();  // the rows before have been used");
  for (std::size_t s = 0; s < k_.staged.size(); ++s)
    w_.line(
        "fetch_rows<{0}, {1}>(rows{2}, {3} + (long long)base * {1}, (int)(total - base < {0} ? total - base : {0}));",
        k_.threads, k_.staged[s].pitch, s, names_.parameter(k_.staged[s].pointer));
  w_.line("__syncthreads();");
}

void row_emitter::find_element() {
  const std::string_view I = index_type();
  if (!has_rows()) return w_.line("const {} i = e;", I);
  w_.line("const {} row = e / {}, i = e - row * {};", I, extent(inner_dim()), extent(inner_dim()));
  find_row();
}

std::string row_emitter::leader() const {
  const bool everyone_has_it = !is_split() || has_totals(first_top());
  return everyone_has_it ? "active && own.thread == 0" : "active && own.thread == 0 && piece == 0";
}

void row_emitter::statements_in_order() {
  for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
    here_.guard = leader();
    if (k_.body[v].code != op::loop) {
      instruction(v);
      continue;
    }
    const loop& l = nest_[nest_.number_of(v)];
    declare_totals(l, "");
    shared_loop(l);
    merge(l);
    for (const std::uint32_t r : l.reductions) found(r);
    v = l.end;
  }
}

/// All loops, then what they found is put together, then what needs it.
void row_emitter::split_statements() {
  declare_totals(first_top(), "");
  for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
    if (k_.body[v].code != op::loop) {
      if (!late()[v]) instruction(v);
      continue;
    }
    const loop& l = nest_[nest_.number_of(v)];
    shared_loop(l);
    v = l.end;
  }
  merge(first_top());
  merge_pieces(first_top());
  here_.guard = leader();
  for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
    if (k_.body[v].code == op::loop) {
      const loop& l = nest_[nest_.number_of(v)];
      for (const std::uint32_t r : l.reductions) found(r);
      v = l.end;
    } else if (late()[v]) {
      instruction(v);
    }
  }
}

void row_emitter::merge(const loop& l) {
  for (const std::string& total : merged_together(l))
    w_.line("merge_team<{}>({}{}, own);", k_.threads, totals_name(l), total);
}

void row_emitter::merge_pieces(const loop& l) {
  if (!has_totals(l)) return;
  const std::string type = totals_type(l), all = totals_name(l);
  const auto split = w_.block("if (pieces > 1)");
  w_.line("{0}* const found = ({0}*)workspace + (long long)e * pieces;", type);
  w_.line("if (own.thread == 0) found[piece] = {};", all);
  w_.line("if (!last_to_arrive(&tickets[e], (unsigned)pieces)) return;");
  w_.line("{} = {}();", all, type);
  w_.line("for ({} p = own.thread; p < pieces; p += own.size) {}.merge(found[p]);", index_type(), all);
  merge(l);
}

// ---- one loop ----
void row_emitter::shared_loop(const loop& l) {
  const loop_dims& dims = nest_.dims(l);
  here_.guard = "active";
  if (!l.scans.empty()) return scan_loop(l);
  const std::string_view first = is_split() ? "piece_down * own.ny + own.y" : "own.y";
  const std::string_view stride = is_split() ? "pieces0 * own.ny" : "own.ny";
  const auto turns = dims.count == 1 ? w_.block("if ({} == 0)", first)
                                     : w_.block("for ({} turn = {}; turn < {}; turn += {})", index_type(), first,
                                                product(dims.first, dims.count - 1), stride);
  if (dims.count > 1) find_counters("turn", dims.first, dims.count - 1);
  const std::vector<bool> needed = needed_in(l);
  loop_statements(l, needed, false);
  if (k_.unrolled < 2) fetch_function(l);
  step_function(l, needed);
  drive(l);
}

void row_emitter::drive(const loop& l) {
  if (k_.unrolled) {
    const auto vectors = unrolled_vectors(l);
    find_vector(l);
    const std::string ahead = fmt::format("ahead[which][first / {}]", lanes_);
    return w_.line("step(first, left, {});", k_.unrolled > 1 ? ahead : "fetch(first, left)");
  }
  const std::string first = fmt::format("{} * {}", is_split() ? "(piece_across * own.nx + own.x)" : "own.x", lanes_);
  const std::string stride = fmt::format("{}own.nx * {}", is_split() ? "pieces1 * " : "", lanes_);
  const bool kept = k_.kept != 0;
  const std::string_view each = !kept ? "vector" : is_near(l) ? "late" : "kept";
  w_.line("each_{}<{}, {}, {}, {}>({}, {}, {}, fetch, step);", each, lanes_,
          kept ? static_cast<int>(k_.kept) : ahead(l), k_.whole != 0, index_type(), first, stride,
          extent(nest_.innermost(l)));
}

/// Whether all that a loop loads is the same for all elements of the domain, and so in a cache.
bool row_emitter::is_near(const loop& l) const {
  const std::vector<std::uint32_t> loads = packed_loads(l);
  return std::ranges::all_of(loads, [&](std::uint32_t v) {
    if (first_kept_[v] != loop_nest::none) return first_kept_[v] != v;
    const form& f = k_.forms[k_.accesses[k_.body[v].attr].form];
    return std::all_of(k_.terms.begin() + f.first, k_.terms.begin() + f.first + f.count,
                       [&](const term& t) { return t.is_dim() && t.atom >= k_.domain_rank; });
  });
}

void row_emitter::fetch_function(const loop& l) {
  std::vector<std::uint32_t> own, first;  // loads of this loop only, and those kept for others
  for (const std::uint32_t v : packed_loads(l)) {
    if (first_kept_[v] == loop_nest::none) own.push_back(v);
    else if (first_kept_[v] == v) first.push_back(v);
  }
  declare_loads(l, own);
  const auto function =
      w_.definition("const auto fetch = [&](const {} first, const int left{})", index_type(), vector_number());
  w_.line("loads{} loads;", l.begin);
  for (const std::uint32_t v : own) load_lanes(v, lane_dim(l), fmt::format("loads.whole{}", v));
  for (const std::uint32_t v : first) load_lanes(v, lane_dim(l), fmt::format("kept{}[k]", v));
  w_.line("return loads;");
}

void row_emitter::step_function(const loop& l, const std::vector<bool>& needed) {
  const std::string_view I = index_type();
  const std::vector<std::uint32_t> stores = packed_stores(l);
  const auto function = w_.definition("const auto step = [&](const {} first, const int left, const loads{}& loads{})",
                                      I, l.begin, vector_number());
  declare_stores(stores);
  {
    w_.line("#pragma unroll");
    const auto lanes = w_.block("for (int lane = 0; lane < {}; ++lane)", lanes_);
    const auto there = w_.block("if (lane < left)");
    const std::uint32_t d = lane_dim(l);
    if (spells(d, needed, l, true)) lane_counter(fmt::format("d{}", d));
    loop_statements(l, needed, true);
  }
  for (const std::uint32_t v : stores) store_lanes(v, lane_dim(l));
}

/// Loads of the same values by several loops over the same dims: the first one's stay in registers for the others.
void row_emitter::find_kept() {
  const std::vector<std::uint32_t>& tops = nest_.tops();
  for (std::size_t a = 0; a < tops.size(); ++a)
    for (const std::uint32_t v : packed_loads(nest_[tops[a]])) {
      if (first_kept_[v] != loop_nest::none) continue;
      for (std::size_t b = a + 1; b < tops.size(); ++b) keep_for(v, nest_[tops[a]], nest_[tops[b]]);
    }
}

void row_emitter::keep_for(std::uint32_t v, const loop& own, const loop& later) {
  if (nest_.dims(own).first != nest_.dims(later).first || !own.scans.empty() || !later.scans.empty()) return;
  for (const std::uint32_t x : packed_loads(later)) {
    if (k_.origins[x] != k_.origins[v]) continue;
    first_kept_[v] = first_kept_[x] = v;
    element_[v] = element_[x] = fmt::format("kept{}[k].at[lane]", v);
    at_hand_[x] = true;
  }
}

/// A value that takes long to compute, needed by two loops over the same dims, is computed by the first and kept: the
/// registers its operands are in are then free for it. Long rows need theirs for having more of them in flight.
void row_emitter::find_saved() {
  constexpr int least_cost = 8;       // operations that registers are worth
  constexpr int most_registers = 16;  // with 32, softmax of 8192 x 8192 f32 has half of the rows in flight: 181 us
  if (k_.kept * lanes_ > most_registers) return;
  const std::vector<std::uint32_t>& tops = nest_.tops();
  for (std::size_t b = tops.size(); b-- > 1;) {
    const loop &earlier = nest_[tops[b - 1]], &later = nest_[tops[b]];
    if (nest_.dims(earlier).first != nest_.dims(later).first) continue;
    for (std::uint32_t v = later.end; v-- > later.begin + 1;) {
      const inst& x = k_.body[v];
      const bool worth = is_elementwise(x.code) && info(x.code).cost >= least_cost && size_of(x.type) <= 4;
      if (!worth || !levels_.varies[v] || nest_.around(v) != nest_.number_of(later.begin)) continue;
      for (std::uint32_t w = earlier.begin + 1; w < earlier.end && known_[v].empty(); ++w) {
        if (k_.origins[w] != k_.origins[v] || nest_.around(w) != nest_.number_of(earlier.begin)) continue;
        saved_[w] = known_[v] = fmt::format("saved{}[k][lane]", w);
      }
      if (!known_[v].empty()) return;
    }
  }
}

std::unique_ptr<kernel_emitter> make_row_emitter(const kernel& k, const user_code& users, writer& w) {
  return std::make_unique<row_emitter>(k, users, w);
}

}  // namespace sinter::jit
