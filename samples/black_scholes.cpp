// Prices of European options. Call and put share most of the formula: evaluated together, they share the launch, too.
#include "support/harness.hpp"

#include <sinter/sinter.hpp>

#include <cmath>

using namespace sinter;

namespace {

constexpr double rate = 0.02, volatility = 0.3;

struct prices {
  array call, put;
};

array normal_cdf(const array& x) { return 0.5f * erfc(x * -std::sqrt(0.5)); }

prices black_scholes(const array& spot, const array& strike, const array& years) {
  array deviation = volatility * sqrt(years);
  array d1 = (log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / deviation;
  array d2 = d1 - deviation;
  array discounted = strike * exp(-rate * years);
  return {spot * normal_cdf(d1) - discounted * normal_cdf(d2), discounted * normal_cdf(-d2) - spot * normal_cdf(-d1)};
}

double reference(double spot, double strike, double years, bool is_call) {
  const auto cdf = [](double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); };
  const double deviation = volatility * std::sqrt(years);
  const double d1 = (std::log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / deviation;
  const double d2 = d1 - deviation, discounted = strike * std::exp(-rate * years);
  return is_call ? spot * cdf(d1) - discounted * cdf(d2) : discounted * cdf(-d2) - spot * cdf(-d1);
}

}  // namespace

int main(int argc, char** argv) {
  return samples::run("black_scholes", argc, argv, [](samples::report& report) {
    constexpr std::size_t n = 1000000;
    const auto host_spot = samples::random_values<float>(n, 5, 30, 1);
    const auto host_strike = samples::random_values<float>(n, 1, 100, 2);
    const auto host_years = samples::random_values<float>(n, 0.25, 10, 3);
    const array spot(host_spot), strike(host_strike), years(host_years);
    const auto error = [&](const prices& p) {
      const auto largest = [&](const array& got, bool is_call) {
        return samples::largest_error(got.to_vector<float>(), [&](std::size_t k) {
          return reference(host_spot[k], host_strike[k], host_years[k], is_call);
        });
      };
      return std::max(largest(p.call, true), largest(p.put, false));
    };

    const auto naive = [&] {
      prices p = black_scholes(spot, strike, years);
      eval(p.call);
      eval(p.put);  // computes again what both share
      return p;
    };
    report.row("naive", 1e-4, naive, error);

    const auto fixed = [&] {
      prices p = black_scholes(spot, strike, years);
      eval(p.call, p.put);
      return p;
    };
    report.row("fixed", 1e-4, fixed, error);
  });
}
