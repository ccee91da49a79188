#include "jit/ir.hpp"

#include "runtime/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace sinter::jit {

void kernel::clear() {
  body.clear();
  terms.clear();
  forms.clear();
  accesses.clear();
  checks.clear();
  dims.clear();
  loops.clear();
  staged.clear();
  tiled.clear();
  stepped.clear();
  tables.clear();
  calls.clear();
  iterations.clear();
  call_operands.clear();
  parameters.clear();
  domain_rank = 1;
  index_bits = 64;
  math = 0;
  lanes = 1;
  over = distribution::elements;
  split = 0;
  kept = 0;
  whole = 0;
  unrolled = 0;
  steps = 0;
  stage = 0;
  threads = 256;
  tile = {};
  origins.clear();
}

namespace {

/// The real dtype of a complex number's parts; other dtypes are their own.
constexpr dtype part_of(dtype t) { return t == c64 ? f32 : t == c128 ? f64 : t; }

class verifier {
 public:
  explicit verifier(const kernel& k) : kernel_(k) {}

  void run() {
    check_tables();
    check_distribution();
    scope_.assign(kernel_.body.size(), 0);
    found_.assign(kernel_.body.size(), false);
    live_.assign(1, true);
    for (at_ = 0; at_ < kernel_.body.size(); ++at_) {
      const inst& i = kernel_.body[at_];
      for (int a = 0; a < 3; ++a)
        if (i.arg[a] != value::none && a != loop_operand(i.code)) check_operand(i.arg[a]);
      check_instruction(i);
      scope_[at_] = scopes_[scopes_.size() - (ends_loop(i.code) ? 2 : 1)];
      if (i.code == op::loop) open_loop();
      if (i.code == op::end) close_loop();
    }
    if (!open_.empty()) fail_at(open_.back(), "the loop is never closed");
  }

 private:
  [[noreturn]] void fail(std::string_view what) const { fail_at(at_, what); }
  [[noreturn]] void fail_at(std::size_t k, std::string_view what) const {
    throw_internal_error(fmt::format("kernel instruction %{} ({}): {}", k, info(kernel_.body[k].code).name, what));
  }
  void expect(bool holds, std::string_view what) const {
    if (!holds) fail(what);
  }
  static void expect_table(bool holds, std::string_view what) {
    if (!holds) throw_internal_error(fmt::format("kernel tables: {}", what));
  }

  void expect_predicate(value v) const {
    expect(v == value::none || type_of(v) == boolean, "the last operand is not a predicate");
  }

  bool is_parameter(std::uint32_t p, parameter_kind kind) const {
    return p < kernel_.parameters.size() && kernel_.parameters[p].kind == kind;
  }

  void check_tables() const {
    const kernel& k = kernel_;
    expect_table(k.domain_rank >= 1 && k.domain_rank <= k.dims.size(), "the domain needs one dim at least");
    expect_table(k.index_bits == 32 || k.index_bits == 64, "indices have 32 or 64 bits");
    for (const dim& d : k.dims) expect_table(is_parameter(d.extent, parameter_kind::extent), "a dim without extent");
    for (const check& c : k.checks) expect_table(is_parameter(c.size, parameter_kind::size), "a check without size");
    for (const form& f : k.forms) {
      expect_table(std::size_t{f.first} + f.count <= k.terms.size(), "a form beyond the terms");
      expect_table(f.offset == form::no_offset || is_parameter(f.offset, parameter_kind::offset), "a form's offset");
    }
    for (const term& t : k.terms)
      expect_table(t.coefficient == term::unit || is_parameter(t.coefficient, parameter_kind::coefficient),
                   "a term's coefficient");
    for (const access& a : k.accesses) {
      expect_table(a.form < k.forms.size(), "an access without form");
      expect_table(a.near == access::alone || (a.near < k.accesses.size() && k.accesses[a.near].form == a.form),
                   "an access near one of another form");
    }
    const std::size_t staged = k.over == distribution::transposed ? k.tiled.size() : k.staged.size();
    for (const access& a : k.accesses)
      expect_table(a.staged == access::alone || a.staged < staged, "an access to rows that aren't staged");
    for (const block_table& t : k.tables)
      expect_table(is_parameter(t.pointer, parameter_kind::output) && is_parameter(t.size, parameter_kind::size) &&
                       k.over == distribution::elements && k.loops.empty(),
                   "a table of a kernel with loops, or without pointer or size");
    for (const staged_rows& r : k.staged)
      expect_table(is_parameter(r.pointer, parameter_kind::input) && r.pitch > 0,
                   "staged rows without pointer or pitch");
    for (const loop_dims& l : k.loops) {
      expect_table(l.first >= k.domain_rank && std::size_t{l.first} + l.count <= k.dims.size(), "a loop's dims");
      expect_table(l.count >= 1, "a loop over no dim");
      for (const loop_dims& m : k.loops)
        expect_table((l.first == m.first && l.count == m.count) || l.first + l.count <= m.first ||
                         m.first + m.count <= l.first,
                     "loops over some of the same dims");
    }
    for (const call& c : k.calls)
      expect_table(c.kernel && std::size_t{c.first} + c.count <= k.call_operands.size(), "a call's operands");
    for (const iteration& t : k.iterations)
      expect_table(std::size_t{t.first} + t.count <= k.call_operands.size() && t.states > 0 &&
                       (t.count == 2 * t.states || t.count == 2 * t.states + 1),
                   "an iteration's operands");
    for (const loop_dims& l : k.loops) expect_table(l.serial == 0 || l.count == 1, "a serial loop has one dim");
  }

  void check_distribution() const {
    const kernel& k = kernel_;
    const bool tiles = k.over == distribution::tiles;
    const bool shared = k.over == distribution::rows || k.over == distribution::columns || tiles;
    expect_table(shared || k.over == distribution::elements || k.over == distribution::steps ||
                     k.over == distribution::transposed, "no such distribution");
    check_tiled();
    expect_table((k.over == distribution::steps) == (k.steps > 0), "iterations belong to windows");
    expect_table(tiles == (k.tile.depth > 0), "tiles have a depth");
    if (tiles) check_tile();
    for (const step_access& a : k.stepped) expect_table(a.access < k.accesses.size(), "a state's access");
    expect_table(!shared || std::ranges::any_of(k.loops, [](const loop_dims& l) { return l.serial == 0; }),
                 "no loops to distribute");
    expect_table(k.split == 0 || (k.split == 1 && shared), "split loops belong to teams of threads");
    const bool of_columns = k.over == distribution::columns && k.split == 1;
    expect_table(k.kept == 0 || k.over == distribution::rows || k.over == distribution::steps || of_columns,
                 "only rows are kept");
    expect_table(std::has_single_bit(k.lanes) && k.lanes <= 32, "lanes are a power of two");
    expect_table(k.threads >= 32 && k.threads <= 1024 && k.threads % 32 == 0, "threads come in whole warps");
    expect_table(k.origins.size() == (k.loops.empty() ? 0 : k.body.size()), "an origin for each instruction");
  }

  void check_tiled() const {
    const kernel& k = kernel_;
    expect_table((k.over == distribution::transposed) == (k.tiled.size() > 0), "tiled dims belong to tiles");
    for (std::size_t t = 0; t < k.tiled.size(); ++t) {
      const bool in_order = t == 0 ? k.tiled[t].dim + 1 == k.domain_rank : k.tiled[t].dim < k.tiled[t - 1].dim;
      expect_table(in_order && std::has_single_bit(k.tiled[t].extent), "a tile's dims");
    }
    expect_table(k.tiled.empty() || (k.loops.empty() && k.tiled[0].extent >= k.lanes), "tiles of kernels with loops");
  }

  void check_tile() const {
    const kernel& k = kernel_;
    expect_table(k.loops.size() == 1 && k.threads == 256, "a tile has one loop and a block's threads");
    expect_table(k.tile.rows > 0 && k.tile.columns > 0 && k.tile.columns % k.lanes == 0, "a tile is whole lanes");
    expect_table(k.tile.dim == result_tile::none ? k.tile.rows == 1 : k.tile.dim + 1u < k.domain_rank,
                 "a tile's rows lie along an outer dim");
  }

  /// Which operand is a loop; -1 for none.
  static int loop_operand(op code) {
    if (code == op::end) return 0;
    const bool serial = code == op::carry || code == op::proceed || code == op::iterate;
    return serial || is_reduction(code) || is_scan(code) ? 1 : -1;
  }
  /// What is known once its loop has ended.
  static bool ends_loop(op code) { return is_reduction(code) || code == op::iterate; }

  void check_operand(value v) {
    expect(raw(v) < at_, fmt::format("operand %{} is not defined before it", raw(v)));
    const inst& i = kernel_[v];
    expect(i.code != op::store && i.code != op::atomic && i.code != op::loop && i.code != op::end,
           fmt::format("operand %{} has no value", raw(v)));
    expect(live_[scope_[raw(v)]], fmt::format("operand %{} is inside a loop that has ended", raw(v)));
    expect(!ends_loop(i.code) || !is_open(raw(i.arg[1])),
           fmt::format("operand %{} belongs to a loop that has not ended", raw(v)));
    expect(!found_[raw(v)] || kernel_.split == 0 || open_.empty(),
           fmt::format("operand %{} is what another of the split loops found", raw(v)));
    if (found_[raw(v)]) found_[at_] = true;
  }

  void check_loop_operand(value v) const {
    expect(!open_.empty() && raw(v) == open_.back(), fmt::format("%{} is not the innermost loop here", raw(v)));
  }

  bool is_open(std::uint32_t loop) const { return std::find(open_.begin(), open_.end(), loop) != open_.end(); }

  dtype type_of(value v) const { return kernel_[v].type; }

  void check_form(std::uint32_t number) {
    expect(number < kernel_.forms.size(), "the form does not exist");
    const form& f = kernel_.forms[number];
    for (std::uint32_t k = f.first; k < f.first + f.count; ++k) {
      const term& t = kernel_.terms[k];
      if (t.is_dim()) {
        expect(t.atom < kernel_.dims.size() && is_counting(t.atom),
               fmt::format("dim d{} is not counting here", t.atom));
      } else {
        check_operand(value{t.atom & ~term::computed});
        expect(type_of(value{t.atom & ~term::computed}) == i64, "a computed index that is not i64");
      }
    }
  }

  bool is_counting(std::uint32_t d) const {
    if (d < kernel_.domain_rank) return true;
    for (const std::uint32_t l : open_) {
      const loop_dims& dims = kernel_.loops[kernel_.body[l].attr];
      if (d >= dims.first && d < dims.first + dims.count) return true;
    }
    return false;
  }

  void check_access(const inst& i, bool writes) {
    expect(i.attr < kernel_.accesses.size(), "the access does not exist");
    const access& a = kernel_.accesses[i.attr];
    const bool pointer = is_parameter(a.pointer, parameter_kind::output) ||
                         (!writes && is_parameter(a.pointer, parameter_kind::input));
    expect(pointer && kernel_.parameters[a.pointer].type == i.type, "the pointer is not of this dtype and direction");
    check_form(a.form);
  }

  void check_arity(const inst& i, int least, int most) const {
    int count = 0;
    while (count < 3 && i.arg[count] != value::none) ++count;
    for (int k = count; k < 3; ++k) expect(i.arg[k] == value::none, "a gap between operands");
    expect(count >= least && count <= most, fmt::format("{} operands", count));
  }

  void check_instruction(const inst& i) {
    if (is_elementwise(i.code)) {
      check_arity(i, info(i.code).arity, info(i.code).arity);
      return check_elementwise(i);
    }
    if (is_reduction(i.code) || is_scan(i.code)) return check_accumulation(i);
    switch (i.code) {
      case op::load:
      case op::store:
      case op::atomic: return check_memory(i);
      case op::loop:
      case op::end:
      case op::call:
      case op::result: return check_control(i);
      case op::carry:
      case op::proceed:
      case op::iterate: return check_serial(i);
      default: return check_leaf_or_index(i);
    }
  }

  void check_leaf_or_index(const inst& i) {
    switch (i.code) {
      case op::scalar:
        check_arity(i, 0, 0);
        expect(is_parameter(i.attr, parameter_kind::scalar) && kernel_.parameters[i.attr].type == i.type,
               "the parameter is not a scalar of this dtype");
        break;
      case op::index:
        check_arity(i, 0, 0);
        expect(i.type == i64, "indices are i64");
        check_form(i.attr);
        break;
      case op::quotient:
        check_arity(i, 1, 1);
        expect(i.type == i64 && type_of(i.arg[0]) == i64, "indices are i64");
        expect(is_parameter(i.attr, parameter_kind::divisor), "the parameter is not a divisor");
        break;
      case op::inside:
        check_arity(i, 1, 1);
        expect(i.type == boolean && type_of(i.arg[0]) == i64, "an index is i64, the result boolean");
        expect(is_parameter(i.attr, parameter_kind::size), "the parameter is not a size");
        break;
      case op::bound:
        check_arity(i, 1, 2);
        expect_predicate(i.arg[1]);
        expect(i.type == i64 && is_integer(type_of(i.arg[0])), "an index is an integer");
        expect(i.attr < kernel_.checks.size(), "the check does not exist");
        break;
      case op::in_range:
        check_arity(i, 1, 2);
        expect(i.type == boolean && kernel_[i.arg[0]].code == op::bound, "the first operand is not a bound");
        expect_predicate(i.arg[1]);
        break;
      case op::memory:
        check_arity(i, 0, 0);
        check_access(i, kernel_.parameters[kernel_.accesses[i.attr].pointer].kind == parameter_kind::output);
        expect(static_cast<std::size_t>(kernel_.accesses[i.attr].column) < kernel_.checks.size(),
               "no check of its indices");
        break;
      default: fail("has no place in a kernel");
    }
  }

  void check_memory(const inst& i) {
    const bool writes = i.code != op::load;
    check_arity(i, writes ? 1 : 0, writes ? 2 : 1);
    expect_predicate(i.arg[writes ? 1 : 0]);
    if (i.code == op::atomic)
      expect(is_elementwise(i.combine) && info(i.combine).arity == 2, "nothing to combine with");
    if (i.code == op::store) expect(type_of(i.arg[0]) == i.type, "the value is of another dtype");
    check_access(i, writes);
  }

  void check_control(const inst& i) {
    switch (i.code) {
      case op::loop: return check_loop(i);
      case op::end:
        check_arity(i, 1, 1);
        return check_loop_operand(i.arg[0]);
      case op::call:
        check_arity(i, 0, 0);
        return check_call(i);
      default:
        check_arity(i, 1, 1);
        const op from = kernel_[i.arg[0]].code;
        if (from == op::iterate) return check_state(i);
        expect(from == op::call || from == op::reduce_call, "the operand is not a call");
        expect(i.attr < kernel_.calls[kernel_[i.arg[0]].attr].outputs, "the call has fewer outputs");
    }
  }

  /// The states of a serial loop, told by an ordinal, have one dtype each.
  void check_state(const inst& i) const {
    const iteration& t = kernel_.iterations[kernel_[i.arg[0]].attr];
    expect(i.attr < t.states, "the loop has fewer states");
    expect(i.type == type_of(kernel_.call_operands[t.first + i.attr]), "the state is of another dtype");
  }

  void check_serial(const inst& i) {
    check_arity(i, 2, 2);
    check_loop_operand(i.arg[1]);
    expect(kernel_.loops[kernel_[i.arg[1]].attr].serial != 0, "the loop is not serial");
    if (i.code == op::carry) return expect(i.type == type_of(i.arg[0]), "the state begins with another dtype");
    if (i.code == op::proceed) {
      expect(i.type == boolean && type_of(i.arg[0]) == boolean, "the condition is not boolean");
      return expect(i.attr == check::none || i.attr < kernel_.checks.size(), "the check does not exist");
    }
    expect(i.attr < kernel_.iterations.size(), "the iteration does not exist");
    const iteration& t = kernel_.iterations[i.attr];
    for (std::uint32_t k = 0; k < t.count; ++k) check_operand(kernel_.call_operands[t.first + k]);
    for (std::uint32_t k = 0; k < t.states; ++k) {
      const inst& state = kernel_[kernel_.call_operands[t.first + k]];
      expect(state.code == op::carry && state.arg[1] == i.arg[1] && state.attr == k, "a state is not the loop's");
      expect(state.type == type_of(kernel_.call_operands[t.first + t.states + k]), "a state changes its dtype");
    }
    expect(i.arg[0] == kernel_.call_operands[t.first], "not the first state");
  }

  void check_loop(const inst& i) const {
    check_arity(i, 0, 0);
    expect(i.attr < kernel_.loops.size(), "the loop does not exist");
    const loop_dims& l = kernel_.loops[i.attr];
    expect(!is_counting(l.first), fmt::format("dim d{} is counting already", l.first));
    expect(kernel_.kept == 0 || !open_.empty() || l.count == 1, "a kept row has one dim");
  }

  void check_call(const inst& i) {
    expect(i.attr < kernel_.calls.size(), "the call does not exist");
    const call& c = kernel_.calls[i.attr];
    for (std::uint32_t k = c.first; k < c.first + c.count; ++k) check_operand(kernel_.call_operands[k]);
  }

  void open_loop() {
    open_.push_back(static_cast<std::uint32_t>(at_));
    scopes_.push_back(static_cast<std::uint32_t>(live_.size()));
    live_.push_back(true);
  }

  void close_loop() {
    live_[scopes_.back()] = false;
    scopes_.pop_back();
    open_.pop_back();
  }

  void check_accumulation(const inst& i) {
    check_arity(i, 2, 2);
    check_loop_operand(i.arg[1]);
    if (is_reduction(i.code) && open_.size() == 1) found_[at_] = true;
    if (i.code == op::reduce_call) {
      check_call(i);
      const call& c = kernel_.calls[i.attr];
      return expect(c.count > 0 && kernel_.call_operands[c.first] == i.arg[0], "not the call's first operand");
    }
    const dtype from = type_of(i.arg[0]);
    switch (info(i.code).typing) {
      case rule::reduce_sum: return expect(kind_of(i.type) >= kind_of(from), "a sum of another kind than its operand");
      case rule::reduce_order: return expect(i.type == from && !is_complex(from), "dtype differs from the operand's");
      case rule::reduce_index: return expect(i.type == i64 && !is_complex(from), "positions are i64");
      case rule::reduce_spread: return fail("has no place in a kernel");
      default: return expect(i.type == boolean, "the result is not boolean");
    }
  }

  void expect_same(const inst& i, int first, int last, dtype wanted) const {
    for (int k = first; k < last; ++k)
      expect(type_of(i.arg[k]) == wanted,
             fmt::format("operand %{} is {}, not {}", raw(i.arg[k]), to_string(type_of(i.arg[k])), to_string(wanted)));
  }

  void check_elementwise(const inst& i) const {
    const int arity = info(i.code).arity;
    switch (info(i.code).typing) {
      case rule::number: return expect_same(i, 0, arity, i.type);
      case rule::orderable:
        expect(!is_complex(i.type), "complex numbers have no order");
        return expect_same(i, 0, arity, i.type);
      case rule::magnitude:
      case rule::part: return expect(i.type == part_of(type_of(i.arg[0])), "not the dtype of the operand's parts");
      case rule::inexact:
        expect(is_inexact(i.type), "not a float or complex dtype");
        return expect_same(i, 0, arity, i.type);
      case rule::real:
        expect(is_real(i.type), "not a float dtype");
        return expect_same(i, 0, arity, i.type);
      case rule::rounding:
      case rule::complex: return expect_same(i, 0, arity, i.type);
      case rule::pair:
        expect(is_complex(i.type), "the result is not complex");
        return expect_same(i, 0, arity, part_of(i.type));
      case rule::equality:
      case rule::compare:
      case rule::test:
      case rule::test_real:
      case rule::logical:
        expect(i.type == boolean, "the result is not boolean");
        return expect_same(i, 0, arity, type_of(i.arg[0]));
      case rule::bits:
        expect(is_integer_or_bool(i.type), "not an integer dtype");
        return expect_same(i, 0, arity, i.type);
      case rule::shift:
        expect(is_integer(i.type) && is_integer(type_of(i.arg[1])), "not an integer dtype");
        return expect_same(i, 0, 1, i.type);
      case rule::words:
        expect(i.type == (i.code == op::random32 ? u32 : u64), "not the dtype of the words");
        return expect_same(i, 0, arity, u64);
      case rule::choice:
        expect_same(i, 0, 1, boolean);
        return expect_same(i, 1, arity, i.type);
      default: return;  // convert: any dtype to any
    }
  }

  const kernel& kernel_;
  std::size_t at_ = 0;
  std::vector<std::uint32_t> scope_;        ///< by instruction
  std::vector<bool> found_;                 ///< by instruction: whether it needs a loop of the domain to have ended
  std::vector<bool> live_;                  ///< by scope
  std::vector<std::uint32_t> scopes_ = {0}; ///< open ones, outermost first
  std::vector<std::uint32_t> open_;         ///< loop instructions
};

}  // namespace

bool draws_words(const kernel& k) {
  return std::ranges::any_of(k.body, [](const inst& i) { return info(i.code).typing == rule::words; });
}

void verify(const kernel& k) { verifier(k).run(); }

}  // namespace sinter::jit
