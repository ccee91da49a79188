#include "jit/fold/known_statement.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

// More slots than these aren't searched: a statement whose variable isn't guessed is described.
constexpr std::size_t most_searched = 32;

/// All facts that are not parameters.
bool same_facts(const attribute& a, const attribute& b) {
  if (a.kernel != b.kernel || a.output != b.output || a.reduced != b.reduced || a.axis != b.axis) return false;
  if (a.first_axis != b.first_axis || a.combine != b.combine || a.conditional != b.conditional) return false;
  if (a.keep_dims != b.keep_dims || a.loop != b.loop || a.trace != b.trace || a.view != b.view) return false;
  return std::ranges::equal(a.gather, b.gather, [](const gather_axis& x, const gather_axis& y) {
    return x.axis == y.axis && x.operand == y.operand;
  });
}

}  // namespace

std::int64_t slot_nodes::search(const node* n, std::uint32_t& guess) const {
  const std::size_t count = std::min(entries_.size(), most_searched);
  for (std::size_t s = 0; s < count; ++s)
    if (entries_[s].n == n) return guess = static_cast<std::uint32_t>(s);
  return -1;
}

known_statement::beside known_statement::beside_operands(const statement_node& n) {
  if (n.is_variable) return beside::nothing;
  switch (n.code) {
    case op::scalar:
      return beside::number;
    case op::view:
    case op::update:
      return beside::offsets;
    case op::call:
      return beside::kernel;
    default:
      return n.facts ? beside::facts : beside::nothing;
  }
}

known_statement::known_statement(const statement_structure& s) : parameters_(s.parameters), updates_(s.updates()) {
  const auto count = static_cast<std::uint32_t>(s.nodes.size());
  std::vector<std::uint32_t> uses(count, 0);
  for (std::uint32_t k = 0; k < count; ++k) {  // operands are listed before what uses them
    const statement_node& n = s.nodes[count - 1 - k];
    parts_.push_back({.code = n.code,
                      .type = n.type,
                      .operand_count = static_cast<std::uint16_t>(n.operand_count),
                      .is_variable = n.is_variable,
                      .has = beside_operands(n),
                      .first_edge = static_cast<std::uint32_t>(edges_.size()),
                      .parameter = n.parameter,
                      .what = &n});
    if (n.is_variable) variables_.push_back(k);
    for (const std::uint32_t operand : s.operands_of(n)) {
      const std::uint32_t to = count - 1 - operand;
      edges_.push_back({to, uses[to]++ > 0});
    }
    // Updates inside of expressions may be statements or not, which isn't kept. Copies of variables aren't recorded.
    if (k == 0 ? n.is_variable : !n.is_variable && n.code == op::update) is_comparable_ = false;
  }
  for (std::uint32_t k = 0; k < count; ++k) parts_[k].uses = uses[k];
  if (updates_) parts_[edges_[0].to].is_base = true;
}

bool known_statement::is_like(const part& p, const node& n) {
  return n.code == p.code && n.type == p.type && n.operand_count == p.operand_count && n.extents == p.what->extents;
}

void known_statement::make_room(findings& found) const {
  found.parameters.resize(std::max(found.parameters.size(), parameters_));
  found.nodes.resize(std::max(found.nodes.size(), parts_.size()));
}

/// Whether the map of a view, or of an update, is the same but for its offsets, which are parameters.
bool known_statement::is_map(const part& p, const axis_maps& map, std::int64_t* parameters) {
  const axis_map* wanted = p.what->facts->view.begin();
  if (map.size() != p.what->facts->view.size()) return false;
  for (const axis_map& m : map) {
    if (m.step != wanted->step || m.axis != wanted->axis) return false;
    *parameters++ = m.offset;
    ++wanted;
  }
  return true;
}

/// Whether n, which is_like(), has the same beside its operands; then its parameters.
bool known_statement::is_beside(const part& p, const node& n, std::int64_t* parameters) {
  if (p.has == beside::nothing) return !n.facts;
  if (p.has == beside::kernel) return n.facts->kernel == p.what->facts->kernel;
  if (p.has != beside::offsets) return is_beside_rarely(p, n, parameters);
  return is_map(p, n.facts->view, parameters);
}

[[gnu::noinline]] bool known_statement::is_beside_rarely(const part& p, const node& n, std::int64_t* parameters) {
  if (p.has == beside::facts) return n.facts && same_facts(*n.facts, *p.what->facts);
  const statement_number x(n);
  for (int k = 0; k < x.count; ++k) {
    if (x.fixed[k] != p.what->fixed[k]) return false;
    parameters[k] = x.parameters[k];
  }
  return true;
}

/// One variable in the places of two is another structure.
bool known_statement::variables_differ(node* const* nodes) const {
  for (std::size_t k = 1; k < variables_.size(); ++k)
    for (std::size_t j = 0; j < k; ++j)
      if (nodes[variables_[j]] == nodes[variables_[k]]) return false;
  return true;
}

/// Finds a variable that isn't in the slot of last time. False: it is in none, or one of another shape.
bool known_statement::has_moved(part& p, const node* n, slot_nodes& slots) {
  const std::int64_t slot = slots.slot_of(n);
  if (slot < 0 || n->type != p.type || n->extents != p.what->extents) return false;
  p.slot = slot;
  return true;
}

bool known_statement::matches(node* root, slot_nodes& slots, findings& found) {
  if (!is_comparable_ || root->is_statement != updates_) return false;
  found.dying.clear();
  found.base = -1;
  std::int64_t* const parameters = found.parameters.data();
  node** const nodes = found.nodes.data();
  node** next = nodes;
  bool moved = false;  // a variable to another slot
  *next = root;
  for (part& p : parts_) {
    node* n = *next++;
    std::uint32_t others = n->references.load(std::memory_order_acquire) - p.uses;
    if (p.is_variable) {
      if (!slots.has(p.slot, n)) {
        if (!has_moved(p, n, slots)) return false;
        moved = true;
      }
      others -= slots.at(p.slot).reads;
      // One of the others is the trace's.
      if (p.is_base) {
        if (others != 1) return false;
        found.base = p.slot;
      } else if (others <= 1) {
        found.dying.push_back(p.slot);
      }
      parameters[p.parameter] = p.slot;
      continue;
    }
    if ((others != 0 && n != root) || !is_like(p, *n)) return false;
    if (p.operand_count == 0 && n->values()) return false;
    if (!is_beside(p, *n, parameters + p.parameter)) return false;
    node* const* operand = p.operand_count > 3 ? n->many.get() : n->few;
    const edge* e = edges_.data() + p.first_edge;
    for (const edge* const end = e + p.operand_count; e != end; ++e, ++operand) {
      if (!e->again) nodes[e->to] = *operand;
      else if (nodes[e->to] != *operand) return false;
    }
  }
  if (moved && !variables_differ(nodes)) return false;
  for (const std::uint32_t v : variables_) slots.at(parts_[v].slot).reads += parts_[v].uses;
  return true;
}

}  // namespace sinter::jit
