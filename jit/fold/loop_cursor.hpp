// The prediction: where in the next iteration of a loop the trace has come to, and which statement it expects there.
#pragma once

#include "jit/fold/nest_shape.hpp"
#include "jit/fold/wrapping.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace sinter::jit {

/// Walks the statements of the iterations that a loop would have next. While the trace agrees, a statement costs one
/// comparison and one addition a parameter. One level per loop that it is inside of, each with a copy of its body's
/// affine words as of its current iteration.
class loop_cursor {
 public:
  explicit loop_cursor(const table_store& tables) : tables_(tables) {}

  /// Stands before the iteration after the last of a loop with these words, whose count it raises at the end of each
  /// iteration; they have to stay where they are until stop().
  void start(const nest_shape& loop, std::int64_t* words);
  void stop();
  bool active() const { return !levels_.empty(); }

  bool expects(std::int32_t structure, std::span<const std::int64_t> parameters) const {
    if (structure != structure_) return false;
    std::int64_t different = 0;
    for (std::size_t c = 0; c < parameters.size(); ++c) different |= parameters[c] ^ parameters_[c];
    return different == 0;
  }

  /// The expected statement has come.
  void advance() {
    level& l = *inner_;
    ran_ = true;
    if (++l.next < l.shape->body.size()) {
      if (const nest_shape::child& item = l.shape->body[l.next]; item.shape->is_statement()) {
        expect(item, l.words + item.affine);
        return;
      }
    } else if (const nest_shape::child& item = l.shape->body[0];
               item.shape->is_statement() && l.iteration + 1 < l.count && !l.table) {
      next_iteration(l);
      expect(item, l.words);
      return;
    }
    find_statement();
  }

  /// Adds the statements since the last whole iteration.
  void write_unfinished(nest_list& statements) const;

 private:
  struct level {
    const nest_shape* shape;
    const traced_table* table;  // null for a loop
    const std::int64_t* first;  // affine words of the body's first iteration
    const std::int64_t* rigid;
    const std::int64_t* strides;
    std::int64_t* words;  // affine words of the body's current iteration
    std::int64_t iteration, count;
    std::size_t next;  // item of the body
  };

  void expect(const nest_shape::child& item, const std::int64_t* parameters) {
    structure_ = item.shape->statement;
    parameters_ = parameters;
  }
  void next_iteration(level& l) {
    ++l.iteration;
    l.next = 0;
    for (std::uint32_t c = 0; c < l.shape->body_affine; ++c) l.words[c] = wrapping_add(l.words[c], l.strides[c]);
    if (levels_.size() > 1) return;
    *count_ = l.iteration;
    ran_ = false;
  }
  void find_statement();
  void enter(const nest_shape::child& loop);
  void expect_nothing();

  const table_store& tables_;
  std::int32_t structure_ = -1;               // of the expected statement; no statement has -1
  const std::int64_t* parameters_ = nullptr;  // of the expected statement
  level* inner_ = nullptr;                    // the last of levels_
  bool ran_ = false;                          // a statement of the outermost loop's current iteration
  std::int64_t* count_ = nullptr;             // of the outermost loop
  std::vector<level> levels_;
  std::vector<std::int64_t> room_;  // for the levels' words
};

}  // namespace sinter::jit
