// The interpreter's control: blocks of elements, loops, indices and memory. Each instruction's values lie in an array
// of lanes; the arrays are kept by the thread from one kernel to the next.
#include "jit/interpret.hpp"

#include "jit/interpret_internal.hpp"

#include "runtime/backend.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace sinter::jit {

namespace {

using namespace interpreter;

/// A form with this launch's numbers.
struct bound_form {
  std::int64_t offset = 0, inner_step = 0;
  std::uint32_t first = 0, count = 0;  ///< bound_terms, without the inner dim
  bool computed = false;
};

struct bound_term {
  std::uint32_t atom;
  std::int64_t coefficient;
};

/// A form at the current counters, along the lanes: base + step * lane, or one index a lane.
struct lane_indices {
  std::int64_t base = 0, step = 0;
  const std::int64_t* each = nullptr;
  std::int64_t operator[](int l) const { return each != nullptr ? each[l] : base + step * l; }
};

class machine {
 public:
  void run(const kernel& k, void* const* arguments, std::int64_t row_begin, std::int64_t row_end, std::int64_t begin,
           std::int64_t end) {
    kernel_ = &k;
    arguments_ = arguments;
    prepare(static_cast<int>(std::min<std::int64_t>(block, end - begin)));
    for (row_ = row_begin; row_ < row_end; ++row_) {
      find_row();
      for (start_ = begin; start_ < end; start_ += block) {
        count_ = static_cast<int>(std::min<std::int64_t>(block, end - start_));
        execute(0, k.body.size());
      }
    }
  }

 private:
  // ---- before the first block ----
  void prepare(int lanes) {
    const kernel& k = *kernel_;
    counters_.assign(k.dims.size(), 0);
    extents_.clear();
    for (const dim& d : k.dims) extents_.push_back(number(d.extent));
    bind_forms();
    lay_out_registers();
    fault_ = nullptr;
    launch_ = 0;
    for (std::uint32_t p = 0; p < k.parameters.size(); ++p) {
      if (k.parameters[p].kind == parameter_kind::fault) fault_ = argument<runtime::index_fault*>(p);
      if (k.parameters[p].kind == parameter_kind::launch) launch_ = number(p);
    }
    for (std::uint32_t v = 0; v < k.body.size(); ++v)
      if (k.body[v].code == op::scalar) fill(k.body[v], at(value{v}), lanes);
  }

  void bind_forms() {
    const kernel& k = *kernel_;
    const std::uint32_t inner = k.domain_rank - 1;
    forms_.clear();
    terms_.clear();
    for (const form& f : k.forms) {
      bound_form b;
      b.first = static_cast<std::uint32_t>(terms_.size());
      if (f.offset != form::no_offset) b.offset = number(f.offset);
      for (std::uint32_t t = f.first; t < f.first + f.count; ++t) {
        const std::int64_t c = k.terms[t].coefficient == term::unit ? 1 : number(k.terms[t].coefficient);
        if (k.terms[t].atom == inner) {
          b.inner_step += c;
          continue;
        }
        terms_.push_back({k.terms[t].atom, c});
        b.computed |= !k.terms[t].is_dim();
      }
      b.count = static_cast<std::uint32_t>(terms_.size()) - b.first;
      forms_.push_back(b);
    }
  }

  /// Where each instruction's lanes are: also the flags of a bound, and the accumulators of a reduction.
  void lay_out_registers() {
    const kernel& k = *kernel_;
    std::size_t used = 0;
    const auto take = [&](std::size_t bytes_a_lane) {
      const std::size_t place = used;
      used += (bytes_a_lane * block + sizeof(line) - 1) / sizeof(line);
      return place;
    };
    places_.clear();
    extras_.clear();
    closing_.assign(k.body.size(), 0);
    for (std::uint32_t v = 0; v < k.body.size(); ++v) {
      const inst& i = k.body[v];
      SINTER_CHECK(i.code != op::call && i.code != op::result);
      places_.push_back(take(with_lane(i.type, []<class T>(std::type_identity<T>) { return sizeof(T); })));
      extras_.push_back(i.code == op::bound ? take(sizeof(bool)) : is_reduction(i.code) ? take(accumulator_size) : 0);
      if (is_reduction(i.code)) closing_[raw(i.arg[1])] = v;
    }
    if (memory_.size() < used) memory_.resize(used);
  }

  void fill(const inst& i, void* out, int lanes) {
    with_element(i.type, [&]<class S, class T>(std::type_identity<S>, std::type_identity<T>) {
      // f16 and bf16 parameters are floats already
      using parameter = std::conditional_t<std::is_same_v<T, float>, float, S>;
      std::fill_n(static_cast<T*>(out), lanes, static_cast<T>(argument<parameter>(i.attr)));
    });
  }

  /// Calls f with the types an element of the dtype has in memory and in a lane.
  template <class F>
  static void with_element(dtype t, F&& f) {
    constexpr std::type_identity<std::int64_t> integer;
    constexpr std::type_identity<std::uint64_t> natural;
    constexpr std::type_identity<float> real;
    switch (t) {
      case dtype::i8: return f(std::type_identity<std::int8_t>{}, integer);
      case dtype::i16: return f(std::type_identity<std::int16_t>{}, integer);
      case dtype::i32: return f(std::type_identity<std::int32_t>{}, integer);
      case dtype::u8: return f(std::type_identity<std::uint8_t>{}, natural);
      case dtype::u16: return f(std::type_identity<std::uint16_t>{}, natural);
      case dtype::u32: return f(std::type_identity<std::uint32_t>{}, natural);
      case dtype::f16: return f(std::type_identity<float16>{}, real);
      case dtype::bf16: return f(std::type_identity<bfloat16>{}, real);
      default: return with_lane(t, [&](auto same) { f(same, same); });
    }
  }

  // ---- access to launch and registers ----
  template <class T>
  const T& argument(std::uint32_t p) const { return *static_cast<const T*>(arguments_[p]); }
  std::int64_t number(std::uint32_t p) const { return argument<std::int64_t>(p); }

  void* at(value v) { return &memory_[places_[raw(v)]]; }
  void* extra(value v) { return &memory_[extras_[raw(v)]]; }
  template <class T>
  T* lanes(value v) { return static_cast<T*>(at(v)); }
  /// The lanes of a predicate, or null for none.
  const bool* predicate(value v) { return v == value::none ? nullptr : lanes<bool>(v); }
  dtype type_of(value v) const { return (*kernel_)[v].type; }

  // ---- execution ----
  void find_row() {
    std::int64_t rest = row_;
    for (std::uint32_t d = kernel_->domain_rank - 1; d-- > 0;) {
      if (d == 0 || extents_[d] == 0) {
        counters_[d] = rest;
        continue;
      }
      counters_[d] = rest % extents_[d];
      rest /= extents_[d];
    }
  }

  void execute(std::size_t first, std::size_t last) {
    for (std::size_t v = first; v < last; ++v) {
      if (kernel_->body[v].code == op::loop) {
        run_loop(v);
        v = closing_[v];
      } else {
        step(kernel_->body[v], value{static_cast<std::uint32_t>(v)});
      }
    }
  }

  void step(const inst& i, value v) {
    switch (i.code) {
      case op::scalar: break;
      case op::index: index(i, v); break;
      case op::quotient: quotient(i, v); break;
      case op::inside: inside(i, v); break;
      case op::bound: bound(i, v); break;
      case op::in_range: in_range(i, v); break;
      case op::load: load(i, v); break;
      case op::store: store(i); break;
      case op::atomic: combine(i); break;
      case op::convert: convert(type_of(i.arg[0]), i.type, at(v), at(i.arg[0]), count_); break;
      default: {
        const void* args[3] = {};
        dtype from = i.type;
        for (int a = 0; a < info(i.code).arity; ++a) {
          args[a] = at(i.arg[a]);
          if (a == 0 || i.code == op::select) from = type_of(i.arg[a]);
        }
        evaluate(i, from, at(v), args, count_);
      }
    }
  }

  void run_loop(std::size_t loop) {
    const value close{closing_[loop]};
    SINTER_CHECK(raw(close) > loop);
    const inst& reduce = (*kernel_)[close];
    const loop_dims& dims = kernel_->loops[kernel_->body[loop].attr];
    const dtype from = type_of(reduce.arg[0]);
    start(reduce, from, extra(close), count_);
    std::int64_t iterations = 1;
    for (std::uint32_t d = dims.first; d < dims.first + dims.count; ++d) {
      iterations *= extents_[d];
      counters_[d] = 0;
    }
    for (std::int64_t position = 0; position < iterations; ++position) {
      execute(loop + 1, raw(close));
      accumulate(reduce, from, extra(close), at(reduce.arg[0]), position, count_);
      for (std::uint32_t d = dims.first + dims.count; d-- > dims.first;) {
        if (++counters_[d] < extents_[d]) break;
        counters_[d] = 0;
      }
    }
    finish(reduce, from, extra(close), at(close), count_);
  }

  // ---- indices ----
  lane_indices resolve(std::uint32_t number_of_form) {
    const bound_form& f = forms_[number_of_form];
    lane_indices r;
    r.step = f.inner_step;
    r.base = f.offset + f.inner_step * start_;
    for (std::uint32_t t = f.first; t < f.first + f.count; ++t)
      if (terms_[t].atom < term::computed) r.base += counters_[terms_[t].atom] * terms_[t].coefficient;
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

  void index(const inst& i, value v) {
    const lane_indices at_lane = resolve(i.attr);
    auto* out = lanes<std::int64_t>(v);
    for (int l = 0; l < count_; ++l) out[l] = at_lane[l];
  }

  void quotient(const inst& i, value v) {
    const std::int64_t divisor = number(i.attr);
    map(
        count_, lanes<std::int64_t>(v), [divisor](std::int64_t x) { return x / divisor; },
        lanes<std::int64_t>(i.arg[0]));
  }

  void inside(const inst& i, value v) {
    const auto size = static_cast<std::uint64_t>(number(i.attr));
    map(
        count_, lanes<bool>(v), [size](std::int64_t x) { return static_cast<std::uint64_t>(x) < size; },
        lanes<std::int64_t>(i.arg[0]));
  }

  void bound(const inst& i, value v) {
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
      const std::int64_t x = is_unsigned && wanted[l] < 0 ? INT64_MAX : wanted[l];
      const std::int64_t place = x < 0 ? x + size : x;
      good[l] = place >= 0 && place < size;
      out[l] = good[l] ? place : 0;
      if (!good[l]) report(i.attr, x, size, l);
    }
  }

  /// Keeps the launch's first bad index only.
  void report(std::uint32_t ordinal, std::int64_t wanted, std::int64_t size, int lane) {
    SINTER_CHECK(fault_ != nullptr);
    std::int32_t none = 0;
    if (!std::atomic_ref(fault_->set).compare_exchange_strong(none, 1)) return;
    fault_->ordinal = static_cast<std::int32_t>(ordinal);
    fault_->launch = launch_;
    fault_->index = wanted;
    fault_->size = size;
    fault_->position = row_ * extents_[kernel_->domain_rank - 1] + start_ + lane;
  }

  void in_range(const inst& i, value v) {
    const auto* good = static_cast<const bool*>(extra(i.arg[0]));
    auto* out = lanes<bool>(v);
    if (i.arg[1] == value::none) std::copy_n(good, count_, out);
    else map(count_, out, [](bool x, bool y) { return x && y; }, good, lanes<bool>(i.arg[1]));
  }

  // ---- memory ----
  void load(const inst& i, value v) {
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

  void store(const inst& i) {
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
  void combine(const inst& i) {
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

  struct alignas(64) line {
    unsigned char bytes[64];
  };

  const kernel* kernel_ = nullptr;
  void* const* arguments_ = nullptr;
  runtime::index_fault* fault_ = nullptr;
  std::int64_t launch_ = 0, row_ = 0, start_ = 0;
  int count_ = 0;
  std::vector<std::int64_t> counters_, extents_;
  std::vector<bound_form> forms_;
  std::vector<bound_term> terms_;
  std::vector<std::size_t> places_, extras_;  ///< by instruction, in lines
  std::vector<std::uint32_t> closing_;        ///< the reduction that closes a loop
  std::vector<line> memory_;
  std::int64_t indices_[block] = {};
};

}  // namespace

void interpret(const kernel& k, void* const* arguments, std::int64_t row_begin, std::int64_t row_end,
               std::int64_t begin, std::int64_t end) {
  if (row_begin >= row_end || begin >= end) return;
  static thread_local machine m;
  m.run(k, arguments, row_begin, row_end, begin, end);
}

}  // namespace sinter::jit
