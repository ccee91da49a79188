#include "jit/codegen/emit_teams.hpp"

#include "jit/user_kernel.hpp"

#include <algorithm>

namespace sinter::jit {

// ---- lanes ----

lane_emitter::lane_emitter(const kernel& k, const user_code& users, dialect d, writer& w, bool columns)
    : kernel_emitter(k, users, d, w), columns_(columns), levels_(nest_.along(columns)), at_hand_(k.body.size()),
      late_(k.body.size()) {
  find_late();
  find_segments();
  if (columns) find_arrays();
}

void lane_emitter::find_late() {
  for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
    if (is_reduction(k_.body[v].code) && at_row_level(nest_[nest_.around(v)].begin)) late_[v] = true;
    if (writes(v) && at_row_level(v)) late_[v] = true;
    nest_.each_operand(v, [&](std::uint32_t x) { late_[v] = late_[v] || late_[x]; });
  }
}

std::vector<std::uint32_t> lane_emitter::reductions_of(const loop& l) const {
  if (k_.split == 0) return l.reductions;
  std::vector<std::uint32_t> all;
  if (l.begin != nest_[nest_.tops()[0]].begin) return all;  // the first loop speaks for all
  for (const std::uint32_t top : nest_.tops())
    all.insert(all.end(), nest_[top].reductions.begin(), nest_[top].reductions.end());
  return all;
}

bool lane_emitter::is_packed(std::uint32_t v, std::uint32_t lane_dim) const {
  const inst& x = k_.body[v];
  if (x.code != op::load && x.code != op::store) return false;
  if (k_.accesses[x.attr].staged != access::alone) return false;
  if (x.code == op::store && (lanes_ == 1 || !are_neighbours(v, lane_dim))) return false;
  const form& f = k_.forms[k_.accesses[x.attr].form];
  for (std::uint32_t t = f.first; t < f.first + f.count; ++t)
    if (const term& s = k_.terms[t]; !s.is_dim() && levels_.varies[s.atom & ~term::computed]) return false;
  const value predicate = x.code == op::load ? x.arg[0] : x.arg[1];
  return levels_.inside[v] && (predicate == value::none || !levels_.varies[raw(predicate)]);
}

bool lane_emitter::are_neighbours(std::uint32_t v, std::uint32_t lane_dim) const {
  const form& f = k_.forms[k_.accesses[k_.body[v].attr].form];
  return std::any_of(k_.terms.begin() + f.first, k_.terms.begin() + f.first + f.count,
                     [&](const term& t) { return t.atom == lane_dim && t.coefficient == term::unit; });
}

std::vector<bool> lane_emitter::needed_in(const loop& l) const {
  std::vector<bool> needed(k_.body.size());
  const std::uint32_t number = nest_.number_of(l.begin);
  for (std::uint32_t v = l.begin + 1; v < l.end; ++v) {
    const op code = k_.body[v].code;
    needed[v] = nest_.around(v) != number || writes(v) || is_reduction(code) || is_scan(code) || code == op::bound ||
                code == op::loop || code == op::end;
  }
  need_operands(needed, l.begin + 1, l.end);
  return needed;
}

void lane_emitter::need_operands(std::vector<bool>& needed, std::uint32_t begin, std::uint32_t end) const {
  for (std::uint32_t v = end; v-- > begin;) {
    if (!needed[v]) continue;
    const inst& x = k_.body[v];
    if (!known_[v].empty()) continue;
    if (at_hand_[v]) {  // no address, then
      if (x.arg[0] != value::none) needed[raw(x.arg[0])] = true;
    } else {
      nest_.each_operand(v, [&](std::uint32_t operand) { needed[operand] = true; });
    }
  }
}

bool lane_emitter::spells(std::uint32_t d, std::uint32_t v) const {
  const inst& x = k_.body[v];
  const auto in_form = [&](std::uint32_t number) {
    const form& f = k_.forms[number];
    return std::any_of(k_.terms.begin() + f.first, k_.terms.begin() + f.first + f.count,
                       [&](const term& t) { return t.atom == d; });
  };
  switch (x.code) {
    case op::index: return in_form(x.attr);
    case op::load:
    case op::store:
    case op::atomic: return element_[v].empty() && in_form(k_.accesses[x.attr].form);
    case op::proceed:
    case op::bound: return columns_ && d == inner_dim();  // its place, for the report
    case op::reduce_argmin:
    case op::reduce_argmax: {
      const loop_dims& own = nest_.dims(nest_[nest_.around(v)]);
      return !at_row_level(v) && d >= own.first && d < own.first + own.count;
    }
    default: return false;
  }
}

bool lane_emitter::spells(std::uint32_t d, const std::vector<bool>& needed, const loop& l, bool in_lanes) const {
  for (std::uint32_t v = l.begin + 1; v < l.end; ++v)
    if (needed[v] && levels_.inside[v] == in_lanes && spells(d, v)) return true;
  return false;
}

void lane_emitter::loop_statements(const loop& l, const std::vector<bool>& needed, bool in_lanes) {
  for (std::uint32_t v = l.begin + 1; v < l.end; ++v) {
    const bool here = needed[v] && levels_.inside[v] == in_lanes;
    if (here) v = instruction(v);
    else if (k_.body[v].code == op::loop) v = nest_[nest_.number_of(v)].end;
  }
}

// ---- segments ----

void lane_emitter::find_segments() {
  segments_.assign(is_split() ? 2 : nest_.tops().size() + 1, {});
  std::size_t now = 0;
  for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
    if (k_.body[v].code == op::loop) {
      const loop& l = nest_[nest_.number_of(v)];
      std::vector<std::uint32_t>& after = segments_[is_split() ? 1 : ++now];
      after.insert(after.end(), l.reductions.begin(), l.reductions.end());
      v = l.end;
    } else {
      segments_[is_split() ? late_[v] : now].push_back(v);
    }
  }
}

/// Values that differ from lane to lane and are used outside their segment.
void lane_emitter::find_arrays() {
  std::vector<std::size_t> segment_of(k_.body.size(), segments_.size());
  for (std::size_t s = 0; s < segments_.size(); ++s)
    for (const std::uint32_t v : segments_[s]) segment_of[v] = s;
  for (std::uint32_t v = 0; v < k_.body.size(); ++v) {
    // A reduction is written where its value is read, but adds its operand in the loop.
    const std::size_t own = is_reduction(k_.body[v].code) ? segments_.size() : segment_of[v];
    nest_.each_operand(v, [&](std::uint32_t x) {
      if (segment_of[x] < segments_.size() && segment_of[x] != own && levels_.varies[x]) names_.set_array(value{x});
    });
  }
}

void lane_emitter::declare_arrays(const std::vector<std::uint32_t>& segment, const std::string& vectors) {
  for (const std::uint32_t v : segment) {
    const inst& x = k_.body[v];
    if (!names_.is_array(value{v})) continue;
    if (x.code == op::bound) w_.line("bool good{}{}[{}] = {{}};", v, vectors, lanes_);
    if (x.code != op::call && x.code != op::reduce_call) {
      w_.line("{} v{}{}[{}] = {{}};", value_type(k_, x), v, vectors, lanes_);
      continue;
    }
    const call& c = k_.calls[x.attr];
    for (std::uint32_t o = 0; o < c.outputs; ++o)
      w_.line("{} result{}_{}{}[{}] = {{}};", c_type(c.kernel->output_types[o]), v, o, vectors, lanes_);
  }
}

bool lane_emitter::any_in_lanes(const std::vector<std::uint32_t>& segment) const {
  return std::ranges::any_of(segment, [&](std::uint32_t v) { return levels_.inside[v]; });
}

void lane_emitter::settled_statements(const std::vector<std::uint32_t>& segment) {
  set_position(false);
  for (const std::uint32_t v : segment)
    if (!levels_.inside[v]) instruction(v);
}

void lane_emitter::lane_statements(const std::vector<std::uint32_t>& segment) {
  set_position(true);
  if (std::ranges::any_of(segment, [&](std::uint32_t v) { return levels_.inside[v] && spells(inner_dim(), v); }))
    w_.line("const {} i = first + lane;", index_type());
  for (const std::uint32_t v : segment) {
    if (!levels_.inside[v]) continue;
    if (is_reduction(k_.body[v].code)) found(v);
    else instruction(v);
  }
}

void lane_emitter::set_position(bool in_lanes) {
  const std::string of_row = has_rows() ? fmt::format("(long long)row * {}", inner_extent()) : "";
  here_.position = !in_lanes ? (has_rows() ? of_row : "0") : has_rows() ? of_row + " + i" : "i";
}

// ---- teams ----

void team_emitter::whole(const std::string& name) {
  const int together = least_blocks();
  const std::string bounds = together == 0 ? "" : fmt::format(", {}", together);
  const auto function = w_.block("extern \"C\" __global__ void __launch_bounds__({}{}) {}({})", k_.threads, bounds,
                                 name, cuda_parameters(""));
  w_.line("const {0} {1}blocks = gridDim.x;", index_type(), takes_tickets() ? "" : "block = blockIdx.x, ");
  body();
}

void team_emitter::part(const std::string& name) {
  const auto function =
      w_.block("static __device__ __forceinline__ void {}(const {} block, const {} blocks, {})", name, index_type(),
               index_type(), cuda_parameters(""));
  body();
}

void team_emitter::declare_totals(const loop& l, const std::string& lanes) {
  const std::vector<std::uint32_t> reductions = reductions_of(l);
  if (reductions.empty()) return;
  {
    const auto type = w_.definition("struct {}", totals_type(l));
    for (const std::uint32_t v : reductions) w_.line("{} r{};", accumulator_of(v), v);
    // NVRTC 13.0 sometimes calls constructors that it has not compiled where this one is left to it.
    w_.line("__device__ __forceinline__ {}() {{}}", totals_type(l));
    const auto merge = w_.block("__device__ __forceinline__ void merge(const {}& other)", totals_type(l));
    for (const std::uint32_t v : reductions) w_.line("r{0}.merge(other.r{0});", v);
  }
  w_.line("{} {}{};", totals_type(l), totals_name(l), lanes.empty() ? "" : fmt::format("[{}]", lanes));
  for (const std::uint32_t v : reductions)
    total_[v] = fmt::format("{}{}.r{}", totals_name(l), lanes.empty() ? "" : "[lane]", v);
}

std::vector<std::string> team_emitter::merged_together(const loop& l) const {
  constexpr std::size_t most_together = 3;  // of at most 32 bytes: size_class in team.cuh
  const std::vector<std::uint32_t> reductions = reductions_of(l);
  const bool users =
      std::ranges::any_of(reductions, [&](std::uint32_t v) { return k_.body[v].code == op::reduce_call; });
  if (reductions.empty()) return {};
  if (reductions.size() <= most_together && !users) return {""};
  std::vector<std::string> each;
  for (const std::uint32_t v : reductions) each.push_back(fmt::format(".r{}", v));
  return each;
}

void team_emitter::merge_lanes(const loop& l) {
  for (const std::string& total : merged_together(l))
    w_.line("merge_down<{}>({}, []({}& t) -> auto& {{ return t{}; }}, own);", k_.threads, totals_name(l),
            totals_type(l), total);
}

void team_emitter::merge_lane_pieces(const loop& l) {
  if (!has_totals(l)) return;
  const std::string type = totals_type(l), all = totals_name(l);
  const auto split = w_.block("if (pieces > 1)");
  w_.line("const long long apart = (long long)rows * {};", inner_extent());
  w_.line("{0}* const found = ({0}*)workspace + (long long)row * {1} + first;", type, inner_extent());
  {
    const auto first = w_.block("if (own.y == 0)");
    w_.line("{}", each_lane());
    w_.line("  if (lane < left) found[piece * apart + lane] = {}[lane];", all);
  }
  w_.line("if (!last_to_arrive(&tickets[task], (unsigned)pieces)) return;");
  w_.line("{} {}[lane] = {}();", each_lane(), all, type);
  w_.line("#pragma unroll 4");
  {
    const auto each = w_.block("for ({} p = own.y; p < pieces; p += own.ny)", index_type());
    w_.line("#pragma unroll");
    w_.line("{}", each_lane());
    w_.line("  if (lane < left) {}[lane].merge(found[p * apart + lane]);", all);
  }
  merge_lanes(l);
}

std::string team_emitter::is_pack_aligned(std::uint32_t v) const {
  return lanes_ == 1 ? "true" : is_aligned(k_.body[v].attr);
}

std::string team_emitter::pack_type(std::uint32_t v) const {
  return fmt::format("pack<{}, {}>", c_type(k_.body[v].type), lanes_);
}

std::string team_emitter::pack_address(std::uint32_t v, std::uint32_t lane_dim, const std::string& first) {
  if (columns_) return address(k_.body[v].attr, first);
  const std::string name = names_.call_dim(lane_dim, first);
  const std::string text = address(k_.body[v].attr, "i");
  names_.call_dim(lane_dim, name);
  return text;
}

std::string team_emitter::pack_load(std::uint32_t v, std::uint32_t lane_dim) {
  return fmt::format("load_some<{}, {}>(&{}, left, {})", c_type(k_.body[v].type), lanes_, pack_address(v, lane_dim),
                     is_pack_aligned(v));
}

void team_emitter::load_lanes(std::uint32_t v, std::uint32_t lane_dim, const std::string& to) {
  const value predicate = k_.body[v].arg[0];
  if (lanes_ > 1 && !are_neighbours(v, lane_dim)) {
    w_.line("for (int lane = 0; lane < {}; ++lane)", lanes_);
    const std::string when = predicate == value::none ? "" : " && " + names_.value(predicate);
    return w_.line("  if (lane < left{}) {}.at[lane] = {};", when, to, pack_address(v, lane_dim, "(first + lane)"));
  }
  if (predicate == value::none) return w_.line("{} = {};", to, pack_load(v, lane_dim));
  w_.line("{} = {}{{}};", to, pack_type(v));
  w_.line("if ({}) {} = {};", names_.value(predicate), to, pack_load(v, lane_dim));
}

void team_emitter::declare_stores(const std::vector<std::uint32_t>& stores) {
  for (const std::uint32_t v : stores) {
    w_.line("{} whole{};", pack_type(v), v);
    element_[v] = fmt::format("whole{}.at[lane]", v);
  }
}

void team_emitter::store_lanes(std::uint32_t v, std::uint32_t lane_dim) {
  w_.line("{}store_some(&{}, whole{}, left, {});", condition(k_.body[v].arg[1]), pack_address(v, lane_dim), v,
          is_pack_aligned(v));
}

std::vector<std::uint32_t> team_emitter::packed_loads(const loop& l) const {
  std::vector<std::uint32_t> list;
  for (std::uint32_t v = l.begin + 1; v < l.end; ++v)
    if (k_.body[v].code == op::load && nest_.around(v) == nest_.number_of(l.begin) && is_packed(v, lane_dim(l)))
      list.push_back(v);
  return list;
}

std::vector<std::uint32_t> team_emitter::packed_stores(const loop& l) const {
  std::vector<std::uint32_t> list;
  for (std::uint32_t v = l.begin + 1; v < l.end; ++v)
    if (k_.body[v].code == op::store && nest_.around(v) == nest_.number_of(l.begin) && is_packed(v, lane_dim(l)))
      list.push_back(v);
  return list;
}

void team_emitter::declare_loads(const loop& l, const std::vector<std::uint32_t>& loads) {
  {
    const auto type = w_.definition("struct loads{}", l.begin);
    for (const std::uint32_t v : loads) w_.line("{} whole{};", pack_type(v), v);
  }
  for (const std::uint32_t v : loads) element_[v] = fmt::format("loads.whole{}.at[lane]", v);
}

int team_emitter::ahead(const loop& l) const {
  for (std::uint32_t v = l.begin + 1; v < l.end; ++v)
    if (k_.body[v].code == op::loop) return 1;
  int count = 4;
  const int lanes_of_body = static_cast<int>(l.end - l.begin) * lanes_;
  while (count > 1 && count * lanes_of_body > most_lanes_times_operations) count /= 2;
  return count;
}

}  // namespace sinter::jit
