// Tables: loops in which some numbers do not progress, so that each row's are kept.
#pragma once

#include "jit/fold/trace.hpp"
#include "jit/fold/wrapping.hpp"

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace sinter::jit {

/// The numbers of a table loop that do not progress.
struct traced_table {
  struct column {
    std::uint32_t word;   ///< of the loop's body
    table_column values;  ///< relative to the first row
    friend bool operator==(const column&, const column&) = default;
  };
  std::int64_t rows = 0;
  std::vector<column> columns;

  /// Sets those of `words` that have a column to their values in this row.
  void select(std::int64_t row, const std::int64_t* first_row, std::int64_t* words) const {
    for (const column& c : columns)
      words[c.word] = wrapping_add(first_row[c.word], (*c.values)[static_cast<std::size_t>(row)]);
  }
};

/// All tables of a trace, interned: as they are relative to their first row, a permutation that every time step goes
/// through is one table, and columns with equal contents are one column.
class table_store {
 public:
  /// Columns' words have to ascend.
  std::int64_t intern(std::int64_t rows, std::vector<traced_table::column> columns);
  table_column intern(std::vector<std::int64_t> values);
  const traced_table& at(std::int64_t number) const { return tables_[static_cast<std::size_t>(number)]; }
  std::size_t bytes() const { return bytes_; }
  void clear();

 private:
  std::deque<traced_table> tables_;
  std::unordered_multimap<std::uint64_t, std::int64_t> by_columns_;
  std::unordered_multimap<std::uint64_t, table_column> by_values_;
  std::size_t bytes_ = 0;
};

/// Rows of a table while they are recorded. A column is a progression as long as its values are one.
class row_table {
 public:
  void start(std::size_t columns);
  void append(const std::int64_t* row);
  /// Forgets all rows but the first `rows`.
  void truncate(std::int64_t rows);
  void read(std::int64_t row, std::int64_t* values) const;
  /// At least half of the rows, up to the last, are three times n rows or more often, from each time to the next with
  /// one difference throughout: the smallest such n, or 0.
  std::int64_t period() const;
  /// The first of the rows at the end that have this period.
  std::int64_t period_begin(std::int64_t period) const;
  /// The table's number; what was recorded is handed over.
  std::int64_t close(table_store& tables);

  std::int64_t rows() const { return rows_; }
  /// So many rows at the end continue a progression in all columns.
  std::int64_t affine_rows() const { return rows_ < 2 ? rows_ : affine_run_ + 2; }
  std::int64_t first(std::size_t c) const { return columns_[c].first; }
  std::int64_t last(std::size_t c) const { return columns_[c].last; }
  std::int64_t step(std::size_t c) const { return columns_[c].step; }  ///< between the last two rows
  /// 0 where it is no progression.
  std::int64_t stride(std::size_t c) const { return columns_[c].stride; }
  /// What the next row has if the column goes on as it does.
  std::int64_t expected(std::size_t c) const { return wrapping_add(columns_[c].last, columns_[c].stride); }
  std::size_t bytes() const { return columns_.size() * sizeof(column) + irregular_ * rows_bytes(); }

 private:
  struct column {
    std::int64_t first = 0, stride = 0;
    std::int64_t last = 0, step = 0;
    bool irregular = false;
    std::vector<std::int64_t> values;  // relative to the first
  };

  std::size_t rows_bytes() const { return static_cast<std::size_t>(rows_) * sizeof(std::int64_t); }
  bool repeats(std::int64_t row, std::int64_t period) const;
  void append_second(const std::int64_t* row);
  void make_irregular(column& c);

  std::vector<column> columns_;
  std::size_t irregular_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t affine_run_ = 0;
};

}  // namespace sinter::jit
