#include "jit/fold/trace_folder.hpp"

#include "jit/fold/group_nests.hpp"
#include "jit/fold/trace_tree.hpp"
#include "jit/fold/wrapping.hpp"

#include <algorithm>
#include <limits>

namespace sinter::jit {

namespace {

constexpr std::uint64_t hash_multiplier = 0x9e3779b97f4a7c15ull;

// A long trace that does not fold may have so many candidates for loops looked at per statement; a program's beginning,
// where loops of long bodies are to be found, more of them.
constexpr std::int64_t credit_per_statement = 8;
constexpr std::int64_t largest_credit = 1 << 16;
constexpr std::uint64_t predicted_credited = 64;  // predicted statements earn credit, too, but not for a whole search

constexpr int candidates_tried = 64;
constexpr std::uint32_t period_context = 8;  // items before one that tell a period from another

// Shapes are kept from one trace to the next, but not for ever.
constexpr std::size_t shapes_kept = 1 << 14;

}  // namespace

trace_folder::trace_folder(const folding_limits& limits) : limits_(limits), cursor_(tables_), credit_(largest_credit) {
  std::uint64_t power = 1;
  for (std::uint32_t k = 0; k <= std::max(limits_.body, period_context); ++k, power *= hash_multiplier)
    powers_.push_back(power);
}

std::size_t trace_folder::bytes() const {
  return stack_.size() * sizeof(item) + words_.size() * sizeof(std::int64_t) + retired_.bytes() + tables_.bytes() +
         (table_.shape ? table_.rows.bytes() : 0);
}

std::vector<trace_item> trace_folder::take() {
  finish();
  nest_list nests = std::move(retired_);
  for (const item& i : stack_) nests.add(*i.shape, words(i), words(i) + i.shape->affine);
  std::vector<trace_item> tree = trace_tree(group_nests(nests, shapes_, tables_), tables_);
  base_ += static_cast<serial>(stack_.size());
  stack_.clear();
  words_.clear();
  retired_ = {};
  tables_.clear();
  if (shapes_.size() > shapes_kept || base_ > std::numeric_limits<serial>::max() / 2) {
    shapes_.clear();
    latest_.clear();
    base_ = 1;
  }
  credit_ = largest_credit;
  statements_ = credited_ = 0;
  follows_ = false;
  return tree;
}

// ---- Parsing ----

bool trace_folder::follow(std::int32_t structure, std::span<const std::int64_t> parameters) {
  if (!cursor_.expects(structure, parameters)) return follow_table(structure, parameters);
  cursor_.advance();
  return true;
}

// A statement that was not predicted; whether it is, once loops around it have been found.
bool trace_folder::parse(std::int32_t structure, std::span<const std::int64_t> parameters) {
  while (predicting()) {
    close();
    if (follow(structure, parameters)) return true;
  }
  const nest_shape& shape = shapes_.statement(structure, parameters.size());
  words_.insert(words_.end(), parameters.begin(), parameters.end());
  push_item(shape);
  if (!reduce() && !open_table_here() && stack_.size() > std::size_t{4} * limits_.body) retire();
  return false;
}

// Ends the loop that predicts. It may be the last item of a body; and the statements of its unfinished iteration may
// belong to a loop around it, so that they have to be parsed again: as items of their own they would hide that loop.
void trace_folder::close() {
  if (table_.shape && repeat_table()) return;
  nest_list unfinished;
  if (table_.shape) {
    close_table(unfinished);
  } else {
    cursor_.write_unfinished(unfinished);
    cursor_.stop();
  }
  reduce();
  parse_again(unfinished);
}

void trace_folder::parse_again(const nest_list& statements) {
  for (std::size_t k = 0; k < statements.size(); ++k) {
    const nest_shape& s = statements.shape(k);
    const std::span<const std::int64_t> parameters(statements.words(k), s.affine);
    if (!follow(s.statement, parameters)) parse(s.statement, parameters);
  }
}

void trace_folder::finish() {
  while (predicting()) close();
}

void trace_folder::start_cursor() { cursor_.start(*stack_.back().shape, words(stack_.back())); }

// ---- The stack ----

/// Hash of the shapes of a range of items. (source: Karp and Rabin 1987)
std::uint64_t trace_folder::hash_of(std::size_t from, std::size_t to) const {
  return hash_below(to) - hash_below(from) * powers_[to - from];
}

// An item whose words are the last.
void trace_folder::push_item(const nest_shape& shape) {
  if (shape.number >= latest_.size()) latest_.resize(shapes_.size(), 0);
  item i{&shape, hash_, static_cast<std::uint32_t>(words_.size() - shape.words()), latest_[shape.number], 0, 0};
  const auto number = static_cast<serial>(base_ + stack_.size());
  if (!stack_.empty()) find_period(i);
  hash_ = hash_ * hash_multiplier + shape.hash;
  latest_[shape.number] = number;
  stack_.push_back(i);
}

// The period of the item below goes on, or there is a new one: the distance to an item of this shape, preferably one
// that has the same before it.
void trace_folder::find_period(item& i) const {
  constexpr int tried = 4;
  const std::size_t n = stack_.size();
  const item& below = stack_.back();
  if (below.period > 0 && below.period <= n && stack_[n - below.period].shape == i.shape) {
    i.period = below.period;
    i.repeats = std::min<std::uint16_t>(below.repeats, std::numeric_limits<std::uint16_t>::max() - 1);
    ++i.repeats;
    return;
  }
  serial s = i.same;
  for (int k = 0; k < tried && live(s) && index(s) >= period_context; ++k, s = stack_[index(s)].same) {
    const std::size_t distance = n - index(s);
    if (distance > limits_.body || hash_of(n - period_context, n) != hash_of(index(s) - period_context, index(s)))
      continue;
    i.period = static_cast<std::uint16_t>(distance);
    i.repeats = 1;
    return;
  }
  if (!live(i.same) || n - index(i.same) > limits_.body) return;
  i.period = static_cast<std::uint16_t>(n - index(i.same));
  i.repeats = 1;
}

void trace_folder::pop_items(std::size_t count) {
  for (; count > 0; --count) {
    const item& top = stack_.back();
    latest_[top.shape->number] = top.same;
    hash_ = top.hash;
    words_.resize(top.words);
    stack_.pop_back();
  }
}

// Three copies of the longest body stay.
void trace_folder::retire() {
  const std::size_t count = stack_.size() - std::size_t{3} * limits_.body;
  for (std::size_t k = 0; k < count; ++k)
    retired_.add(*stack_[k].shape, words(stack_[k]), words(stack_[k]) + stack_[k].shape->affine);
  const std::uint32_t gone = stack_[count].words;
  stack_.erase(stack_.begin(), stack_.begin() + static_cast<std::ptrdiff_t>(count));
  words_.erase(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(gone));
  for (item& i : stack_) i.words -= gone;
  base_ += static_cast<serial>(count);
}

// ---- Folding ----

// Folds the items at the top, once: the loop that they become predicts. Candidates for the length of its body are the
// distances to items of the shape at the top, so that traces of many structures have few. A loop below them is not
// looked at: it has predicted its next iteration, and was wrong.
bool trace_folder::reduce() {
  if (stack_.empty()) return false;
  const std::uint64_t earned = std::min(statements_ - credited_, predicted_credited) + 1;
  credit_ = std::min(largest_credit, credit_ + credit_per_statement * static_cast<std::int64_t>(earned));
  credited_ = statements_;
  const std::size_t n = stack_.size();
  serial s = stack_.back().same;
  for (int k = 0; k < candidates_tried && live(s) && credit_ > 0; ++k, s = stack_[index(s)].same) {
    const std::size_t length = n - 1 - index(s);
    if (length > limits_.body || 3 * length > n) return false;
    --credit_;
    if (!three_copies(length)) continue;
    replace_by_loop(length);
    return true;
  }
  return false;
}

// Three and not two: any two copies progress, and a triangular nest does not show in fewer.
bool trace_folder::three_copies(std::size_t length) {
  const std::size_t n = stack_.size();
  if (stack_[n - 1 - 2 * length].shape != stack_[n - 1].shape) return false;
  if (const std::uint64_t last = hash_of(n - length, n);
      hash_of(n - 2 * length, n - length) != last || hash_of(n - 3 * length, n - 2 * length) != last)
    return false;
  for (std::size_t at = n; at-- > n - length;)
    if (!progresses(at, length)) return false;
  return true;
}

bool trace_folder::progresses(std::size_t at, std::size_t length) {
  --credit_;
  const item &third = stack_[at], &second = stack_[at - length], &first = stack_[at - 2 * length];
  const nest_shape& shape = *third.shape;
  if (second.shape != &shape || first.shape != &shape) return false;
  const std::int64_t *w3 = words(third), *w2 = words(second), *w1 = words(first);
  for (std::uint32_t c = 0; c < shape.affine; ++c)
    if (wrapping_subtract(w3[c], w2[c]) != wrapping_subtract(w2[c], w1[c])) return false;
  for (std::uint32_t c = shape.affine; c < shape.words(); ++c)
    if (w3[c] != w2[c] || w2[c] != w1[c]) return false;
  return true;
}

void trace_folder::replace_by_loop(std::size_t length) {
  const std::size_t first = stack_.size() - 3 * length;
  std::vector<const nest_shape*> body;
  for (std::size_t b = 0; b < length; ++b) body.push_back(stack_[first + b].shape);
  const nest_shape& shape = shapes_.loop(nest_shape::form::loop, body);
  loop_.assign(shape.words(), 0);
  loop_[0] = 3;
  std::int64_t *affine = loop_.data() + 1, *rigid = loop_.data() + shape.affine, *strides = rigid + shape.body_rigid;
  for (std::size_t b = 0; b < length; ++b) {
    const nest_shape::child& part = shape.body[b];
    const std::int64_t *w1 = words(stack_[first + b]), *w2 = words(stack_[first + length + b]);
    std::copy_n(w1, part.shape->affine, affine + part.affine);
    std::copy_n(w1 + part.shape->affine, part.shape->rigid, rigid + part.rigid);
    for (std::uint32_t c = 0; c < part.shape->affine; ++c) strides[part.affine + c] = wrapping_subtract(w2[c], w1[c]);
  }
  pop_items(3 * length);
  absorb(shape);
  words_.insert(words_.end(), loop_.begin(), loop_.end());
  push_item(shape);
  start_cursor();
}

// Items below the loop that is being formed may be the iteration before its first: that of a triangular nest has an
// inner loop of one or two iterations, which is never folded.
void trace_folder::absorb(const nest_shape& loop) {
  constexpr int most = 64;
  std::int64_t *affine = loop_.data() + 1, *rigid = loop_.data() + loop.affine, *strides = rigid + loop.body_rigid;
  std::vector<std::int64_t> before(loop.body_affine);
  for (int k = 0; k < most && !stack_.empty(); ++k) {
    const nest_shape& last = *loop.body.back().shape;
    if (stack_.back().shape != &last && !last.is_loop()) return;
    for (std::size_t c = 0; c < before.size(); ++c) before[c] = wrapping_subtract(affine[c], strides[c]);
    const std::size_t n = stack_.size();
    for (const nest_shape::child& part : loop.body)
      push_instance(*part.shape, before.data() + part.affine, rigid + part.rigid);
    const std::size_t length = stack_.size() - n;
    bool equal = length > 0 && length <= n;
    for (std::size_t i = n; i < stack_.size() && equal; ++i) {
      const item &made = stack_[i], &there = stack_[i - length];
      equal = made.shape == there.shape && std::equal(words(made), words(made) + made.shape->words(), words(there));
    }
    pop_items(length);
    if (!equal) return;
    pop_items(length);
    std::copy(before.begin(), before.end(), affine);
    ++loop_[0];
  }
}

// As folding would have left it: loops of one or two iterations are written out.
void trace_folder::push_instance(const nest_shape& shape, const std::int64_t* affine, const std::int64_t* rigid) {
  if (!shape.is_loop() || affine[0] > 2) {
    words_.insert(words_.end(), affine, affine + shape.affine);
    words_.insert(words_.end(), rigid, rigid + shape.rigid);
    push_item(shape);
    return;
  }
  const std::int64_t* strides = shape.strides(rigid);
  std::vector<std::int64_t> body(affine + 1, affine + shape.affine);
  for (std::int64_t k = 0; k < affine[0]; ++k) {
    for (const nest_shape::child& part : shape.body)
      push_instance(*part.shape, body.data() + part.affine, rigid + part.rigid);
    for (std::size_t c = 0; c < body.size(); ++c) body[c] = wrapping_add(body[c], strides[c]);
  }
}

}  // namespace sinter::jit
