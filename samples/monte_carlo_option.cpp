// The price of a European call: the mean of what it pays at the end of random paths of the stock, discounted. The stock
// follows a geometric Brownian motion, whose value at a time needs one normal number; Black and Scholes have the
// answer.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

#include <cmath>

using namespace sinter;

namespace {

constexpr double spot = 100, strike = 105, rate = 0.03, volatility = 0.25, years = 1.5;

double black_scholes() {
  const auto cdf = [](double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); };
  const double deviation = volatility * std::sqrt(years);
  const double d1 = (std::log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / deviation;
  return spot * cdf(d1) - strike * std::exp(-rate * years) * cdf(d1 - deviation);
}

/// What the call pays on each path, as of today, for the normal numbers of the paths.
array payoffs(const array& z) {
  const double drift = (rate - 0.5 * volatility * volatility) * years;
  array at_end = spot * exp(drift + volatility * std::sqrt(years) * z);
  return std::exp(-rate * years) * maximum(at_end - strike, 0);
}

struct price {
  array mean, error;  ///< and the mean's standard error
};

price price_of(const array& paid) { return {mean(paid), stddev(paid) / std::sqrt(static_cast<double>(paid.size()))}; }

array normal_numbers(std::int64_t paths) { return random::normal(random::key(11), {paths}, f32); }

price fixed_price(std::int64_t paths) {
  price p = price_of(payoffs(normal_numbers(paths)).astype(f64));
  eval(p.mean, p.error);
  return p;
}

/// Every step evaluated, as a library of array functions has it.
price naive_price(std::int64_t paths) {
  array z = normal_numbers(paths);
  eval(z);
  array paid = payoffs(z).astype(f64);
  eval(paid);
  price p = price_of(paid);
  eval(p.mean);
  eval(p.error);
  return p;
}

void row(samples::report& report, const std::string& form, std::int64_t paths, price (*run)(std::int64_t),
         const std::string& suffix = "") {
  report.row(
      form, 4, [&] { return run(paths); },
      [](const price& p) { return std::abs(p.mean.item<double>() - black_scholes()) / p.error.item<double>(); },
      suffix);
}

}  // namespace

int main(int argc, char** argv) {
  // max_err is in standard errors of the mean.
  return samples::run("monte_carlo_option", argc, argv, [](samples::report& report) {
    row(report, "naive", 1000000, naive_price);
    row(report, "fixed", 1000000, fixed_price);
    if (!default_device().is_cuda()) return;
    row(report, "naive", 100000000, naive_price, "_1e8");
    row(report, "fixed", 100000000, fixed_price, "_1e8");
  });
}
