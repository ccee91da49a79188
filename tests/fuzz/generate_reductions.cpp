// Random reductions, scans, exponentials and products.
#include "tests/fuzz/generate.hpp"

#include <algorithm>

namespace sinter_test::fuzz {

using namespace sinter;

namespace {

constexpr reduction frequent[] = {reduction::sum,    reduction::sum,    reduction::max,      reduction::min,
                                  reduction::mean,   reduction::argmax, reduction::argmin,   reduction::var,
                                  reduction::stddev, reduction::prod,   reduction::any_true, reduction::count_nonzero};
constexpr dtype sum_types[] = {i32, i64, f32, f64, u8, f16};

}  // namespace

void statement_maker::reduce() {
  const int x = some_variable(), rank = extents_of(x).rank();
  const auto op = once_in(2) ? frequent[below(12)] : static_cast<reduction>(below(reduction_count));
  const bool one_axis = op == reduction::argmin || op == reduction::argmax;
  const std::int64_t count = one_axis ? 1 : 1 + below(rank + 1);
  std::vector<std::int64_t> over = once_in(4) ? std::vector<std::int64_t>{} : some_axes(rank, count);
  if (once_in(40) && !one_axis) over.push_back(any_axis(rank));  // twice, perhaps
  const bool masked = takes_mask(op) && once_in(4), typed = takes_type(op) && once_in(6);
  const bool needs_initial = masked && (op == reduction::min || op == reduction::max);
  const bool initial = takes_initial(op) && (needs_initial ? !once_in(12) : once_in(6));
  const dtype type = sum_types[below(6)];
  const number start = any_number(typed ? type : at(x).h.type);
  std::vector<int> from{x};
  if (masked) {
    const int mask = variable_where([&](const variable& v) {
      try {
        return v.h.type == boolean && v.exact() && broadcast(v.h.extents, extents_of(x)) == extents_of(x);
      } catch (const refused&) { return false; }
    });
    from.push_back(mask >= 0 ? mask : (x + 1) % variable_count);
    if (mask < 0) {
      const host_array data = whole_values(boolean, narrowed(extents_of(x)));
      step& made = add(verb::make, {});
      made.result = from[1];
      made.data = data;
    }
  }
  step& s = add_result(verb::reduce, from);
  s.code = static_cast<int>(op);
  s.numbers = over;
  s.flag = once_in(3);
  s.masked = masked;
  s.typed = typed;
  s.type = type;
  s.use_value = initial;
  s.value = start;
  if (takes_ddof(op) && once_in(3)) s.amount = 1 + below(2);
  if (op == reduction::norm) s.amount = below(std::ssize(norm_orders));
}

void statement_maker::scan() {
  int x = some_variable();
  const std::int64_t op = below(5) % 4;
  const bool multiplies = op == static_cast<int>(running::cumprod);
  if (multiplies && is_inexact(at(x).h.type)) {  // few numbers but 1: others would overflow
    const dtype type = at(x).h.type;
    const shape extents = extents_of(x);
    host_array data(type, extents);
    const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(data.size(), 1));
    static constexpr double factors[] = {-1, 2, 0.5, -2, 3, 0};
    for (std::int64_t k = 0; k < data.size(); ++k) {
      const std::uint64_t bits = data_();
      data.set(k, {bits % size < 6 ? factors[bits / size % (is_complex(type) ? 2 : 6)] : 1, 0});
    }
    x = any_variable();
    step& made = add(verb::make, {});
    made.result = x;
    made.data = data;
    const std::int64_t axis = any_axis(extents.rank());
    step& s = add_result(verb::scan, {x});
    s.code = static_cast<int>(op);
    s.numbers = {axis};
    s.flag = once_in(5);
    return;
  }
  const std::int64_t axis = any_axis(extents_of(x).rank());
  const bool typed = once_in(6);
  const dtype type = sum_types[below(6)];
  step& s = add_result(verb::scan, {x});
  s.code = static_cast<int>(op);
  s.numbers = {axis};
  s.flag = extents_of(x).rank() == 0 || once_in(5);
  s.typed = typed;
  s.type = type;
}

void statement_maker::difference() {
  const int x = some_variable(), rank = extents_of(x).rank();
  const std::int64_t axis = any_axis(rank), sides = once_in(2) ? 0 : 1 + below(3);
  const std::int64_t along = axis < 0 ? axis + rank : axis;
  std::vector<int> from{x};
  for (const std::int64_t side : {1, 2}) {
    if ((sides & side) == 0) continue;
    const int edge = variable_where([&](const variable& v) {
      if (v.h.extents.rank() == 0) return true;
      bool fits = v.h.extents.rank() == rank && !once_in(3);
      for (int k = 0; fits && k < rank; ++k) fits = k == along || v.h.extents[k] == extents_of(x)[k];
      return fits;
    });
    from.push_back(edge < 0 ? x : edge);
  }
  const std::int64_t times = once_in(20) ? -1 : below(4);
  step& s = add_result(verb::difference, from);
  s.numbers = {axis};
  s.amount = times;
  s.code = static_cast<int>(sides);
}

void statement_maker::exponentials() {
  const int x = some_variable(), rank = extents_of(x).rank();
  const std::vector<std::int64_t> over = once_in(5) ? std::vector<std::int64_t>{} : some_axes(rank, 1 + below(2));
  const bool logarithm = once_in(2);
  step& s = add_result(verb::exponential, {x});
  s.numbers = over;
  s.code = static_cast<int>(logarithm ? exponential::log_softmax : exponential::softmax);
}

void statement_maker::multiply() {
  const int x = some_variable(), rank = extents_of(x).rank();
  const std::int64_t choice = below(6);
  if (choice == 0) {
    const std::vector<std::int64_t> plane = some_axes(rank, 2);
    if (rank < 2) return;
    const std::int64_t offset = below(5) - 2;
    step& s = add_result(verb::product, {x});
    s.numbers = {offset, plane[0], plane[1]};
    s.code = static_cast<int>(product::trace);
    return;
  }
  if (choice >= 3) return multiply_matrices();
  const bool flat = choice == 1;
  const int y = variable_where(
      [&](const variable& v) { return flat ? v.size() == at(x).size() : v.size() * at(x).size() <= most_elements; });
  if (y < 0) return;
  add_result(verb::product, {x, y}).code = static_cast<int>(flat ? product::vdot : product::outer);
}

/// x, or what stands for it, times something that fits.
void statement_maker::multiply_matrices() {
  const int x = some_variable(), rank = extents_of(x).rank();
  if (rank == 0) return;
  const std::int64_t inner = extents_of(x)[rank - 1];
  const auto fits = [&](const variable& v) {
    const shape& other = v.h.extents;
    return other.rank() > 0 && other[other.rank() == 1 ? 0 : other.rank() - 2] == inner &&
           (at(x).size() * v.size() <= most_products || once_in(9));
  };
  int y = once_in(25) ? any_variable() : variable_where(fits);
  if (y < 0 || once_in(3)) {
    y = (x + 1) % variable_count;
    const dtype type = once_in(3) ? any_type() : at(x).h.type;
    const std::int64_t columns = 1 + below(4);
    const host_array data = values(type, once_in(3) ? shape{inner} : shape{inner, columns});
    step& made = add(verb::make, {});
    made.result = y;
    made.data = data;
  }
  const bool dots = once_in(4);
  add_result(verb::product, {x, y}).code = static_cast<int>(dots ? product::dot : product::matmul);
}

}  // namespace sinter_test::fuzz
