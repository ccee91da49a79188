#include "jit/fold/statement.hpp"

#include "jit/user_kernel.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace sinter::jit {

namespace {

constexpr std::uint64_t variable_word = std::uint64_t{1} << 63;

std::uint64_t word_of(op code, dtype type, std::size_t operands) {
  return static_cast<std::uint64_t>(code) | static_cast<std::uint64_t>(type) << 8 | std::uint64_t{operands} << 16;
}

bool has_offsets(op code) { return code == op::view || code == op::update; }

}  // namespace

std::int64_t parameter_of(double x, bool& exact) {
  const bool whole =
      x == std::trunc(x) && std::abs(x) <= static_cast<double>(most_whole) && !(x == 0 && std::signbit(x));
  if (whole) return static_cast<std::int64_t>(x);
  const auto bits = std::bit_cast<std::int64_t>(x);
  exact = std::bit_cast<std::int64_t>(number_of(bits)) != bits || x == 0;
  return bits;
}

double number_of(std::int64_t parameter) {
  if (parameter >= -most_whole && parameter <= most_whole) return static_cast<double>(parameter);
  return std::bit_cast<double>(parameter);
}

double number_of(const statement_node& n, int k, std::int64_t parameter) {
  return n.fixed[k] == no_fixed_number ? number_of(parameter) : std::bit_cast<double>(n.fixed[k]);
}

statement_number::statement_number(const node& n) {
  const auto real = [this](int k, double x) {
    bool exact = false;
    parameters[k] = parameter_of(x, exact);
    fixed[k] = exact ? static_cast<std::uint64_t>(parameters[k]) : no_fixed_number;
  };
  switch (kind_of(n.type)) {
    case kind::real:
      real(0, n.number.as_f64);
      break;
    case kind::complex:
      real(0, n.number.as_c128.re);
      real(1, n.number.as_c128.im);
      count = 2;
      break;
    case kind::truth:
      parameters[0] = n.number.as_bool;
      break;
    default:
      parameters[0] = n.number.as_i64;
  }
}

std::size_t structure_table::words_hash::operator()(const std::vector<std::uint64_t>& words) const {
  std::uint64_t h = words.size();
  for (const std::uint64_t w : words) {
    h = (h ^ w) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 32;
  }
  return h;
}

void structure_table::clear() {
  structures_.clear();
  numbers_.clear();
  words_of_.clear();
  followed_by_.clear();
  last_ = -1;
}

void structure_table::describe_variable(const node* n, std::int64_t slot) {
  nodes_.push_back(n);
  is_variable_.push_back(true);
  first_parameters_.push_back(static_cast<std::uint32_t>(parameters_.size()));
  parameters_.push_back(slot);
  word(variable_word | static_cast<std::uint64_t>(n->type));
  word(static_cast<std::uint64_t>(n->extents.rank()));
  for (const std::int64_t e : n->extents) word(static_cast<std::uint64_t>(e));
}

void structure_table::describe_operation(const node* n) {
  nodes_.push_back(n);
  is_variable_.push_back(false);
  first_parameters_.push_back(static_cast<std::uint32_t>(parameters_.size()));
  word(word_of(n->code, n->type, n->operand_count));
  word(static_cast<std::uint64_t>(n->extents.rank()));
  for (const std::int64_t e : n->extents) word(static_cast<std::uint64_t>(e));
  if (n->code == op::scalar) {
    const statement_number x(*n);
    for (int k = 0; k < x.count; ++k) {
      parameters_.push_back(x.parameters[k]);
      word(x.fixed[k]);
    }
  }
  if (n->facts) describe_facts(n);
}

void structure_table::describe_facts(const node* n) {
  const attribute& f = *n->facts;
  const auto number = [this](std::int64_t x) { word(static_cast<std::uint64_t>(x)); };
  for (const axis_map& m : f.view) {
    number(m.step);
    number(m.axis);
    if (has_offsets(n->code)) parameters_.push_back(m.offset);
    else number(m.offset);
  }
  for (const gather_axis& g : f.gather) {
    number(g.axis);
    number(g.operand);
  }
  number(f.first_axis);
  number(f.axis);
  number(static_cast<std::int64_t>(f.combine) | std::int64_t{f.conditional} << 8 | std::int64_t{f.keep_dims} << 9 |
         std::int64_t{n->is_statement} << 10);
  number(f.reduced);
  number(f.output);
  number(f.kernel ? static_cast<std::int64_t>(f.kernel->identity) : 0);
  number(std::bit_cast<std::int64_t>(f.loop.get()));
  number(std::bit_cast<std::int64_t>(f.trace.get()));
}

std::int32_t structure_table::intern() {
  if (last_ >= 0)
    if (const std::int32_t next = followed_by_[static_cast<std::size_t>(last_)];
        next >= 0 && *words_of_[static_cast<std::size_t>(next)] == words_)
      return last_ = next;
  const auto [at, is_new] = numbers_.try_emplace(words_, static_cast<std::int32_t>(structures_.size()));
  if (is_new) {
    structures_.push_back(built());
    words_of_.push_back(&at->first);
    followed_by_.push_back(-1);
  }
  if (last_ >= 0) followed_by_[static_cast<std::size_t>(last_)] = at->second;
  return last_ = at->second;
}

std::unique_ptr<statement_structure> structure_table::built() const {
  auto s = std::make_unique<statement_structure>();
  std::uint32_t operand = 0;
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    const node* n = nodes_[k];
    statement_node own{.code = n->code, .type = n->type};
    own.is_variable = is_variable_[k];
    own.parameter = first_parameters_[k];
    own.extents = n->extents;
    own.site = n->site;
    if (!own.is_variable) {
      if (n->code == op::scalar) std::copy_n(statement_number(*n).fixed, 2, own.fixed);
      own.first_operand = operand;
      own.operand_count = n->operand_count;
      operand += own.operand_count;
      if (n->facts) own.facts = std::make_shared<attribute>(*n->facts);
    }
    s->nodes.push_back(std::move(own));
  }
  s->operands = operands_;
  s->parameters = static_cast<std::uint32_t>(parameters_.size()) + 1;
  return s;
}

}  // namespace sinter::jit
