// Which loops a kernel has, what stands in each, and what changes from lane to lane.
#pragma once

#include "jit/ir.hpp"

#include <vector>

namespace sinter::jit {

class loop_nest {
 public:
  static constexpr std::uint32_t none = 0xffffffffu;

  struct loop {
    std::uint32_t begin, end;               ///< its `loop` and `end` instructions
    std::uint32_t parent;                   ///< index of the loop around it, or none
    std::vector<std::uint32_t> reductions;  ///< instructions directly in it
    std::vector<std::uint32_t> scans;       ///< likewise
    std::uint32_t iterate = none;           ///< of a serial loop
  };

  explicit loop_nest(const kernel& k);

  const std::vector<loop>& loops() const { return loops_; }
  /// Loops not inside another, in order.
  const std::vector<std::uint32_t>& tops() const { return tops_; }
  const loop& operator[](std::uint32_t number) const { return loops_[number]; }
  /// The loop that a `loop` or `end` instruction opens or closes.
  std::uint32_t number_of(std::uint32_t v) const { return number_[v]; }
  /// The innermost loop around an instruction, or none; a `loop` and its `end` are not inside it.
  std::uint32_t around(std::uint32_t v) const { return around_[v]; }
  /// The `iterate` that instruction v, in a serial loop, belongs to.
  std::uint32_t iterate_of(std::uint32_t v) const { return loops_[around_[v]].iterate; }
  const loop_dims& dims(const loop& l) const { return k_.loops[k_.body[l.begin].attr]; }
  /// Counts as many dims as it has, innermost last.
  std::uint32_t innermost(const loop& l) const { return dims(l).first + dims(l).count - 1; }

  /// Calls f with every value that instruction v uses; a reduction's loop is no value.
  template <class F>
  void each_operand(std::uint32_t v, F&& f) const;

  /// What lanes see differently: instructions whose text must stand in a loop over the lanes, and values that differ.
  struct lane_levels {
    std::vector<bool> inside, varies;
  };
  /// Lanes along the domain's inner dim (`columns`), or along the innermost dim of each top loop.
  lane_levels along(bool columns) const;

 private:
  bool form_varies(std::uint32_t f, std::uint32_t lane_dim, const std::vector<bool>& varies) const;

  const kernel& k_;
  std::vector<loop> loops_;
  std::vector<std::uint32_t> tops_, number_, around_;
};

template <class F>
void loop_nest::each_operand(std::uint32_t v, F&& f) const {
  const inst& i = k_.body[v];
  const auto of_form = [&](std::uint32_t number) {
    const form& x = k_.forms[number];
    for (std::uint32_t t = x.first; t < x.first + x.count; ++t)
      if (!k_.terms[t].is_dim()) f(k_.terms[t].atom & ~term::computed);
  };
  if (i.code == op::call || i.code == op::reduce_call) {
    const call& c = k_.calls[i.attr];
    for (std::uint32_t a = 0; a < c.count; ++a) f(raw(k_.call_operands[c.first + a]));
    return;
  }
  if (i.code == op::iterate) {
    const iteration& t = k_.iterations[i.attr];
    for (std::uint32_t a = 0; a < t.count; ++a) f(raw(k_.call_operands[t.first + a]));
    return;
  }
  if (i.code == op::loop || i.code == op::end) return;
  const bool names_loop = is_reduction(i.code) || is_scan(i.code) || i.code == op::carry || i.code == op::proceed;
  const int count = names_loop ? 1 : 3;
  for (int a = 0; a < count; ++a)
    if (i.arg[a] != value::none) f(raw(i.arg[a]));
  if (i.code == op::index) of_form(i.attr);
  if (i.code == op::load || i.code == op::store || i.code == op::atomic) of_form(k_.accesses[i.attr].form);
}

}  // namespace sinter::jit
