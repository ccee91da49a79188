#include "jit/lower.hpp"

#include "jit/lower_internal.hpp"
#include "jit/user_kernel.hpp"

#include <cstring>

namespace sinter::jit {

namespace {

constexpr std::uint32_t identity = 0, scalar_key = 0xfffffffeu;

std::uint64_t mix(std::uint64_t h, std::uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15ull;
  return h ^ (h >> 29);
}

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

/// Programs that say sum(x) twice mean one loop.
bool same_reduction(const node* a, const node* b) {
  return a->code == b->code && a->type == b->type && a->operands()[0] == b->operands()[0] &&
         a->facts->reduced == b->facts->reduced && a->facts->keep_dims == b->facts->keep_dims;
}

/// Whether the value of `n` is zero wherever its loads are.
bool keeps_zero(const node* n, const stored_values& stored) {
  while (!stored.contains(n)) {
    if (n->code != op::view && n->code != op::reshape && n->code != op::convert && n->code != op::gather) return false;
    n = n->operands()[0];
  }
  return true;
}

}  // namespace

void lower(const group& what, const stored_values& stored, const options& how, bool for_cuda, lowered& out) {
  static thread_local lowering state;
  state.run(what, stored, how, for_cuda, out);
}

void lowering::run(const group& what, const stored_values& stored, const options& how, bool for_cuda,
                   lowered& out) {
  stored_ = &stored;
  how_ = &how;
  for_cuda_ = for_cuda;
  out_ = &out;
  out.ir.clear();
  out.numbers.slots.clear();
  out.pointers.clear();
  out.check_sites.clear();
  out.conflicts.clear();
  lin_.clear();
  atoms_.clear();
  dims_.clear();
  maps_.clear();
  map_forms_.clear();
  raw_forms_.clear();
  raw_has_offset_.clear();
  scopes_.assign(1, 0);
  scope_open_.assign(1, true);
  loops_ = 0;
  memo_.clear();
  pure_.clear();
  out.ir.math = static_cast<std::uint8_t>(how.math);

  const shape& domain = what.domain();
  scratch_.clear();
  for (int k = 0; k < domain.rank(); ++k) {
    dims_.push_back({domain[k], 0});
    const linear at = lin_.atom(new_atom({.is_dim = true, .dim = static_cast<std::uint32_t>(k), .limit = domain[k]}));
    scratch_.push_back(what.part ? lin_.affine(what.part->first[k], 1, at) : at);
  }
  intern(scratch_, value::none);
  loads_.clear();
  reductions_.clear();
  sizes_.clear();
  aliased_.clear();
  stores_.clear();
  for (const target& t : what.outputs) prepare_store(t);
  find_conflicts();
  for (const pending_store& p : stores_) emit_store(p);
  mark_aliases();
  lay_out();
}

void lowering::prepare_store(const target& t) {
  pending_store p{t, value::none, value::none, 0};
  p.what = lower_value(t.value, identity);
  const shape& memory = t.n->extents;
  if (!t.where) {
    p.map = identity;
  } else if (t.where->code == op::update) {
    p.map = moved_map(t.where->facts->view, identity);
  } else if (t.where->code == op::join) {
    scratch_.clear();
    for (int k = 0; k < memory.rank(); ++k)
      scratch_.push_back(lin_.affine(k == t.where->facts->axis ? t.start : 0, 1, map_form(identity, k)));
    p.map = intern(scratch_, value::none);
  } else {
    std::vector<linear> forms;
    p.predicate = index_forms(t.where, identity, memory, t.value->extents, forms);
    if (t.where->facts->conditional) {
      const value wanted = lower_value(t.where->operands().back(), identity);
      p.predicate = both(p.predicate, wanted);
    }
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
  const std::uint32_t a = add_access(parameter_kind::output, s.to.n, f, raw_form(f, false));
  inst i = make_inst(replaces ? op::store : op::atomic, s.to.n->type, a, s.what, s.predicate);
  i.combine = combine;
  emit(i);
}

std::uint32_t lowering::add_access(parameter_kind kind, node* n, const linear& f, std::uint32_t form) {
  const std::uint32_t p = parameter(kind, n->type);
  out_->pointers.push_back({p, n, f.constant, false});
  out_->ir.accesses.push_back({p, form});
  return static_cast<std::uint32_t>(out_->ir.accesses.size() - 1);
}

value lowering::both(value a, value b) {
  if (a == value::none) return b;
  return b == value::none || a == b ? a : emit_pure(make_inst(op::logical_and, dtype::boolean, 0, a, b));
}

value lowering::lower_value(node* n, std::uint32_t map) {
  {
    const epoch_map::entry& e = memo_.at(n, map);
    if (memo_.holds(e) && scope_open_[e.extra]) return value{e.value};
  }
  const value v = lower_fresh(n, map);
  if (n->code != op::scalar) memo_.set(memo_.at(n, map), n, map, raw(v), scopes_.back());
  return v;
}

value lowering::lower_fresh(node* n, std::uint32_t map) {
  if (stored_->contains(n)) return lower_load(n, map);
  switch (n->code) {
    case op::scalar: return lower_scalar(n);
    case op::iota: return index_value(map_form(map, 0));
    case op::view: return lower_value(n->operands()[0], moved_map(n->facts->view, map));
    case op::reshape: return lower_value(n->operands()[0], reshape_map(n, map));
    case op::gather: return lower_gather(n, map);
    case op::update: return lower_update(n, map);
    case op::join: return lower_join(n, map);
    case op::call: return lower_call(n, map);
    case op::result: {
      const value c = lower_value(n->operands()[0], map);
      return emit_pure(make_inst(op::result, n->type, static_cast<std::uint32_t>(n->facts->output), c));
    }
    default: return is_reduction(n->code) ? lower_reduction(n, map) : lower_elementwise(n, map);
  }
}

value lowering::lower_load(node* n, std::uint32_t map) {
  const linear f = memory_form(n->extents, map);
  materialize(f);
  const std::uint32_t a = add_access(parameter_kind::input, n, f, raw_form(f, false));
  loads_.push_back({n, map, a});
  return emit(make_inst(op::load, n->type, a, maps_[map].predicate));
}

value lowering::lower_scalar(node* n) {
  epoch_map::entry& e = memo_.at(n, scalar_key);
  std::uint32_t p;
  if (memo_.holds(e)) {
    p = e.value;
  } else {
    p = parameter(parameter_kind::scalar, n->type);
    write_scalar(out_->numbers.slots[p], n->number, n->type);
    memo_.set(e, n, scalar_key, p);
  }
  return emit_pure(make_inst(op::scalar, n->type, p));
}

value lowering::lower_elementwise(node* n, std::uint32_t map) {
  inst i{n->code, n->type};
  int k = 0;
  for (node* x : n->operands()) i.arg[k++] = lower_value(x, broadcast_map(map, n->extents, x->extents));
  return emit_pure(i);
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
    const value wanted = lower_value(x, intern(scratch_, given));
    const std::int64_t size = source[static_cast<int>(axis)];
    out_->ir.checks.push_back({parameter(parameter_kind::size, dtype::i64, size)});
    out_->check_sites.push_back(n->site);
    const auto check = static_cast<std::uint32_t>(out_->ir.checks.size() - 1);
    const value at = emit(make_inst(op::bound, dtype::i64, check, wanted, given));
    predicate = emit(make_inst(op::in_range, dtype::boolean, 0, at, predicate));
    forms[axis] = lin_.atom(new_atom({.limit = size, .computed = at, .scope = scopes_.back()}));
  }
  return predicate;
}

value lowering::lower_gather(node* n, std::uint32_t map) {
  node* source = n->operands()[0];
  std::vector<linear> forms;
  const value predicate = index_forms(n, map, source->extents, n->extents, forms);
  const value v = lower_value(source, intern(forms, predicate));
  if (keeps_zero(source, *stored_)) return v;
  const std::uint32_t zero = parameter(parameter_kind::scalar, n->type);
  const value z = emit_pure(make_inst(op::scalar, n->type, zero));
  return emit_pure(make_inst(op::select, n->type, 0, predicate, v, z));
}

value lowering::lower_call(node* n, std::uint32_t map) {
  std::vector<value> values;
  for (node* x : n->operands()) values.push_back(lower_value(x, broadcast_map(map, n->extents, x->extents)));
  kernel& k = out_->ir;
  const user_kernel& u = *n->facts->kernel;
  k.calls.push_back({&u, static_cast<std::uint32_t>(k.call_operands.size()), static_cast<std::uint32_t>(values.size()),
                     static_cast<std::uint32_t>(u.outputs.size())});
  k.call_operands.insert(k.call_operands.end(), values.begin(), values.end());
  return emit(make_inst(op::call, n->type, static_cast<std::uint32_t>(k.calls.size() - 1)));
}

value lowering::lower_reduction(node* n, std::uint32_t map) {
  const attribute& facts = *n->facts;
  node* source = n->operands()[0];
  for (const lowered_reduction& r : reductions_)
    if (r.map == map && scope_open_[r.scope] && same_reduction(r.n, n)) return r.result;
  ++loops_;
  std::vector<linear> forms;
  const auto first = static_cast<std::uint32_t>(dims_.size());
  int at = 0;
  for (int axis = 0; axis < source->extents.rank(); ++axis) {
    if (facts.reduced >> axis & 1) {
      const auto d = static_cast<std::uint32_t>(dims_.size());
      dims_.push_back({source->extents[axis], loops_});
      forms.push_back(lin_.atom(new_atom({.is_dim = true, .dim = d, .limit = source->extents[axis]})));
      if (facts.keep_dims) ++at;
    } else {
      forms.push_back(map_form(map, at++));
    }
  }
  out_->ir.loops.push_back({first, static_cast<std::uint32_t>(dims_.size()) - first});
  const value loop = emit(make_inst(op::loop, n->type, static_cast<std::uint32_t>(out_->ir.loops.size() - 1)));
  open_scope();
  const value v = lower_value(source, intern(forms, maps_[map].predicate));
  close_scope();
  reductions_.push_back({n, map, scopes_.back(), emit(make_inst(n->code, n->type, 0, v, loop))});
  return reductions_.back().result;
}

std::uint32_t lowering::moved_map(std::span<const axis_map> by, std::uint32_t map) {
  scratch_.clear();
  for (const axis_map& a : by)
    scratch_.push_back(a.axis < 0 ? lin_.constant(a.offset) : lin_.affine(a.offset, a.step, map_form(map, a.axis)));
  return intern(scratch_, maps_[map].predicate);
}

std::uint32_t lowering::broadcast_map(std::uint32_t map, const shape& from, const shape& to) {
  if (from == to) return map;
  scratch_.clear();
  const int shift = from.rank() - to.rank();
  for (int k = 0; k < to.rank(); ++k)
    scratch_.push_back(to[k] == 1 && from[k + shift] != 1 ? lin_.constant(0) : map_form(map, k + shift));
  return intern(scratch_, maps_[map].predicate);
}

/// Axes of both shapes are matched in the smallest groups of equal size; only within a group is the position computed.
std::uint32_t lowering::reshape_map(const node* n, std::uint32_t map) {
  const shape& to = n->operands()[0]->extents;
  const shape& from = n->extents;
  scratch_.clear();
  if (from.size() == 0) {  // nothing will be read; extents of 0 can't be matched
    scratch_.assign(static_cast<std::size_t>(to.rank()), lin_.constant(0));
    return intern(scratch_, maps_[map].predicate);
  }
  int i = 0, j = 0;  // next axis of `from`, of `to`
  while (j < to.rank()) {
    const int i0 = i, j0 = j;
    std::int64_t a = i < from.rank() ? from[i++] : 1, b = to[j++];
    while (a != b) {
      if (a < b) a *= from[i++];
      else b *= to[j++];
    }
    lin_.start();
    std::int64_t stride = 1;
    for (int k = i - 1; k >= i0; --k) {
      lin_.add(map_form(map, k), stride);
      stride *= from[k];
    }
    split_index(lin_.finish(), to, j0, j, a);
  }
  return intern(scratch_, maps_[map].predicate);
}

/// Appends to scratch_ the indices along axes [first, last) of the position `flat` in [0, size).
void lowering::split_index(const linear& flat, const shape& s, int first, int last, std::int64_t size) {
  linear rest = flat;
  for (int k = first; k < last; ++k) {
    size /= s[k];
    if (k == last - 1) {
      scratch_.push_back(rest);
      break;
    }
    const linear q = quotient(rest, size, s[k]);
    scratch_.push_back(q);
    lin_.start();  // the remainder as rest - size * q: over contiguous memory the quotients cancel
    lin_.add(rest, 1);
    lin_.add(q, -size);
    rest = lin_.finish();
  }
}

/// f / divisor for f >= 0. Exact without a division when f splits into multiples of the divisor and a rest below it.
linear lowering::quotient(const linear& f, std::int64_t divisor, std::int64_t limit) {
  if (divisor == 1) return f;
  std::int64_t rest = (f.constant % divisor + divisor) % divisor;
  const std::int64_t constant = (f.constant - rest) / divisor;
  bool splits = true;
  for (const linear_term& t : lin_.terms(f)) {
    if (t.factor % divisor == 0) continue;
    if (t.factor < 0) splits = false;
    rest += t.factor * (atoms_[t.atom].limit - 1);
  }
  if (splits && rest < divisor) {
    const std::vector<linear_term> terms(lin_.terms(f).begin(), lin_.terms(f).end());
    lin_.start();
    lin_.add(lin_.constant(constant), 1);
    for (const linear_term& t : terms)
      if (t.factor % divisor == 0) lin_.add_atom(t.atom, t.factor / divisor);
    return lin_.finish();
  }
  for (std::uint32_t a = 0; a < atoms_.size(); ++a)
    if (atoms_[a].divisor == divisor && atoms_[a].source.constant == f.constant && atoms_[a].limit == limit &&
        lin_.equal_terms(atoms_[a].source, f))
      return lin_.atom(a);
  return lin_.atom(new_atom({.limit = limit, .source = f, .divisor = divisor}));
}

std::uint32_t lowering::intern(std::span<const linear> forms, value predicate) {
  std::uint64_t h = mix(raw(predicate), forms.size());
  for (const linear& f : forms) {
    h = mix(h, static_cast<std::uint64_t>(f.constant));
    for (const linear_term& t : lin_.terms(f)) h = mix(mix(h, t.atom), static_cast<std::uint64_t>(t.factor));
  }
  const auto same = [&](const index_map& m) {
    if (m.hash != h || m.rank != static_cast<std::int32_t>(forms.size()) || m.predicate != predicate) return false;
    for (std::size_t k = 0; k < forms.size(); ++k) {
      const linear& g = map_forms_[m.first + k];
      if (g.constant != forms[k].constant || !lin_.equal_terms(g, forms[k])) return false;
    }
    return true;
  };
  for (std::size_t k = 0; k < maps_.size(); ++k)
    if (same(maps_[k])) return static_cast<std::uint32_t>(k);
  const auto first = static_cast<std::uint32_t>(map_forms_.size());
  map_forms_.insert(map_forms_.end(), forms.begin(), forms.end());
  maps_.push_back({first, static_cast<std::int32_t>(forms.size()), predicate, h});
  return static_cast<std::uint32_t>(maps_.size() - 1);
}

value lowering::index_value(const linear& f) {
  materialize(f);
  return emit_pure(make_inst(op::index, dtype::i64, raw_form(f, true)));
}

void lowering::materialize(const linear& f) {
  for (std::uint32_t k = 0; k < f.count; ++k) {
    const std::uint32_t a = lin_.terms(f)[k].atom;
    if (atoms_[a].is_dim || atoms_[a].divisor == 0) continue;
    if (atoms_[a].computed != value::none && scope_open_[atoms_[a].scope]) continue;
    const value whole = index_value(atoms_[a].source);
    const std::uint32_t p = parameter(parameter_kind::divisor, dtype::i64, atoms_[a].divisor);
    const std::uint32_t magic = parameter(parameter_kind::magic, dtype::u64, 0);
    SINTER_CHECK(magic == p + 1);
    atoms_[a].computed = emit(make_inst(op::quotient, dtype::i64, p, whole));
    atoms_[a].scope = scopes_.back();
  }
}

std::uint32_t lowering::raw_form(const linear& f, bool with_offset) {
  for (std::size_t k = 0; k < raw_forms_.size(); ++k)
    if (raw_has_offset_[k] == with_offset && (!with_offset || raw_forms_[k].constant == f.constant) &&
        lin_.equal_terms(raw_forms_[k], f))
      return static_cast<std::uint32_t>(k);
  raw_forms_.push_back(f);
  raw_has_offset_.push_back(with_offset);
  return static_cast<std::uint32_t>(raw_forms_.size() - 1);
}

value lowering::emit(const inst& i) {
  out_->ir.body.push_back(i);
  return value{static_cast<std::uint32_t>(out_->ir.body.size() - 1)};
}

/// Reuses an equal instruction that is in scope.
value lowering::emit_pure(const inst& i) {
  std::uint64_t h = mix(static_cast<std::uint64_t>(i.code) << 8 | static_cast<std::uint64_t>(i.type), i.attr);
  for (const value a : i.arg) h = mix(h, raw(a));
  for (auto tag = static_cast<std::uint32_t>(h);; ++tag) {
    epoch_map::entry& e = pure_.at(reinterpret_cast<const void*>(h), tag);
    if (pure_.holds(e)) {
      const inst& other = out_->ir.body[e.value];
      const bool same = other.code == i.code && other.type == i.type && other.attr == i.attr &&
                        std::memcmp(other.arg, i.arg, sizeof i.arg) == 0;
      if (same && scope_open_[e.extra]) return value{e.value};
      if (!same) continue;
    }
    const value v = emit(i);
    pure_.set(e, reinterpret_cast<const void*>(h), tag, raw(v), scopes_.back());
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

std::uint32_t lowering::open_scope() {
  scopes_.push_back(static_cast<std::uint32_t>(scope_open_.size()));
  scope_open_.push_back(true);
  return scopes_.back();
}

void lowering::close_scope() {
  scope_open_[scopes_.back()] = false;
  scopes_.pop_back();
}

}  // namespace sinter::jit
