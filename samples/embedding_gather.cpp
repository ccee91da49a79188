// Rows of a table picked by index and scaled. The gather is part of the kernel that uses it: nothing is copied first.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

using namespace sinter;

int main(int argc, char** argv) {
  return samples::run("embedding_gather", argc, argv, [](samples::report& report) {
    constexpr std::size_t words = 20000, width = 300, picked = 2048, few = 64;
    const auto table = samples::random_values<float>(words * width, -1, 1, 1);
    const auto ids = samples::random_values<std::int32_t>(picked, 0, words, 2);
    const array w(table, {words, width}), j(ids);
    const float scale = 0.5f;
    const auto want = [&](std::size_t row, std::size_t column) {
      return table[static_cast<std::size_t>(ids[row]) * width + column] * scale;
    };

    // Row by row, a launch each; only the first few, it is slow enough.
    const auto naive = [&] {
      std::vector<array> rows;
      for (std::size_t k = 0; k < few; ++k) {
        rows.push_back(w(ids[k], all) * scale);
        eval(rows.back());
      }
      return rows;
    };
    report.row("naive", 0, naive, [&](const std::vector<array>& rows) {
      double largest = 0;
      for (std::size_t row = 0; row < rows.size(); ++row)
        largest = std::max(largest, samples::largest_error(rows[row].to_vector<float>(),
                                                           [&](std::size_t k) { return want(row, k); }));
      return largest;
    });

    // Found in a one-hot matrix, and put below those before: rows that differ in numbers alone are one expression, and
    // one launch.
    constexpr std::size_t columns = 300;
    std::vector<float> bits(words * columns);
    for (std::size_t k = 0; k < columns; ++k) bits[static_cast<std::size_t>(ids[k]) * columns + k] = 1;
    const array one_hot(bits, {words, columns});
    const auto joined = [&] {
      array h = w(argmax(one_hot(all, 0)), all)(newaxis, all);
      for (std::size_t k = 1; k < columns; ++k)
        h = concat({h, w(argmax(one_hot(all, static_cast<std::int64_t>(k))), all)(newaxis, all)}, 0);
      eval(h);
      return h;
    };
    report.row("naive", 0, joined, [&](const array& h) {
      return samples::largest_error(h.to_vector<float>(),
                                    [&](std::size_t k) { return want(k / width, k % width) / scale; });
    }, "_joined");

    const auto fixed = [&] {
      array h = w(j, all) * scale;  // [2048] -> [2048, 300]
      eval(h);
      return h;
    };
    report.row("fixed", 0, fixed, [&](const array& h) {
      return samples::largest_error(h.to_vector<float>(), [&](std::size_t k) { return want(k / width, k % width); });
    });
  });
}
