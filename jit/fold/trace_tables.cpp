// Table loops of the folder: opened when statements of one structure do not progress, left when they do again.
#include "jit/fold/trace_folder.hpp"
#include "jit/fold/wrapping.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace sinter::jit {

// The items at the top may have been of one structural period for so long that nothing but a table can hold them. Not
// earlier: the statements of a long body without loops may have one structure, too.
bool trace_folder::open_table_here() {
  constexpr std::size_t fewest_rows = 4;
  const std::size_t period = stack_.back().period, regular = stack_.back().repeats + period;
  if (period == 0 || stack_.back().repeats < limits_.table_after) return false;
  if (regular < fewest_rows * period || stack_.size() < fewest_rows * period) return false;
  for (std::size_t k = stack_.size() - period; k < stack_.size(); ++k)
    if (!stack_[k].shape->is_statement()) return false;
  const nest_list statements = regular_statements(period);
  std::vector<const nest_shape*> body;
  for (std::size_t k = 0; k < period; ++k) body.push_back(&statements.shape(k));
  table_.shape = &shapes_.loop(nest_shape::form::table, body);
  table_.rows.start(table_.shape->body_affine);
  // The words of statements in a row are a row of the table.
  std::size_t at = 0;
  for (; at + period <= statements.size(); at += period) table_.rows.append(statements.words(at));
  table_.row.assign(table_.shape->body_affine, 0);
  table_.next = statements.size() - at;
  for (std::size_t k = 0; k < table_.next; ++k, ++at)
    std::copy_n(statements.words(at), body[k]->affine, table_.row.begin() + table_.shape->body[k].affine);
  return true;
}

// Takes the statements of this period off the stack, up to the first: rows begin where the period does. Three rows may
// progress by accident, so short loops are written out.
nest_list trace_folder::regular_statements(std::size_t period) {
  std::vector<const nest_shape*> shapes;  // from the last to the first
  std::size_t first = stack_.size();
  for (; first > 0; --first) {
    const nest_shape& shape = *stack_[first - 1].shape;
    const std::int64_t* affine = words(stack_[first - 1]);
    if (!shape.is_statement() && (!shape.is_loop() || shape.depth > 1 || affine[0] >= limits_.table_exit)) break;
    nest_list parts;
    write_out(shape, affine, affine + shape.affine, tables_, parts);
    bool regular = true;
    for (std::size_t k = parts.size(); k-- > 0; shapes.push_back(&parts.shape(k)))
      regular &= shapes.size() < period || shapes[shapes.size() - period] == &parts.shape(k);
    if (!regular) break;
  }
  nest_list statements;
  for (std::size_t k = first; k < stack_.size(); ++k) {
    const nest_shape& shape = *stack_[k].shape;
    write_out(shape, words(stack_[k]), words(stack_[k]) + shape.affine, tables_, statements);
  }
  pop_items(stack_.size() - first);
  return statements;
}

bool trace_folder::follow_table(std::int32_t structure, std::span<const std::int64_t> parameters) {
  if (!table_.shape) return false;
  const nest_shape::child& expected = table_.shape->body[table_.next];
  if (expected.shape->statement != structure) return false;
  std::copy(parameters.begin(), parameters.end(), table_.row.begin() + expected.affine);
  if (++table_.next == table_.shape->body.size()) end_row();
  return true;
}

void trace_folder::end_row() {
  table_.next = 0;
  table_.rows.append(table_.row.data());
  if (table_.rows.affine_rows() >= limits_.table_exit + 2) leave_table();
  else if (std::has_single_bit(static_cast<std::uint64_t>(table_.rows.rows()))) repeat_table();
}

// The table may have gone through the same rows three times: a loop without other statements does that in each time
// step. It becomes a loop over a table, which predicts. Looked for whenever the table has doubled, which costs little a
// row.
bool trace_folder::repeat_table() {
  const std::int64_t period = table_.rows.period();
  if (period == 0) return false;
  const nest_shape& table = *table_.shape;
  const row_table rows = std::move(table_.rows);
  const std::int64_t begin = rows.period_begin(period), count = (rows.rows() - begin) / period;
  nest_list rest;  // the rows that are over, and the row that is not yet whole
  write_rows(rows, begin + count * period, rest);
  if (begin > 0) push_table(rows, 0, begin);
  push_table(rows, begin, begin + period);

  const nest_shape* body[] = {&table};
  const nest_shape& loop = shapes_.loop(nest_shape::form::loop, body);
  const std::int64_t* inner = words(stack_.back());
  loop_.assign(1, count);
  loop_.insert(loop_.end(), inner, inner + table.words());
  loop_.push_back(0);  // the stride of the table's count
  std::vector<std::int64_t> second(table.body_affine);
  rows.read(begin + period, second.data());
  for (std::size_t c = 0; c < second.size(); ++c) loop_.push_back(wrapping_subtract(second[c], inner[1 + c]));
  pop_items(1);
  table_.shape = nullptr;
  table_.next = 0;
  words_.insert(words_.end(), loop_.begin(), loop_.end());
  push_item(loop);
  start_cursor();
  parse_again(rest);
  return true;
}

void trace_folder::write_rows(const row_table& rows, std::int64_t begin, nest_list& statements) const {
  const auto add = [&](const std::int64_t* row, std::size_t count) {
    for (const nest_shape::child& part : std::span(table_.shape->body).first(count))
      statements.add(*part.shape, row + part.affine, nullptr);
  };
  std::vector<std::int64_t> row(table_.shape->body_affine);
  for (std::int64_t k = begin; k < rows.rows(); ++k) {
    rows.read(k, row.data());
    add(row.data(), table_.shape->body.size());
  }
  add(table_.row.data(), table_.next);
}

// The last rows progress in all columns: they become a loop of their own, which predicts.
void trace_folder::leave_table() {
  row_table& rows = table_.rows;
  std::vector<const nest_shape*> body;
  for (const nest_shape::child& part : table_.shape->body) body.push_back(part.shape);
  const nest_shape& shape = shapes_.loop(nest_shape::form::loop, body);
  const std::int64_t count = rows.affine_rows();
  loop_.assign(shape.words(), 0);
  loop_[0] = count;
  for (std::uint32_t c = 0; c < shape.body_affine; ++c) {
    loop_[1 + c] = wrapping_subtract(rows.last(c), wrapping_multiply(count - 1, rows.step(c)));
    loop_[shape.affine + shape.body_rigid + c] = rows.step(c);
  }
  rows.truncate(rows.rows() - count);
  if (rows.rows() > 0) push_table();
  table_.shape = nullptr;
  words_.insert(words_.end(), loop_.begin(), loop_.end());
  push_item(shape);
  start_cursor();
}

void trace_folder::push_table() {
  const nest_shape& shape = *table_.shape;
  const std::int64_t rows = table_.rows.rows(), number = table_.rows.close(tables_);
  words_.push_back(rows);
  for (std::uint32_t c = 0; c < shape.body_affine; ++c) words_.push_back(table_.rows.first(c));
  for (std::uint32_t c = 0; c < shape.body_affine; ++c) words_.push_back(table_.rows.stride(c));
  words_.push_back(number);
  push_item(shape);
}

void trace_folder::push_table(const row_table& rows, std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> row(table_.shape->body_affine);
  table_.rows.start(row.size());
  for (std::int64_t k = begin; k < end; ++k) {
    rows.read(k, row.data());
    table_.rows.append(row.data());
  }
  push_table();
}

void trace_folder::close_table(nest_list& unfinished) {
  write_rows(table_.rows, table_.rows.rows(), unfinished);
  push_table();
  table_.shape = nullptr;
  table_.next = 0;
}

}  // namespace sinter::jit
