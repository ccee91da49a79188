#include "dsl/array.hpp"

#include "dsl/device.hpp"
#include "dsl/number_internal.hpp"
#include "dsl/record_internal.hpp"
#include "jit/engine.hpp"
#include "jit/fold/trace_recorder.hpp"
#include "jit/graph_internal.hpp"
#include "jit/transfers.hpp"
#include "runtime/backend.hpp"
#include "runtime/stream.hpp"

#include <fmt/format.h>

#include <utility>

namespace sinter {

using jit::op;

jit::node* array::empty_node() noexcept {
  // Shared by all empty arrays, and never freed: arrays of static storage may outlive any static of this file.
  static jit::node* const empty =
      jit::make_broadcast(jit::make_scalar(0, f32, place{}).get(), shape{0}, place{}).leave();
  return empty;
}

array::array() noexcept : node_(nullptr) {}

array::array(scalar number, place at)
    : node_(jit::make_scalar(number, number.type == u64 && number.as_u64 >> 63 == 0 ? i64 : number.type, at).leave()) {}

array::array(const void* values, dtype type, const shape& extents, place at)
    : node_(jit::copy_in(runtime::default_device(),
                         runtime::contiguous_region(values, static_cast<std::size_t>(checked_bytes(extents, type, at))),
                         type, extents, at)
                .leave()) {}

array::array(const array& other) noexcept : node_(other.node_) {
  if (node_) jit::retain(node_);
}

array::array(array&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}

namespace {

/// Loops assign to variables over and over: `now` in the place of `before` may be a statement of one.
void note_assignment(jit::node* now, const jit::node* before) noexcept {
  if (!now || now == before || now->values()) return;
  const bool again = before && before->type == now->type && before->extents == now->extents;
  if (now->is_statement || again) jit::note_statement(now);
}

}  // namespace

array& array::operator=(const array& other) & noexcept {
  return *this = array(other);
}

array& array::operator=(array&& other) & noexcept {
  jit::node* now = std::exchange(other.node_, nullptr);  // first: `other` may be this
  jit::node* before = std::exchange(node_, now);
  note_assignment(now, before);
  if (before) jit::release(before);
  return *this;
}

array::~array() {
  if (node_) jit::release(node_);
}

dtype array::type() const { return node()->type; }
const shape& array::extents() const { return node()->extents; }
bool array::is_evaluated() const { return node()->values() != nullptr; }

std::int64_t array::extent(int axis, place at) const { return extents()[checked_axis(axis, rank(), "extent", at)]; }

device array::device() const {
  runtime::device* owner = node()->owner;
  return sinter::device(owner ? *owner : runtime::default_device());
}

array array::astype(dtype type, place at) const { return convert(*this, type, at); }

array array::to(const sinter::device& d, place at) const {
  // What needs no device's memory may be part of any expression, but by itself is computed where arrays live by
  // default.
  jit::node* const n = node();
  if (!jit::owner_of(n) && &d.impl() != &runtime::default_device()) jit::evaluate({&n, 1}, at);
  return wrap(jit::move_to(n, d.impl(), at));
}

// ---- Reading ----

const void* array::checked(const void* values, std::size_t count, const shape& extents, const place& at) {
  if (static_cast<std::uint64_t>(checked_bytes(extents, boolean, at)) != count)
    throw_shape_error(
        fmt::format("array: {} values for shape {} ({} elements)", count, to_string(extents), extents.size()), at);
  return values;
}

void array::throw_ragged(std::size_t first, std::size_t other, const place& at) {
  throw_shape_error(fmt::format("array: rows of {} and of {} values", first, other), at);
}

void array::read_item(void* to, dtype type, const place& at) const {
  if (size() != 1)
    throw_shape_error(fmt::format("item: shape {} has {} elements, not 1", to_string(extents()), size()), at);
  alignas(16) unsigned char value[16];
  jit::read(node(), value, static_cast<std::size_t>(size_of(this->type())), at);
  store_number(load_number(value, this->type()), to, type);
}

void array::read_all(void* to, std::int64_t count, dtype type, const place& at) const {
  const dtype own = this->type();
  if (type != own && !(own == boolean && type == u8))
    throw_type_error(fmt::format("reading {} elements as {}", to_string(own), to_string(type)), at,
                     fmt::format("x.astype({}) converts", to_string(type)));
  if (count < size()) throw_shape_error(fmt::format("copy_to: {} elements into room for {}", size(), count), at);
  jit::read(node(), to, static_cast<std::size_t>(size() * size_of(own)), at);
}

void eval_all(std::span<const array> arrays, place at) {
  std::vector<jit::node*> roots;
  for (const array& a : arrays) roots.push_back(a.node());
  jit::evaluate(roots, at);
}

void eval_all(std::span<const array* const> arrays, place at) {
  std::vector<jit::node*> roots;
  for (const array* a : arrays) roots.push_back(a->node());
  jit::evaluate(roots, at);
}

// ---- Compound assignment ----

namespace {

constexpr int rank_of_kind(dtype type) {
  switch (kind_of(type)) {
    case kind::unsigned_integer:
      return 1;
    case kind::signed_integer:
      return 2;
    case kind::real:
      return 3;
    case kind::complex:
      return 4;
    default:
      return 0;
  }
}

array compound(op code, std::string_view symbol, const array& a, const operand& x) {
  const array r = record(code, input_of(a, x.at()), input_of(x), x.at());
  const std::string_view sign = symbol.substr(0, symbol.size() - 1);
  if (r.extents() != a.extents())
    throw_shape_error(fmt::format("{}: an array of shape {} cannot become {}", symbol, to_string(a.extents()),
                                  to_string(r.extents())),
                      x.at(), fmt::format("the result of a = a {} x may be larger", sign));
  if (r.type() == a.type()) return r;
  check_kind(a.type(), r.type(), symbol, x.at(),
             fmt::format("a = a {} x gives an array of {}", sign, to_string(r.type())));
  return convert(r, a.type(), x.at());
}

}  // namespace

void check_kind(dtype to, dtype from, std::string_view operation, const place& at, std::string_view hint) {
  if (rank_of_kind(from) > rank_of_kind(to))
    throw_type_error(fmt::format("{}: an array of {} cannot hold {}", operation, to_string(to), to_string(from)), at,
                     hint);
}

#define SINTER_COMPOUND(symbol, code) \
  array& array::operator symbol(const operand& x)& { return *this = compound(op::code, #symbol, *this, x); }
SINTER_COMPOUND(+=, add)
SINTER_COMPOUND(-=, subtract)
SINTER_COMPOUND(*=, multiply)
SINTER_COMPOUND(/=, divide)
SINTER_COMPOUND(%=, modulo)
SINTER_COMPOUND(&=, bit_and)
SINTER_COMPOUND(|=, bit_or)
SINTER_COMPOUND(^=, bit_xor)
SINTER_COMPOUND(<<=, shift_left)
SINTER_COMPOUND(>>=, shift_right)
#undef SINTER_COMPOUND

}  // namespace sinter
