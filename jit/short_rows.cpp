// Short rows that a thread each runs through. Their loops are unrolled, with the numbers that only loop counters meet
// part of the kernel: which piece of a joined row an element comes from is then known when it is compiled. Where rows
// lie end to end, a block fetches those of its threads together: neighbouring threads read far apart, a block one
// stretch.
#include "jit/lower_internal.hpp"

#include <algorithm>
#include <cstdlib>

namespace sinter::jit {

namespace {

// What a block may have without being asked for at compile time; several blocks then share a multiprocessor.
constexpr std::int64_t most_shared_bytes = 48 << 10;
constexpr std::int64_t most_unrolled = 1500;  // instructions; a compiler takes about 0.1 s
constexpr std::int64_t least_pitch = 5;       // shorter rows are in few cache lines for all threads of a warp anyway
// A thread with less on its way takes two rows, where there are enough. 2^24 norms of three f32 take 64 us, as with
// four rows a thread, and 75 with one.
constexpr std::int64_t bytes_in_flight = 32, least_elements_for_two = 1 << 20;
constexpr std::int64_t most_fixed = 1 << 20;  // numbers past this are no offsets within short rows

}  // namespace

/// For a thread a row: each distinct extent of such a loop is a kernel of its own.
void lowering::unroll_rows(std::int64_t trips, std::int64_t inner, std::int64_t elements, std::int64_t widest) {
  kernel& k = out_->ir;
  if (trips * static_cast<std::int64_t>(k.body.size()) > most_unrolled) return;
  for (std::uint32_t d = k.domain_rank; d < final_extents_.size(); ++d)
    if (final_extents_[d] > trips) return;
  k.unrolled = 1;
  k.kept = 0;
  const bool row_is_vector = k.lanes > 1 && inner == k.lanes && trips == inner;
  if (!row_is_vector) stage_rows(trips, elements);
  if (widest > 0 && trips * widest < bytes_in_flight && elements >= least_elements_for_two && loads_need_nothing())
    k.unrolled = 2;
  for (std::uint32_t d = k.domain_rank; d < final_extents_.size(); ++d) fix(k.dims[d].extent);
  for (const access& a : k.accesses)
    if (a.staged != access::alone) fix_form(k.forms[a.form]);
  for (const inst& i : k.body) {
    if (i.code == op::index && counts_loops(k.forms[i.attr])) fix_form(k.forms[i.attr]);
    if (i.code == op::inside && k[i.arg[0]].code == op::index && counts_loops(k.forms[k[i.arg[0]].attr])) fix(i.attr);
  }
}

/// Whether what a kernel's only loop loads can be loaded before all else.
bool lowering::loads_need_nothing() const {
  const kernel& k = out_->ir;
  constexpr std::size_t few_instructions = 64;
  const bool one_loop = k.loops.size() == 1 && k.loops[0].count == 1;
  if (!one_loop || !k.staged.empty() || k.body.size() > few_instructions) return false;
  bool in_loop = false;
  return std::ranges::all_of(k.body, [&](const inst& i) {
    if (i.code == op::loop || i.code == op::end) in_loop = i.code == op::loop;
    if (i.code != op::load || !in_loop) return true;
    const form& f = k.forms[k.accesses[i.attr].form];
    const bool plain = std::all_of(k.terms.begin() + f.first, k.terms.begin() + f.first + f.count,
                                   [](const term& t) { return t.is_dim(); });
    return plain && i.arg[0] == value::none;
  });
}

bool lowering::counts_loops(const form& f) const {
  const kernel& k = out_->ir;
  return std::all_of(k.terms.begin() + f.first, k.terms.begin() + f.first + f.count,
                     [&](const term& t) { return t.is_dim() && t.atom >= k.domain_rank; });
}

void lowering::fix_form(const form& f) {
  const kernel& k = out_->ir;
  for (std::uint32_t t = f.first; t < f.first + f.count; ++t)
    if (k.terms[t].is_dim() && k.terms[t].atom >= k.domain_rank && k.terms[t].coefficient != term::unit)
      fix(k.terms[t].coefficient);
  if (f.offset != form::no_offset) fix(f.offset);
}

void lowering::fix(std::uint32_t p) {
  const std::int64_t x = out_->numbers.slots[p].as_i64;
  if (std::abs(x) > most_fixed) return;
  out_->ir.parameters[p].fixed = 1;
  out_->ir.parameters[p].number = static_cast<std::int32_t>(x);
}

/// The pitch of the rows that an access inside loops reads, each element of the domain its own; 0 when it reads
/// anything else: its trailing axes must be counted by loops alone, the others by the domain.
std::int64_t lowering::pitch_of_rows(std::uint32_t access_number, std::int64_t trips, std::int64_t elements) const {
  const kernel& k = out_->ir;
  const pending_pointer& p = out_->pointers[access_number];
  if (k.parameters[p.parameter].kind != parameter_kind::input || k.parameters[p.parameter].aliased != 0) return 0;
  const raw_access& a = raw_accesses_[raw_of_access_[access_number]];
  const std::int64_t pitch = factors_[a.form * factor_stride_];
  if (pitch < least_pitch || std::abs(p.offset) > most_fixed || p.source->extents.size() != elements * pitch) return 0;
  if (4 * trips < 3 * pitch) return 0;  // most of the rows would be fetched for nothing
  std::int64_t of_row = 1;
  for (int axis = p.source->extents.rank(); axis-- > 0;) {
    const bool in_row = of_row < pitch;
    if (!in_row && map_form(a.map, axis).constant != 0) return 0;  // another element's row
    for (const linear_term& t : lin_.terms(map_form(a.map, axis)))
      if (!atoms_[t.atom].is_dim || (dims_[atoms_[t.atom].dim].space != 0) != in_row) return 0;
    of_row *= p.source->extents[axis];
    if (in_row && of_row > pitch) return 0;
  }
  return pitch;
}

void lowering::stage_rows(std::int64_t trips, std::int64_t elements) {
  kernel& k = out_->ir;
  if (k.domain_rank != 1) return;
  std::vector<const node*> sources;
  std::int64_t bytes = 0;
  std::uint32_t depth = 0;
  for (const inst& i : k.body) {
    depth += i.code == op::loop;
    depth -= i.code == op::end;
    if (i.code != op::load || depth == 0) continue;
    const std::int64_t pitch = pitch_of_rows(i.attr, trips, elements);
    if (pitch == 0) continue;
    node* const source = out_->pointers[i.attr].source;
    const auto known = std::ranges::find(sources, source);
    const auto number = static_cast<std::uint32_t>(known - sources.begin());
    if (known == sources.end()) {
      const std::int64_t more = (pitch | 1) * size_of(source->type) * k.threads + 48;  // a vector past the last row
      if (bytes + more > most_shared_bytes) continue;
      bytes += more;
      sources.push_back(source);
      const std::uint32_t base = parameter(parameter_kind::input, source->type);
      out_->pointers.push_back({base, source, 0, false});
      k.staged.push_back({base, static_cast<std::uint32_t>(pitch)});
    }
    k.accesses[i.attr].staged = number;
    k.accesses[i.attr].column = static_cast<std::int32_t>(out_->pointers[i.attr].offset);
    k.lanes = k.whole = 1;
  }
  out_->numbers.shared_bytes = static_cast<std::uint32_t>(bytes);
}

}  // namespace sinter::jit
