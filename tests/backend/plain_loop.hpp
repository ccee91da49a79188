// Loops written twice: as statements on arrays of the library, and as plain C++ on these, one statement after another.
#pragma once

#include "tests/backend/expect.hpp"

#include <cstdint>
#include <type_traits>
#include <vector>

namespace sinter_test {

/// Elements in C order, of up to four axes.
template <class T>
struct plain {
  using element = T;
  std::vector<std::int64_t> extents;
  std::vector<T> values;

  explicit plain(std::vector<std::int64_t> extents_, T value = T())
      : extents(std::move(extents_)), values(static_cast<std::size_t>(size_of(extents)), value) {}

  template <class... I>
  T& operator()(I... at) {
    const std::int64_t list[] = {static_cast<std::int64_t>(at)...};
    std::int64_t flat = 0;
    for (std::size_t k = 0; k < sizeof...(at); ++k) flat = flat * extents.at(k) + list[k];
    return values.at(static_cast<std::size_t>(flat));
  }
  /// The same values as an array of the library, evaluated.
  sinter::array made() const {
    sinter::shape s;
    for (const std::int64_t e : extents) s.append(e);
    return sinter::array(values.data(), sinter::dtype_of<T>, s);
  }

 private:
  static std::int64_t size_of(const std::vector<std::int64_t>& list) {
    std::int64_t n = 1;
    for (const std::int64_t e : list) n *= e;
    return n;
  }
};

/// Values that differ, and are no multiples of each other; small enough for any dtype.
template <class T>
plain<T> scattered_values(std::vector<std::int64_t> extents, int seed = 1) {
  plain<T> x(std::move(extents));
  lcg random(static_cast<std::uint32_t>(seed));
  for (T& v : x.values)
    v = static_cast<T>(static_cast<double>(random.below(200)) * (std::is_integral_v<T> ? 0.5 : 0.37));
  return x;
}

/// Whether a has exactly these values.
template <class T>
testing::AssertionResult equals(const sinter::array& a, const plain<T>& want) {
  sinter::shape s;
  for (const std::int64_t e : want.extents) s.append(e);
  return equals(a, host_array(want.values, s), {0, 0, true});
}

/// How many launches it takes to record f() and to evaluate what it changed.
template <class F, class... Arrays>
std::uint64_t launches_of(F&& f, const Arrays&... results) {
  return counted([&] {
           f();
           sinter::eval(results...);
         })
      .launches;
}

/// No fused multiply-adds while it lives, so that plain C++ knows every bit of + - * /.
class strictly {
 public:
  strictly() : before_(sinter::get_math_mode()) { sinter::set_math_mode(sinter::math_mode::strict); }
  ~strictly() { sinter::set_math_mode(before_); }
  strictly(const strictly&) = delete;
  strictly& operator=(const strictly&) = delete;

 private:
  sinter::math_mode before_;
};

/// Tests of loops whose results are compared bit by bit.
class fold : public testing::Test {
 private:
  strictly every_bit_;
};

}  // namespace sinter_test
