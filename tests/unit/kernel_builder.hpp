// Builds kernel IR by hand, with the numbers of one launch, and runs it on the interpreter.
#pragma once

#include "jit/interpret.hpp"
#include "jit/ir.hpp"
#include "runtime/backend.hpp"

#include <cstring>
#include <deque>
#include <initializer_list>
#include <type_traits>
#include <vector>

namespace sinter_test {

using namespace sinter;
using namespace sinter::jit;

/// One summand of an index: a counter, or a value, times a step.
struct summand {
  std::uint32_t atom;
  std::int64_t step = 1;
  summand(int d, std::int64_t s = 1) : atom(static_cast<std::uint32_t>(d)), step(s) {}
  summand(value v, std::int64_t s = 1) : atom(term::computed | raw(v)), step(s) {}
};

class kernel_builder {
 public:
  /// The domain, innermost extent last.
  explicit kernel_builder(std::initializer_list<std::int64_t> domain) {
    k.domain_rank = static_cast<std::uint32_t>(domain.size());
    for (const std::int64_t n : domain) add_dim(n);
  }

  std::uint32_t parameter(parameter_kind kind, dtype t, std::int64_t x = 0) {
    k.parameters.push_back({kind, t});
    slot s{};
    s.as_i64 = x;
    numbers_.push_back(s);
    return static_cast<std::uint32_t>(k.parameters.size() - 1);
  }
  std::uint32_t pointer(parameter_kind kind, dtype t, const void* p) {
    const std::uint32_t number = parameter(kind, t);
    numbers_[number].as_pointer = const_cast<void*>(p);
    return number;
  }

  std::uint32_t form(std::initializer_list<summand> summands, std::int64_t offset = 0) {
    const auto first = static_cast<std::uint32_t>(k.terms.size());
    for (const summand& s : summands)
      k.terms.push_back({s.atom, s.step == 1 ? term::unit : parameter(parameter_kind::coefficient, i64, s.step)});
    k.forms.push_back({first, static_cast<std::uint32_t>(summands.size()),
                       offset == 0 ? sinter::jit::form::no_offset : parameter(parameter_kind::offset, i64, offset)});
    return static_cast<std::uint32_t>(k.forms.size() - 1);
  }

  template <class T>
  value load(dtype t, const std::vector<T>& from, std::uint32_t f, value predicate = value::none) {
    return load(t, static_cast<const void*>(from.data()), f, predicate);
  }
  value load(dtype t, const void* from, std::uint32_t f, value predicate = value::none) {
    k.accesses.push_back({pointer(parameter_kind::input, t, from), f});
    return add(op::load, t, {predicate}, static_cast<std::uint32_t>(k.accesses.size() - 1));
  }
  void store(dtype t, void* to, std::uint32_t f, value v) {
    k.accesses.push_back({pointer(parameter_kind::output, t, to), f});
    add(op::store, t, {v}, static_cast<std::uint32_t>(k.accesses.size() - 1));
  }
  template <class T>
  value scalar(dtype t, T x) {
    const std::uint32_t p = parameter(parameter_kind::scalar, t);
    std::memcpy(numbers_[p].bytes, &x, sizeof x);
    return add(op::scalar, t, {}, p);
  }
  value bound(value v, std::int64_t size) {
    k.checks.push_back({parameter(parameter_kind::size, i64, size)});
    return add(op::bound, i64, {v}, static_cast<std::uint32_t>(k.checks.size() - 1));
  }
  value loop(dtype t, std::initializer_list<std::int64_t> extents) {
    const auto first = static_cast<std::uint32_t>(k.dims.size());
    for (const std::int64_t n : extents) add_dim(n);
    k.loops.push_back({first, static_cast<std::uint32_t>(extents.size())});
    return add(op::loop, t, {}, static_cast<std::uint32_t>(k.loops.size() - 1));
  }
  /// Opens another loop over the dims of an earlier one.
  value loop_again(value earlier) { return add(op::loop, k[earlier].type, {}, k[earlier].attr); }
  void end(value loop) { add(op::end, k[loop].type, {loop}); }
  /// A reduction of `v` over the loop, which it ends.
  value reduce_and_end(op code, dtype t, value v, value loop) {
    const value reduced = add(code, t, {v, loop});
    end(loop);
    return reduced;
  }
  value add(op code, dtype t, std::initializer_list<value> args = {}, std::uint32_t attr = 0) {
    inst i = make_inst(code, t, attr);
    std::copy(args.begin(), args.end(), i.arg);
    k.body.push_back(i);
    if (!k.loops.empty())  // until a test says otherwise, each value is new
      while (k.origins.size() < k.body.size()) k.origins.push_back(static_cast<std::uint32_t>(k.origins.size()));
    return value{static_cast<std::uint32_t>(k.body.size() - 1)};
  }

  /// Where faults go, for kernels with checks.
  void report_to(runtime::index_fault& f, std::int64_t launch) {
    pointer(parameter_kind::fault, i64, &f);
    parameter(parameter_kind::launch, i64, launch);
  }

  /// Verifies the kernel and runs the whole domain.
  void run() {
    verify(k);
    std::int64_t rows = 1;
    for (std::uint32_t d = 0; d + 1 < k.domain_rank; ++d) rows *= numbers_[k.dims[d].extent].as_i64;
    interpret(k, arguments().data(), 0, rows, 0, numbers_[k.dims[k.domain_rank - 1].extent].as_i64);
  }
  const std::vector<void*>& arguments() {
    arguments_.clear();
    for (slot& s : numbers_) arguments_.push_back(&s);
    return arguments_;
  }

  kernel k;

 private:
  void add_dim(std::int64_t n) { k.dims.push_back({parameter(parameter_kind::extent, i64, n)}); }

  std::deque<slot> numbers_;
  std::vector<void*> arguments_;
};

}  // namespace sinter_test
