// An optimiser asks for a cost again and again: how much of the second difference of its rows should be added to a
// table to make it smooth, without changing it much? Naive: the cost function is handed host memory, and copies the
// table to the device at each call. Fixed: the table is copied once, and a call is one launch and one number back.
// Pinned: where the table really changes between calls it is copied each time, from memory that the device reads
// itself.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>
#include <sinter/transfer.hpp>

#include <span>
#include <utility>

using namespace sinter;

namespace {

constexpr std::int64_t columns = 20;
constexpr float weight = 0.5f;  // of staying near the table

/// [rows, 20] -> [rows, 20]: what the columns two before and four before say about each.
array second_difference(const array& x) {
  const array p = concat({x(all, range(0, 2)), x(all, range(0, columns - 2))}, 1);
  const array q = concat({p(all, range(0, 2)), p(all, range(0, columns - 2))}, 1);
  return x + q - 2 * p;
}

/// One launch: the differences, the changed table and both sums are never in memory.
double cost_of(const array& table, double amount) {
  const array change = amount * second_difference(table);
  return sum(square(second_difference(table + change)) + weight * square(change), {.type = f64}).item<double>();
}

/// The least cost for amounts in [low, high], by golden section.
template <class Cost>
double least_cost(Cost cost, double low, double high) {
  const double golden = 0.6180339887498949;
  double left = high - golden * (high - low), right = low + golden * (high - low);
  double at_left = cost(left), at_right = cost(right);
  for (int step = 0; step < 20; ++step) {
    if (at_left < at_right) {
      high = std::exchange(right, left);
      at_right = std::exchange(at_left, 0.0);
      left = high - golden * (high - low);
      at_left = cost(left);
    } else {
      low = std::exchange(left, right);
      at_left = std::exchange(at_right, 0.0);
      right = low + golden * (high - low);
      at_right = cost(right);
    }
  }
  return std::min(at_left, at_right);
}

/// The same of one row of numbers.
void second_difference(const double* row, double* out) {
  const auto before = [](std::int64_t k) { return k < 2 ? k : k - 2; };
  for (std::int64_t k = 0; k < columns; ++k) out[k] = row[k] + row[before(before(k))] - 2 * row[before(k)];
}

/// The cost is a parabola in the amount: its least value, from sums over the table.
double least_cost_by_hand(const std::vector<float>& table) {
  double dd = 0, de = 0, ee = 0;
  double row[columns], d[columns], e[columns];
  for (std::size_t at = 0; at < table.size(); at += columns) {
    for (std::size_t k = 0; k < columns; ++k) row[k] = static_cast<double>(table[at + k]);
    second_difference(row, d);
    second_difference(d, e);
    for (std::size_t k = 0; k < columns; ++k) {
      dd += d[k] * d[k];
      de += d[k] * e[k];
      ee += e[k] * e[k];
    }
  }
  return dd - de * de / (ee + static_cast<double>(weight) * dd);
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("optimiser_loop", argc, argv, [](samples::report& report) {
    constexpr std::int64_t rows = 40000;
    const auto host = samples::random_values<float>(static_cast<std::size_t>(rows * columns), -1, 1, 1);
    const double want = least_cost_by_hand(host);
    const auto error = [&](double found) { return std::abs(found - want) / want; };
    constexpr std::uint64_t calls = 22;

    const auto show = [&](const char* form, const auto& call, std::uint64_t most_launches) {
      const auto before = stats();
      call();
      const auto after = stats();
      report.row(form, 1e-5, call, error, "", most_launches);
      std::printf("  %s: %llu copies of %llu bytes in all to the device, for %llu calls of the cost\n", form,
                  static_cast<unsigned long long>(after.copies_to_device - before.copies_to_device),
                  static_cast<unsigned long long>(after.bytes_to_device - before.bytes_to_device),
                  static_cast<unsigned long long>(calls));
    };

    show("naive", [&] {
      return least_cost([&](double amount) { return cost_of(array(host, {rows, columns}), amount); }, -1, 1);
    }, 2 * calls);

    const array table(host, {rows, columns});
    show("fixed", [&] { return least_cost([&](double amount) { return cost_of(table, amount); }, -1, 1); }, calls);

    pinned_vector<float> pinned(host.size());
    std::copy(host.begin(), host.end(), pinned.begin());
    const std::span<const float> changing(pinned.begin(), pinned.size());
    show("pinned", [&] {
      return least_cost([&](double amount) { return cost_of(from_host(changing, {rows, columns}), amount); }, -1, 1);
    }, 2 * calls);
  });
}
