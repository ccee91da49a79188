// Reductions and scans of the interpreter.
#include "jit/interpret_internal.hpp"

#include <cmath>
#include <new>

namespace sinter::jit::interpreter {

namespace {

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
  else return false;
}

struct integer_sum {
  std::uint64_t total = 0;
  void add(std::uint64_t x, std::int64_t) { total += x; }
  std::uint64_t value(dtype) const { return total; }
};

struct integer_product {
  std::uint64_t total = 1;
  void add(std::uint64_t x, std::int64_t) { total *= x; }
  std::uint64_t value(dtype) const { return total; }
};

struct float_sum {
  double total = 0;
  void add(float x, std::int64_t) { total += static_cast<double>(x); }
  float value(dtype t) const { return round_to(t, total); }
};

struct float_product {
  double total = 1;
  void add(float x, std::int64_t) { total *= static_cast<double>(x); }
  float value(dtype t) const { return round_to(t, total); }
};

/// Neumaier's: what each addition loses is summed apart.
struct double_sum {
  double total = 0, lost = 0;
  void add(double x, std::int64_t) {
    const double next = total + x;
    lost += std::fabs(total) >= std::fabs(x) ? (total - next) + x : (x - next) + total;
    total = next;
  }
  double value(dtype) const { return std::isfinite(total) ? total + lost : total; }
};

struct double_product {
  double total = 1;
  void add(double x, std::int64_t) { total *= x; }
  double value(dtype) const { return total; }
};

struct complex_sum {
  double_sum re, im;
  void add(std::complex<double> x, std::int64_t) {
    re.add(x.real(), 0);
    im.add(x.imag(), 0);
  }
  std::complex<double> value(dtype t) const { return {re.value(t), im.value(t)}; }
};

struct complex_product {
  std::complex<double> total = 1;
  void add(std::complex<double> x, std::int64_t) { total = multiply(total, x); }
  std::complex<double> value(dtype) const { return total; }
};

/// The least or greatest so far and where it was first; a NaN is never replaced.
template <class T, bool Greatest, bool Position>
struct extreme {
  T best{};
  std::int64_t at = -1;
  void add(T x, std::int64_t position) {
    const bool better = Greatest ? x > best : x < best;
    if (at >= 0 && (is_nan(best) || (!better && !is_nan(x)))) return;
    best = x;
    at = position;
  }
  auto value(dtype) const {
    if constexpr (Position) return at;
    else return best;
  }
};

template <bool Any>
struct truth {
  bool holds = !Any;
  void add(bool x, std::int64_t) { holds = Any ? holds || x : holds && x; }
  bool value(dtype) const { return holds; }
};

/// Calls f with the accumulator of a sum or product of lanes T.
template <class T, class F>
void with_total(bool product, F&& f) {
  const auto pick = [&]<class Sum, class Product>(std::type_identity<Sum>, std::type_identity<Product>) {
    if (product) f(std::type_identity<Product>{}, std::type_identity<T>{}, std::type_identity<T>{});
    else f(std::type_identity<Sum>{}, std::type_identity<T>{}, std::type_identity<T>{});
  };
  if constexpr (is_complex_lane<T>) pick(std::type_identity<complex_sum>{}, std::type_identity<complex_product>{});
  else if constexpr (std::is_same_v<T, double>)
    pick(std::type_identity<double_sum>{}, std::type_identity<double_product>{});
  else if constexpr (std::is_same_v<T, float>)
    pick(std::type_identity<float_sum>{}, std::type_identity<float_product>{});
  else pick(std::type_identity<integer_sum>{}, std::type_identity<integer_product>{});
}

/// Calls f with the accumulator of a minimum, maximum or their position, over lanes T.
template <class T, class F>
void with_extreme(op code, F&& f) {
  if constexpr (is_complex_lane<T>) {
    throw_internal_error("complex numbers have no order");
  } else {
    constexpr std::type_identity<T> from;
    constexpr std::type_identity<std::int64_t> position;
    switch (code) {
      case op::scan_min:
      case op::reduce_min: return f(std::type_identity<extreme<T, false, false>>{}, from, from);
      case op::scan_max:
      case op::reduce_max: return f(std::type_identity<extreme<T, true, false>>{}, from, from);
      case op::reduce_argmin: return f(std::type_identity<extreme<T, false, true>>{}, from, position);
      default: return f(std::type_identity<extreme<T, true, true>>{}, from, position);
    }
  }
}

/// Calls f with the types of the accumulator, of the lanes that go in (sums: already of the result's dtype), and of
/// those that come out.
template <class F>
void with_accumulator(const inst& i, dtype from, F&& f) {
  constexpr std::type_identity<bool> boolean_lane;
  switch (i.code) {
    case op::reduce_sum:
    case op::reduce_plain_sum:
    case op::scan_sum: return with_lane(i.type, [&]<class T>(std::type_identity<T>) { with_total<T>(false, f); });
    case op::reduce_prod:
    case op::scan_prod: return with_lane(i.type, [&]<class T>(std::type_identity<T>) { with_total<T>(true, f); });
    case op::reduce_any: return f(std::type_identity<truth<true>>{}, boolean_lane, boolean_lane);
    case op::reduce_all: return f(std::type_identity<truth<false>>{}, boolean_lane, boolean_lane);
    default: return with_lane(from, [&]<class T>(std::type_identity<T>) { with_extreme<T>(i.code, f); });
  }
}

/// The dtype an accumulator wants its lanes in.
dtype wanted(const inst& i, dtype from) {
  if (info(i.code).typing == rule::reduce_sum) return i.type;
  return i.code == op::reduce_any || i.code == op::reduce_all ? boolean : from;
}

template <class A, class In>
void add(A& a, In x, std::int64_t position) {
  if constexpr (std::is_same_v<A, integer_sum> || std::is_same_v<A, integer_product>)
    a.add(static_cast<std::uint64_t>(x), position);
  else a.add(x, position);
}

/// Adds each value to its accumulator, then calls after(lane, accumulator).
template <class A, class In, class F>
void add_each(A* accumulators, const intake& in, F after) {
  const auto* x = static_cast<const In*>(in.lanes);
  if (in.in_turn) {
    A whole = accumulators[0];  // in registers
    for (int l = 0; l < in.count; ++l) {
      add(whole, x[l], in.position + l);
      after(l, whole);
    }
    accumulators[0] = whole;
  } else {
    for (int l = 0; l < in.count; ++l) {
      add(accumulators[l], x[l], in.position);
      after(l, accumulators[l]);
    }
  }
}

/// Calls f with the values in the dtype that the accumulator wants.
template <class F>
void with_wanted(const inst& i, dtype from, const intake& in, F&& f) {
  const dtype to = wanted(i, from);
  if (to == from) return f(in);
  alignas(64) unsigned char converted[block * sizeof(std::complex<double>)];
  convert(from, to, converted, in.lanes, in.count);
  f(intake{converted, in.position, in.count, in.in_turn});
}

}  // namespace

void start(const inst& reduce, dtype from, void* accumulators, int count) {
  with_accumulator(reduce, from, [&]<class A>(std::type_identity<A>, auto, auto) {
    static_assert(sizeof(A) <= accumulator_size && std::is_trivially_destructible_v<A>);
    for (int l = 0; l < count; ++l) new (static_cast<A*>(accumulators) + l) A;
  });
}

void accumulate(const inst& reduce, dtype from, void* accumulators, const intake& in) {
  with_wanted(reduce, from, in, [&](const intake& values) {
    with_accumulator(reduce, from, [&]<class A, class In>(std::type_identity<A>, std::type_identity<In>, auto) {
      add_each<A, In>(static_cast<A*>(accumulators), values, [](int, const A&) {});
    });
  });
}

void scan(const inst& reduce, dtype from, void* accumulators, const intake& in, void* out) {
  with_wanted(reduce, from, in, [&](const intake& values) {
    with_accumulator(reduce, from, [&]<class A, class In, class Out>(std::type_identity<A>, std::type_identity<In>,
                                                                     std::type_identity<Out>) {
      add_each<A, In>(static_cast<A*>(accumulators), values, [&](int l, const A& found) {
        static_cast<Out*>(out)[l] = static_cast<Out>(found.value(reduce.type));
      });
    });
  });
  if (is_integer(reduce.type)) settle(reduce.type, out, in.count);
}

void finish(const inst& reduce, dtype from, const void* accumulators, void* out, int count) {
  with_accumulator(reduce, from, [&]<class A, class Out>(std::type_identity<A>, auto, std::type_identity<Out>) {
    const auto* each = static_cast<const A*>(accumulators);
    for (int l = 0; l < count; ++l) static_cast<Out*>(out)[l] = static_cast<Out>(each[l].value(reduce.type));
  });
  if (is_integer(reduce.type)) settle(reduce.type, out, count);
}

}  // namespace sinter::jit::interpreter
