// Reductions, scans, row operations and products through the library.
#include "dsl/sinter.hpp"
#include "tests/fuzz/library.hpp"

#include <stdexcept>

namespace sinter_test::fuzz {

using namespace sinter;

scalar scalar_of(const number& n) {
  return n.type == boolean ? scalar(n.x != 0) : n.type == i64 ? scalar(static_cast<std::int64_t>(n.x)) : scalar(n.x);
}

axes axes_of(const std::vector<std::int64_t>& list) {
  const std::vector<int> narrow(list.begin(), list.end());
  return axes(std::span<const int>(narrow));
}

namespace {

/// All of them when there is none.
axes reduced_axes(const step& s) { return s.numbers.empty() ? axes{} : axes_of(s.numbers); }

array scan(const step& s, const array& x) {
  const auto op = static_cast<running>(s.code);
  if (s.typed) {
    scan_options o{.type = s.type};
    if (!s.flag) o.axis = static_cast<int>(s.numbers.at(0));
    return op == running::cumsum    ? cumsum(x, o)
           : op == running::cumprod ? cumprod(x, o)
           : op == running::cummin  ? cummin(x, o)
                                    : cummax(x, o);
  }
  if (s.flag)
    return op == running::cumsum    ? cumsum(x)
           : op == running::cumprod ? cumprod(x)
           : op == running::cummin  ? cummin(x)
                                    : cummax(x);
  const auto axis = static_cast<int>(s.numbers.at(0));
  return op == running::cumsum    ? cumsum(x, axis)
         : op == running::cumprod ? cumprod(x, axis)
         : op == running::cummin  ? cummin(x, axis)
                                  : cummax(x, axis);
}

array product_of(const step& s, const std::vector<array>& x) {
  const auto at = [&](std::size_t k) { return static_cast<int>(s.numbers.at(k)); };
  switch (static_cast<product>(s.code)) {
    case product::matmul: return matmul(x.at(0), x.at(1));
    case product::dot: return dot(x.at(0), x.at(1));
    case product::vdot: return vdot(x.at(0), x.at(1));
    case product::outer: return outer(x.at(0), x.at(1));
    default: return trace(x.at(0), at(0), at(1), at(2));
  }
}

array difference_of(const step& s, const std::vector<array>& x) {
  const auto n = static_cast<int>(s.amount), axis = static_cast<int>(s.numbers.at(0));
  if (s.code == 0) return diff(x[0], n, axis);
  maybe<array> before, after;
  std::size_t next = 1;
  if ((s.code & 1) != 0) before = x.at(next++);
  if ((s.code & 2) != 0) after = x.at(next++);
  return diff(x[0], n, axis, before, after);
}

}  // namespace

array library::reduced_by_name(const step& s) {
  const array& x = (*this)[s.from.at(0)];
  reduce_options o{.over = reduced_axes(s), .keep = keepdims_t{s.flag}};
  if (s.masked) o.where = (*this)[s.from.at(1)];
  if (s.typed) o.type = s.type;
  if (s.use_value) o.initial = scalar_of(s.value);
  o.ddof = static_cast<int>(s.amount);
  switch (static_cast<reduction>(s.code)) {
    case reduction::sum: return sum(x, o);
    case reduction::prod: return prod(x, o);
    case reduction::min: return sinter::min(x, o);
    case reduction::max: return sinter::max(x, o);
    case reduction::mean: return mean(x, o);
    case reduction::var: return var(x, o);
    case reduction::stddev: return stddev(x, o);
    case reduction::any_true: return any_true(x, o);
    case reduction::all_true: return all_true(x, o);
    case reduction::count_nonzero: return count_nonzero(x, o);
    default: throw std::logic_error("takes nothing by name");
  }
}

array library::reduced(const step& s) {
  if (s.masked || s.typed || s.use_value || (takes_mask(static_cast<reduction>(s.code)) && s.amount != 0))
    return reduced_by_name(s);
  const array& x = (*this)[s.from.at(0)];
  const axes over = reduced_axes(s);
  const keepdims_t keep{s.flag};
  const auto axis = s.numbers.empty() ? 0 : static_cast<int>(s.numbers[0]);
  switch (static_cast<reduction>(s.code)) {
#define X(name) \
  case reduction::name: return sinter::name(x, over, keep);
    X(sum)
    X(prod)
    X(min)
    X(max)
    X(mean) X(var) X(stddev) X(any_true) X(all_true) X(count_nonzero) X(ptp) X(nansum) X(nanprod) X(nanmin) X(nanmax)
        X(nanmean) X(logsumexp)
#undef X
            case reduction::norm : return norm(x, norm_orders[s.amount], over, keep);
    case reduction::argmin: return s.numbers.empty() ? argmin(x, keep) : argmin(x, axis, keep);
    case reduction::argmax: return s.numbers.empty() ? argmax(x, keep) : argmax(x, axis, keep);
  }
  throw std::logic_error("no such reduction");
}

array library::along_rows(const step& s) {
  const std::vector<array> x = operands(s);
  switch (s.what) {
    case verb::reduce: return reduced(s);
    case verb::scan: return scan(s, x.at(0));
    case verb::difference: return difference_of(s, x);
    case verb::product: return product_of(s, x);
    default:
      return static_cast<exponential>(s.code) == exponential::softmax ? softmax(x.at(0), reduced_axes(s))
                                                                      : log_softmax(x.at(0), reduced_axes(s));
  }
}

}  // namespace sinter_test::fuzz
