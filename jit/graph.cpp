#include "jit/graph.hpp"

#include "jit/engine.hpp"
#include "runtime/backend.hpp"
#include "runtime/counters.hpp"

#include <fmt/format.h>

#include <bit>
#include <new>
#include <utility>

namespace sinter::jit {

namespace {

// ---- Node memory: a free list per thread, so that recording seldom meets the allocator's locks. ----

#ifdef __SANITIZE_ADDRESS__
constexpr std::uint32_t most_kept = 0;  // reuse would hide accesses to freed nodes
#else
constexpr std::uint32_t most_kept = 1u << 16;
#endif

struct free_node {
  free_node* next;
};

/// Trivially destructible: usable until the very end of a thread, when `closed` sends memory back at once.
struct node_cache {
  free_node* head;
  std::uint32_t count;
  bool registered, closed;
};
constinit thread_local node_cache cache{};

struct cache_closer {
  ~cache_closer() {
    cache.closed = true;
    while (free_node* f = cache.head) {
      cache.head = f->next;
      ::operator delete(f, sizeof(node));
    }
  }
};

void register_cache() {
  thread_local cache_closer closer;
  static_cast<void>(closer);
  cache.registered = true;
}

void* take_memory() {
  if (free_node* f = cache.head) {
    cache.head = f->next;
    --cache.count;
    return f;
  }
  return ::operator new(sizeof(node));
}

void give_memory(void* memory) noexcept {
  if (cache.closed || cache.count >= most_kept) return ::operator delete(memory, sizeof(node));
  if (!cache.registered) register_cache();
  cache.head = new (memory) free_node{cache.head};
  ++cache.count;
}

/// Whether that was the last reference. The only holder needs no atomic subtraction.
bool drop(node* n) noexcept {
  return n->references.load(std::memory_order_acquire) == 1 ||
         n->references.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

void destroy(node* dead) noexcept {
  dead->next = nullptr;
  while (dead) {
    node* n = dead;
    dead = n->next;
    for (node* x : n->operands()) {
      if (!drop(x)) continue;
      x->next = dead;
      dead = x;
    }
    if (runtime::buffer* b = n->computed.load(std::memory_order_relaxed)) runtime::release(b);
    n->~node();
    give_memory(n);
  }
}

[[noreturn]] void throw_mixed_devices(op code, const runtime::device& a, const runtime::device& b, const place& at) {
  const std::string what = fmt::format("{}: operands live on {} and on {}", info(code).name, a.name(), b.name());
  throw device_error(error_text(what, at, "x.to(device) copies an array to a device"));
}

/// A constant gets an owner when it is evaluated, perhaps by another thread.
runtime::device* owner_of(node* n) { return std::atomic_ref(n->owner).load(std::memory_order_relaxed); }

runtime::device* common_owner(op code, std::span<node* const> operands, const place& at) {
  runtime::device* owner = nullptr;
  for (node* x : operands) {
    runtime::device* d = owner_of(x);
    if (!d || d == owner) continue;
    if (owner) throw_mixed_devices(code, *owner, *d, at);
    owner = d;
  }
  return owner;
}

// ---- Views ----

/// Guards operands against settle() while a new node looks through its source.
constinit std::mutex operands_mutex;

/// The operand of `n` when it is still a pending `code`, else null.
node_ref operand_of_pending(node* n, op code) {
  if (n->code != code) return {};
  const std::lock_guard lock(operands_mutex);
  return n->values() || n->operand_count == 0 ? node_ref() : node_ref::share(n->operands()[0]);
}

void check_view(const shape& source, std::span<const axis_map> map, const shape& extents) {
  SINTER_CHECK(static_cast<int>(map.size()) == source.rank());
  const bool empty = extents.size() == 0;
  for (int k = 0; k < source.rank(); ++k) {
    const axis_map m = map[static_cast<std::size_t>(k)];
    SINTER_CHECK(m.axis < extents.rank());
    if (empty) continue;
    const std::int64_t last = m.axis < 0 ? m.offset : m.offset + m.step * (extents[m.axis] - 1);
    SINTER_CHECK(0 <= m.offset && m.offset < source[k] && 0 <= last && last < source[k]);
  }
}

/// Maps in one form for one meaning: an axis that does not move the index is not named.
void normalize(std::vector<axis_map>& map, const shape& extents) {
  for (axis_map& m : map)
    if (m.axis < 0 || m.step == 0 || extents[m.axis] == 1) m = {m.offset, 0, -1};
}

bool is_identity(std::span<const axis_map> map, const shape& source, const shape& extents) {
  if (source != extents) return false;
  for (int k = 0; k < source.rank(); ++k) {
    const axis_map& m = map[static_cast<std::size_t>(k)];
    if (m != axis_map{0, 1, k} && (m != axis_map{} || source[k] != 1)) return false;
  }
  return true;
}

/// Indices of the innermost source: `inner` maps from it to a view, `outer` from that view to the result.
std::vector<axis_map> compose(std::span<const axis_map> inner, std::span<const axis_map> outer) {
  std::vector<axis_map> both(inner.begin(), inner.end());
  for (axis_map& m : both) {
    if (m.axis < 0) continue;
    const axis_map& o = outer[static_cast<std::size_t>(m.axis)];
    m = {m.offset + m.step * o.offset, m.step * o.step, o.axis};
  }
  return both;
}

/// Whether `to` is `from` with unit axes added and removed only; then `map` views one as the other.
bool differs_by_unit_axes(const shape& from, const shape& to, std::vector<axis_map>& map) {
  int at = 0;
  map.clear();
  for (const std::int64_t n : from) {
    if (n == 1) {
      map.push_back({});
      continue;
    }
    while (at < to.rank() && to[at] == 1) ++at;
    if (at == to.rank() || to[at] != n) return false;
    map.push_back({0, 1, at++});
  }
  while (at < to.rank() && to[at] == 1) ++at;
  return at == to.rank();
}

// ---- Numbers ----

struct integer_range {
  std::int64_t low;
  std::uint64_t high;
};

integer_range range_of(dtype type) {
  const int bits = static_cast<int>(size_of(type)) * 8;
  if (kind_of(type) == kind::unsigned_integer) return {0, ~std::uint64_t{0} >> (64 - bits)};
  const std::uint64_t high = (std::uint64_t{1} << (bits - 1)) - 1;
  return {-static_cast<std::int64_t>(high) - 1, high};
}

[[noreturn]] void throw_out_of_range(const std::string& number, dtype type, const place& at) {
  const integer_range r = range_of(type);
  throw_type_error(fmt::format("{} does not fit {} [{}, {}]", number, to_string(type), r.low, r.high), at,
                   "convert the array to a wider dtype first: x.astype(i64)");
}

scalar to_integer(const scalar& number, dtype type, const place& at) {
  const bool is_signed = kind_of(type) == kind::signed_integer;
  const integer_range r = range_of(type);
  switch (number.type) {
    case dtype::boolean:
      return is_signed ? scalar(std::int64_t{number.as_bool}) : scalar(std::uint64_t{number.as_bool});
    case dtype::i64: {
      const std::int64_t x = number.as_i64;
      const bool above = x > 0 && static_cast<std::uint64_t>(x) > r.high;
      if (x < r.low || above) throw_out_of_range(fmt::to_string(x), type, at);
      return is_signed ? scalar(x) : scalar(static_cast<std::uint64_t>(x));
    }
    case dtype::u64: {
      const std::uint64_t x = number.as_u64;
      if (x > r.high) throw_out_of_range(fmt::to_string(x), type, at);
      return is_signed ? scalar(static_cast<std::int64_t>(x)) : scalar(x);
    }
    default:
      throw_type_error(fmt::format("a {} number does not fit the integer dtype {}",
                                   is_complex(number.type) ? "complex" : "floating-point", to_string(type)),
                       at, "write an integer, or convert the array first: x.astype(f64)");
  }
}

/// `x` rounded to f32 such that rounding again to a narrower float gives what rounding once would ("round to odd").
float round_to_odd(double x) {
  const auto nearest = static_cast<float>(x);
  if (static_cast<double>(nearest) == x || x != x) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  const double magnitude = x < 0 ? -x : x;
  if (static_cast<double>(std::bit_cast<float>(bits & 0x7fffffffu)) > magnitude) --bits;
  return std::bit_cast<float>(bits | 1u);
}

double round_real(double x, dtype type) {
  switch (type) {
    case dtype::f16: return static_cast<float>(float16(round_to_odd(x)));
    case dtype::bf16: return static_cast<float>(bfloat16(round_to_odd(x)));
    case dtype::f32: return static_cast<float>(x);
    default: return x;
  }
}

double to_real(const scalar& number, dtype type, const place& at) {
  switch (number.type) {
    case dtype::boolean: return number.as_bool ? 1.0 : 0.0;
    case dtype::i64:
      if (type == dtype::f32) return static_cast<float>(number.as_i64);  // one rounding, not two
      return round_real(static_cast<double>(number.as_i64), type);
    case dtype::u64:
      if (type == dtype::f32) return static_cast<float>(number.as_u64);
      return round_real(static_cast<double>(number.as_u64), type);
    case dtype::f64: return round_real(number.as_f64, type);
    default:
      throw_type_error(fmt::format("a complex number does not fit {}", to_string(type)), at,
                       "convert the array first: x.astype(c128)");
  }
}

bool to_bool(const scalar& x) {
  switch (x.type) {
    case dtype::boolean: return x.as_bool;
    case dtype::i64: return x.as_i64 != 0;
    case dtype::u64: return x.as_u64 != 0;
    case dtype::f64: return x.as_f64 != 0;
    default: return x.as_c128.re != 0 || x.as_c128.im != 0;
  }
}

scalar to_number(const scalar& number, dtype type, const place& at) {
  const dtype part = type == dtype::c64 ? dtype::f32 : dtype::f64;
  switch (kind_of(type)) {
    case kind::truth: return to_bool(number);
    case kind::real: return to_real(number, type, at);
    case kind::complex:
      if (!is_complex(number.type)) return complex128{to_real(number, part, at), 0};
      return complex128{round_real(number.as_c128.re, part), round_real(number.as_c128.im, part)};
    default: return to_integer(number, type, at);
  }
}

}  // namespace

void retain(node* n) noexcept { n->references.fetch_add(1, std::memory_order_relaxed); }

void release(node* n) noexcept {
  if (drop(n)) destroy(n);
}

void settle(node* n, reference<runtime::buffer> values) noexcept {
  node* few[3] = {};
  std::unique_ptr<node*[]> many;
  std::size_t count = 0;
  {
    const std::lock_guard lock(operands_mutex);
    if (!owner_of(n)) std::atomic_ref(n->owner).store(values->owner, std::memory_order_relaxed);
    n->computed.store(values.leave(), std::memory_order_release);
    count = std::exchange(n->operand_count, std::uint16_t{0});
    for (int k = 0; k < 3; ++k) few[k] = std::exchange(n->few[k], nullptr);
    many = std::move(n->many);
  }
  for (std::size_t k = 0; k < count; ++k) release(count > 3 ? many[k] : few[k]);
}

node_ref make_node(op code, dtype type, const shape& extents, std::span<node* const> operands, const place& at,
                   std::unique_ptr<attribute> facts) {
  runtime::device* owner = common_owner(code, operands, at);
  SINTER_CHECK(operands.size() <= 0xffff);
  std::unique_ptr<node*[]> many;
  if (operands.size() > 3) many = std::make_unique<node*[]>(operands.size());
  node* n = new (take_memory()) node(code, type, extents, at);
  n->owner = owner;
  n->facts = std::move(facts);
  n->operand_count = static_cast<std::uint16_t>(operands.size());
  node** to = n->few;
  if (many) {
    n->many = std::move(many);
    to = n->many.get();
  }
  for (node* x : operands) {
    retain(x);
    *to++ = x;
  }
  runtime::bump(runtime::count().recorded);
  return node_ref(n);
}

node_ref make_buffer_node(reference<runtime::buffer> values, dtype type, const shape& extents, const place& at) {
  SINTER_CHECK(values && values->bytes >= static_cast<std::size_t>(extents.size() * size_of(type)));
  node_ref n = make_node(op::buffer, type, extents, {}, at);
  n->owner = values->owner;
  n->computed.store(values.leave(), std::memory_order_release);
  return n;
}

node_ref make_scalar(const sinter::scalar& number, dtype type, const place& at) {
  const scalar fitted = number.type == type ? number : to_number(number, type, at);
  node_ref n = make_node(op::scalar, type, shape{}, {}, at);
  n->number = fitted;
  return n;
}

node_ref make_view(node* source, std::span<const axis_map> map, const shape& extents, const place& at) {
  check_view(source->extents, map, extents);
  auto facts = std::make_unique<attribute>();
  node_ref base = operand_of_pending(source, op::view);
  if (base) {
    facts->view = compose(source->facts->view, map);
  } else {
    base = node_ref::share(source);
    facts->view.assign(map.begin(), map.end());
  }
  normalize(facts->view, extents);
  if (is_identity(facts->view, base->extents, extents)) return base;
  node* operand = base.get();
  return make_node(op::view, source->type, extents, {&operand, 1}, at, std::move(facts));
}

node_ref make_reshape(node* source, const shape& extents, const place& at) {
  if (source->extents == extents) return node_ref::share(source);
  if (source->extents.size() != extents.size())
    throw_shape_error(fmt::format("reshape: shape {} ({} elements) into {} ({} elements)", to_string(source->extents),
                                  source->extents.size(), to_string(extents), extents.size()), at);
  if (runtime::buffer* values = source->values())
    return make_buffer_node(reference<runtime::buffer>::share(values), source->type, extents, at);
  std::vector<axis_map> map;
  if (differs_by_unit_axes(source->extents, extents, map)) return make_view(source, map, extents, at);
  if (const node_ref base = operand_of_pending(source, op::reshape)) return make_reshape(base.get(), extents, at);
  return make_node(op::reshape, source->type, extents, {&source, 1}, at);
}

node_ref make_broadcast(node* source, const shape& extents, const place& at) {
  const shape& from = source->extents;
  if (from == extents) return node_ref::share(source);
  shape common;
  if (!broadcast_into(from, extents, common) || common != extents)
    throw_shape_error(fmt::format("broadcast: shape {} does not broadcast to {}", to_string(from), to_string(extents)),
                      at);
  std::vector<axis_map> map;
  const int added = extents.rank() - from.rank();
  for (int k = 0; k < from.rank(); ++k)
    map.push_back(from[k] == extents[k + added] ? axis_map{0, 1, k + added} : axis_map{});
  return make_view(source, map, extents, at);
}

node_ref make_convert(node* source, dtype type, const place& at) {
  if (source->type == type) return node_ref::share(source);
  return make_node(op::convert, type, source->extents, {&source, 1}, at);
}

node_ref move_to(node* source, runtime::device& d, const place& at) {
  if (runtime::device* from = owner_of(source); !from || from == &d) return node_ref::share(source);
  const auto bytes = static_cast<std::size_t>(checked_bytes(source->extents, source->type));
  const std::unique_ptr<std::byte[]> staging(new std::byte[bytes]);
  evaluate({&source, 1}, at);
  if (bytes > 0) read(source, staging.get(), bytes, at);
  reference<runtime::buffer> values(runtime::make_buffer(d, bytes));
  if (bytes > 0) d.copy_from_host(values->data, staging.get(), bytes);
  return make_buffer_node(std::move(values), source->type, source->extents, at);
}

}  // namespace sinter::jit
