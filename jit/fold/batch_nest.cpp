#include "jit/fold/batch_nest.hpp"

#include "jit/fold/nest.hpp"
#include "jit/fold/nest_builder.hpp"
#include "jit/fold/wrapping.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

// What intermediate values of a batch may take.
constexpr std::int64_t most_bytes_on_the_way = std::int64_t{1} << 30;
// What all operands of a batch may read of the same arrays: each reads it again. Apart, up to 32 read it once, for a
// launch, which takes as long as about this.
constexpr std::int64_t most_bytes_read_again = std::int64_t{1} << 20;

/// How the parameters of a run's operands follow from the numbers of one or two loops.
class run_numbers {
 public:
  run_numbers(const operand_table& t, const operand_run& run) : t_(t), run_(run), real_(real_parameters(t, run)) {
    const std::size_t count = t.parameters_of(run.first).size();
    std::int64_t inner = 0;
    for (std::size_t p = 0; p < count && inner >= 0; ++p) inner = std::max(inner, steps_of(p));
    const auto n = static_cast<std::int64_t>(run.count);
    if (inner > 0 && n % inner == 0) {
      bool both = true;
      for (std::size_t p = 0; p < count && both; ++p) both = turns(p, inner);
      if (both) inner_ = inner;
    }
    for (std::size_t p = 0; p < count; ++p) numbers_.push_back(number(p));
  }

  const std::vector<traced_number>& all() const { return numbers_; }
  /// Iterations of the loops, outermost first.
  std::vector<std::int64_t> loops() const {
    const auto n = static_cast<std::int64_t>(run_.count);
    return inner_ > 0 ? std::vector<std::int64_t>{n / inner_, inner_} : std::vector<std::int64_t>{n};
  }

 private:
  static std::vector<bool> real_parameters(const operand_table& t, const operand_run& run) {
    const statement_structure& s = t.structure_of(run.first);
    std::vector<bool> real(s.parameters);
    for (const statement_node& n : s.nodes) real[n.parameter] = real[n.parameter] | is_real_number(n);
    return real;
  }
  static bool is_real_number(const statement_node& n) {
    return !n.is_variable && n.code == op::scalar && kind_of(n.type) == kind::real;
  }

  std::int64_t at(std::size_t p, std::size_t k) const { return t_.parameters_of(run_[k])[p]; }
  std::int64_t step(std::size_t p, std::size_t k) const { return wrapping_subtract(at(p, k), at(p, 0)); }

  /// Bits of floats that happen to progress are no progression.
  bool may_progress(std::size_t p) const {
    if (!real_[p]) return true;
    for (std::size_t k = 0; k < run_.count; ++k)
      if (at(p, k) < -most_whole || at(p, k) > most_whole) return false;
    return true;
  }

  /// How many operands it takes until the parameter leaves the progression that it begins with; 0: it never does.
  std::int64_t steps_of(std::size_t p) const {
    const std::int64_t d = step(p, 1);
    for (std::size_t k = 2; k < run_.count; ++k)
      if (step(p, k) != wrapping_multiply(d, static_cast<std::int64_t>(k))) return static_cast<std::int64_t>(k);
    return 0;
  }

  /// Whether the parameter is affine in the numbers of two loops, the inner one of `inner` iterations.
  bool turns(std::size_t p, std::int64_t inner) const {
    const auto m = static_cast<std::size_t>(inner);
    const std::int64_t d = step(p, 1), e = step(p, m);
    for (std::size_t k = 0; k < run_.count; ++k) {
      const auto outer = static_cast<std::int64_t>(k / m), within = static_cast<std::int64_t>(k % m);
      if (step(p, k) != wrapping_add(wrapping_multiply(d, within), wrapping_multiply(e, outer))) return false;
    }
    return (d == 0 && e == 0) || may_progress(p);
  }

  traced_number number(std::size_t p) {
    traced_number n{at(p, 0), {}, nullptr, -1};
    if (inner_ > 0) {
      n.coefficients = {step(p, static_cast<std::size_t>(inner_)), step(p, 1)};
    } else if (steps_of(p) == 0 && (may_progress(p) || step(p, 1) == 0)) {
      n.coefficients = {step(p, 1)};
    } else {
      n.coefficients = {0};
      n.column = column(p);
      n.column_loop = 0;
    }
    return n;
  }

  table_column column(std::size_t p) {
    std::vector<std::int64_t> rows;
    for (std::size_t k = 0; k < run_.count; ++k) rows.push_back(step(p, k));
    for (const table_column& c : columns_)
      if (*c == rows) return c;
    columns_.push_back(std::make_shared<const std::vector<std::int64_t>>(std::move(rows)));
    return columns_.back();
  }

  const operand_table& t_;
  const operand_run& run_;
  const std::vector<bool> real_;
  std::int64_t inner_ = 0;  ///< iterations of the inner of two loops; 0: there is one
  std::vector<traced_number> numbers_;
  std::vector<table_column> columns_;
};

/// target(i0, ..) := the expression, for a target of the loops' counts, then the expression's extents.
std::unique_ptr<statement_structure> with_target(const statement_structure& expression,
                                                 std::span<const std::int64_t> loops) {
  auto s = std::make_unique<statement_structure>(expression);
  const auto root = static_cast<std::uint32_t>(s->nodes.size() - 1);
  const statement_node value = s->nodes.back();
  statement_node target{.code = op::buffer, .type = value.type, .is_variable = true};
  target.parameter = expression.parameters - 1;
  target.site = value.site;
  auto facts = std::make_shared<attribute>();
  for (const std::int64_t n : loops) {
    target.extents.append(n);
    facts->view.push_back({});
  }
  for (int k = 0; k < value.extents.rank(); ++k) {
    target.extents.append(value.extents[k]);
    facts->view.push_back({0, 1, k});
  }
  statement_node update = target;
  update.code = op::update;
  update.is_variable = false;
  update.first_operand = static_cast<std::uint32_t>(s->operands.size());
  update.operand_count = 2;
  update.parameter = target.parameter + 1;
  update.facts = std::move(facts);
  s->operands.push_back(root + 1);
  s->operands.push_back(root);
  s->parameters = update.parameter + static_cast<std::uint32_t>(target.extents.rank()) + 1;
  s->nodes.push_back(std::move(target));
  s->nodes.push_back(std::move(update));
  return s;
}

/// The statement in its loops; `target`: its slot.
trace_item in_loops(std::vector<traced_number> numbers, std::span<const std::int64_t> loops, int rank,
                    std::int64_t target) {
  const std::vector<std::int64_t> none(loops.size());
  numbers.push_back({target, none, nullptr, -1});
  for (std::size_t l = 0; l < loops.size(); ++l) {
    numbers.push_back({0, none, nullptr, -1});
    numbers.back().coefficients[l] = 1;
  }
  for (int k = 0; k < rank; ++k) numbers.push_back({0, none, nullptr, -1});
  numbers.push_back({target, none, nullptr, -1});
  trace_item item;
  item.statement = 0;
  item.parameters = std::move(numbers);
  for (std::size_t l = loops.size(); l-- > 0;) {
    trace_item loop;
    loop.count = {loops[l], std::vector<std::int64_t>(l), nullptr, -1};
    loop.body.push_back(std::move(item));
    item = std::move(loop);
  }
  return item;
}

/// Values that a launch may have to leave in memory for the next.
bool may_be_stored(const statement_node& n) {
  return !n.is_variable && n.code != op::view && n.code != op::reshape && n.code != op::scalar && n.code != op::iota &&
         n.code != op::join && n.code != op::convert;
}

bool is_same_for_all(const operand_table& t, const operand_run& run, std::size_t first, std::size_t count) {
  for (std::size_t p = first; p < first + count; ++p)
    for (std::size_t k = 1; k < run.count; ++k)
      if (t.parameters_of(run[k])[p] != t.parameters_of(run.first)[p]) return false;
  return true;
}

/// Of the arrays that the operands share: what each reads in full, and at the same places as the others.
std::int64_t bytes_read_by_all(const operand_table& t, const operand_run& run) {
  const statement_structure& s = t.structure_of(run.first);
  std::vector<std::int64_t> same(s.nodes.size());  // by node: bytes of an array that it shows, as it does for all
  std::int64_t bytes = 0;
  for (std::size_t k = 0; k < s.nodes.size(); ++k) {
    const statement_node& n = s.nodes[k];
    const std::int64_t own = n.extents.size() * size_of(n.type);
    const std::span<const std::uint32_t> operands = s.operands_of(n);
    if (n.is_variable) {
      same[k] = own;
    } else if (n.code == op::view || n.code == op::reshape) {
      const std::size_t offsets = n.code == op::view ? n.facts->view.size() : 0;
      if (is_same_for_all(t, run, n.parameter, offsets)) same[k] = std::min(own, same[operands[0]]);
    } else {
      for (std::size_t o = n.code == op::gather ? 1 : 0; o < operands.size(); ++o) bytes += same[operands[o]];
    }
  }
  return bytes;
}

}  // namespace

std::size_t most_at_once(const statement_structure& s) {
  std::int64_t largest = 1;
  for (std::size_t k = 0; k + 1 < s.nodes.size(); ++k)
    if (const statement_node& n = s.nodes[k]; may_be_stored(n))
      largest = std::max(largest, n.extents.size() * size_of(n.type));
  return static_cast<std::size_t>(most_bytes_on_the_way / largest);
}

node_ref batch_expression(const operand_table& t, const operand_run& run, runtime::device& where, std::string& why) {
  const statement_structure& expression = t.structure_of(run.first);
  if (bytes_read_by_all(t, run) > most_bytes_read_again) {
    why = "each reads the same large array";
    return {};
  }
  const run_numbers fitted(t, run);
  const std::vector<std::int64_t> loops = fitted.loops();
  for (const statement_node& n : expression.nodes)
    if (n.extents.rank() + static_cast<int>(loops.size()) > max_rank) {
      why = "they have too many axes";
      return {};
    }
  // Variables are numbered anew: few of those of all operands are used.
  std::vector<traced_number> numbers = fitted.all();
  std::vector<node_ref> variables;
  for (const statement_node& n : expression.nodes) {
    if (!n.is_variable) continue;
    traced_number& slot = numbers[n.parameter];
    node* held = t.variable(slot.constant);
    slot.constant = static_cast<std::int64_t>(variables.size());
    variables.push_back(node_ref::share(held));
  }
  const auto target = static_cast<std::int64_t>(variables.size());
  variables.push_back({});
  std::vector<std::unique_ptr<statement_structure>> structures;
  structures.push_back(with_target(expression, loops));
  const shape& own = expression.nodes.back().extents;
  const trace_item item = in_loops(std::move(numbers), loops, own.rank(), target);
  loop_nest_analysis nest(item, structures, {});
  if (!nest.find_lanes()) {
    why = nest.why();
    return {};
  }
  nest_builder(nest, variables, where).run(item);
  shape extents{static_cast<std::int64_t>(run.count)};
  for (const std::int64_t n : own) extents.append(n);
  return make_reshape(variables.back().get(), extents, expression.nodes.back().site);
}

}  // namespace sinter::jit
