#include "jit/graph.hpp"

#include "jit/engine.hpp"
#include "jit/fold/trace_recorder.hpp"
#include "jit/graph_internal.hpp"
#include "jit/loops.hpp"
#include "runtime/backend.hpp"
#include "runtime/counters.hpp"
#include "runtime/log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <new>
#include <unordered_map>
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

// ---- Limits of what may be pending ----

struct pending_work {
  std::uint32_t depth = 0;
  std::int64_t bytes = 0;
};

pending_work work_below(std::span<node* const> operands) {
  pending_work w;
  std::int64_t here = 0;
  for (const node* x : operands) {
    if (const runtime::buffer* b = x->values()) {
      here += static_cast<std::int64_t>(b->bytes);
      continue;
    }
    w.depth = std::max(w.depth, x->depth + 1);
    w.bytes = std::max(w.bytes, x->needed_bytes);
  }
  w.bytes += here;
  return w;
}

/// Bytes of the evaluated arrays that only pending nodes below `operands` still hold.
std::int64_t bytes_held_below(std::span<node* const> operands) {
  std::unordered_map<const node*, std::uint32_t> uses;
  std::vector<node*> stack;
  const auto use = [&](node* x) {
    if (++uses[x] == 1 && !x->values()) stack.push_back(x);
  };
  for (node* x : operands) use(x);
  while (!stack.empty()) {
    const node* n = stack.back();
    stack.pop_back();
    for (node* x : n->operands()) use(x);
  }
  std::int64_t bytes = 0;
  for (const auto& [n, count] : uses)
    if (const runtime::buffer* b = n->values(); b && n->references.load(std::memory_order_acquire) == count)
      bytes += static_cast<std::int64_t>(b->bytes);
  return bytes;
}

/// Evaluates what makes `operands` pass the limits, unless they may be of a loop that is recorded; what is left below them.
pending_work cut_down(std::span<node* const> operands, const options& how, const place& at) {
  pending_work w = work_below(operands);
  if (is_recording_body() || is_raising_entangled()) return w;
  const bool too_deep = w.depth > how.max_pending_operations;
  if (!too_deep) {
    w.bytes = bytes_held_below(operands);
    if (w.bytes <= how.max_pending_bytes) return w;
  }
  // All that are nearly as deep: a program's other variables, which else would each compute the same again.
  std::vector<node*> deep;
  for (node* x : operands)
    if (!x->values() && x->depth + 1 >= w.depth / 2) deep.push_back(x);
  if (deep.empty()) return w;
  runtime::log(runtime::level::info,
               too_deep ? fmt::format("{}:{}: {} operations wait for each other (recording_limits): evaluated", at.file,
                                      at.line, w.depth)
                        : fmt::format("{}:{}: {} bytes are kept for pending operations (recording_limits): evaluated",
                                      at.file, at.line, w.bytes));
  evaluate(deep, at);
  return work_below(operands);
}

/// Guards operands against settle() while a new node looks through its source.
constinit std::mutex operands_mutex;

}  // namespace

node_ref pending_operand(node* n, op code, std::size_t k) {
  if (n->code != code) return {};
  const std::lock_guard lock(operands_mutex);
  return n->values() || n->operand_count <= k ? node_ref() : node_ref::share(n->operands()[k]);
}

runtime::device* owner_of(const node* n) {
  return std::atomic_ref(const_cast<node*>(n)->owner).load(std::memory_order_relaxed);
}

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

std::vector<node_ref> pending_operands(node* n, op code) {
  std::vector<node_ref> all;
  if (n->code != code) return all;
  const std::lock_guard lock(operands_mutex);
  if (!n->values())
    for (node* x : n->operands()) all.push_back(node_ref::share(x));
  return all;
}

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

std::unique_lock<std::mutex> hold_operands() { return std::unique_lock(operands_mutex); }

void become(node* n, node* other) {
  if (n == other) return;
  if (runtime::buffer* values = other->values()) return settle(n, reference<runtime::buffer>::share(values));
  std::unique_ptr<node*[]> many;
  if (other->operand_count > 3) many = std::make_unique<node*[]>(other->operand_count);
  auto facts = other->facts ? std::make_unique<attribute>(*other->facts) : nullptr;
  node* few[3] = {};
  std::unique_ptr<node*[]> old_many;
  std::size_t old_count;
  {
    const std::lock_guard lock(operands_mutex);
    old_count = n->operand_count;
    for (int k = 0; k < 3; ++k) few[k] = std::exchange(n->few[k], nullptr);
    old_many = std::move(n->many);
    node** to = n->few;
    if (many) {
      n->many = std::move(many);
      to = n->many.get();
    }
    n->operand_count = other->operand_count;
    for (node* x : other->operands()) {
      retain(x);
      *to++ = x;
    }
    n->code = other->code;
    n->facts = std::move(facts);
    n->number = other->number;
    n->depth = other->depth;
    n->needed_bytes = other->needed_bytes;
    n->is_statement = other->is_statement;
    n->has_statements = other->has_statements;
    if (!owner_of(n)) std::atomic_ref(n->owner).store(owner_of(other), std::memory_order_relaxed);
  }
  for (std::size_t k = 0; k < old_count; ++k) release(old_count > 3 ? old_many[k] : few[k]);
}

node_ref make_node(op code, dtype type, const shape& extents, std::span<node* const> operands, const place& at,
                   std::unique_ptr<attribute> facts) {
  runtime::device* owner = common_owner(code, operands, at);
  SINTER_CHECK(operands.size() <= 0xffff);
  pending_work work = work_below(operands);
  if (const options& how = current_options();
      work.depth > how.max_pending_operations || work.bytes > how.max_pending_bytes) [[unlikely]]
    work = cut_down(operands, how, at);
  std::unique_ptr<node*[]> many;
  if (operands.size() > 3) many = std::make_unique<node*[]>(operands.size());
  node* n = new (take_memory()) node(code, type, extents, at);
  n->owner = owner;
  n->depth = work.depth;
  n->needed_bytes = work.bytes;
  n->facts = std::move(facts);
  n->operand_count = static_cast<std::uint16_t>(operands.size());
  node** to = n->few;
  if (many) {
    n->many = std::move(many);
    to = n->many.get();
  }
  for (node* x : operands) {
    retain(x);
    n->has_statements |= x->has_statements;
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
