// Index maps of lowering: how views, broadcasts and reshapes move indices, and index values from forms.
#include "jit/lower_internal.hpp"

namespace sinter::jit {

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
  std::uint64_t h = mix(raw(predicate), forms.size() | std::uint64_t{scope_} << 32);
  for (const linear& f : forms) {
    h = mix(h, static_cast<std::uint64_t>(f.constant));
    for (const linear_term& t : lin_.terms(f)) h = mix(mix(h, t.atom), static_cast<std::uint64_t>(t.factor));
  }
  const auto same = [&](const index_map& m) {
    if (m.hash != h || m.rank != static_cast<std::int32_t>(forms.size()) || m.predicate != predicate ||
        m.scope != scope_)
      return false;
    for (std::size_t k = 0; k < forms.size(); ++k) {
      const linear& g = map_forms_[m.first + k];
      if (g.constant != forms[k].constant || !lin_.equal_terms(g, forms[k])) return false;
    }
    return true;
  };
  const void* key = reinterpret_cast<const void*>(h);
  std::uint32_t tag = 0;
  for (;; ++tag) {
    const std::uint32_t* known = map_numbers_.find(key, tag);
    if (!known) break;
    if (same(maps_[*known])) return *known;
  }
  const auto first = static_cast<std::uint32_t>(map_forms_.size());
  map_forms_.insert(map_forms_.end(), forms.begin(), forms.end());
  std::uint32_t space = predicate == value::none ? 0 : space_[raw(predicate)];
  for (const linear& f : forms) space = innermost(space, space_of(f));
  maps_.push_back({first, static_cast<std::int32_t>(forms.size()), predicate, space, scope_, h});
  const auto number = static_cast<std::uint32_t>(maps_.size() - 1);
  map_numbers_.set(map_numbers_.at(key, tag), key, tag, number);
  return number;
}

value lowering::index_value(const linear& f) {
  materialize(f);
  return emit_pure(make_inst(op::index, dtype::i64, raw_form(f, true)));
}

void lowering::materialize(const linear& f) {
  for (std::uint32_t k = 0; k < f.count; ++k) {
    const std::uint32_t a = lin_.terms(f)[k].atom;
    if (atoms_[a].is_dim || atoms_[a].divisor == 0 || atoms_[a].computed != value::none) continue;
    const value whole = index_value(atoms_[a].source);
    const std::uint32_t p = parameter(parameter_kind::divisor, dtype::i64, atoms_[a].divisor);
    const std::uint32_t magic = parameter(parameter_kind::magic, dtype::u64, 0);
    SINTER_CHECK(magic == p + 1);
    atoms_[a].computed = emit(make_inst(op::quotient, dtype::i64, p, whole));
  }
}

/// One of those from the `first` on, or a new one.
std::uint32_t lowering::raw_form(const linear& f, bool with_offset, std::size_t first) {
  std::uint64_t h = mix(with_offset, with_offset ? static_cast<std::uint64_t>(f.constant) : 0);
  for (const linear_term& t : lin_.terms(f)) h = mix(mix(h, t.atom), static_cast<std::uint64_t>(t.factor));
  const void* key = reinterpret_cast<const void*>(h);
  std::uint32_t tag = 0;
  for (;; ++tag) {
    const std::uint32_t* known = form_numbers_.find(key, tag);
    if (!known) break;
    const linear& other = raw_forms_[*known];
    if (*known >= first && raw_has_offset_[*known] == with_offset && (!with_offset || other.constant == f.constant) &&
        lin_.equal_terms(other, f))
      return *known;
  }
  raw_forms_.push_back(f);
  raw_has_offset_.push_back(with_offset);
  const auto number = static_cast<std::uint32_t>(raw_forms_.size() - 1);
  form_numbers_.set(form_numbers_.at(key, tag), key, tag, number);
  return number;
}

}  // namespace sinter::jit
