#include "jit/lower.hpp"

#include "jit/lower_internal.hpp"
#include "jit/recorded_memory.hpp"
#include "jit/user_kernel.hpp"
#include "runtime/own.hpp"

#include <algorithm>
#include <cstring>

namespace sinter::jit {

namespace {

constexpr std::uint32_t identity = 0;

/// Whether the value of `n` is zero wherever its loads are.
bool keeps_zero(const node* n, const stored_values& stored) {
  while (!stored.contains(n)) {
    if (n->code != op::view && n->code != op::reshape && n->code != op::convert && n->code != op::gather) return false;
    n = n->operands()[0];
  }
  return !is_recorded_number(n->values());  // it is no load
}

}  // namespace

void write_scalar(slot& s, const scalar& x, dtype type) {
  s = slot{};
  switch (type) {
    case dtype::boolean: s.bytes[0] = x.as_bool; break;
    case dtype::f16:
    case dtype::bf16:  // registers hold them as f32
    case dtype::f32: { const auto f = static_cast<float>(x.as_f64); std::memcpy(s.bytes, &f, 4); break; }
    case dtype::f64: std::memcpy(s.bytes, &x.as_f64, 8); break;
    case dtype::c64: {
      const float f[2] = {static_cast<float>(x.as_c128.re), static_cast<float>(x.as_c128.im)};
      std::memcpy(s.bytes, f, 8);
      break;
    }
    case dtype::c128: std::memcpy(s.bytes, &x.as_c128, 16); break;
    default: s.as_i64 = x.as_i64; break;  // little endian: the low bytes are the narrow integer
  }
}

void lower(const group& what, const stored_values& stored, const options& how, bool for_cuda, lowered& out,
           bool bounded) {
  lowering& state = runtime::own_of_thread<lowering>();
  out.oversized = nullptr;
  try {
    return state.run(what, stored, how, for_cuda, bounded, out);
  } catch (const kernel_too_large&) {
    out.oversized = state.best_cut();
  }
  if (!out.oversized) state.run(what, stored, how, for_cuda, false, out);
}

void lowering::run(const group& what, const stored_values& stored, const options& how, bool for_cuda, bool bounded,
                   lowered& out) {
  bounded_ = bounded;
  lowered_nodes_.clear();
  lowered_where_.clear();
  stored_ = &stored;
  group_ = &what;
  how_ = &how;
  for_cuda_ = for_cuda;
  out_ = &out;
  out.ir.clear();
  out.numbers.slots.clear();
  out.pointers.clear();
  out.pending_numbers.clear();
  out.check_sites.clear();
  out.conflicts.clear();
  lin_.clear();
  atoms_.clear();
  dims_.clear();
  maps_.clear();
  map_forms_.clear();
  raw_forms_.clear();
  raw_has_offset_.clear();
  raw_accesses_.clear();
  graph_.clear();
  space_.clear();
  calls_.clear();
  iterations_.clear();
  call_operands_.clear();
  spaces_.assign(1, {0, 0, 0, 0});
  open_states_.clear();
  choices_.clear();
  scope_ = 0;
  open_scopes_.clear();
  from_around_.clear();
  memo_.clear();
  map_numbers_.clear();
  form_numbers_.clear();
  pure_.clear();
  below_tails_ = 0;
  factors_seen_.clear();
  scalar_lines_.clear();
  out.ir.math = static_cast<std::uint8_t>(how.math);

  const shape domain = what.domain();
  spaces_[0].count = static_cast<std::uint32_t>(domain.rank());
  scratch_.clear();
  for (int k = 0; k < domain.rank(); ++k) {
    const std::uint32_t atom = new_atom({.is_dim = true, .dim = static_cast<std::uint32_t>(k), .limit = domain[k]});
    dims_.push_back({domain[k], 0, atom});
    const linear at = lin_.atom(atom);
    scratch_.push_back(what.part ? lin_.affine(what.part->first[k], 1, at) : at);
  }
  intern(scratch_, value::none);
  loads_.clear();
  sizes_.clear();
  aliased_.clear();
  stores_.clear();
  for (std::uint32_t k = 0; k < what.outputs.size(); ++k) {
    const target& t = what.outputs[k];
    if (t.value->extents.size() != 0) prepare_store(t, k, what.has_loops ? map_of_target(t) : identity);
  }
  if (what.lone) lower_value(what.lone, identity);
  find_conflicts();
  forms_of_inputs_ = raw_forms_.size();
  for (const pending_store& p : stores_) emit_store(p);
  arrange();
  mark_aliases();
  lay_out();
  if (bounded_) check_parameters();
}

shape group::domain_around(const target& t) {
  shape out;
  for (int k = 0; k < t.value->extents.rank(); ++k)
    if ((t.looped >> k & 1u) == 0 && t.value->extents[k] != 1) out.append(t.value->extents[k]);
  return out;
}

/// A target's axes as counters of the domain and of the loops inside it.
std::uint32_t lowering::map_of_target(const target& t) {
  const shape& extents = t.value->extents;
  std::vector<std::int64_t> looped;
  for (int k = 0; k < extents.rank(); ++k)
    if ((t.looped >> k & 1u) != 0 && extents[k] != 1) looped.push_back(extents[k]);
  std::uint32_t dim = looped.empty() ? 0 : spaces_[space_of_loops(0, looped)].first;
  int outer = 0;
  scratch_.clear();
  for (int k = 0; k < extents.rank(); ++k) {
    if (extents[k] == 1) scratch_.push_back(lin_.constant(0));
    else if ((t.looped >> k & 1u) != 0) scratch_.push_back(lin_.atom(dims_[dim++].atom));
    else scratch_.push_back(map_form(identity, outer++));
  }
  return intern(scratch_, value::none);
}

void lowering::prepare_store(const target& t, std::uint32_t number, std::uint32_t map) {
  pending_store p{t, number, value::none, value::none, map, false, maps_[map].space};
  p.what = lower_value(t.value, map);
  const shape& memory = t.n->extents;
  if (t.where && t.where->code == op::update) {
    p.map = moved_map(t.where->facts->view, map);
  } else if (t.where && t.where->code == op::join) {
    scratch_.clear();
    for (int k = 0; k < memory.rank(); ++k)
      scratch_.push_back(lin_.affine(k == t.where->facts->axis ? t.start : 0, 1, map_form(map, k)));
    p.map = intern(scratch_, value::none);
  } else if (t.where) {
    std::vector<linear> forms;
    p.predicate = index_forms(t.where, map, memory, t.value->extents, forms);
    if (t.where->facts->conditional) p.predicate = both(p.predicate, lower_value(t.where->operands().back(), map));
    p.map = intern(forms, value::none);
  }
  stores_.push_back(p);
}

linear lowering::memory_form(const shape& extents, std::uint32_t map) {
  std::int64_t strides[max_rank];
  contiguous_strides(extents, strides);
  lin_.start();
  for (int k = 0; k < extents.rank(); ++k) lin_.add(map_form(map, k), strides[k]);
  return lin_.finish();
}

void lowering::emit_store(const pending_store& s) {
  const linear f = memory_form(s.to.n->extents, s.map);
  materialize(f);
  const op combine = s.to.where && s.to.where->code == op::scatter ? s.to.where->facts->combine : op::buffer;
  const bool replaces = combine == op::buffer;
  const std::uint32_t a = add_access(parameter_kind::output, s.to.n, f, s.map);
  inst i = make_inst(replaces ? op::store : op::atomic, s.to.n->type, a, s.what, s.predicate);
  i.combine = combine;
  i.reserved = s.aliased;
  const value stored = emit(i);
  space_[raw(stored)] = innermost(space_[raw(stored)], s.space);  // what it stores may be the same each time
}

std::uint32_t lowering::add_access(parameter_kind kind, node* n, const linear& f, std::uint32_t map) {
  const std::uint32_t p = parameter(kind, n->type);
  // Which accesses step alike is knowledge of their layout, too.
  std::size_t first = 0;
  if (how_->layout == layout_knowledge::none) first = raw_forms_.size();
  else if (how_->layout == layout_knowledge::unmerged && kind == parameter_kind::output) first = forms_of_inputs_;
  raw_accesses_.push_back({{p, n, f.constant, false}, raw_form(f, false, first), map});
  return static_cast<std::uint32_t>(raw_accesses_.size() - 1);
}

value lowering::both(value a, value b) {
  if (a == value::none) return b;
  return b == value::none || a == b ? a : emit_pure(make_inst(op::logical_and, dtype::boolean, 0, a, b));
}

value lowering::lower_value(node* n, std::uint32_t map) {
  if (!choices_.empty()) map = needed_map(n, map);
  if (scope_ != 0 && is_from_around(n, map)) return lower_around(n, map);
  if (const std::uint32_t* known = memo_.find(n, map); known && n->code != op::scalar) return value{*known};
  const value v = lower_fresh(n, map);
  if (n->code != op::scalar) memo_.set(memo_.at(n, map), n, map, raw(v));
  return v;
}

value lowering::lower_fresh(node* n, std::uint32_t map) {
  if (stored_->contains(n)) {
    const bool number = n->extents.rank() == 0 && is_recorded_number(n->values());
    return number ? lower_argument(n) : lower_load(n, map);
  }
  if (bounded_ && scope_ == 0) note_lowered(n);
  switch (n->code) {
    case op::scalar: return lower_scalar(n);
    case op::iota: return index_value(map_form(map, 0));
    case op::view: return lower_value(n->operands()[0], moved_map(n->facts->view, map));
    case op::reshape: return lower_value(n->operands()[0], reshape_map(n, map));
    case op::gather: return lower_gather(n, map);
    case op::update: return lower_update(n, map);
    case op::join: return lower_join(n, map);
    case op::call:
    case op::raw_call:
    case op::lone_call: return lower_call(n, map);
    case op::iterate: return lower_iterate(n, map);
    case op::trail: return lower_trail(n, map);
    case op::state: return lower_state(n, map);
    case op::result: {
      const node* from = n->operands()[0];
      const value c = lower_value(n->operands()[0], map);
      const bool of_loop = from->code == op::iterate;
      const auto output = static_cast<std::uint32_t>(output_of(n));
      const std::uint32_t which = of_loop ? changing_state(n) : output;
      return emit_pure(make_inst(op::result, n->type, which, c));
    }
    default: break;
  }
  if (is_scan(n->code)) return lower_scan(n, map);
  return is_reduction(n->code) ? lower_reduction(n, map) : lower_elementwise(n, map);
}

value lowering::lower_load(node* n, std::uint32_t map) {
  const linear f = memory_form(n->extents, map);
  materialize(f);
  const std::uint32_t a = add_access(parameter_kind::input, n, f, map);
  loads_.push_back({n, map});
  return emit(make_inst(op::load, n->type, a, maps_[map].predicate));
}

value lowering::index_forms(const node* n, std::uint32_t map, const shape& source, const shape& result,
                            std::vector<linear>& forms) {
  const attribute& facts = *n->facts;
  int index_rank = 0;
  for (const gather_axis& g : facts.gather)
    if (g.axis < 0)
      index_rank = std::max(index_rank, n->operands()[static_cast<std::size_t>(g.operand)]->extents.rank());
  const value given = maps_[map].predicate;
  value predicate = given;
  forms.resize(facts.gather.size());
  for (std::size_t axis = 0; axis < forms.size(); ++axis) {
    const gather_axis g = facts.gather[axis];
    if (g.axis >= 0) {
      forms[axis] = map_form(map, g.axis);
      continue;
    }
    node* x = n->operands()[static_cast<std::size_t>(g.operand)];
    scratch_.clear();
    for (int a = 0; a < x->extents.rank(); ++a) {
      const int at = facts.first_axis + index_rank - x->extents.rank() + a;
      scratch_.push_back(x->extents[a] == 1 && result[at] != 1 ? lin_.constant(0) : map_form(map, at));
    }
    const std::int64_t size = source[static_cast<int>(axis)];
    const std::uint32_t there = intern(scratch_, given);
    if (const std::optional<linear> f = index_in_range(x, there, size)) {
      forms[axis] = *f;
      continue;
    }
    const value wanted = lower_value(x, there);
    const std::uint32_t check = add_check(size, {n->site});
    const value at = emit(make_inst(op::bound, dtype::i64, check, wanted, given));
    predicate = emit(make_inst(op::in_range, dtype::boolean, 0, at, predicate));
    forms[axis] = lin_.atom(new_atom({.limit = size, .computed = at}));
  }
  return predicate;
}

value lowering::lower_gather(node* n, std::uint32_t map) {
  node* source = n->operands()[0];
  std::vector<linear> forms;
  const value predicate = index_forms(n, map, source->extents, n->extents, forms);
  const value v = lower_value(source, intern(forms, predicate));
  if (predicate == value::none || keeps_zero(source, *stored_)) return v;
  return emit_pure(make_inst(op::select, n->type, 0, predicate, v, whole_number(n->type, 0)));
}

value lowering::number(dtype type, const scalar& x) {
  const std::uint32_t p = parameter(parameter_kind::scalar, type);
  write_scalar(out_->numbers.slots[p], x, type);
  return emit_pure(make_inst(op::scalar, type, p));
}

/// 0 or 1.
value lowering::whole_number(dtype type, int x) {
  const auto real = static_cast<double>(x);
  return number(type, is_complex(type) ? scalar(complex128{real, 0}) : is_real(type) ? scalar(real) : scalar(x));
}

value lowering::lower_call(node* n, std::uint32_t map) {
  std::vector<value> values;
  const user_kernel& u = *n->facts->kernel;
  std::uint32_t whole = 0;  // raw parameters so far
  for (std::size_t k = 0; k < n->operand_count; ++k) {
    node* x = n->operands()[k];
    if (!reads_anywhere(n, k)) {
      values.push_back(lower_value(x, broadcast_map(map, n->extents, x->extents)));
      continue;
    }
    const std::uint32_t p = u.raw_parameter(whole++);
    const std::size_t inputs = u.inputs.size();
    lower_memory(x, {n->site, false, &u, p}, p < inputs ? nullptr : group_->written[p - inputs], values);
  }
  return emit(make_inst(op::call, n->type, add_call(u, values)));
}

/// What a user's kernel indexes itself: memory, its extents and, when it is a view, its strides in elements.
void lowering::lower_memory(node* x, const check_site& site, node* written, std::vector<value>& values) {
  node* from = written ? written : x;
  std::int64_t offset = 0, strides[max_rank] = {};
  const bool viewed = !written && !stored_->contains(x);
  if (viewed) {
    SINTER_CHECK(x->code == op::view && stored_->contains(x->operands()[0]));
    from = x->operands()[0];
    std::int64_t own[max_rank];
    contiguous_strides(from->extents, own);
    for (int k = 0; k < from->extents.rank(); ++k) {
      const axis_map& m = x->facts->view[static_cast<std::size_t>(k)];
      offset += m.offset * own[k];
      if (m.axis >= 0) strides[m.axis] += m.step * own[k];
    }
  }
  const std::uint32_t p = parameter(written ? parameter_kind::output : parameter_kind::input, x->type);
  const std::uint32_t check = add_check(x->extents.size(), site);
  raw_accesses_.push_back({{p, from, offset, false}, raw_form(lin_.constant(0), false), 0, check});
  inst i = make_inst(op::memory, x->type, static_cast<std::uint32_t>(raw_accesses_.size() - 1));
  i.combine = viewed ? op::view : op::buffer;
  if (!written) loads_.push_back({from, recorded_load::anywhere});
  values.push_back(emit(i));
  for (const std::int64_t e : x->extents) values.push_back(number(dtype::i64, scalar(e)));
  for (int k = 0; viewed && k < x->extents.rank(); ++k) values.push_back(number(dtype::i64, scalar(strides[k])));
}

std::uint32_t lowering::add_call(const user_kernel& u, std::span<const value> values) {
  calls_.push_back({&u, static_cast<std::uint32_t>(call_operands_.size()), static_cast<std::uint32_t>(values.size()),
                    static_cast<std::uint32_t>(u.outputs.size())});
  call_operands_.insert(call_operands_.end(), values.begin(), values.end());
  return static_cast<std::uint32_t>(calls_.size() - 1);
}

/// Reductions of one element over equal extents share loops, whatever they read.
std::uint32_t lowering::space_of_loops(std::uint32_t parent, std::span<const std::int64_t> extents) {
  for (std::uint32_t s = 1; s < spaces_.size(); ++s) {
    const space_info& known = spaces_[s];
    const bool shared = !known.serial || known.iterate != value::none;  // or a loop that stores on the way
    bool same = known.parent == parent && known.count == extents.size() && shared;
    for (std::uint32_t k = 0; same && k < known.count; ++k) same = dims_[known.first + k].extent == extents[k];
    if (same) return s;
  }
  return add_space(parent, extents, false);
}

std::uint32_t lowering::add_space(std::uint32_t parent, std::span<const std::int64_t> extents, bool serial) {
  const auto s = static_cast<std::uint32_t>(spaces_.size());
  spaces_.push_back({parent, static_cast<std::uint32_t>(dims_.size()), static_cast<std::uint32_t>(extents.size()),
                     spaces_[parent].depth + 1, serial});
  SINTER_CHECK(spaces_[s].depth <= deepest_loops);
  for (const std::int64_t n : extents) {
    const auto d = static_cast<std::uint32_t>(dims_.size());
    dims_.push_back({n, s, new_atom({.is_dim = true, .dim = d, .limit = n})});
  }
  return s;
}

std::uint32_t lowering::add_check(std::int64_t size, const check_site& site) {
  out_->ir.checks.push_back({parameter(parameter_kind::size, dtype::i64, size)});
  out_->check_sites.push_back(site);
  return static_cast<std::uint32_t>(out_->ir.checks.size() - 1);
}

std::uint32_t lowering::innermost(std::uint32_t a, std::uint32_t b) const {
  return spaces_[a].depth >= spaces_[b].depth ? a : b;
}

std::uint32_t lowering::space_of(const linear& f) const {
  std::uint32_t s = 0;
  for (const linear_term& t : lin_.terms(f)) {
    const atom_info& a = atoms_[t.atom];
    if (a.is_dim) s = innermost(s, dims_[a.dim].space);
    else s = innermost(s, a.computed != value::none ? space_[raw(a.computed)] : space_of(a.source));
  }
  return s;
}

std::uint32_t lowering::space_of(const inst& i) const {
  if (i.code == op::reduce_call || i.code == op::iterate) return spaces_[raw(i.arg[1])].parent;
  if (i.code == op::carry || i.code == op::proceed) return raw(i.arg[1]);
  if (is_reduction(i.code)) return spaces_[i.attr].parent;
  std::uint32_t s = is_scan(i.code) ? i.attr : 0;
  for (const value a : i.arg)
    if (a != value::none) s = innermost(s, space_[raw(a)]);
  if (i.code == op::index) s = innermost(s, space_of(raw_forms_[i.attr]));
  if (i.code == op::load || i.code == op::store || i.code == op::atomic)
    s = innermost(s, space_of(raw_forms_[raw_accesses_[i.attr].form]));
  if (i.code == op::call)
    for (std::uint32_t k = 0; k < calls_[i.attr].count; ++k)
      s = innermost(s, space_[raw(call_operands_[calls_[i.attr].first + k])]);
  return s;
}

value lowering::emit(const inst& i) {
  if (bounded_) check_instructions();
  space_.push_back(space_of(i));
  graph_.push_back(i);
  return value{static_cast<std::uint32_t>(graph_.size() - 1)};
}

/// Reuses an equal instruction.
value lowering::emit_pure(const inst& i) {
  std::uint64_t h = mix(static_cast<std::uint64_t>(i.code) << 8 | static_cast<std::uint64_t>(i.type), i.attr);
  for (const value a : i.arg) h = mix(h, raw(a));
  for (auto tag = static_cast<std::uint32_t>(h);; ++tag) {
    epoch_map::entry& e = pure_.at(reinterpret_cast<const void*>(h), tag);
    if (pure_.holds(e)) {
      const inst& other = graph_[e.value];
      if (other.code == i.code && other.type == i.type && other.attr == i.attr &&
          std::memcmp(other.arg, i.arg, sizeof i.arg) == 0)
        return value{e.value};
      continue;
    }
    const value v = emit(i);
    pure_.set(e, reinterpret_cast<const void*>(h), tag, raw(v));
    return v;
  }
}

std::uint32_t lowering::parameter(parameter_kind kind, dtype type, std::int64_t number) {
  out_->ir.parameters.push_back({kind, type});
  slot s{};
  s.as_i64 = number;
  out_->numbers.slots.push_back(s);
  return static_cast<std::uint32_t>(out_->ir.parameters.size() - 1);
}

std::uint32_t lowering::new_atom(const atom_info& a) {
  atoms_.push_back(a);
  return static_cast<std::uint32_t>(atoms_.size() - 1);
}

}  // namespace sinter::jit
