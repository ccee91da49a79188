// Writes through selections: each records a new version of the array, whose node is replaced at the very end, so that
// what throws leaves the array as it was.
#include "dsl/index_internal.hpp"
#include "dsl/loops_internal.hpp"

#include "jit/engine.hpp"
#include "jit/fold/foreseen.hpp"
#include "jit/loops.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace sinter {

using jit::axis_map;
using jit::op;

namespace {

// ---- Values ----

constexpr std::string_view cast_first = "x.astype(...) converts the values first";

/// x as an array of `type`, when its kind fits. The last use of x.
array adopted(const jit::input& x, dtype type, const writing& w) {
  if (x.array && x.array->type == type) return wrap(jit::held(x));
  if (x.array) {
    check_kind(type, x.array->type, w.name, w.at, cast_first);
    return wrap(jit::make_convert(x.array, type, w.at));
  }
  if (type == boolean) check_kind(type, x.number.type, w.name, w.at, "write true or false");
  return constant(x.number, type, w.at);
}

const shape& extents_of(const jit::input& x) {
  static constexpr shape single;
  return x.array ? x.array->extents : single;
}

/// x, and the array without leading unit axes that it may have to become.
struct value_input {
  jit::input in;
  array held;

  /// At most `rank` axes, when leading axes of extent 1 are all that is too many.
  value_input(const jit::input& x, int rank, const place& at) : in(x) {
    const shape& from = extents_of(x);
    int extra = 0;
    while (from.rank() - extra > rank && from[extra] == 1) ++extra;
    if (extra == 0) return;
    held = wrap(jit::make_reshape(x.array, shape(std::span(from.begin() + extra, from.end())), at));
    in = input_of(held, x.site);
  }
};

void check_broadcasts(const shape& from, const shape& to, const writing& w) {
  shape common;
  if (from == to || (broadcast_into(from, to, common) && common == to)) return;
  throw_shape_error(
      fmt::format("{}: values of shape {} do not broadcast to the selected {}", w.name, to_string(from), to_string(to)),
      w.at, w.hint);
}

/// x of `type`, broadcast to `extents`. The last use of x.
array replacing(const jit::input& x, dtype type, const shape& extents, const writing& w) {
  return wrap(jit::make_broadcast(unwrap(adopted(x, type, w)), extents, w.at));
}

/// The new values of elements that are `old`; x, used the last time, broadcasts to their shape.
array combined(array old, const jit::input& x, const writing& w) {
  const dtype type = old.type();
  if (w.how == op::buffer) return replacing(x, type, old.extents(), w);
  array r = record(w.how, last_input_of({std::move(old), w.at}), x, w.at);
  if (r.type() == type) return r;
  check_kind(type, r.type(), w.name, w.at, cast_first);
  return convert(r, type, w.at);
}

// ---- Writes at index arrays ----

/// The same places among the indexed axes alone; of take_along_axis, as they are.
struct indexed_part {
  shape table;  // extents of those axes
  picks at;     // selects the shape of the index arrays
};

indexed_part indexed_part_of(const shape& base, const picks& p) {
  if (p.along >= 0) return {base, p};
  indexed_part part;
  part.at.indices = p.indices;
  part.at.extents = p.indices[0].extents();
  for (int k = 0; k < base.rank(); ++k) {
    const jit::gather_axis from = p.from[static_cast<std::size_t>(k)];
    if (from.operand < 0) continue;
    part.table.append(base[k]);
    part.at.from.push_back(from);
  }
  return part;
}

/// Values written by a scatter node. `keep`: boolean, of the values' shape: which of them are.
array scatter_node(const array& base, const array& values, const picks& p, op combine, const array* keep,
                   const place& at) {
  auto facts = std::make_unique<jit::attribute>();
  facts->first_axis = p.first;
  facts->gather = p.from;
  for (jit::gather_axis& from : facts->gather)
    if (from.operand >= 0) from.operand += 2;  // operands 0 and 1 are the base and the values
  facts->combine = combine;
  facts->conditional = keep != nullptr;
  std::vector<jit::node*> operands;
  for (const array& i : p.indices) operands.push_back(i.node());
  if (keep) operands.push_back(keep->node());
  return wrap(jit::make_scatter(base.node(), values.node(), operands, std::move(facts), at));
}

/// Whether values of that shape, which broadcasts to the selection, are the same wherever an element is selected again.
bool are_same_at_repeats(const shape& values, const picks& p) {
  const int first = p.along >= 0 ? p.along : p.first, count = p.along >= 0 ? 1 : p.indices[0].rank();
  const int added = p.extents.rank() - values.rank();
  std::int64_t selected = 1;
  bool same = true;
  for (int k = first; k < first + count; ++k) {
    selected *= p.extents[k];
    same &= k < added || values[k - added] == 1;
  }
  return same || selected <= 1;
}

/// [selection], boolean: whether no later value goes to the same element, of those that `keep` has. A table of the
/// elements has the last writer of each: the largest position, since positions grow in the order of a loop.
array is_last_writer(const shape& base, const picks& p, const array* keep, const place& at) {
  const indexed_part part = indexed_part_of(base, p);
  const shape& extents = part.at.extents;
  const std::int64_t n = p.along >= 0 ? extents[p.along] : extents.size();
  const dtype type = n <= std::numeric_limits<std::int32_t>::max() ? i32 : i64;
  array positions = convert(iota(n, at), type, at);
  if (p.along >= 0) {
    const axis_map map[] = {{0, 1, p.along}};
    positions = view(positions, map, extents, at);
  } else {
    positions = wrap(jit::make_reshape(positions.node(), extents, at));
  }
  const array nobody = wrap(jit::make_broadcast(constant(-1, type, at).node(), part.table, at));
  const array writers = scatter_node(nobody, positions, part.at, op::maximum, keep, at);
  const array last = record(op::equal, gather(writers, part.at, at), positions, at);
  axis_map map[max_rank];
  for (int k = 0; k < last.rank(); ++k) map[k] = {0, 1, p.along >= 0 ? k : p.first + k};
  return view(last, {map, static_cast<std::size_t>(last.rank())}, p.extents, at);
}

/// The operation that memory is combined with: booleans have logical ones.
op combining(op how, dtype type) {
  if (type != boolean) return how;
  switch (how) {
    case op::add:
    case op::bit_or:
    case op::maximum:
      return op::logical_or;
    case op::multiply:
    case op::bit_and:
    case op::minimum:
      return op::logical_and;
    case op::bit_xor:
      return op::logical_xor;
    default:
      return how;
  }
}

/// Whether elements are combined by reductions instead of atomics: to give the same bits every time, and where no
/// atomic is as wide as an element (sums of complex numbers are two sums).
bool is_reduced(op how, dtype type) {
  const bool is_product = how == op::multiply || how == op::divide;
  if (!is_inexact(type) || (!is_product && how != op::add && how != op::subtract)) return false;
  return jit::current_options().deterministic || (is_product && type == c128);
}

array reduction(op code, const array& x, int axis, const place& at) {
  return wrap(jit::record_reduction(code, input_of(x, at), std::uint32_t{1} << axis, false, at));
}

std::int64_t product_of(std::span<const std::int64_t> extents) { return shape(extents).size(); }

/// [before, elements, after], `first` axes before: with the elements' extents, as axes of the base.
array as_base(const array& x, const shape& base, const picks& p, const shape& table, const place& at) {
  shape split;
  axis_map map[max_rank];
  int indexed = 0, others = 0;
  for (int k = 0; k < p.first; ++k) split.append(p.extents[k]);
  for (std::int64_t n : table) split.append(n);
  for (int k = p.first + p.indices[0].rank(); k < p.extents.rank(); ++k) split.append(p.extents[k]);
  for (int k = 0; k < base.rank(); ++k) {
    const bool is_indexed = p.from[static_cast<std::size_t>(k)].operand >= 0;
    const int from = is_indexed ? p.first + indexed++ : others < p.first ? others++ : table.rank() + others++;
    map[from] = {0, 1, k};
  }
  const array whole = wrap(jit::make_reshape(x.node(), split, at));
  return view(whole, {map, static_cast<std::size_t>(base.rank())}, base, at);
}

/// Each element with the values written to it, combined by a reduction over all that are written: the time is that of
/// the number of values times the number of elements, but no order of threads can be seen in the result.
array combined_in_order(const array& base, const array& values, const picks& p, op how, const place& at) {
  const bool is_product = how == op::multiply || how == op::divide;
  const indexed_part part = indexed_part_of(base.extents(), p);
  const std::int64_t n = p.indices[0].size(), m = part.table.size();
  const shape& e = p.extents;
  const std::int64_t before = product_of({e.begin(), e.begin() + p.first});
  const std::int64_t after = product_of({e.begin() + p.first + p.indices[0].rank(), e.end()});
  checked_bytes(shape{before, n, m, after}, base.type(), at);
  // Elements are numbered from 1: the gather tells of bad indices, and gives 0, which is none of them.
  const array numbers = record(op::add, iota(m, at), 1, at);
  const array table = wrap(jit::make_reshape(numbers.node(), part.table, at));
  const array targets = wrap(jit::make_reshape(gather(table, part.at, at).node(), shape{n}, at));
  const axis_map rows[] = {{0, 1, 0}}, columns[] = {{0, 1, 1}};
  const array hits = record(op::equal, view(targets, rows, {n, m}, at), view(numbers, columns, {n, m}, at), at);
  const axis_map of_hits[] = {{0, 1, 1}, {0, 1, 2}}, of_values[] = {{0, 1, 0}, {0, 1, 1}, {0, 1, 3}};
  const array listed = wrap(jit::make_reshape(values.node(), {before, n, after}, at));
  const array each = choose(view(hits, of_hits, {before, n, m, after}, at),
                            input_of(view(listed, of_values, {before, n, m, after}, at), at),
                            input_of(constant(is_product ? 1 : 0, base.type(), at), at), at);
  const array total = reduction(is_product ? op::reduce_prod : op::reduce_sum, each, 1, at);
  const array any = view(reduction(op::reduce_any, hits, 0, at), columns, {before, m, after}, at);
  const array changed = record(how, base, as_base(total, base.extents(), p, part.table, at), at);
  // Elements that nothing is written to keep their bits: -0 + 0 and inf * (1 + 0i) are other numbers.
  return choose(as_base(any, base.extents(), p, part.table, at), input_of(changed, at), input_of(base, at), at);
}

}  // namespace

/// The dtype that values at repeated indices meet the elements in. Sums, products and bits of wider whole numbers are
/// the same when these wrap first, and floats are as near; the other operations are in the common dtype, as elsewhere.
static dtype type_to_combine_in(const array& base, const jit::input& x, const writing& w) {
  if (w.how == op::buffer) return base.type();
  // What one element would be says whether the operation is defined, and its dtype.
  const array one = record(w.how, input_of(constant(0, base.type(), w.at), w.at), x, w.at);
  check_kind(base.type(), one.type(), w.name, w.at, cast_first);
  switch (w.how) {
    case op::divide:
    case op::modulo:
    case op::minimum:
    case op::maximum:
    case op::shift_left:
    case op::shift_right:
      return one.type();
    default:
      return base.type();
  }
}

/// Values that change nothing where `keep` doesn't hold.
static array kept_or_neutral(const array& values, const array* keep, const writing& w) {
  if (!keep) return values;
  const bool is_product = w.how == op::multiply || w.how == op::divide;
  const array neutral = constant(is_product ? 1 : 0, values.type(), w.at);
  return choose(*keep, input_of(values, w.at), input_of(neutral, w.at), w.at);
}

array scattered(const array& base, const picks& p, const jit::input& x, const writing& w, bool distinct,
                const array* keep) {
  const value_input value(x, p.extents.rank(), w.at);
  check_broadcasts(extents_of(value.in), p.extents, w);
  if (distinct && w.how != op::buffer) {
    const array now = combined(gather(base, p, w.at), value.in, w);
    return scatter_node(base, now, p, op::buffer, nullptr, w.at);
  }
  const bool reduces = is_reduced(w.how, base.type());
  const array own = adopted(value.in, reduces ? base.type() : type_to_combine_in(base, value.in, w), w);
  if (p.extents.size() == 0) return base;
  checked_bytes(p.extents, own.type(), w.at);
  const array values = wrap(jit::make_broadcast(own.node(), p.extents, w.at));
  if (w.how != op::buffer) {
    if (reduces) return combined_in_order(base, kept_or_neutral(values, keep, w), p, w.how, w.at);
    return scatter_node(base, values, p, combining(w.how, base.type()), keep, w.at);
  }
  if (distinct || are_same_at_repeats(own.extents(), p)) return scatter_node(base, values, p, op::buffer, keep, w.at);
  array last = is_last_writer(base.extents(), p, keep, w.at);
  if (keep) last = record(op::logical_and, *keep, last, w.at);
  return scatter_node(base, values, p, op::buffer, &last, w.at);
}

// ---- Selections ----

namespace {

std::string_view name_of(op how) {
  switch (how) {
    case op::buffer:
      return "=";
    case op::add:
      return "+=";
    case op::subtract:
      return "-=";
    case op::multiply:
      return "*=";
    case op::divide:
      return "/=";
    case op::modulo:
      return "%=";
    case op::bit_and:
      return "&=";
    case op::bit_or:
      return "|=";
    case op::bit_xor:
      return "^=";
    case op::shift_left:
      return "<<=";
    case op::shift_right:
      return ">>=";
    case op::minimum:
      return "set_minimum";
    default:
      return "set_maximum";
  }
}

/// The basic view that a write goes through.
struct written_view {
  std::unique_ptr<jit::attribute> facts;  ///< its map
  const shape& extents;
  const place& site;
};

/// `a` with the elements of `view`, used for the last time, replaced.
array updated(const array& a, written_view& view, jit::node_ref values, const place& at) {
  return wrap(jit::make_statement(a.node(), std::move(values), std::move(view.facts), at));
}

/// The same view of `a`.
array viewed(const array& a, const written_view& view) {
  return sinter::view(a, view.facts->view, view.extents, view.site);
}

/// The values that a write to a basic view of `a` leaves there.
jit::node_ref written_basic(const array& a, const written_view& view, const jit::input& x, const writing& w) {
  if (w.how == op::buffer && x.array && x.array->type == a.type() && x.array->extents == view.extents)
    return jit::held(x);
  const value_input value(x, view.extents.rank(), w.at);
  check_broadcasts(extents_of(value.in), view.extents, w);
  if (w.how != op::buffer) return unwrap(combined(viewed(a, view), value.in, w));
  return unwrap(replacing(value.in, a.type(), view.extents, w));
}

/// x, which broadcasts to a selection through one mask with the same value for each true element, spread over the basic
/// view, mask axes included. False when x isn't so.
bool spread(jit::input& x, array& held, const shape& view, const taken_axes& taken, const place& at) {
  if (!x.array) return true;
  const taken_axis& mask = taken.list[0];
  const int added = mask.axes() - 1, rank = view.rank() - added, counted = taken.first_axis();
  const shape& from = x.array->extents;
  if (from.rank() > rank) return false;
  axis_map map[max_rank];
  for (int k = 0; k < from.rank(); ++k) {
    const int selected = k + rank - from.rank();  // axis of the selection; then that of the view
    if (selected == counted && from[k] != 1) return false;
    const int other = selected < counted ? selected : selected - 1;
    const int to = other < mask.axis ? other : other + added + 1;
    if (selected == counted || from[k] == 1) continue;
    if (from[k] != view[to]) return false;
    map[k] = {0, 1, to};
  }
  held = sinter::view(wrap(jit::node_ref::share(x.array)), {map, static_cast<std::size_t>(from.rank())}, view, at);
  x.array = held.node();
  return true;
}

array write_taken(const array& a, written_view& view, const taken_axes& taken, const jit::input& x, const writing& w) {
  const bool one_mask = taken.list.size() == 1 && taken.list[0].is_mask();
  const array old = viewed(a, view);
  if (one_mask) {
    const array& mask = taken.list[0].values;
    value_input value(x, view.extents.rank() - mask.rank() + 1, w.at);
    if (array held; spread(value.in, held, view.extents, taken, w.at)) {
      axis_map map[max_rank];
      for (int k = 0; k < mask.rank(); ++k) map[k] = {0, 1, taken.list[0].axis + k};
      const array chosen = sinter::view(mask, {map, static_cast<std::size_t>(mask.rank())}, view.extents, w.at);
      const array fresh = combined(old, value.in, w);
      return updated(a, view, unwrap(choose(chosen, input_of(fresh, w.at), input_of(old, w.at), w.at)), w.at);
    }
  }
  const picks selected = pick(view.extents, taken, view.site);
  writing told = w;
  const std::string count = one_mask ? fmt::format("the mask has {} true elements", selected.indices[0].size()) : "";
  told.hint = count;
  const array now = scattered(old, selected, x, told, one_mask);
  return old.node() == a.node() ? now : updated(a, view, unwrap(array(now)), w.at);
}

}  // namespace

void selection::write(op how, const operand& x) {
  SINTER_CHECK(target_);
  array& target = *target_;
  const writing w{how, name_of(how), x.at()};
  loops::refuse_write_in_body(target, w.at);
  // The right side of set_minimum(...) may have assigned to the array.
  if (target.node() != node_ && target.extents() != node_->extents)
    throw_shape_error(fmt::format("{}: the array had shape {} when selected, and {} when written", w.name,
                                  to_string(node_->extents), to_string(target.extents())),
                      w.at);
  // From here on the array alone is meant, and that nobody else holds what it was tells that it can be overwritten.
  target_ = nullptr;
  jit::release(std::exchange(node_, nullptr));
  written_view view{std::unique_ptr<jit::attribute>(std::exchange(facts_, nullptr)), extents_, at_};
  const taken_axes* taken = extras_ && !extras_->taken.list.empty() ? &extras_->taken : nullptr;
  if (taken) {
    target = write_taken(target, view, *taken, input_of(x), w);
    return;
  }
  jit::node_ref values = written_basic(target, view, last_input_of(x), w);
  if (!jit::is_foreseen_write(target.node(), values, view.facts->view))
    target = updated(target, view, std::move(values), w.at);
}

void selection::operator=(const selection& x) && {
  SINTER_CHECK(target_);
  write(op::buffer, operand(x, at_));
}
void selection::operator=(selection&& x) && {
  SINTER_CHECK(target_);
  write(op::buffer, operand(std::move(x), at_));
}

#define SINTER_WRITE(name, code) \
  void selection::name(const operand& x)&& { write(op::code, x); }
SINTER_WRITE(operator=, buffer)
SINTER_WRITE(operator+=, add)
SINTER_WRITE(operator-=, subtract)
SINTER_WRITE(operator*=, multiply)
SINTER_WRITE(operator/=, divide)
SINTER_WRITE(operator%=, modulo)
SINTER_WRITE(operator&=, bit_and)
SINTER_WRITE(operator|=, bit_or)
SINTER_WRITE(operator^=, bit_xor)
SINTER_WRITE(operator<<=, shift_left)
SINTER_WRITE(operator>>=, shift_right)
SINTER_WRITE(set_minimum, minimum)
SINTER_WRITE(set_maximum, maximum)
#undef SINTER_WRITE

}  // namespace sinter
