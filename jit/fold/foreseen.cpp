#include "jit/fold/foreseen.hpp"

#include "jit/fold/trace_recorder.hpp"
#include "jit/graph_internal.hpp"
#include "runtime/counters.hpp"

#include <algorithm>
#include <utility>

namespace sinter::jit {

// ---- One statement ----

/// Whether its node is worth keeping: most of what statements consist of.
bool foreseen_statement::is_worth_keeping(const known_statement::part& p) {
  using enum known_statement::beside;
  if (p.operand_count > 3) return false;
  if (p.has == nothing) return is_elementwise(p.code) || p.code == op::result;
  return p.has == offsets || p.has == number || p.has == kernel;
}

std::unique_ptr<foreseen_statement> foreseen_statement::make(std::int32_t structure, const known_statement& known,
                                                             std::span<node* const> nodes,
                                                             std::span<node* const> recorded) {
  const std::vector<known_statement::part>& parts = known.parts_;
  std::vector<std::uint32_t> order;  // of the parts that are operations
  for (std::uint32_t k = 1; k < parts.size(); ++k)
    if (!parts[k].is_variable) order.push_back(k);
  if (!known.updates_ || recorded.size() != order.size() + 1) return nullptr;
  std::vector<std::size_t> place_of(parts.size());
  for (const std::uint32_t k : order) {
    const auto at = std::ranges::find(recorded, nodes[k]);
    if (at == recorded.end()) return nullptr;
    place_of[k] = static_cast<std::size_t>(at - recorded.begin());
  }
  std::ranges::sort(order, {}, [&](std::uint32_t k) { return place_of[k]; });

  std::unique_ptr<foreseen_statement> s(new foreseen_statement(structure, known));
  s->steps_.reserve(order.size());
  s->variables_.reserve(known.variables_.size());
  std::vector<operand> operand_of(parts.size());
  for (const std::uint32_t k : known.variables_) {
    s->variables_.push_back({&parts[k]});
    operand_of[k] = {&s->variables_.back().n, nullptr};
  }
  for (const std::uint32_t k : order) {
    const known_statement::part& p = parts[k];
    s->steps_.push_back({.what = &p,
                         .code = p.code,
                         .recycles = is_worth_keeping(p),
                         .operand_count = p.operand_count,
                         .first_operand = static_cast<std::uint32_t>(s->operands_.size()),
                         .parameter = p.parameter});
    operand_of[k] = {&s->steps_.back().now, &s->steps_.back()};
    for (std::size_t e = 0; e < p.operand_count; ++e) {
      const std::uint32_t to = known.edges_[p.first_edge + e].to;
      if (!operand_of[to].n) return nullptr;  // made later
      s->operands_.push_back(operand_of[to]);
      s->base_uses_ += parts[to].is_base;
    }
  }
  s->base_ = operand_of[known.edges_[0].to];
  s->values_ = operand_of[known.edges_[1].to];
  if (s->base_.made_by || !s->values_.n) return nullptr;
  return s;
}

foreseen_statement::~foreseen_statement() {
  leave();
  for (step& s : steps_)
    if (s.kept) release(s.kept);
}

void foreseen_statement::prepare(slot_nodes& slots, const std::vector<trace_slot>& trace_slots) {
  leave();
  const auto is_written = [&](const variable& v) {
    return v.what->slot < slots.size() && trace_slots[static_cast<std::size_t>(v.what->slot)].is_written;
  };
  for (variable& v : variables_) {
    v.n = v.what->slot < slots.size() ? slots.at(v.what->slot).n : nullptr;
    parameters_[v.what->parameter] = v.what->slot;
    if (v.what->is_base) {
      parameters_.back() = v.what->slot;
      if (!is_written(v)) v.n = nullptr;  // statements before may have read it, as an array around the trace
    }
  }
  for (step& s : steps_) {
    s.is_pure = true;
    for (std::size_t k = 0; k < s.operand_count; ++k) {
      const operand& x = operands_[s.first_operand + k];
      if (x.made_by) s.is_pure &= x.made_by->is_pure;
      else s.is_pure &= !is_written(*std::ranges::find(variables_, x.n, [](const variable& v) { return &v.n; }));
    }
  }
}

/// The node kept for this step, when it is in nobody's hands.
inline node* foreseen_statement::free_node(const step& s) const {
  node* const n = s.kept;
  if (!n || n->references.load(std::memory_order_acquire) != 1 || n->values()) return nullptr;
  return n;
}

/// Variables may stand for others of their dtype and shape, which live on another device or have versions in the trace.
inline bool foreseen_statement::agree(const step& s, std::span<const node_ref> operands) const {
  if (operands.size() != s.operand_count || !s.kept) return false;
  const operand* wanted = operands_.data() + s.first_operand;
  bool has_owner = false, has_statements = false;
  for (const node_ref& x : operands) {
    if (x.get() != *wanted++->n || (x->owner && x->owner != s.kept->owner)) return false;
    has_owner |= x->owner != nullptr;
    has_statements |= x->has_statements;
  }
  return has_owner == (s.kept->owner != nullptr) && has_statements == s.kept->has_statements;
}

inline node* foreseen_statement::hand_out(step& s, std::span<node_ref> operands, const place& at) {
  node* const n = s.kept;
  for (std::size_t k = 0; k < operands.size(); ++k) n->few[k] = operands[k].leave();
  n->operand_count = static_cast<std::uint16_t>(operands.size());
  n->site = at;
  n->references.set(2);
  s.now = n;
  ++at_;
  return n;
}

node* foreseen_statement::view(node_ref& source, const axis_maps& map, const shape& extents, const place& at) {
  if (at_ == steps_.size()) return nullptr;
  step& s = steps_[at_];
  if (s.code != op::view || !agree(s, {&source, 1})) return nullptr;
  node* const n = free_node(s);
  if (!n || n->extents != extents || n->facts->view.size() != map.size()) return nullptr;
  axis_map* own = n->facts->view.begin();
  std::int64_t* parameter = parameters_.data() + s.parameter;
  for (const axis_map& m : map) {
    if (m.step != own->step || m.axis != own->axis) return nullptr;
    own++->offset = *parameter++ = m.offset;
  }
  return hand_out(s, {&source, 1}, at);
}

node* foreseen_statement::operation(op code, dtype type, std::span<node_ref> operands, const place& at) {
  if (at_ == steps_.size()) return nullptr;
  step& s = steps_[at_];
  if (s.code != code || !agree(s, operands)) return nullptr;
  const node* const n = free_node(s);
  return n && n->type == type && !n->facts ? hand_out(s, operands, at) : nullptr;
}

node* foreseen_statement::call(const user_kernel* kernel, std::span<node_ref> operands, const place& at) {
  if (at_ == steps_.size()) return nullptr;
  step& s = steps_[at_];
  if (s.code != op::call || !agree(s, operands)) return nullptr;
  const node* const n = free_node(s);
  return n && n->facts->kernel == kernel ? hand_out(s, operands, at) : nullptr;
}

node* foreseen_statement::number(const scalar& number, dtype type, const place& at) {
  if (at_ == steps_.size()) return nullptr;
  step& s = steps_[at_];
  node* const n = s.code == op::scalar ? free_node(s) : nullptr;
  if (!n || n->type != type) return nullptr;
  n->number = number;
  if (!known_statement::is_beside(*s.what, *n, parameters_.data() + s.parameter)) return nullptr;
  return hand_out(s, {}, at);
}

bool foreseen_statement::meet(node& n) {
  if (at_ == steps_.size()) return false;
  step& s = steps_[at_];
  if (!known_statement::is_like(*s.what, n)) return false;
  for (std::size_t k = 0; k < s.operand_count; ++k)
    if (n.operands()[k] != *operands_[s.first_operand + k].n) return false;
  if (!known_statement::is_beside(*s.what, n, parameters_.data() + s.parameter)) return false;
  if (s.kept) release(std::exchange(s.kept, nullptr));
  if (s.recycles) {
    s.kept = &n;
    n.references.add();
  }
  s.now = &n;
  ++at_;
  return true;
}

/// Whether somebody else has the step's node, or what is made of it; its operands are held by that, then.
inline bool foreseen_statement::is_given_away(step& s) {
  const std::uint32_t own = s.what->uses + (s.now == s.kept);
  if (!s.is_held && s.now->references.load(std::memory_order_acquire) == own) return false;
  s.is_held = true;
  for (std::size_t k = 0; k < s.operand_count; ++k)
    if (step* const below = operands_[s.first_operand + k].made_by) below->is_held = true;
  return true;
}

bool foreseen_statement::ends(const node* base, const node* values, const axis_maps& region) {
  if (at_ != steps_.size() || base != *base_.n || values != *values_.n) return false;
  const known_statement::part& root = known_.parts_[0];
  if (!known_statement::is_map(root, region, parameters_.data() + root.parameter)) return false;
  // The variable itself, the trace, and what is read of it for this.
  if (base->references.load(std::memory_order_acquire) != 2 + base_uses_) return false;
  for (std::size_t k = steps_.size(); k-- > 0;) {
    step& s = steps_[k];
    if (s.now->values() || (is_given_away(s) && !s.is_pure)) return false;
  }
  return true;
}

/// Of an operand of what is not in use any more.
inline void foreseen_statement::drop(const operand& x) noexcept {
  const step* const s = x.made_by;
  if (!s || s->now != s->kept || s->is_held) release(*x.n);  // else begin_again() comes to it
}

void foreseen_statement::begin_again(node_ref values) noexcept {
  static_cast<void>(values.leave());
  drop(values_);
  for (std::size_t k = steps_.size(); k-- > 0;) {
    step& s = steps_[k];
    node* const n = std::exchange(s.now, nullptr);
    if (n != s.kept) {
      s.is_held = false;
      continue;  // whoever used it has let it go
    }
    if (s.is_held) {
      release(std::exchange(s.kept, nullptr));
      s.is_held = false;
      continue;
    }
    for (std::size_t o = 0; o < s.operand_count; ++o) drop(operands_[s.first_operand + o]);
    n->operand_count = 0;
    n->references.set(1);
  }
  at_ = 0;
}

void foreseen_statement::leave() noexcept {
  for (; at_ > 0; --at_) {
    step& s = steps_[at_ - 1];
    if (s.now == s.kept) release(std::exchange(s.kept, nullptr));
    s.now = nullptr;
  }
  for (step& s : steps_) s.is_held = false;
}

void foreseen_statement::leave(std::vector<node*>& nodes) {
  for (std::size_t k = 0; k < at_; ++k) nodes.push_back(steps_[k].now);
  leave();
}

// ---- A thread ----

namespace {

// So many statements as foreseen, then one is listed, so that the memory of the trace is looked at.
constexpr std::uint32_t most_in_a_row = 4096;
// Where fewer than three of four statements are as foreseen, listing all of them together costs less.
constexpr std::int32_t first_credit = 64, most_credit = 256, cost_of_listed = 4;
constexpr std::uint32_t most_patience = 1024;
// What is recorded between two statements may be any program.
constexpr std::size_t most_recorded = 256;

}  // namespace

void foreseer::met(node& n) {
  if (is_due_) {
    is_due_ = false;
    fold_listed_statements();  // start() or stop()
    recorded_.clear();
    if (now_ != this) return;
    next_ = trace_->foreseen_next();
  }
  if (next_) {
    if (next_->meet(n)) return;
    if (foreseen_statement* const other = next_->begins() ? trace_->foreseen_beginning_with(n) : nullptr) {
      next_ = other;
      return;
    }
    miss();
  }
  recorded_.push_back(&n);
  if (recorded_.size() > most_recorded) stop();
}

bool foreseer::write(node* base, node_ref& values, axis_maps& region) {
  if (!next_) return false;
  normalize(region, values->extents);
  if (in_a_row_ >= most_in_a_row || !trace_->push_foreseen(*next_, base, values.get(), region)) {
    miss();
    return false;
  }
  runtime::counters& count = runtime::count();
  runtime::bump(count.recorded, next_->operations() + 1);
  runtime::bump(count.statements);
  runtime::bump(count.folded);
  next_->begin_again(std::move(values));
  ++in_a_row_;
  if (credit_ < most_credit) ++credit_;
  else patience_ = 0;
  next_ = trace_->foreseen_next();
  return true;
}

void foreseer::start(statement_trace& t) {
  stop();
  if (to_skip_ > 0) {
    --to_skip_;
    return;
  }
  trace_ = &t;
  in_a_row_ = 0;
  now_ = this;
}

void foreseer::note_listed() {
  if (now_ != this) return;
  if (next_) miss();
  credit_ -= cost_of_listed;
  is_due_ = true;
  if (credit_ > 0) return;
  patience_ = std::min(2 * patience_ + 1, most_patience);
  to_skip_ = patience_;
  credit_ = first_credit;
  stop();
}

/// This statement isn't as foreseen: it is learnt like others.
void foreseer::miss() {
  recorded_.clear();
  next_->leave(recorded_);
  next_ = nullptr;
}

void foreseer::stop() noexcept {
  if (now_ != this) return;
  now_ = nullptr;
  is_due_ = false;
  recorded_.clear();
  if (next_) next_->leave();
  next_ = nullptr;
}

}  // namespace sinter::jit
