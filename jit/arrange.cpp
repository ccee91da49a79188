// From the graph of values to a kernel's body: which loops there are, and what stands in each.
//
// A reduction needs all of its loop, so whatever uses it comes in a later loop, or after. The stage of a value says how
// many loops must have run before it, once per depth of nesting. Loops of one space and stage are one; a value that
// several loops need is computed in each, and both copies have the same origin.
#include "jit/lower_internal.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

constexpr std::uint32_t no_origin = 0xffffffffu;

/// What is known once its loop has run.
bool ends_loop(op code) { return is_reduction(code) || code == op::iterate; }

}  // namespace

/// Calls f with every value that instruction `i` of the graph uses.
template <class F>
void lowering::for_each_operand(const inst& i, F&& f) const {
  const auto of_form = [&](std::uint32_t raw_form_number) {
    for (const linear_term& t : lin_.terms(raw_forms_[raw_form_number]))
      if (!atoms_[t.atom].is_dim) f(atoms_[t.atom].computed);
  };
  const auto of_list = [&](const auto& x) {
    for (std::uint32_t k = 0; k < x.count; ++k) f(call_operands_[x.first + k]);
  };
  if (i.code == op::call || i.code == op::reduce_call) return of_list(calls_[i.attr]);
  if (i.code == op::iterate) return of_list(iterations_[i.attr]);
  if (i.code == op::carry || i.code == op::proceed) return f(i.arg[0]);
  for (const value a : i.arg)
    if (a != value::none) f(a);
  if (i.code == op::index) of_form(i.attr);
  if (i.code == op::load || i.code == op::store || i.code == op::atomic) of_form(raw_accesses_[i.attr].form);
}

std::uint32_t lowering::loops_of(const inst& i) const {
  return i.code == op::reduce_call || i.code == op::iterate ? raw(i.arg[1]) : i.attr;
}

void lowering::arrange() {
  kernel& k = out_->ir;
  place_.assign(graph_.size(), value::none);
  form_instances_.clear();
  values_of_forms_.clear();
  raw_of_access_.clear();
  if (spaces_.size() == 1) {
    for (std::uint32_t v = 0; v < graph_.size(); ++v) copy(value{v}, value::none);
    k.origins.clear();
    return;
  }
  find_stages();
  needed_.assign(graph_.size(), 0);
  runs_ = 0;
  std::vector<value> sinks;
  for (std::uint32_t v = 0; v < graph_.size(); ++v)
    if (graph_[v].code == op::store || graph_[v].code == op::atomic) sinks.push_back(value{v});
  for (const space_info& s : spaces_)
    if (s.iterate != value::none) sinks.push_back(s.iterate);
  run_space(0, sinks, value::none);
}

void lowering::find_stages() {
  stages_.assign(graph_.size(), stages{});
  std::uint16_t last = 0;
  for (std::uint32_t v = 0; v < graph_.size(); ++v) {
    const inst& i = graph_[v];
    stages& own = stages_[v];
    for_each_operand(i, [&](value x) {
      for (std::uint32_t d = 0; d <= spaces_[space_[raw(x)]].depth; ++d) own[d] = std::max(own[d], stages_[raw(x)][d]);
    });
    for (std::uint32_t s = space_[v]; s != 0; s = spaces_[s].parent) {  // what comes after `proceed` runs after it
      const value gate = spaces_[s].proceed;
      const std::uint32_t d = spaces_[s].depth;
      if (gate != value::none && v > raw(gate)) own[d] = std::max(own[d], stages_[raw(gate)][d]);
    }
    if (ends_loop(i.code)) {
      const std::uint32_t depth = spaces_[space_[v]].depth;
      ++own[depth];
      for (std::uint32_t d = depth + 1; d < own.size(); ++d) own[d] = 0;
    }
    last = std::max(last, own[0]);
  }
  for (std::uint32_t v = 0; v < graph_.size(); ++v)  // whoever reads what these overwrite has done so
    if (graph_[v].reserved != 0) stages_[v][0] = last;
  store_on_the_way();
}

/// What stands in a loop that stores on the way is one loop, with the end of its iterations.
void lowering::store_on_the_way() {
  for (std::uint32_t space = 1; space < spaces_.size(); ++space) {
    const value end = spaces_[space].iterate;
    if (end == value::none) continue;
    const auto stage = static_cast<std::uint16_t>(stages_[raw(end)][0] - 1);
    for (std::uint32_t v = 0; v < graph_.size(); ++v)
      if ((graph_[v].code == op::store || graph_[v].code == op::atomic) && space_[v] == space) stages_[v][0] = stage;
  }
}

/// The child of `space` that holds, or is, `deeper`.
std::uint32_t lowering::child_towards(std::uint32_t space, std::uint32_t deeper) const {
  while (spaces_[deeper].parent != space) deeper = spaces_[deeper].parent;
  return deeper;
}

/// What `sinks` (stores, and reductions over `space`) need of this space and those inside it, in order.
std::vector<value> lowering::needed_for(std::uint32_t space, std::span<const value> sinks) {
  const std::uint32_t run = ++runs_;
  std::vector<value> list;
  const auto add = [&](value v) {
    if (place_[raw(v)] != value::none || needed_[raw(v)] == run) return;
    needed_[raw(v)] = run;
    list.push_back(v);
  };
  for (const value s : sinks) {
    const bool own = ends_loop(graph_[raw(s)].code) && loops_of(graph_[raw(s)]) == space;
    if (own) for_each_operand(graph_[raw(s)], add);
    else add(s);
  }
  for (std::size_t k = 0; k < list.size(); ++k) for_each_operand(graph_[raw(list[k])], add);
  std::ranges::sort(list);
  return list;
}

void lowering::run_space(std::uint32_t space, std::span<const value> sinks, value loop) {
  const std::vector<value> list = needed_for(space, sinks);
  const std::uint32_t depth = spaces_[space].depth;
  const auto is_store = [this](value v) {
    return graph_[raw(v)].code == op::store || graph_[raw(v)].code == op::atomic;
  };
  std::uint16_t last = 0;
  for (const value v : list) last = std::max(last, stages_[raw(v)][depth]);
  std::vector<std::pair<std::uint32_t, value>> inner;  // of one stage: sinks, by the child that they need a loop over
  std::vector<value> of_child;
  for (std::uint16_t stage = 0; stage <= last; ++stage) {
    inner.clear();
    for (const bool stores : {false, true})
      for (const value v : list) {
        const inst& i = graph_[raw(v)];
        if (is_store(v) != stores) continue;
        const std::uint16_t own = stages_[raw(v)][depth];
        if (ends_loop(i.code) && space_[raw(v)] == space) {
          if (own == stage + 1) inner.push_back({loops_of(i), v});
        } else if (own == stage && space_[raw(v)] == space) {
          copy(v, loop);
        } else if (own == stage && stores) {
          inner.push_back({child_towards(space, space_[raw(v)]), v});
        }
      }
    std::ranges::stable_sort(inner, {}, [](const auto& x) { return x.first; });
    for (std::size_t k = 0; k < inner.size(); k += of_child.size()) {
      of_child.clear();
      for (std::size_t j = k; j < inner.size() && inner[j].first == inner[k].first; ++j)
        of_child.push_back(inner[j].second);
      run_loop(inner[k].first, of_child);
    }
  }
  for (const value s : sinks)
    if (ends_loop(graph_[raw(s)].code) && loops_of(graph_[raw(s)]) == space) copy(s, loop);
  for (const value v : list) place_[raw(v)] = value::none;
}

void lowering::run_loop(std::uint32_t space, std::span<const value> sinks) {
  kernel& k = out_->ir;
  const auto open = static_cast<std::uint32_t>(k.body.size());
  k.body.push_back(make_inst(op::loop, dtype::i64, space - 1));
  k.origins.push_back(no_origin);
  run_space(space, sinks, value{open});
  k.body.push_back(make_inst(op::end, dtype::i64, 0, value{open}));
  k.origins.push_back(no_origin);
}

/// Instruction v of the graph, with operands as they are here.
value lowering::copy(value v, value loop) {
  kernel& k = out_->ir;
  inst i = graph_[raw(v)];
  i.reserved = 0;
  const auto list = [&](std::uint32_t first, std::uint32_t count) {
    const auto here = static_cast<std::uint32_t>(k.call_operands.size());
    for (std::uint32_t o = first; o < first + count; ++o) k.call_operands.push_back(place_[raw(call_operands_[o])]);
    return here;
  };
  if (i.code == op::call || i.code == op::reduce_call) {
    const call& c = calls_[i.attr];
    i.attr = static_cast<std::uint32_t>(k.calls.size());
    k.calls.push_back({c.kernel, list(c.first, c.count), c.count, c.outputs});
  } else if (i.code == op::iterate) {
    const iteration& t = iterations_[i.attr];
    i.attr = static_cast<std::uint32_t>(k.iterations.size());
    k.iterations.push_back({list(t.first, t.count), t.count, t.states});
  }
  const bool named = i.code == op::reduce_call || i.code == op::iterate || i.code == op::carry || i.code == op::proceed;
  const bool in_loop = named || is_reduction(i.code) || is_scan(i.code);
  if (named) i.arg[1] = value::none;
  for (value& a : i.arg)
    if (a != value::none) a = place_[raw(a)];
  if (in_loop) i.arg[1] = loop;
  if (in_loop && !named) i.attr = 0;
  if (i.code == op::index) i.attr = instance_of_form(i.attr);
  if (i.code == op::load || i.code == op::store || i.code == op::atomic || i.code == op::memory)
    i.attr = instance_of_access(i.attr);
  k.body.push_back(i);
  k.origins.push_back(raw(v));
  return place_[raw(v)] = value{static_cast<std::uint32_t>(k.body.size() - 1)};
}

std::uint32_t lowering::instance_of_form(std::uint32_t raw_number) {
  const auto first = static_cast<std::uint32_t>(values_of_forms_.size());
  for (const linear_term& t : lin_.terms(raw_forms_[raw_number]))
    if (!atoms_[t.atom].is_dim) values_of_forms_.push_back(place_[raw(atoms_[t.atom].computed)]);
  const std::size_t count = values_of_forms_.size() - first;
  for (std::uint32_t k = 0; k < form_instances_.size(); ++k) {
    if (form_instances_[k].raw != raw_number) continue;
    const auto known = values_of_forms_.begin() + form_instances_[k].first;
    if (!std::equal(known, known + static_cast<std::ptrdiff_t>(count), values_of_forms_.begin() + first)) continue;
    values_of_forms_.resize(first);
    return k;
  }
  form_instances_.push_back({raw_number, first});
  return static_cast<std::uint32_t>(form_instances_.size() - 1);
}

std::uint32_t lowering::instance_of_access(std::uint32_t raw_number) {
  kernel& k = out_->ir;
  const raw_access& a = raw_accesses_[raw_number];
  const std::uint32_t f = instance_of_form(a.form);
  for (std::uint32_t n = 0; n < k.accesses.size(); ++n)
    if (raw_of_access_[n] == raw_number && k.accesses[n].form == f) return n;
  k.accesses.push_back({.pointer = a.pointer.parameter, .form = f, .column = static_cast<std::int32_t>(a.check)});
  raw_of_access_.push_back(raw_number);
  out_->pointers.push_back(a.pointer);
  return static_cast<std::uint32_t>(k.accesses.size() - 1);
}

}  // namespace sinter::jit
