#include "jit/fold/row_table.hpp"

#include <algorithm>
#include <utility>

namespace sinter::jit {

namespace {

bool progresses(const std::vector<std::int64_t>& values) {
  for (std::size_t k = 2; k < values.size(); ++k)
    if (wrapping_subtract(values[k], values[k - 1]) != values[1]) return false;  // values[0] is 0
  return true;
}

}  // namespace

table_column table_store::intern(std::vector<std::int64_t> values) {
  std::uint64_t hash = values.size();
  for (const std::int64_t v : values) hash = spread_bits(hash ^ static_cast<std::uint64_t>(v));
  const auto [first, last] = by_values_.equal_range(hash);
  for (auto found = first; found != last; ++found)
    if (*found->second == values) return found->second;
  values.shrink_to_fit();
  bytes_ += values.size() * sizeof(std::int64_t) + sizeof(std::vector<std::int64_t>);
  return by_values_.emplace(hash, std::make_shared<const std::vector<std::int64_t>>(std::move(values)))->second;
}

std::int64_t table_store::intern(std::int64_t rows, std::vector<traced_table::column> columns) {
  std::uint64_t hash = spread_bits(static_cast<std::uint64_t>(rows));
  for (const auto& c : columns) hash = spread_bits(hash ^ reinterpret_cast<std::uintptr_t>(c.values.get()) ^ c.word);
  const auto [first, last] = by_columns_.equal_range(hash);
  for (auto found = first; found != last; ++found)
    if (const traced_table& t = at(found->second); t.rows == rows && t.columns == columns) return found->second;
  bytes_ += sizeof(traced_table) + columns.size() * sizeof(traced_table::column);
  tables_.push_back({rows, std::move(columns)});
  const auto number = static_cast<std::int64_t>(tables_.size() - 1);
  by_columns_.emplace(hash, number);
  return number;
}

void table_store::clear() {
  tables_.clear();
  by_columns_.clear();
  by_values_.clear();
  bytes_ = 0;
}

void row_table::start(std::size_t columns) {
  columns_.assign(columns, column{});
  irregular_ = 0;
  rows_ = affine_run_ = 0;
}

void row_table::append(const std::int64_t* row) {
  if (rows_ < 2) {
    append_second(row);
    return;
  }
  std::int64_t changed = 0;
  for (column& c : columns_) {
    const std::int64_t value = *row++;
    const std::int64_t step = wrapping_subtract(value, c.last);
    changed |= step ^ c.step;
    if (!c.irregular && step != c.stride) make_irregular(c);
    if (c.irregular) c.values.push_back(wrapping_subtract(value, c.first));
    c.last = value;
    c.step = step;
  }
  affine_run_ = changed == 0 ? affine_run_ + 1 : 0;
  ++rows_;
}

// Any two rows are a progression.
void row_table::append_second(const std::int64_t* row) {
  for (column& c : columns_) {
    const std::int64_t value = *row++;
    if (rows_ == 0) c.first = value;
    else c.stride = c.step = wrapping_subtract(value, c.first);
    c.last = value;
  }
  ++rows_;
}

void row_table::make_irregular(column& c) {
  c.irregular = true;
  ++irregular_;
  c.values.reserve(static_cast<std::size_t>(rows_) * 2);
  for (std::int64_t k = 0; k < rows_; ++k) c.values.push_back(wrapping_multiply(k, c.stride));
  c.stride = 0;
}

void row_table::truncate(std::int64_t rows) {
  rows_ = rows;
  for (column& c : columns_)
    if (c.irregular) c.values.resize(static_cast<std::size_t>(rows));
}

void row_table::read(std::int64_t row, std::int64_t* values) const {
  const auto at = static_cast<std::size_t>(row);
  for (const column& c : columns_)
    *values++ = wrapping_add(c.first, c.irregular ? c.values[at] : wrapping_multiply(row, c.stride));
}

// A row differs from that a period before it as the last one does.
bool row_table::repeats(std::int64_t row, std::int64_t period) const {
  const auto at = static_cast<std::size_t>(row), before = static_cast<std::size_t>(row - period);
  const auto end = static_cast<std::size_t>(rows_ - 1), before_end = static_cast<std::size_t>(rows_ - 1 - period);
  return std::ranges::all_of(columns_, [&](const column& c) {
    return !c.irregular ||
           wrapping_subtract(c.values[at], c.values[before]) == wrapping_subtract(c.values[end], c.values[before_end]);
  });
}

std::int64_t row_table::period() const {
  std::int64_t comparisons = 4 * rows_;  // for few different values there may be many candidates
  for (std::int64_t period = 1; period <= rows_ / 3 && comparisons > 0; ++period) {
    const std::int64_t lowest = std::min(rows_ - 2 * period, rows_ / 2 + period);
    std::int64_t row = rows_ - 2;
    while (row >= lowest && repeats(row, period)) --row;
    if (row < lowest) return period;
    comparisons -= rows_ - 1 - row;
  }
  return 0;
}

std::int64_t row_table::period_begin(std::int64_t period) const {
  std::int64_t begin = rows_ - 3 * period;
  while (begin > 0 && repeats(begin - 1 + period, period)) --begin;
  return begin;
}

std::int64_t row_table::close(table_store& tables) {
  std::vector<traced_table::column> kept;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::vector<std::int64_t>& values = columns_[c].values;
    if (!columns_[c].irregular) continue;
    // What made it irregular may have been truncated; equal tables have to be written in one way.
    if (progresses(values)) columns_[c].stride = values.size() > 1 ? values[1] : 0;
    else kept.push_back({static_cast<std::uint32_t>(c), tables.intern(std::move(values))});
  }
  return tables.intern(rows_, std::move(kept));
}

}  // namespace sinter::jit
