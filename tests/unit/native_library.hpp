// What tests of generated code share: text compiled and loaded on the host, results compared in last places.
#pragma once

#include "jit/codegen/prelude.hpp"
#include "jit/compile/compiler.hpp"
#include "runtime/host/shared_object.hpp"
#include "tests/unit/kernel_builder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <dlfcn.h>

namespace sinter_test {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Host code, compiled and loaded as long as this lives.
class loaded_image {
 public:
  explicit loaded_image(const compile_request& r) {
    handle_ = sinter::runtime::open_shared_object(compile_host(r), r.name);
  }
  loaded_image(const loaded_image&) = delete;
  loaded_image& operator=(const loaded_image&) = delete;
  ~loaded_image() { dlclose(handle_); }

  template <class F>
  F* get(const std::string& name) const { return reinterpret_cast<F*>(dlsym(handle_, name.c_str())); }

 private:
  void* handle_;
};

/// Text, with the prelude it needs.
class library : public loaded_image {
 public:
  explicit library(const std::string& text) : loaded_image(request_for(text)) {}

 private:
  static compile_request request_for(const std::string& text) {
    compile_request r;
    r.name = "prelude_test";
    r.source = prelude_for(text, dialect::host) + text;
    r.math = math_mode::strict;
    r.large = true;
    return r;
  }
};

/// How many units in the last place of b, with `epsilon` at 1 and no unit below `least`, a is away; 0 for two NaN.
inline double distance(double a, double b, double epsilon, double least) {
  if (std::isnan(a) && std::isnan(b)) return 0;
  if (a == b) return a != 0 || std::signbit(a) == std::signbit(b) ? 0 : 0.25;
  if (!std::isfinite(a) || !std::isfinite(b)) return infinity;
  return std::fabs(a - b) / std::max(std::ldexp(epsilon, std::ilogb(b)), least);
}

inline double distance(double a, double b) { return distance(a, b, 0x1p-52, 0x1p-1074); }
inline double distance(float a, float b) { return distance(double{a}, double{b}, 0x1p-23, 0x1p-149); }
inline double distance(float16 a, float16 b) {
  return distance(double{static_cast<float>(a)}, double{static_cast<float>(b)}, 0x1p-10, 0x1p-24);
}
inline double distance(bfloat16 a, bfloat16 b) {
  return distance(double{static_cast<float>(a)}, double{static_cast<float>(b)}, 0x1p-7, 0x1p-133);
}

template <class R>
double difference(const R& got, const R& wanted) {
  if constexpr (std::is_integral_v<R>) return got == wanted ? 0 : infinity;
  else if constexpr (is_complex(dtype_of<R>)) return std::max(distance(got.re, wanted.re), distance(got.im, wanted.im));
  else return distance(got, wanted);
}

template <class T>
std::string shown(const T& x) {
  if constexpr (std::is_integral_v<T>) return std::to_string(x);
  else if constexpr (is_complex(dtype_of<T>)) return fmt::format("({:.17g}, {:.17g})", x.re, x.im);
  else if constexpr (std::is_same_v<T, double>) return fmt::format("{:.17g}", x);
  else return fmt::format("{:.9g}", static_cast<float>(x));
}

}  // namespace sinter_test

#define SINTER_NEEDS_COMPILER() \
  if (host_compiler().empty()) GTEST_SKIP() << "no C++ compiler is installed"
