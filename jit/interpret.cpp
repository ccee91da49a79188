// The interpreter's control: blocks of elements, and loops.
#include "jit/interpret.hpp"

#include "jit/interpret_machine.hpp"
#include "runtime/own.hpp"

#include <algorithm>
#include <cstring>

namespace sinter::jit {

namespace interpreter {

namespace {

/// How many of `count` elements or iterations to take together, when a loop in them has `inside` iterations: one, where
/// it is the loop's iterations that fill lanes better.
int chunk_for(std::int64_t count, std::int64_t inside) {
  constexpr std::int64_t few = 16;
  return count < few && inside > count ? 1 : block;
}

/// Whether operand number `a` is a value, not the loop that an instruction belongs to.
bool is_value(const inst& i, int a) {
  if (i.arg[a] == value::none || i.code == op::end) return false;
  const bool serial = i.code == op::carry || i.code == op::proceed || i.code == op::iterate;
  return a != 1 || !(serial || is_reduction(i.code) || is_scan(i.code));
}

}  // namespace

void machine::run(const kernel& k, void* const* arguments, std::int64_t row_begin, std::int64_t row_end,
                  std::int64_t begin, std::int64_t end) {
  kernel_ = &k;
  arguments_ = arguments;
  prepare(end - begin);
  const int chunk = chunk_for(end - begin, longest_);
  for (row_ = row_begin; row_ < row_end; ++row_) {
    find_row();
    for (std::int64_t start = begin; start < end; start += chunk) {
      counters_[lane_dim_] = start;
      count_ = static_cast<int>(std::min<std::int64_t>(chunk, end - start));
      execute(0, k.body.size());
    }
  }
}

// ---- before the first block ----

void machine::prepare(std::int64_t lanes) {
  const kernel& k = *kernel_;
  lane_dim_ = k.domain_rank - 1;
  in_turn_ = false;
  counters_.assign(k.dims.size(), 0);
  extents_.clear();
  for (const dim& d : k.dims) extents_.push_back(number(d.extent));
  bind_forms();
  lay_out_registers();
  plan_loops();
  fault_ = nullptr;
  launch_ = 0;
  for (std::uint32_t p = 0; p < k.parameters.size(); ++p) {
    if (k.parameters[p].kind == parameter_kind::fault) fault_ = argument<runtime::index_fault*>(p);
    if (k.parameters[p].kind == parameter_kind::launch) launch_ = number(p);
  }
  const int used = k.loops.empty() ? static_cast<int>(std::min<std::int64_t>(block, lanes)) : block;
  for (std::uint32_t v = 0; v < k.body.size(); ++v)
    if (k.body[v].code == op::scalar) fill_scalar(k.body[v], at(value{v}), used);
}

void machine::bind_forms() {
  const kernel& k = *kernel_;
  forms_.clear();
  terms_.clear();
  for (const form& f : k.forms) {
    bound_form b;
    b.first = static_cast<std::uint32_t>(terms_.size());
    b.count = f.count;
    if (f.offset != form::no_offset) b.offset = number(f.offset);
    for (std::uint32_t t = f.first; t < f.first + f.count; ++t) {
      terms_.push_back({k.terms[t].atom, k.terms[t].coefficient == term::unit ? 1 : number(k.terms[t].coefficient)});
      b.computed |= !k.terms[t].is_dim();
    }
    forms_.push_back(b);
  }
}

/// Where each instruction's lanes are: also the flags of a bound, and the accumulators of a reduction or scan.
void machine::lay_out_registers() {
  std::size_t used = 0;
  const auto take = [&](std::size_t bytes_a_lane) {
    const std::size_t place = used;
    used += (bytes_a_lane * block + sizeof(line) - 1) / sizeof(line);
    return place;
  };
  places_.clear();
  extras_.clear();
  for (const inst& i : kernel_->body) {
    const bool of_loop = i.code == op::result && (*kernel_)[i.arg[0]].code == op::iterate;
    SINTER_CHECK(i.code != op::call && (i.code != op::result || of_loop) && i.code != op::reduce_call);
    const bool accumulates = is_reduction(i.code) || is_scan(i.code);
    const auto lane_of = [](dtype t) { return with_lane(t, []<class T>(std::type_identity<T>) { return sizeof(T); }); };
    if (of_loop) {  // a state's own place
      const iteration& t = kernel_->iterations[(*kernel_)[i.arg[0]].attr];
      places_.push_back(places_[raw(kernel_->call_operands[t.first + i.attr])]);
    } else {
      places_.push_back(take(lane_of(i.type)));
    }
    const std::size_t extra = i.code == op::bound ? sizeof(bool) : accumulates ? accumulator_size
                              : i.code == op::carry ? lane_of(i.type) : 0;
    extras_.push_back(extra == 0 ? 0 : take(extra));
  }
  if (memory_.size() < used) memory_.resize(used);
}

void machine::plan_loops() {
  longest_ = 0;
  if (kernel_->loops.empty()) return;
  const std::vector<inst>& body = kernel_->body;
  plan_of_.assign(body.size(), 0);
  open_.clear();
  std::uint32_t used = 0;
  for (std::uint32_t v = 0; v < body.size(); ++v) {
    const inst& i = body[v];
    use_operands(i);
    if (i.code == op::loop) {
      if (used == plans_.size()) plans_.emplace_back();
      loop_plan& p = plans_[used];
      p.begin = v;
      p.longest_inside = 0;
      p.outside.clear();
      p.accumulating.clear();
      p.serial = kernel_->loops[i.attr].serial != 0;
      p.carries.clear();
      plan_of_[v] = used;
      open_.push_back(used++);
    } else if (i.code == op::end) {
      SINTER_CHECK(!open_.empty());
      loop_plan& p = plans_[open_.back()];
      p.end = v;
      open_.pop_back();
      std::int64_t& around = open_.empty() ? longest_ : plans_[open_.back()].longest_inside;
      around = std::max({around, p.longest_inside, p.serial ? 0 : extent_of_innermost(p)});
    } else if (is_reduction(i.code) || is_scan(i.code)) {
      SINTER_CHECK(!open_.empty());
      plans_[open_.back()].accumulating.push_back(value{v});
    } else if (i.code == op::carry) {
      SINTER_CHECK(!open_.empty());
      plans_[open_.back()].carries.push_back(value{v});
    }
  }
  SINTER_CHECK(open_.empty());
}

std::int64_t machine::extent_of_innermost(const loop_plan& p) const {
  const loop_dims& dims = kernel_->loops[kernel_->body[p.begin].attr];
  return extents_[dims.first + dims.count - 1];
}

void machine::use_operands(const inst& i) {
  if (open_.empty()) return;
  for (int a = 0; a < 3; ++a)
    if (is_value(i, a)) use(i.arg[a]);
  if (i.code == op::iterate)
    for (std::uint32_t o = 0; o < kernel_->iterations[i.attr].count; ++o)
      use(kernel_->call_operands[kernel_->iterations[i.attr].first + o]);
  const bool accesses = i.code == op::load || i.code == op::store || i.code == op::atomic;
  if (!accesses && i.code != op::index) return;
  const bound_form& f = forms_[accesses ? kernel_->accesses[i.attr].form : i.attr];
  for (std::uint32_t t = f.first; t < f.first + f.count; ++t)
    if (terms_[t].atom >= term::computed) use(value{terms_[t].atom & ~term::computed});
}

/// Notes a value as coming from outside the loops that it comes from outside of. Scalars are in all lanes already.
void machine::use(value v) {
  if ((*kernel_)[v].code == op::scalar) return;
  for (std::size_t k = open_.size(); k-- > 0;) {
    loop_plan& p = plans_[open_[k]];
    if (raw(v) > p.begin) return;
    if (std::find(p.outside.begin(), p.outside.end(), v) == p.outside.end()) p.outside.push_back(v);
  }
}

void machine::fill_scalar(const inst& i, void* out, int lanes) {
  with_element(i.type, [&]<class S, class T>(std::type_identity<S>, std::type_identity<T>) {
    // f16 and bf16 parameters are floats already
    using parameter = std::conditional_t<std::is_same_v<T, float>, float, S>;
    std::fill_n(static_cast<T*>(out), lanes, static_cast<T>(argument<parameter>(i.attr)));
  });
}

// ---- execution ----

void machine::find_row() {
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

void machine::execute(std::size_t first, std::size_t last) {
  for (std::size_t v = first; v < last; ++v) {
    if (kernel_->body[v].code == op::loop) {
      const loop_plan& p = plans_[plan_of_[v]];
      if (p.serial) run_serial(p);
      else run_loop(p);
      v = p.end;
    } else {
      step(kernel_->body[v], value{static_cast<std::uint32_t>(v)});
    }
  }
}

void machine::step(const inst& i, value v) {
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
    case op::end:
    case op::result:
    case op::carry: break;  // run_serial() and take_next() have filled it
    case op::proceed: proceed(i); break;
    case op::iterate: take_next(i); break;
    case op::convert: convert(type_of(i.arg[0]), i.type, at(v), at(i.arg[0]), count_); break;
    default:
      if (is_elementwise(i.code)) compute(i, v);
      else take_in(i, v);
  }
}

void machine::compute(const inst& i, value v) {
  const void* args[3] = {};
  dtype from = i.type;
  for (int a = 0; a < info(i.code).arity; ++a) {
    args[a] = at(i.arg[a]);
    if (a == 0 || i.code == op::select) from = type_of(i.arg[a]);
  }
  evaluate(i, from, at(v), args, count_);
}

/// A reduction or scan in its loop.
void machine::take_in(const inst& i, value v) {
  const dtype from = type_of(i.arg[0]);
  const intake in{at(i.arg[0]), position_, count_, in_turn_};
  if (is_scan(i.code)) scan(i, from, extra(v), in, at(v));
  else accumulate(i, from, extra(v), in);
}

/// One element alone gives its lanes to the loop's iterations.
void machine::run_loop(const loop_plan& p) {
  const int elements = count_;
  const std::uint32_t lane_dim = lane_dim_;
  const bool in_turn = in_turn_, along = elements == 1;
  const std::int64_t position = position_;
  const std::vector<std::uint8_t> active = active_;
  if (along && !active.empty()) active_.assign(block, active[0]);
  for (const value v : p.accumulating) start((*kernel_)[v], type_of((*kernel_)[v].arg[0]), extra(v), elements);
  if (along) {
    const int lanes = static_cast<int>(std::min<std::int64_t>(block, extent_of_innermost(p)));
    for (const value v : p.outside) spread(v, lanes);
  }
  in_turn_ = along;
  iterate(p, along);
  count_ = elements;
  lane_dim_ = lane_dim;
  in_turn_ = in_turn;
  position_ = position;
  active_ = active;
  for (const value v : p.accumulating) {
    const inst& i = (*kernel_)[v];
    if (is_reduction(i.code)) finish(i, type_of(i.arg[0]), extra(v), at(v), elements);
  }
}

void machine::iterate(const loop_plan& p, bool along) {
  const loop_dims& dims = kernel_->loops[kernel_->body[p.begin].attr];
  const std::uint32_t innermost = dims.first + dims.count - 1;
  const std::int64_t n = extents_[innermost];
  const std::int64_t chunk = along ? chunk_for(n, p.longest_inside) : 1;
  if (along) lane_dim_ = innermost;
  for (std::uint32_t d = dims.first; d <= innermost; ++d) {
    if (extents_[d] <= 0) return;
    counters_[d] = 0;
  }
  std::int64_t done = 0;
  do {
    for (std::int64_t c = 0; c < n; c += chunk) {
      counters_[innermost] = c;
      if (along) count_ = static_cast<int>(std::min(chunk, n - c));
      position_ = done + c;
      execute(p.begin + 1, p.end);
    }
    done += n;
  } while (turn_outer(dims));
}

/// All lanes go through it together, until the last of them has left.
void machine::run_serial(const loop_plan& p) {
  const loop_dims& dims = kernel_->loops[kernel_->body[p.begin].attr];
  const std::vector<std::uint8_t> around = active_;
  if (active_.empty()) active_.assign(static_cast<std::size_t>(count_), 1);
  const auto lane_bytes = [this](value v) {
    return static_cast<std::size_t>(count_) *
           with_lane(type_of(v), []<class T>(std::type_identity<T>) { return sizeof(T); });
  };
  for (const value v : p.carries) std::memcpy(extra(v), at((*kernel_)[v].arg[0]), lane_bytes(v));
  for (const value v : p.carries) std::memcpy(at(v), extra(v), lane_bytes(v));
  const std::int64_t n = extents_[dims.first];
  for (std::int64_t c = 0; c < n; ++c) {
    counters_[dims.first] = c;
    execute(p.begin + 1, p.end);
    if (std::none_of(active_.begin(), active_.begin() + count_, [](std::uint8_t a) { return a != 0; })) break;
  }
  active_ = around;
}

/// Takes lanes out of the loop. Those whose condition holds when there is no iteration left are reported.
void machine::proceed(const inst& i) {
  const bool* holds = lanes<bool>(i.arg[0]);
  const std::uint32_t d = kernel_->loops[(*kernel_)[i.arg[1]].attr].first;
  const bool last = i.attr != check::none && counters_[d] + 1 == extents_[d];
  for (int l = 0; l < count_; ++l) {
    if (active_[static_cast<std::size_t>(l)] == 0) continue;
    if (holds[l] && last) report(i.attr, counters_[d], number(kernel_->checks[i.attr].size), l);
    if (!holds[l] || last) active_[static_cast<std::size_t>(l)] = 0;
  }
}

/// The next states of the lanes that are still in the loop. States may be each other's next.
void machine::take_next(const inst& i) {
  const iteration& t = kernel_->iterations[i.attr];
  const auto operand = [&](std::uint32_t k) { return kernel_->call_operands[t.first + k]; };
  for (const bool into_place : {false, true})
    for (std::uint32_t k = 0; k < t.states; ++k) {
      const value state = operand(k), next = operand(t.states + k);
      with_lane(type_of(state), [&]<class T>(std::type_identity<T>) {
        T* kept = static_cast<T*>(extra(state));
        const T* from = into_place ? kept : lanes<T>(next);
        T* to = into_place ? lanes<T>(state) : kept;
        for (int l = 0; l < count_; ++l)
          if (active_[static_cast<std::size_t>(l)] != 0) to[l] = from[l];
      });
    }
}

/// The next counters of the loop's dims but the innermost; false after the last.
bool machine::turn_outer(const loop_dims& dims) {
  for (std::uint32_t d = dims.first + dims.count - 1; d-- > dims.first;) {
    if (++counters_[d] < extents_[d]) return true;
    counters_[d] = 0;
  }
  return false;
}

/// Brings the first lane's value, and its flag if it is a bound, to the other lanes.
void machine::spread(value v, int count) {
  with_lane(type_of(v), [&]<class T>(std::type_identity<T>) { std::fill_n(lanes<T>(v), count, lanes<T>(v)[0]); });
  if ((*kernel_)[v].code == op::bound) {
    auto* good = static_cast<bool*>(extra(v));
    std::fill_n(good, count, good[0]);
  }
}

}  // namespace interpreter

void interpret(const kernel& k, void* const* arguments, std::int64_t row_begin, std::int64_t row_end,
               std::int64_t begin, std::int64_t end) {
  if (row_begin >= row_end || begin >= end) return;
  runtime::own_of_thread<interpreter::machine>().run(k, arguments, row_begin, row_end, begin, end);
}

}  // namespace sinter::jit
