#include "jit/fold/loop_cursor.hpp"

#include <algorithm>
#include <limits>

namespace sinter::jit {

void loop_cursor::start(const nest_shape& loop, std::int64_t* words) {
  count_ = words;
  room_.resize(std::max<std::size_t>(room_.size(), std::size_t{loop.affine} * (loop.depth + 1)));
  levels_.clear();
  levels_.reserve(loop.depth);
  const std::int64_t* rigid = words + loop.affine;
  levels_.push_back({&loop, nullptr, words + 1, rigid, loop.strides(rigid), room_.data(), words[0],
                     std::numeric_limits<std::int64_t>::max(), 0});
  inner_ = &levels_.back();
  for (std::uint32_t c = 0; c < loop.body_affine; ++c)
    inner_->words[c] = wrapping_add(words[1 + c], wrapping_multiply(words[0], inner_->strides[c]));
  ran_ = false;
  find_statement();
}

void loop_cursor::stop() {
  levels_.clear();
  structure_ = -1;
}

// Before the iteration that would come next, which has no statements: it must not be counted.
void loop_cursor::expect_nothing() {
  levels_.resize(1);
  inner_ = levels_.data();
  inner_->next = 0;
  structure_ = -1;
}

void loop_cursor::enter(const nest_shape::child& loop) {
  const level& outer = *inner_;
  const nest_shape& shape = *loop.shape;
  const std::int64_t* affine = outer.words + loop.affine;
  const std::int64_t* rigid = outer.rigid + loop.rigid;
  const traced_table* table = shape.is_table() ? &tables_.at(shape.table(rigid)) : nullptr;
  levels_.push_back({&shape, table, affine + 1, rigid, shape.strides(rigid), outer.words + outer.shape->body_affine, 0,
                     affine[0], 0});
  inner_ = &levels_.back();
  std::copy(affine + 1, affine + shape.affine, inner_->words);
}

// From before an item of a body, which may be at its end, to the first statement.
void loop_cursor::find_statement() {
  for (;;) {
    level& l = *inner_;
    if (l.next < l.shape->body.size()) {
      const nest_shape::child& item = l.shape->body[l.next];
      std::int64_t* words = l.words + item.affine;
      if (item.shape->is_statement()) {
        expect(item, words);
        return;
      }
      if (words[0] > 0) enter(item);
      else ++l.next;
    } else if (levels_.size() == 1 && !ran_) {
      expect_nothing();
      return;
    } else if (l.iteration + 1 < l.count) {
      next_iteration(l);
      if (l.table) l.table->select(l.iteration, l.first, l.words);
    } else {
      levels_.pop_back();
      inner_ = &levels_.back();
      ++inner_->next;
    }
  }
}

void loop_cursor::write_unfinished(nest_list& statements) const {
  std::vector<std::int64_t> affine;
  for (std::size_t k = 0; k < levels_.size(); ++k) {
    const level& l = levels_[k];
    if (k > 0 && l.iteration > 0) {  // whole iterations of an inner loop
      affine.assign(l.first - 1, l.first - 1 + l.shape->affine);
      affine[0] = l.iteration;
      write_out(*l.shape, affine.data(), l.rigid, tables_, statements);
    }
    for (std::size_t b = 0; b < l.next; ++b) {
      const nest_shape::child& item = l.shape->body[b];
      write_out(*item.shape, l.words + item.affine, l.rigid + item.rigid, tables_, statements);
    }
  }
}

}  // namespace sinter::jit
