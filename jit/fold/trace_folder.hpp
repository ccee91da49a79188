// The folder: recorded statements become nests of loops while they are recorded.
#pragma once

#include "jit/fold/loop_cursor.hpp"
#include "jit/fold/nest_shape.hpp"
#include "jit/fold/row_table.hpp"
#include "jit/fold/trace.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace sinter::jit {

struct folding_limits {
  std::uint32_t body = 256;         ///< items of a loop; at most 2^14
  std::uint32_t table_after = 192;  ///< statements of one structural period that did not fold become a table
  std::uint32_t table_exit = 48;    ///< rows that progress in all columns end a table
};

/// Folds a trace of statements into loops while it is recorded: memory is that of the structure, not of the iterations.
///
/// Items, which are statements and loops, are on a stack. Three equal copies of the items at its top, whose numbers
/// progress, become a loop; the loop then predicts the statements to come, and one that is as predicted costs a few
/// nanoseconds. A loop that mispredicts is closed; only then may it be folded into a loop around it. What the stack and
/// the unfinished iteration stand for is always exactly the trace: each step compares all numbers first, so a wrong
/// guess costs size alone. Numbers that do not progress become tables, a column for each.
/// (source: Ketterlin and Clauss, "Prediction and Trace Compression of Data Access Addresses through Nested Loop
/// Recognition", CGO 2008; predicting, tables and the bounds on the search are additions)
class trace_folder {
 public:
  explicit trace_folder(const folding_limits& limits = {});
  trace_folder(const trace_folder&) = delete;
  trace_folder& operator=(const trace_folder&) = delete;

  /// A statement: its structure, not negative, which always has the same number of parameters.
  void push(std::int32_t structure, std::span<const std::int64_t> parameters) {
    ++statements_;
    if (cursor_.expects(structure, parameters)) [[likely]] {
      cursor_.advance();
      follows_ = true;
    } else {
      follows_ = follow_table(structure, parameters) || parse(structure, parameters);
    }
  }
  /// Everything pushed so far, folded; the folder is empty afterwards.
  std::vector<trace_item> take();

  /// Pushed since take().
  std::uint64_t statements() const { return statements_; }
  /// Held by items and tables.
  std::size_t bytes() const;
  /// What is not folded away, whether or not it can still be folded.
  std::size_t items() const { return stack_.size() + retired_.size(); }
  /// The last statement was the one that a loop predicted, or the next of a table's row.
  bool follows() const { return follows_; }

 private:
  // Serial numbers count items; those from base_ on are on the stack. 0 is no item.
  using serial = std::uint32_t;

  struct item {
    const nest_shape* shape;
    std::uint64_t hash;     // of the shapes below it
    std::uint32_t words;    // where its words begin
    serial same;            // the nearest item below of its shape
    std::uint16_t period;   // distance to an item below of the same shape, 0 if there is none,
    std::uint16_t repeats;  // and how many items in a row up to this one have one at that distance
  };
  static_assert(sizeof(item) == 32);

  struct open_table {
    const nest_shape* shape = nullptr;  // null when none is recorded
    row_table rows;
    std::vector<std::int64_t> row;  // the unfinished one
    std::size_t next = 0;           // statement of the row
  };

  bool live(serial s) const { return s >= base_; }
  std::size_t index(serial s) const { return s - base_; }
  std::int64_t* words(const item& i) { return words_.data() + i.words; }
  std::uint64_t hash_below(std::size_t k) const { return k < stack_.size() ? stack_[k].hash : hash_; }
  std::uint64_t hash_of(std::size_t from, std::size_t to) const;

  bool follow(std::int32_t structure, std::span<const std::int64_t> parameters);
  bool parse(std::int32_t structure, std::span<const std::int64_t> parameters);
  void push_item(const nest_shape& shape);
  void find_period(item& i) const;
  void pop_items(std::size_t count);
  void retire();

  bool reduce();
  bool three_copies(std::size_t length);
  bool progresses(std::size_t at, std::size_t length);
  void replace_by_loop(std::size_t length);
  void absorb(const nest_shape& loop);
  void push_instance(const nest_shape& shape, const std::int64_t* affine, const std::int64_t* rigid);

  bool predicting() const { return cursor_.active() || table_.shape; }
  void start_cursor();
  void close();
  void parse_again(const nest_list& statements);
  void finish();

  bool open_table_here();
  nest_list regular_statements(std::size_t period);
  bool follow_table(std::int32_t structure, std::span<const std::int64_t> parameters);
  void end_row();
  void leave_table();
  bool repeat_table();
  void write_rows(const row_table& rows, std::int64_t begin, nest_list& statements) const;
  void push_table();
  void push_table(const row_table& rows, std::int64_t begin, std::int64_t end);
  void close_table(nest_list& unfinished);

  folding_limits limits_;
  nest_shapes shapes_;
  table_store tables_;
  std::vector<item> stack_;
  std::vector<std::int64_t> words_;
  std::uint64_t hash_ = 0;  // of all items
  serial base_ = 1;
  std::vector<serial> latest_;  // by shape: the item nearest to the top
  nest_list retired_;           // too far below the top to be folded
  loop_cursor cursor_;
  open_table table_;
  std::vector<std::uint64_t> powers_;  // of the hash's multiplier
  std::vector<std::int64_t> loop_;     // words of the loop that is being formed
  std::int64_t credit_ = 0;            // candidates for loops that may still be looked at
  std::uint64_t credited_ = 0;         // statements that have earned it
  std::uint64_t statements_ = 0;
  bool follows_ = false;
};

/// The statements that `items` stand for, in order (for tests and for items that are not worth a loop).
void unroll(std::span<const trace_item> items,
            const std::function<void(std::int32_t, std::span<const std::int64_t>)>& statement);

}  // namespace sinter::jit
