#include "jit/fold/trace_tree.hpp"

#include "jit/fold/trace_folder.hpp"
#include "jit/fold/wrapping.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

bool is_constant(const traced_number& n) {
  return !n.column && std::ranges::all_of(n.coefficients, [](std::int64_t k) { return k == 0; });
}

class builder {
 public:
  explicit builder(const table_store& tables) : tables_(tables) {}

  void add(const nest_shape& shape, std::span<const traced_number> numbers, const std::int64_t* rigid,
           std::vector<trace_item>& items) {
    if (shape.is_statement()) {
      items.emplace_back().statement = shape.statement;
      items.back().parameters.assign(numbers.begin(), numbers.end());
      return;
    }
    const traced_number& count = numbers[0];
    const bool constant = is_constant(count);
    if (constant && count.constant <= 0) return;
    if (constant && count.constant == 1) {
      add_body(shape, numbers.subspan(1), rigid, items);
      return;
    }
    trace_item loop;
    loop.count = count;
    const std::vector<traced_number> body = in_loop(shape, numbers.subspan(1), rigid);
    ++depth_;
    add_body(shape, body, rigid, loop.body);
    --depth_;
    items.push_back(std::move(loop));
  }

 private:
  void add_body(const nest_shape& shape, std::span<const traced_number> numbers, const std::int64_t* rigid,
                std::vector<trace_item>& items) {
    for (const nest_shape::child& part : shape.body)
      add(*part.shape, numbers.subspan(part.affine, part.shape->affine), rigid + part.rigid, items);
  }

  // The body's numbers as they depend on the counter of this loop, too.
  std::vector<traced_number> in_loop(const nest_shape& shape, std::span<const traced_number> numbers,
                                     const std::int64_t* rigid) const {
    std::vector<traced_number> body(numbers.begin(), numbers.end());
    for (std::size_t c = 0; c < body.size(); ++c) body[c].coefficients.push_back(shape.strides(rigid)[c]);
    if (!shape.is_table()) return body;
    for (const traced_table::column& c : tables_.at(shape.table(rigid)).columns) {
      body[c.word].column = c.values;
      body[c.word].column_loop = depth_;
    }
    return body;
  }

  const table_store& tables_;
  std::int32_t depth_ = 0;
};

std::int64_t value_of(const traced_number& n, const std::vector<std::int64_t>& counters) {
  std::int64_t value = n.constant;
  for (std::size_t k = 0; k < n.coefficients.size(); ++k)
    value = wrapping_add(value, wrapping_multiply(n.coefficients[k], counters[k]));
  if (!n.column) return value;
  const auto row = static_cast<std::size_t>(counters[static_cast<std::size_t>(n.column_loop)]);
  return wrapping_add(value, n.column->at(row));
}

using statement_function = std::function<void(std::int32_t, std::span<const std::int64_t>)>;

void unroll_in(std::span<const trace_item> items, std::vector<std::int64_t>& counters,
               const statement_function& statement) {
  std::vector<std::int64_t> parameters;
  for (const trace_item& i : items) {
    if (i.is_loop()) {
      const std::int64_t count = value_of(i.count, counters);
      counters.push_back(0);
      for (; counters.back() < count; ++counters.back()) unroll_in(i.body, counters, statement);
      counters.pop_back();
      continue;
    }
    parameters.clear();
    for (const traced_number& p : i.parameters) parameters.push_back(value_of(p, counters));
    statement(i.statement, parameters);
  }
}

}  // namespace

std::vector<trace_item> trace_tree(const nest_list& nests, const table_store& tables) {
  std::vector<trace_item> items;
  builder build(tables);
  std::vector<traced_number> numbers;
  for (std::size_t k = 0; k < nests.size(); ++k) {
    const nest_shape& shape = nests.shape(k);
    numbers.assign(shape.affine, {});
    for (std::uint32_t c = 0; c < shape.affine; ++c) numbers[c].constant = nests.words(k)[c];
    build.add(shape, numbers, nests.rigid(k), items);
  }
  return items;
}

void unroll(std::span<const trace_item> items, const statement_function& statement) {
  std::vector<std::int64_t> counters;
  unroll_in(items, counters, statement);
}

}  // namespace sinter::jit
