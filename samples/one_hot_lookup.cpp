// Rows of a table, picked by products with a one-hot matrix. Where that matrix is only an expression, the product is
// recorded as the lookup that it means: one launch, as fast as indexing, and the matrix is never made.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

using namespace sinter;

namespace {

/// A table and the rows of it that are wanted; W and J on the device.
struct lookup {
  std::size_t words, width, picked;
  std::vector<float> table = samples::random_values<float>(words * width, -1, 1, 1);
  std::vector<std::int32_t> ids = samples::random_values<std::int32_t>(picked, 0, static_cast<double>(words), 2);
  array w{table, {static_cast<std::int64_t>(words), static_cast<std::int64_t>(width)}};
  array j{ids};

  /// Of the rows [any number, width] of a result.
  double error(const array& rows) const {
    return samples::largest_error(rows.to_vector<float>(), [&](std::size_t k) {
      return table[static_cast<std::size_t>(ids[k / width]) * width + k % width];
    });
  }
};

/// A row at a time, found by the one in the one-hot matrix. Only the first few, it is slow enough.
void row_by_row(samples::report& report, const lookup& l) {
  constexpr std::int64_t few = 64;
  const array x = one_hot(l.j(range(few)), l.w.extent(0));
  eval(x);
  const auto error = [&](const array& h) { return l.error(h); };

  const auto naive = [&] {
    array h = l.w(argmax(x(0, all)), all)(newaxis, all);
    for (std::int64_t k = 1; k < few; ++k) {
      h = vstack({h, l.w(argmax(x(k, all)), all)});
      eval(h);
    }
    return h;
  };
  report.row("naive", 0, naive, error);

  const auto dense = [&] {
    array h = matmul(x, l.w);  // x is in memory, and nothing tells that it has ones and zeros only
    eval(h);
    return h;
  };
  report.row("naive", 0, dense, error, "_matmul");
}

void at_once(samples::report& report, const lookup& l, const std::string& suffix) {
  const std::int64_t words = l.w.extent(0);
  const auto error = [&](const array& h) { return l.error(h); };
  const auto row = [&](const std::string& name, auto expression) {
    const auto fixed = [&] {
      array h = expression();
      eval(h);
      return h;
    };
    report.row("fixed", 0, fixed, error, name + suffix);
  };
  row("_matmul", [&] { return matmul(one_hot(l.j, words), l.w); });
  row("_sum", [&] { return sum(one_hot(l.j, words)(all, all, newaxis) * l.w, 1); });
  row("_argmax", [&] { return l.w(argmax(one_hot(l.j, words), 1), all); });
  row("_index", [&] { return l.w(l.j, all); });
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("one_hot_lookup", argc, argv, [](samples::report& report) {
    const lookup small{.words = 5000, .width = 128, .picked = 2048};
    row_by_row(report, small);
    at_once(report, small, "");
    if (default_device().is_cuda()) at_once(report, {.words = 8192, .width = 256, .picked = 65536}, "_65536");
  });
}
