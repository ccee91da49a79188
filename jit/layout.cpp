// Second half of lowering: merges dims every access agrees on, drops unit ones, decides which strides are 0, 1 or a
// parameter, and how wide indices must be.
#include "jit/codegen/magic.hpp"
#include "jit/lower_internal.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

constexpr std::int64_t narrow_limit = (std::int64_t{1} << 31) - 4096;  // slack: a vector's last lane, a block's last
                                                                       // row
constexpr std::int64_t slack_of_loops = std::int64_t{1} << 24;         // a step over the threads of the whole device

std::uint64_t packed_magic(std::int64_t divisor) {
  if (divisor < 1 || divisor >= narrow_limit) return 0;  // such a kernel divides
  const magic_numbers m = magic(static_cast<std::uint32_t>(divisor));
  return m.multiplier | std::uint64_t{m.shift} << 32;
}

}  // namespace

void lowering::lay_out() {
  merge_dims();
  choose_width();
  write_dims();
  write_forms();
  choose_lanes();
  distribute();
  choose_transposes();
  add_magic();
}

std::int64_t lowering::factor_of(const linear& f, std::uint32_t raw_dim_number) const {
  for (const linear_term& t : lin_.terms(f))
    if (atoms_[t.atom].is_dim && atoms_[t.atom].dim == raw_dim_number) return t.factor;
  return 0;
}

/// Dims k and k + 1 are one when stepping k is stepping k + 1 over its whole extent, for every form.
void lowering::merge_dims() {
  kernel& k = out_->ir;
  const bool keeps_dims = how_->layout != layout_knowledge::all && spaces_.size() == 1;
  const std::size_t forms = raw_forms_.size();
  factor_stride_ = dims_.size() + 1;
  factors_.assign(forms * factor_stride_, 0);
  final_extents_.clear();
  final_spaces_.clear();
  for (std::uint32_t d = 0; d < dims_.size(); ++d) {
    if (dims_[d].space != 0 && final_extents_.empty()) add_final_dim(1, 0);  // a domain of one element
    const std::uint32_t s = dims_[d].space;
    const bool only = s != 0 && d + 1 == spaces_[s].first + spaces_[s].count && final_spaces_.back() != s;
    if (dims_[d].extent == 1 && !only) continue;
    bool merges = !keeps_dims && !final_extents_.empty() && final_spaces_.back() == s;
    const std::size_t last = final_extents_.size() - 1;
    for (std::size_t f = 0; merges && f < forms; ++f)
      merges = factor(f, last) == factor_of(raw_forms_[f], d) * dims_[d].extent;
    if (merges) final_extents_.back() *= dims_[d].extent;
    else add_final_dim(dims_[d].extent, s);
    for (std::size_t f = 0; f < forms; ++f) factor(f, final_extents_.size() - 1) = factor_of(raw_forms_[f], d);
  }
  if (final_spaces_.empty()) add_final_dim(1, 0);
  k.domain_rank = static_cast<std::uint32_t>(std::count(final_spaces_.begin(), final_spaces_.end(), 0u));
  for (std::uint32_t s = 1; s < spaces_.size(); ++s) {
    const auto first = std::find(final_spaces_.begin(), final_spaces_.end(), s);
    k.loops.push_back({static_cast<std::uint32_t>(first - final_spaces_.begin()),
                       static_cast<std::uint32_t>(std::count(final_spaces_.begin(), final_spaces_.end(), s)),
                       spaces_[s].serial});
  }
}

void lowering::add_final_dim(std::int64_t extent, std::uint32_t space) {
  final_extents_.push_back(extent);
  final_spaces_.push_back(space);
}

void lowering::choose_width() {
  kernel& k = out_->ir;
  k.index_bits = 64;
  if (!for_cuda_ || how_->force_wide_index) return;
  const std::int64_t limit = spaces_.size() > 1 ? narrow_limit - slack_of_loops : narrow_limit;
  std::int64_t trips = spaces_.size() > 1 ? 2 : 1;  // blocks step past the domain by as much as it has
  const bool tiles = std::ranges::any_of(k.body, [](const inst& i) { return is_scan(i.code); });  // of all rows
  for (std::size_t d = 0; d < final_extents_.size(); ++d) {
    if (d > 0 && final_spaces_[d] != final_spaces_[d - 1] && !tiles)
      trips = 1;  // a loop's iterations, for each element
    const std::int64_t n = std::max<std::int64_t>(final_extents_[d], 1);
    if (n >= limit) return;
    if (!spaces_[final_spaces_[d]].serial) trips *= n;  // nobody numbers the iterations of serial loops
    if (trips >= limit) return;
  }
  for (std::size_t f = 0; f < raw_forms_.size(); ++f) {
    std::int64_t reach = std::abs(raw_forms_[f].constant) * raw_has_offset_[f];
    for (std::size_t d = 0; d < final_extents_.size(); ++d) reach += std::abs(factor(f, d)) * final_extents_[d];
    for (const linear_term& t : lin_.terms(raw_forms_[f]))
      if (!atoms_[t.atom].is_dim) reach += std::abs(t.factor) * atoms_[t.atom].limit;
    if (reach >= limit) return;
  }
  k.index_bits = 32;
  for (const std::uint32_t p : sizes_)  // no index gets further
    out_->numbers.slots[p].as_i64 = std::min(out_->numbers.slots[p].as_i64, narrow_limit);
}

void lowering::write_dims() {
  kernel& k = out_->ir;
  arguments& a = out_->numbers;
  a.rows = 1;
  for (std::size_t d = 0; d < final_extents_.size(); ++d) {
    k.dims.push_back({parameter(parameter_kind::extent, dtype::i64, final_extents_[d])});
    if (d + 1 < k.domain_rank) a.rows *= final_extents_[d];
  }
  a.inner = final_extents_[k.domain_rank - 1];
  constexpr std::int64_t most_trips = std::int64_t{1} << 30;
  std::int64_t cost = 0;
  trips_.assign(1, 1);
  for (const inst& i : k.body) {
    cost = std::min<std::int64_t>(cost + info(i.code).cost * trips_.back(), 1 << 30);
    if (i.code == op::end) trips_.pop_back();
    if (i.code != op::loop) continue;
    std::int64_t trips = trips_.back();
    for (std::uint32_t d = 0; d < k.loops[i.attr].count; ++d)
      trips = std::min(std::clamp(final_extents_[k.loops[i.attr].first + d], std::int64_t{1}, most_trips) * trips,
                       most_trips);
    trips_.push_back(trips);
  }
  a.cost = static_cast<int>(cost);
}

void lowering::write_forms() {
  kernel& k = out_->ir;
  const bool knows = how_->layout != layout_knowledge::none || spaces_.size() > 1;
  const bool draws = draws_words(k);  // where counters start at 0, compilers see which elements share a block of words
  for (const form_instance& instance : form_instances_) {
    const std::uint32_t f = instance.raw;
    form out{static_cast<std::uint32_t>(k.terms.size()), 0, form::no_offset};
    const auto add = [&](std::uint32_t atom, std::int64_t factor) {
      if (factor == 0 && knows) return;
      const std::uint32_t c =
          factor == 1 && knows ? term::unit : parameter(parameter_kind::coefficient, dtype::i64, factor);
      k.terms.push_back({atom, c});
      ++out.count;
    };
    for (std::uint32_t d = 0; d < final_extents_.size(); ++d) add(d, factor(f, d));
    std::uint32_t at = instance.first;
    for (const linear_term& t : lin_.terms(raw_forms_[f]))
      if (!atoms_[t.atom].is_dim) add(term::computed | raw(values_of_forms_[at++]), t.factor);
    const std::int64_t offset = raw_forms_[f].constant;
    const bool spelled = raw_has_offset_[f] && !(draws && offset == 0);
    if (spelled) out.offset = parameter(parameter_kind::offset, dtype::i64, offset);
    k.forms.push_back(out);
  }
}

/// Whole vectors of 16 bytes of the widest element read or written along the inner dim; fewer when the code grows
/// large.
void lowering::choose_lanes() {
  kernel& k = out_->ir;
  const std::uint32_t inner = k.domain_rank - 1;
  out_->numbers.blocks_over = k.iterations.empty() ? block_form::wide : block_form::square;
  if (!for_cuda_ || how_->single_lane || !k.loops.empty()) return;
  std::int64_t widest = 0;  // of the elements that are neighbours in memory
  std::vector<bool> unit(k.accesses.size());
  for (std::size_t a = 0; a < k.accesses.size(); ++a) {
    const form& f = k.forms[k.accesses[a].form];
    for (std::uint32_t t = f.first; t < f.first + f.count; ++t)
      unit[a] = unit[a] || (k.terms[t].atom == inner && k.terms[t].coefficient == term::unit);
    if (unit[a]) widest = std::max(widest, size_of(k.parameters[k.accesses[a].pointer].type));
  }
  int lanes = widest == 0 || mostly_conditional(unit) ? 1 : static_cast<int>(16 / widest);
  while (lanes > 1 && lanes * static_cast<int>(k.body.size()) > most_lanes_times_operations) lanes /= 2;
  const std::int64_t tables = bytes_of_tables();
  if (tables > 0 && lanes > 1 && lanes < 8) lanes *= 2;  // few threads have to have much on its way
  k.lanes = static_cast<std::uint8_t>(lanes);
  if (tables > 0) write_tables(tables);
  if (lanes == 1) return;
  mark_aligned(unit, [&](std::uint32_t d) { return d == inner; });
  find_near_accesses(unit);
  parameter(parameter_kind::aligned, dtype::u64, 0);
}

/// Which pointers, if they are aligned, keep being so: all steps but those along the inner dim are whole vectors.
template <class F>
void lowering::mark_aligned(const std::vector<bool>& unit, F&& is_inner) {
  const kernel& k = out_->ir;
  for (std::size_t a = 0; a < k.accesses.size(); ++a) {
    pending_pointer& p = out_->pointers[a];  // made together with its access
    const std::uint32_t f = raw_accesses_[raw_of_access_[a]].form;
    p.aligned_steps = unit[a];
    for (std::uint32_t d = 0; d < final_extents_.size(); ++d)
      if (!is_inner(d) && factor(f, d) % k.lanes != 0) p.aligned_steps = false;
    for (const linear_term& t : lin_.terms(raw_forms_[f]))
      if (!atoms_[t.atom].is_dim && t.factor % k.lanes != 0) p.aligned_steps = false;
  }
}

/// For loops that several threads share: vectors lie along each loop's own innermost dim, or along the domain's.
void lowering::align_loops() {
  const kernel& k = out_->ir;
  if (k.lanes == 1) return;
  const auto is_inner = [&](std::uint32_t d) {
    if (k.over == distribution::columns || k.over == distribution::tiles) return d == k.domain_rank - 1;
    for (std::uint32_t s = 1; s < spaces_.size(); ++s)
      if (spaces_[s].parent == 0 && d == k.loops[s - 1].first + k.loops[s - 1].count - 1) return true;
    return false;
  };
  std::vector<bool> unit(k.accesses.size());
  for (std::size_t a = 0; a < k.accesses.size(); ++a) {
    const form& f = k.forms[k.accesses[a].form];
    for (std::uint32_t t = f.first; t < f.first + f.count; ++t)
      unit[a] = unit[a] || (k.terms[t].is_dim() && is_inner(k.terms[t].atom) && k.terms[t].coefficient == term::unit);
  }
  mark_aligned(unit, is_inner);
  parameter(parameter_kind::aligned, dtype::u64, 0);
}

/// Stencils read an array several times, a few elements apart: whole vectors for the middle one of these reads, which
/// most likely lies on a vector's boundary, hold most elements of the others.
void lowering::find_near_accesses(const std::vector<bool>& unit) {
  constexpr std::int64_t most_rows_shared = 8;
  kernel& k = out_->ir;
  const std::vector<pending_pointer>& at = out_->pointers;
  const auto plain_load = [&](std::size_t a) {
    return unit[a] && k.parameters[k.accesses[a].pointer].kind == parameter_kind::input && !conditional_[a];
  };
  const std::size_t rows = final_extents_.size() > 1 ? final_extents_.size() - 2 : 0;  // the dim next to the inner one
  std::vector<std::uint32_t> alike;
  for (std::uint32_t a = 0; a < k.accesses.size(); ++a) {
    alike.clear();
    for (std::uint32_t b = 0; b < k.accesses.size(); ++b)
      if (at[b].source == at[a].source && k.accesses[b].form == k.accesses[a].form && plain_load(a) && plain_load(b))
        alike.push_back(b);
    if (alike.size() < 2 || alike[0] != a) continue;  // each set once
    std::ranges::stable_sort(alike, {}, [&](std::uint32_t b) { return at[b].offset; });
    const std::uint32_t middle = alike[alike.size() / 2];
    for (const std::uint32_t b : alike) {
      const std::int64_t shift = at[b].offset - at[middle].offset;
      const std::int64_t row = factor(raw_accesses_[raw_of_access_[b]].form, rows);
      if (row != 0 && shift != 0 && shift % row == 0 && std::abs(shift / row) < most_rows_shared)
        out_->numbers.blocks_over = block_form::tall;
      if (shift == 0 || std::abs(shift) >= k.lanes) continue;
      k.accesses[b].near = middle;
      k.accesses[b].shift = static_cast<std::int32_t>(shift);
    }
  }
}

/// Whether most accesses to neighbours ask of each element whether to happen: those can't move whole vectors.
bool lowering::mostly_conditional(const std::vector<bool>& unit) {
  const kernel& k = out_->ir;
  const std::uint32_t inner = k.domain_rank - 1;
  moves_.assign(k.body.size(), false);
  const auto form_moves = [&](std::uint32_t f) {
    for (std::uint32_t t = k.forms[f].first; t < k.forms[f].first + k.forms[f].count; ++t) {
      const term& x = k.terms[t];
      if (x.is_dim() ? x.atom == inner : moves_[x.atom & ~term::computed]) return true;
    }
    return false;
  };
  int whole = 0, conditional = 0;
  conditional_.assign(k.accesses.size(), false);
  for (std::size_t v = 0; v < k.body.size(); ++v) {
    const inst& i = k.body[v];
    for (const value a : i.arg)
      if (a != value::none && moves_[raw(a)]) moves_[v] = true;
    if (i.code == op::index) moves_[v] = form_moves(i.attr);
    if (i.code != op::load && i.code != op::store) continue;
    const value predicate = i.code == op::load ? i.arg[0] : i.arg[1];
    conditional_[i.attr] = predicate != value::none;
    if (unit[i.attr]) ++(predicate != value::none && moves_[raw(predicate)] ? conditional : whole);
    if (i.code == op::load) moves_[v] = moves_[v] || form_moves(k.accesses[i.attr].form);
  }
  return conditional > whole;
}

/// Multipliers for the divisions by quotients' divisors, and by inner extents to find a row's place.
void lowering::add_magic() {
  kernel& k = out_->ir;
  std::vector<slot>& numbers = out_->numbers.slots;
  for (std::size_t p = 0; p < k.parameters.size(); ++p)
    if (k.parameters[p].kind == parameter_kind::magic) numbers[p].as_u64 = packed_magic(numbers[p - 1].as_i64);
  for (std::uint32_t d = 1; d + 1 < k.domain_rank; ++d)
    parameter(parameter_kind::magic, dtype::u64, static_cast<std::int64_t>(packed_magic(final_extents_[d])));
  if (!k.checks.empty()) {
    parameter(parameter_kind::fault, dtype::i64, 0);
    parameter(parameter_kind::launch, dtype::i64, 0);
  }
}

namespace {

/// Rows that begin within a vector of memory, as those of an array without its rim do: threads take whole vectors all
/// the same when the first one's begins outside. Stores count twice, since they can't be put together from neighbours.
int find_lead(const lowered& l, const arguments& numbers) {
  int wanted[most_lanes] = {};
  const auto lanes = static_cast<std::uintptr_t>(l.ir.lanes);
  for (const pending_pointer& p : l.pointers) {
    const parameter& x = l.ir.parameters[p.parameter];
    const auto address = reinterpret_cast<std::uintptr_t>(numbers.slots[p.parameter].as_pointer);
    if (!p.aligned_steps) continue;
    wanted[address / static_cast<std::uintptr_t>(size_of(x.type)) % lanes] += x.kind == parameter_kind::output ? 2 : 1;
  }
  return static_cast<int>(std::ranges::max_element(wanted) - wanted);
}

template <class AddressOf>
void bind(const lowered& l, arguments& numbers, const AddressOf& address_of) {
  for (std::size_t k = 0; k < l.pointers.size(); ++k) {
    const pending_pointer& p = l.pointers[k];
    const std::int64_t size = size_of(l.ir.parameters[p.parameter].type);
    auto* address = static_cast<char*>(address_of(k));
    if (address) address += p.offset * size;  // arrays without elements have no memory, nor anything to read
    numbers.slots[p.parameter].as_pointer = address;
  }
  if (l.ir.over == distribution::steps) return;  // whose lead doesn't depend on memory
  numbers.lead = l.ir.lanes > 1 && l.ir.over == distribution::elements ? find_lead(l, numbers) : 0;
  if (l.ir.lanes == 1) return;
  std::uint64_t aligned = static_cast<std::uint64_t>(numbers.lead) << first_lead_bit;
  std::uint32_t number = 0;
  for (const pending_pointer& p : l.pointers) {
    const std::int64_t size = size_of(l.ir.parameters[p.parameter].type);
    const auto address = reinterpret_cast<std::uintptr_t>(numbers.slots[p.parameter].as_pointer);
    const auto before = static_cast<std::uintptr_t>(size * numbers.lead);
    const auto vector = static_cast<std::uintptr_t>(size * l.ir.lanes);
    if (p.aligned_steps && number < first_lead_bit && (address - before) % vector == 0)
      aligned |= std::uint64_t{1} << number;
    ++number;
  }
  for (std::size_t p = 0; p < l.ir.parameters.size(); ++p)
    if (l.ir.parameters[p].kind == parameter_kind::aligned) numbers.slots[p].as_u64 = aligned;
}

}  // namespace

void bind_pointers(lowered& l, void* (*memory_of)(void* context, const node* n), void* context) {
  bind(l, l.numbers, [&](std::size_t k) { return memory_of(context, l.pointers[k].source); });
}

void bind_pointers(const lowered& l, arguments& numbers, std::span<void* const> addresses) {
  bind(l, numbers, [&](std::size_t k) { return addresses[k]; });
}

}  // namespace sinter::jit
