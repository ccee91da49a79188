// What a folded trace consists of: nests, whose shapes are interned and whose numbers are rows of words.
#pragma once

#include "jit/fold/row_table.hpp"

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

namespace sinter::jit {

/// Which statements in which loops. Equal shapes are one object, so that they compare as pointers.
///
/// The numbers of a nest are words, first the affine ones, which may progress from one iteration of a loop around it to
/// the next, then the rigid ones, which are the same in all of them:
///
///     statement   affine: parameters             rigid: none
///     loop        affine: count, then those of   rigid: those of the body's items, then the stride of each affine word
///                 the body's items                      of the body
///     table       affine: count, then the first  rigid: like a loop, then the number of the table; the stride is 0
///                 row                                   where the table has a column
///
/// A trip count is an affine word, so triangular nests are nothing special. Folding compares rows of words and never
/// walks the tree.
struct nest_shape {
  enum class form : std::uint8_t { statement, loop, table };
  struct child {
    const nest_shape* shape;
    std::uint32_t affine, rigid;  ///< where its words begin among those of the body
  };

  form kind = form::statement;
  std::uint32_t number = 0;                       ///< among all shapes
  std::int32_t statement = -1;                    ///< its structure, when it is one
  std::int32_t first = -1, last = -1;             ///< structures of the first and the last statement in it
  std::uint32_t affine = 0, rigid = 0;            ///< words
  std::uint32_t body_affine = 0, body_rigid = 0;  ///< of the body's items
  std::uint32_t depth = 0;                        ///< loops in one another
  std::uint64_t hash = 0;
  std::vector<child> body;

  bool is_statement() const { return kind == form::statement; }
  bool is_loop() const { return kind == form::loop; }
  bool is_table() const { return kind == form::table; }
  /// A loop over one statement and nothing else.
  bool is_row() const { return kind == form::loop && body.size() == 1 && body[0].shape->is_statement(); }
  std::uint32_t words() const { return affine + rigid; }

  const std::int64_t* strides(const std::int64_t* rigid_words) const { return rigid_words + body_rigid; }
  std::int64_t table(const std::int64_t* rigid_words) const { return rigid_words[body_rigid + body_affine]; }
};

/// All shapes there are.
class nest_shapes {
 public:
  const nest_shape& statement(std::int32_t structure, std::size_t parameters);
  const nest_shape& loop(nest_shape::form kind, std::span<const nest_shape* const> body);
  std::size_t size() const { return shapes_.size(); }
  void clear();

 private:
  nest_shape& add(nest_shape::form kind);

  std::deque<nest_shape> shapes_;
  std::vector<const nest_shape*> statements_;  // by structure
  std::unordered_multimap<std::uint64_t, const nest_shape*> loops_;
};

/// Nests in order.
class nest_list {
 public:
  std::size_t size() const { return nests_.size(); }
  const nest_shape& shape(std::size_t k) const { return *nests_[k].shape; }
  const std::int64_t* words(std::size_t k) const { return words_.data() + nests_[k].words; }
  std::int64_t* words(std::size_t k) { return words_.data() + nests_[k].words; }
  const std::int64_t* rigid(std::size_t k) const { return words(k) + shape(k).affine; }
  void add(const nest_shape& shape, const std::int64_t* affine, const std::int64_t* rigid);
  std::size_t bytes() const { return nests_.size() * sizeof(nest) + words_.size() * sizeof(std::int64_t); }

 private:
  struct nest {
    const nest_shape* shape;
    std::size_t words;
  };

  std::vector<nest> nests_;
  std::vector<std::int64_t> words_;
};

/// Adds the statements that a nest stands for.
void write_out(const nest_shape& shape, const std::int64_t* affine, const std::int64_t* rigid,
               const table_store& tables, nest_list& statements);

}  // namespace sinter::jit
