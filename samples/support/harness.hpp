// What the samples share: the command line, timing, counting launches, and the row that each form prints.
#pragma once

#include "picture.hpp"

#include <sinter/array.hpp>
#include <sinter/device.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace samples {

/// Reproducible numbers in [low, high), by a linear congruential generator (Knuth's MMIX constants).
template <class T>
std::vector<T> random_values(std::size_t count, double low, double high, std::uint64_t seed) {
  std::vector<T> values(count);
  for (T& x : values) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    x = static_cast<T>(low + (high - low) * 0x1p-53 * static_cast<double>(seed >> 11));
  }
  return values;
}

/// The largest distance of got[k] from want(k): relative where |want(k)| > 1; infinite where it is no number.
template <class T, class Want>
double largest_error(const std::vector<T>& got, Want want) {
  double largest = 0;
  for (std::size_t k = 0; k < got.size(); ++k) {
    const double right = static_cast<double>(want(k));
    const double error = std::abs(static_cast<double>(got[k]) - right) / std::max(1.0, std::abs(right));
    largest = std::max(largest, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
  }
  return largest;
}

/// Runs forms and prints a row each.
class report {
 public:
  explicit report(std::string sample) : sample_(std::move(sample)) {}

  /// `call` returns evaluated arrays; `error(result)`, asked once at the end, compares them with plain C++. A call may
  /// go on from where the last one left its variables. A call takes at most `most_launches`; 0: the fixed form takes
  /// one, others any number.
  template <class Call, class Error>
  void row(const std::string& form, double tolerance, Call call, Error error, const std::string& suffix = "",
           std::uint64_t most_launches = 0) {
    if (most_launches == 0) most_launches = form == "fixed" ? 1 : ~std::uint64_t{0};
    std::optional<decltype(call())> result;  // reset before each call: large results needn't fit twice
    const auto timed_us = [&] {
      result.reset();
      const auto start = std::chrono::steady_clock::now();
      result.emplace(call());
      sinter::synchronize();
      return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    };
    const std::uint64_t before = sinter::stats().launches;
    const double first_us = timed_us();
    const std::uint64_t launches = sinter::stats().launches - before;
    std::vector<double> later;
    for (double spent = 0; later.size() < 50 && (later.empty() || spent < 3e5); spent += later.back())
      later.push_back(timed_us());
    std::nth_element(later.begin(), later.begin() + static_cast<std::ptrdiff_t>(later.size() / 2), later.end());
    const double largest = error(*result);
    const bool ok = largest <= tolerance && launches > 0 && launches <= most_launches;
    all_ok_ = all_ok_ && ok;
    std::printf(format_, (sample_ + suffix).c_str(), form.c_str(),
                sinter::default_device().is_cuda() ? "cuda" : "cpu", static_cast<unsigned long long>(launches),
                first_us / 1000, later[later.size() / 2], largest, ok ? "true" : "false");
    std::fflush(stdout);
  }

  /// Writes what `paint` returns, u8 [height, width] or [height, width, 3], to the file that --picture names, if any.
  template <class Paint>
  void picture(Paint paint) {
    if (!picture_.empty()) write_picture(picture_, paint());
    painted_ = true;
  }

  /// Reads --device cpu|cuda, --picture FILE and --format table|kv (samples/run draws its own table, from kv).
  bool read_options(int argc, char** argv) {
    for (int k = 1; k + 1 < argc; k += 2) {
      const std::string option = argv[k], value = argv[k + 1];
      if (option == "--device" && value == "cpu") sinter::set_default_device(sinter::cpu());
      else if (option == "--device" && value == "cuda") sinter::set_default_device(sinter::cuda());
      else if (option == "--format" && value == "table") format_ = "%-24s %-8s %-6s %8llu %10.1f %12.1f %10.2g %s\n";
      else if (option == "--picture" && !value.empty()) picture_ = value;
      else if (option != "--format" || value != "kv") return false;
    }
    return argc % 2 == 1;
  }
  bool all_ok() const { return all_ok_; }
  /// Whether --picture names a file although the sample paints none.
  bool wants_more() const { return !picture_.empty() && !painted_; }

 private:
  std::string sample_, picture_;
  const char* format_ = "sample=%s form=%s device=%s launches=%llu first_ms=%.1f then_us=%.1f max_err=%.2g ok=%s\n";
  bool all_ok_ = true, painted_ = false;
};

/// The body of main: exit status 0 when every row is ok, 2 for a wrong command line.
template <class Body>
int run(const char* sample, int argc, char** argv, Body body) {
  try {
    report r(sample);
    if (!r.read_options(argc, argv)) {
      std::fprintf(stderr, "usage: %s [--device cpu|cuda] [--format table|kv] [--picture FILE]\n", sample);
      return 2;
    }
    body(r);
    if (r.wants_more()) {
      std::fprintf(stderr, "%s paints no picture\n", sample);
      return 2;
    }
    return r.all_ok() ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", sample, e.what());
    return 1;
  }
}

}  // namespace samples
