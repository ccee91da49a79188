// Indices and memory of the interpreter.
#include "jit/interpret_machine.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace sinter::jit::interpreter {

// ---- indices ----
lane_indices machine::resolve(std::uint32_t number_of_form) {
  const bound_form& f = forms_[number_of_form];
  lane_indices r;
  r.base = f.offset;
  for (std::uint32_t t = f.first; t < f.first + f.count; ++t) {
    const auto [atom, coefficient] = terms_[t];
    if (atom >= term::computed) continue;
    r.base += counters_[atom] * coefficient;
    if (atom == lane_dim_) r.step += coefficient;
  }
  if (!f.computed) return r;
  for (int l = 0; l < count_; ++l) indices_[l] = r.base + r.step * l;
  for (std::uint32_t t = f.first; t < f.first + f.count; ++t) {
    if (terms_[t].atom < term::computed) continue;
    const auto* x = lanes<std::int64_t>(value{terms_[t].atom & ~term::computed});
    for (int l = 0; l < count_; ++l) indices_[l] += x[l] * terms_[t].coefficient;
  }
  r.each = indices_;
  return r;
}

void machine::index(const inst& i, value v) {
  const lane_indices at_lane = resolve(i.attr);
  auto* out = lanes<std::int64_t>(v);
  for (int l = 0; l < count_; ++l) out[l] = at_lane[l];
}

void machine::quotient(const inst& i, value v) {
  const std::int64_t divisor = number(i.attr);
  map(
      count_, lanes<std::int64_t>(v), [divisor](std::int64_t x) { return x / divisor; },
      lanes<std::int64_t>(i.arg[0]));
}

void machine::inside(const inst& i, value v) {
  const auto size = static_cast<std::uint64_t>(number(i.attr));
  map(
      count_, lanes<bool>(v), [size](std::int64_t x) { return static_cast<std::uint64_t>(x) < size; },
      lanes<std::int64_t>(i.arg[0]));
}

void machine::bound(const inst& i, value v) {
  const std::int64_t size = number(kernel_->checks[i.attr].size);
  const bool is_unsigned = kind_of(type_of(i.arg[0])) == kind::unsigned_integer;
  const auto* wanted = lanes<std::int64_t>(i.arg[0]);  // u64 lanes past 2^63 look negative
  auto* out = lanes<std::int64_t>(v);
  auto* good = static_cast<bool*>(extra(v));
  const bool* asked = predicate(i.arg[1]);
  for (int l = 0; l < count_; ++l) {
    out[l] = 0;
    good[l] = false;
    if (asked != nullptr && !asked[l]) continue;
    if (!active_.empty() && active_[static_cast<std::size_t>(l)] == 0) continue;
    const std::int64_t x = is_unsigned && wanted[l] < 0 ? INT64_MAX : wanted[l];
    const std::int64_t place = x < 0 ? x + size : x;
    good[l] = place >= 0 && place < size;
    out[l] = good[l] ? place : 0;
    if (!good[l]) report(i.attr, x, size, l);
  }
}

/// Keeps the launch's first bad index only.
void machine::report(std::uint32_t ordinal, std::int64_t wanted, std::int64_t size, int lane) {
  SINTER_CHECK(fault_ != nullptr);
  std::int32_t none = 0;
  if (!std::atomic_ref(fault_->set).compare_exchange_strong(none, 1)) return;
  fault_->ordinal = static_cast<std::int32_t>(ordinal);
  fault_->launch = launch_;
  fault_->index = wanted;
  fault_->size = size;
  const std::uint32_t inner = kernel_->domain_rank - 1;
  fault_->position = row_ * extents_[inner] + counters_[inner] + (lane_dim_ == inner ? lane : 0);
  std::atomic_ref(fault_->set).store(2, std::memory_order_release);
}

void machine::in_range(const inst& i, value v) {
  const auto* good = static_cast<const bool*>(extra(i.arg[0]));
  auto* out = lanes<bool>(v);
  if (i.arg[1] == value::none) std::copy_n(good, count_, out);
  else map(count_, out, [](bool x, bool y) { return x && y; }, good, lanes<bool>(i.arg[1]));
}

// ---- memory ----
void machine::load(const inst& i, value v) {
  const access& a = kernel_->accesses[i.attr];
  const lane_indices at_lane = resolve(a.form);
  const bool* wanted = predicate(i.arg[0]);
  with_element(i.type, [&]<class S, class T>(std::type_identity<S>, std::type_identity<T>) {
    T* out = lanes<T>(v);
    const auto* from = argument<const S*>(a.pointer);
    if (wanted != nullptr) {
      for (int l = 0; l < count_; ++l) out[l] = wanted[l] ? static_cast<T>(from[at_lane[l]]) : T(0);
    } else if (at_lane.each == nullptr && at_lane.step == 1) {
      map(count_, out, [](S x) { return static_cast<T>(x); }, from + at_lane.base);
    } else {
      for (int l = 0; l < count_; ++l) out[l] = static_cast<T>(from[at_lane[l]]);
    }
  });
}

void machine::store(const inst& i) {
  const access& a = kernel_->accesses[i.attr];
  const lane_indices at_lane = resolve(a.form);
  with_element(i.type, [&]<class S, class T>(std::type_identity<S>, std::type_identity<T>) {
    const T* from = lanes<T>(i.arg[0]);
    auto* to = argument<S*>(a.pointer);
    const bool* wanted = predicate(i.arg[1]);
    for (int l = 0; l < count_; ++l)
      if (wanted == nullptr || wanted[l]) to[at_lane[l]] = static_cast<S>(from[l]);
  });
}

/// One lock for all: the interpreter's atomics are seldom met by two threads.
void machine::combine(const inst& i) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const access& a = kernel_->accesses[i.attr];
  const lane_indices at_lane = resolve(a.form);
  const bool* wanted = predicate(i.arg[1]);
  const dtype in = type_of(i.arg[0]);
  const inst operation{i.combine, in};
  const auto* from = static_cast<const unsigned char*>(at(i.arg[0]));
  const std::size_t lane_size = with_lane(in, []<class W>(std::type_identity<W>) { return sizeof(W); });
  with_element(i.type, [&]<class S, class T>(std::type_identity<S>, std::type_identity<T>) {
    auto* to = argument<S*>(a.pointer);
    for (int l = 0; l < count_; ++l) {
      if (wanted != nullptr && !wanted[l]) continue;
      alignas(16) unsigned char old[16], out[16];
      const T element = static_cast<T>(to[at_lane[l]]);
      convert(i.type, in, old, &element, 1);
      const void* const operands[3] = {old, from + static_cast<std::size_t>(l) * lane_size, nullptr};
      evaluate(operation, in, out, operands, 1);
      T result;
      convert(in, i.type, &result, out, 1);
      to[at_lane[l]] = static_cast<S>(result);
    }
  });
}

}  // namespace sinter::jit::interpreter
