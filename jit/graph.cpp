#include "jit/graph.hpp"

#include "jit/engine.hpp"
#include "jit/faults.hpp"
#include "jit/fold/trace_recorder.hpp"
#include "jit/graph_internal.hpp"
#include "jit/loops.hpp"
#include "jit/transfers.hpp"
#include "runtime/backend.hpp"
#include "runtime/counters.hpp"
#include "runtime/log.hpp"
#include "runtime/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

namespace sinter::jit {

namespace {

[[noreturn, gnu::cold, gnu::noinline]] void throw_mixed_devices(op code, const runtime::device& a,
                                                                const runtime::device& b, const place& at) {
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

// Not inlined: g++ 12 at -O3 rounds both parts of a complex number as one vector, and loses the rounding.
[[gnu::noinline]] double round_real(double x, dtype type) {
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

/// Where a node stands in the graph, by what is below it.
struct standing {
  runtime::device* owner = nullptr;
  std::uint32_t depth = 0;
  bool has_statements = false;
  std::uint16_t widest_join = 0;
  std::int64_t bytes = 0, bytes_here = 0;
};

/// `x` among the operands of a `code`.
[[gnu::always_inline]] inline void stand_on(standing& s, const node* x, op code, const place& at) {
  if (runtime::device* d = owner_of(x); d != s.owner && d) {
    if (s.owner) throw_mixed_devices(code, *s.owner, *d, at);
    s.owner = d;
  }
  s.has_statements |= x->has_statements;
  if (const runtime::buffer* b = x->values()) {
    s.bytes_here += static_cast<std::int64_t>(b->bytes);
  } else {
    s.widest_join = std::max(s.widest_join, x->widest_join);
    s.depth = std::max(s.depth, x->depth + 1);
    s.bytes = std::max(s.bytes, x->needed_bytes);
  }
}

standing standing_on(op code, std::span<node* const> operands, const place& at) {
  standing s;
  for (const node* x : operands) stand_on(s, x, code, at);
  s.bytes += s.bytes_here;
  return s;
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

/// Evaluates what makes n's operands pass the limits, unless a loop is recorded that they may be of; where n stands
/// then.
[[gnu::noinline]] standing cut_down(node* n, standing s, const options& how) {
  if (is_recording_body() || unfinished_values::any()) return s;
  const bool too_deep = s.depth > how.max_pending_operations;
  if (!too_deep) {
    s.bytes = bytes_held_below(n->operands());
    if (s.bytes <= how.max_pending_bytes) return s;
  }
  // All that are nearly as deep: a program's other variables, which else would each compute the same again.
  std::vector<node*> deep, without_value;
  const auto add = [&](auto& self, node* x) -> void {
    if (x->values() || x->depth + 1 < s.depth / 2) return;
    const bool has_value = x->code != op::call && x->code != op::reduce_call && x->code != op::iterate &&
                           x->code != op::repeat && x->code != op::trace;
    if (has_value) return deep.push_back(x);
    for (node* below : x->operands()) self(self, below);
    without_value.push_back(x);
  };
  for (node* x : n->operands()) add(add, x);
  if (deep.empty()) return s;
  const place& at = n->site;
  runtime::log(runtime::level::info,
               too_deep ? fmt::format("{}:{}: {} operations wait for each other (recording_limits): evaluated", at.file,
                                      at.line, s.depth)
                        : fmt::format("{}:{}: {} bytes are kept for pending operations (recording_limits): evaluated",
                                      at.file, at.line, s.bytes));
  evaluate(deep, at);
  for (node* x : without_value) x->depth = standing_on(x->code, x->operands(), at).depth;
  return standing_on(n->code, n->operands(), at);
}

/// Those of joins along the same axis that it is made of among them.
std::uint16_t operands_of_join(const node* n) {
  std::uint32_t count = 0;
  for (const node* x : n->operands()) {
    const bool part = !x->values() && x->code == op::join && x->facts->axis == n->facts->axis;
    count = std::min<std::uint32_t>(count + (part ? x->widest_join : 1u), 0xffffu);
  }
  return static_cast<std::uint16_t>(count);
}

/// Guards operands against settle() while a new node looks through its source.
constinit std::mutex operands_mutex;

}  // namespace

std::unique_lock<std::mutex> hold_operands() { return std::unique_lock(operands_mutex); }

node_ref pending_operand(node* n, op code, std::size_t k) {
  if (n->code != code) return {};
  const auto held = hold_operands();
  const std::span<node* const> operands = held_operands(n, code);
  return k < operands.size() ? node_ref::share(operands[k]) : node_ref();
}

runtime::device* common_owner(op code, std::span<node* const> operands, const place& at) {
  return standing_on(code, operands, at).owner;
}

std::vector<node_ref> pending_operands(node* n, op code) {
  std::vector<node_ref> all;
  if (n->code != code) return all;
  const auto held = hold_operands();
  for (node* x : held_operands(n, code)) all.push_back(node_ref::share(x));
  return all;
}

void destroy(node* dead) noexcept {
  dead->next = nullptr;
  while (dead) {
    node* n = dead;
    dead = n->next;
    for (node* x : n->operands()) {
      if (!x->references.drop()) continue;
      x->next = dead;
      dead = x;
    }
    if (runtime::buffer* b = n->computed.load(std::memory_order_relaxed)) runtime::release(b);
    delete n;
  }
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
    n->widest_join = other->widest_join;
    if (!owner_of(n)) std::atomic_ref(n->owner).store(owner_of(other), std::memory_order_relaxed);
  }
  for (std::size_t k = 0; k < old_count; ++k) release(old_count > 3 ? old_many[k] : few[k]);
}

void become_traced(node* n, node* trace, std::int32_t slot) {
  auto facts = std::make_unique<attribute>();
  facts->output = slot;
  retain(trace);
  std::unique_ptr<node*[]> old_many;
  node* few[3] = {trace, nullptr, nullptr};
  std::size_t old_count = 0;
  {
    const std::lock_guard lock(operands_mutex);
    old_count = std::exchange(n->operand_count, std::uint16_t{1});
    std::swap(n->few, few);
    old_many = std::move(n->many);
    n->code = op::traced;
    std::swap(n->facts, facts);
    n->depth = trace->depth + 1;
    n->needed_bytes = trace->needed_bytes;
    n->widest_join = trace->widest_join;
    n->is_statement = false;
    n->has_statements = true;
  }
  for (std::size_t k = 0; k < old_count; ++k) release(old_count > 3 ? old_many[k] : few[k]);
}

namespace {

[[gnu::always_inline]] inline void enter_at(node& n, const standing& s) {
  n.owner = s.owner;
  n.depth = s.depth;
  n.needed_bytes = s.bytes;
  n.has_statements = s.has_statements;
  n.widest_join = n.code == op::join ? std::max(s.widest_join, operands_of_join(&n)) : s.widest_join;
  runtime::bump(runtime::count().recorded);
  if (foreseer* const f = foreseer::now()) [[unlikely]] f->met(n);
}

// By value: what is out of registers here would be so everywhere.
[[gnu::noinline]] void enter_where_many_wait(node& n, standing s) {
  enter_at(n, cut_down(&n, s, current_options()));
}

[[gnu::always_inline]] inline void enter_within_limits(node& n, standing& s) {
  s.bytes += s.bytes_here;
  const options& how = current_options();
  if (s.depth > how.max_pending_operations || s.bytes > how.max_pending_bytes) [[unlikely]]
    return enter_where_many_wait(n, s);
  enter_at(n, s);
}

[[gnu::noinline]] void enter_any(node& n) {
  standing s;
  for (const node* x : n.operands()) stand_on(s, x, n.code, n.site);
  enter_within_limits(n, s);
}

}  // namespace

// Every operation goes through here, and recording is little else: one and two operands, nearly all, have no loop.
void enter(node& n) {
  if (n.operand_count - 1u > 1u) return enter_any(n);
  standing s;
  stand_on(s, n.few[0], n.code, n.site);
  if (n.operand_count == 2) stand_on(s, n.few[1], n.code, n.site);
  enter_within_limits(n, s);
}

void add_operand_to_many(node& n, node_ref x) {
  constexpr std::size_t least = 16;
  const std::size_t count = n.operand_count;
  SINTER_CHECK(count < 0xffff);
  if (!n.many || (count >= least && std::has_single_bit(count))) {
    auto longer = std::make_unique<node*[]>(std::max(least, 2 * count));
    std::ranges::copy(n.operands(), longer.get());
    n.many = std::move(longer);
    for (node*& old : n.few) old = nullptr;
  }
  n.many[n.operand_count++] = x.leave();
}

node_ref make_node(op code, dtype type, const shape& extents, std::span<node* const> operands, const place& at,
                   std::unique_ptr<attribute> facts) {
  node_ref n = new_node(code, type, extents, at, std::move(facts));
  for (node* x : operands) add_operand(*n, node_ref::share(x));
  return record_node(std::move(n));
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
  if (foreseer* const f = foreseer::now())
    if (node* const again = f->number(fitted, type, at)) return node_ref(again);
  node_ref n = new_node(op::scalar, type, shape{}, at);
  n->number = fitted;
  return record_node(std::move(n));
}

node_ref make_convert(node* source, dtype type, const place& at) {
  if (source->type == type) return node_ref::share(source);
  return make_node(op::convert, type, source->extents, {&source, 1}, at);
}

node_ref move_to(node* source, runtime::device& d, const place& at) {
  if (runtime::device* from = owner_of(source); !from || from == &d) return node_ref::share(source);
  const auto bytes = static_cast<std::size_t>(checked_bytes(source->extents, source->type));
  evaluate({&source, 1}, at);
  const reference<runtime::buffer> have = reference<runtime::buffer>::share(source->values());
  reference<runtime::buffer> values(runtime::make_buffer(d, bytes, {source->type, source->extents, at}));
  if (bytes > 0) {
    // The memory of the cpu device is host memory.
    const bool from_cpu = have->owner->kind() == runtime::device_kind::cpu;
    const bool to_cpu = d.kind() == runtime::device_kind::cpu;
    const std::unique_ptr<std::byte[]> between(from_cpu || to_cpu ? nullptr : new std::byte[bytes]);
    void* const host = from_cpu ? have->data : to_cpu ? values->data : between.get();
    if (!from_cpu) read(source, host, bytes, at);
    else throw_on_fault(*have->owner);
    if (!to_cpu) {
      runtime::copy_from_host(*values, host, bytes);
      runtime::count_copy_in(bytes);
      note_copy_in(d, bytes, at);
    }
  }
  return make_buffer_node(std::move(values), source->type, source->extents, at);
}

}  // namespace sinter::jit
