// How smooth is each row? Shifted copies of x2 are joined, subtracted, squared and summed. Joined arrays are never in
// memory: concat, difference and row sums are one launch, and the cost is the only array written.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

using namespace sinter;

namespace {

constexpr std::size_t columns = 20;

array second_difference(const array& x2) {
  array p = concat({x2(all, range(0, 2)), x2(all, range(0, 18))}, 1);  // x2 moved by two columns
  array q = concat({p(all, range(0, 2)), p(all, range(0, 18))}, 1);    // by four
  return x2 + q - 2 * p;
}

/// The same of one row of numbers.
float second_difference(const float* row, std::size_t column) {
  const auto moved = [](std::size_t k) { return k < 2 ? k : k - 2; };
  return row[column] + row[moved(moved(column))] - 2 * row[moved(column)];
}

void rows_for(samples::report& report, std::size_t rows, const std::string& suffix) {
  const auto host = samples::random_values<float>(rows * columns, -1, 1, 1);
  const array x2(host, {static_cast<std::int64_t>(rows), columns});
  const auto error = [&](const array& d) {
    return samples::largest_error(d.to_vector<float>(), [&](std::size_t k) {
      return second_difference(&host[k - k % columns], k % columns);
    });
  };
  const auto error_of_cost = [&](const array& cost) {
    return samples::largest_error(cost.to_vector<float>(), [&](std::size_t row) {
      double sum = 0;
      for (std::size_t k = 0; k < columns; ++k) {
        const double d = static_cast<double>(second_difference(&host[row * columns], k));
        sum += d * d;
      }
      return sum;
    });
  };

  // A pass over memory for each operation.
  const auto naive = [&] {
    const auto now = [](array x) {
      eval(x);
      return x;
    };
    array p = now(concat({x2(all, range(0, 2)), x2(all, range(0, 18))}, 1));
    array q = now(concat({p(all, range(0, 2)), p(all, range(0, 18))}, 1));
    array d = now(now(x2 + q) - now(2 * p));
    return now(sum(now(square(d)), 1));
  };
  report.row("naive", 2e-6, naive, error_of_cost, "_sum" + suffix);

  const auto difference = [&] {
    array d = second_difference(x2);  // [rows, 20]
    eval(d);
    return d;
  };
  report.row("fixed", 0, difference, error, suffix);

  const auto fixed = [&] {
    array cost = sum(square(second_difference(x2)), 1);  // [rows]
    eval(cost);
    return cost;
  };
  report.row("fixed", 2e-6, fixed, error_of_cost, "_sum" + suffix);
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("smoothness_cost", argc, argv, [](samples::report& report) {
    rows_for(report, 1000, "");
    rows_for(report, 1000000, "_1e6");
  });
}
