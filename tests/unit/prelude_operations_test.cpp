// Every elementwise operation as generated code has it, against the interpreter; and all of CUDA's past NVRTC.
#include "tests/unit/native_library.hpp"

using namespace sinter_test;

namespace {

bool takes(op code, dtype t) {
  const bool real = is_real(t), complex = is_complex(t);
  switch (info(code).typing) {
    case rule::number: return t != boolean && !(complex && code == op::modulo);
    case rule::orderable: return t != boolean && !complex;
    case rule::magnitude: return kind_of(t) == kind::signed_integer || real || complex;
    case rule::inexact: return real || complex;
    case rule::real: return real && !(code == op::nextafter && size_of(t) == 2);
    case rule::rounding:
    case rule::test_real: return real;
    case rule::complex:
    case rule::part: return complex;
    case rule::pair: return t == f32 || t == f64;
    case rule::equality: return true;
    case rule::compare: return !complex;
    case rule::test: return real || complex;
    case rule::logical: return t == boolean;
    case rule::bits:
    case rule::shift: return is_integer(t);
    default: return false;
  }
}

dtype result_of(op code, dtype t) {
  const dtype part = t == c64 ? f32 : t == c128 ? f64 : t;
  switch (info(code).typing) {
    case rule::magnitude:
    case rule::part: return part;
    case rule::pair: return t == f32 ? c64 : c128;
    case rule::equality:
    case rule::compare:
    case rule::test:
    case rule::test_real:
    case rule::logical: return boolean;
    default: return t;
  }
}

std::string function_name(op code, dtype t) { return fmt::format("{}_{}", info(code).name, to_string(t)); }

/// A loop that applies the operation's text to elements in memory, as kernels do.
std::string function_text(op code, dtype t) {
  const dtype to = result_of(code, t);
  const auto loaded = [&](std::string_view x) {
    return storing_function(t).empty() ? fmt::format("{}[k]", x) : fmt::format("to_float({}[k])", x);
  };
  std::string text;
  const std::string_view pattern = info(code).text;
  for (std::size_t k = 0; k < pattern.size(); k += pattern[k] == '{' ? 3 : 1) {
    if (pattern[k] != '{') text += pattern[k];
    else if (pattern[k + 1] != 'f') text += pattern[k + 1] == '0' ? 'x' : 'y';
    else if (!is_complex(t)) text += math_suffix(t);
  }
  std::string result = fmt::format("({})({})", register_type(to), text);
  if (!rounding_function(to).empty()) result = fmt::format("{}({})", storing_function(to), result);
  return fmt::format(
      "extern \"C\" void {0}(const {1}* a, const {1}* b, {2}* out, int n) {{\n"
      "{7}  for (int k = 0; k < n; ++k) {{\n    const {3} x = {4}, y = {5};\n    (void)y;\n    out[k] = {6};\n  "
      "}}\n}}\n",
      function_name(code, t), c_type(t), c_type(to), register_type(t), loaded("a"), loaded("b"), result,
      is_real(t) ? "#pragma omp simd\n" : "");
}

template <class T>
T make(double x) {
  if constexpr (std::is_same_v<T, double>) return x;
  else return T(static_cast<float>(x));
}

/// Numbers at which operations of elements T go wrong if they do.
template <class T>
std::vector<T> corners() {
  std::vector<T> x;
  if constexpr (std::is_integral_v<T>) {
    using limits = std::numeric_limits<T>;
    x = {0, 1, 2, 3, 5, 7, 8, 31, 32, 63, 64, 100, limits::max(), limits::max() - 1, limits::min()};
    if constexpr (std::is_signed_v<T>)
      for (const int v : {-1, -2, -3, -7}) x.push_back(static_cast<T>(v));
  } else if constexpr (is_complex(dtype_of<T>)) {
    using part = decltype(T::re);
    for (const double re : {0.0, 1.0, 0.3, 0.9999, 2.5, 1e-3, 10.0, 90.0, 1e-10})
      for (const double im : {0.0, 1.0, 0.3, 0.02, 2.5, 1e-3, 10.0, 90.0, 1e-10})
        for (const double sign : {1.0, -1.0})
          for (const double other : {1.0, -1.0})
            x.push_back({static_cast<part>(sign * re), static_cast<part>(other * im)});
  } else {
    constexpr double values[] = {0.0, 1e-10, 1e-3, 0.1, 0.3, 0.5, 0.9999, 1.0, 1.5, 2.0, 2.5, 3.0, 5.665, 7.0, 10.0,
                                 50.0, 88.0, 104.0, 700.0, 12345.678, 1e10, 1e30, 6e-8, 1e-6, 0x1p-126, 0x1p-149,
                                 0x1p-1022, 0x1p-1074, 0x1.fffffep127, 0x1.fffffffffffffp1023, infinity, not_a_number};
    for (const double v : values)
      for (const double sign : {1.0, -1.0}) x.push_back(make<T>(sign * v));
  }
  return x;
}

/// Every pair of corners.
template <class T>
std::pair<std::vector<T>, std::vector<T>> pairs() {
  std::pair<std::vector<T>, std::vector<T>> both;
  const std::vector<T> each = corners<T>();
  for (const T a : each)
    for (const T b : each) {
      both.first.push_back(a);
      both.second.push_back(b);
    }
  return both;
}

/// What a result may differ by, in last places: what libm and libmvec promise; for formulas of our own a few more.
double tolerance(op code, dtype t) {
  if (code < op::sqrt) return code == op::power && !is_integer(t) ? (is_complex(t) ? 200 : 4) : is_complex(t) ? 4 : 0;
  switch (code) {
    case op::sqrt:
    case op::rsqrt: return is_complex(t) ? 4 : 1;
    case op::copysign:
    case op::nextafter:
    case op::floor:
    case op::ceil:
    case op::trunc:
    case op::round: return 0;
    case op::logaddexp: return 16;
    default: return code > op::logaddexp ? (code == op::arg ? 4 : 0) : is_complex(t) ? 16 : 4;
  }
}

template <class T, class R>
void compare(const library& lib, op code, dtype t, const std::vector<T>& a, const std::vector<T>& b) {
  const auto n = static_cast<std::int64_t>(a.size());
  std::vector<R> got(a.size()), wanted(a.size());
  const dtype to = result_of(code, t);
  lib.get<void(const T*, const T*, R*, int)>(function_name(code, t))(a.data(), b.data(), got.data(),
                                                                     static_cast<int>(n));
  kernel_builder k{n};
  const std::uint32_t along = k.form({{0}});
  const value x = k.load(t, a.data(), along), y = info(code).arity > 1 ? k.load(t, b.data(), along) : value::none;
  k.store(to, wanted.data(), along, k.add(code, to, {x, y}));
  k.run();
  int bad = 0;
  for (std::size_t e = 0; e < a.size(); ++e)
    if (difference(got[e], wanted[e]) > tolerance(code, t) && bad++ < 3)
      ADD_FAILURE() << function_name(code, t) << "(" << shown(a[e]) << ", " << shown(b[e]) << ") is " << shown(got[e])
                    << ", the interpreter's " << shown(wanted[e]);
}

/// All operations on elements T of dtype t, with results of the types there are.
template <class T>
void compare_all(const library& lib, dtype t, const std::pair<std::vector<T>, std::vector<T>>& x) {
  for (int c = static_cast<int>(op::add); c < static_cast<int>(op::select); ++c) {
    const op code = static_cast<op>(c);
    if (!takes(code, t)) continue;
    const auto run = [&]<class R>(R) { compare<T, R>(lib, code, t, x.first, x.second); };
    const dtype to = result_of(code, t);
    if (to == t) run(T{});
    else if (to == boolean) run(std::uint8_t{});
    else if (to == f32) run(float{});
    else if (to == f64) run(double{});
    else if (to == c64) run(complex64{});
    else run(complex128{});
  }
}

template <class... T>
void compare_types(bool boolean_too) {
  std::string text;
  const auto write = [&](dtype t) {
    for (int c = static_cast<int>(op::add); c < static_cast<int>(op::select); ++c)
      if (takes(static_cast<op>(c), t)) text += function_text(static_cast<op>(c), t);
  };
  (write(dtype_of<T>), ...);
  if (boolean_too) write(boolean);
  const library lib(text);
  (compare_all<T>(lib, dtype_of<T>, pairs<T>()), ...);
  if (boolean_too) compare_all<std::uint8_t>(lib, boolean, {{0, 0, 1, 1}, {0, 1, 0, 1}});
}

TEST(prelude_operations, integer_operations_agree_with_the_interpreter) {
  SINTER_NEEDS_COMPILER();
  compare_types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                std::uint64_t>(true);
}

TEST(prelude_operations, float_operations_agree_with_the_interpreter) {
  SINTER_NEEDS_COMPILER();
  compare_types<float, double>(false);
}

TEST(prelude_operations, half_float_operations_agree_with_the_interpreter) {
  SINTER_NEEDS_COMPILER();
  compare_types<float16, bfloat16>(false);
}

TEST(prelude_operations, complex_operations_agree_with_the_interpreter) {
  SINTER_NEEDS_COMPILER();
  compare_types<complex64, complex128>(false);
}

TEST(prelude_operations, nvrtc_compiles_all_of_it) {
  std::string why;
  if (nvrtc_version(&why).empty()) GTEST_SKIP() << "no NVRTC: " << why;
  std::string text = whole_prelude(dialect::cuda);
  // Names in a kernel that uses the templates on all types, so that their bodies are compiled, too.
  std::string body;
  for (const dtype t : {i8, i32, i64, u8, u64, f16, f32, f64, c64, c128})
    for (int c = static_cast<int>(op::add); c < static_cast<int>(op::select); ++c) {
      std::string part = takes(static_cast<op>(c), t) ? function_text(static_cast<op>(c), t) : "";
      if (part.starts_with("extern \"C\" ")) part.replace(0, 11, "__device__ ");
      body += part;
    }
  compile_request r;
  r.name = "prelude_test";
  r.source = text + body + "extern \"C\" __global__ void probe(float* x) { *x = 1; }\n";
  r.target = "sm_90";
  EXPECT_NO_THROW(compile_cuda(r));
}

}  // namespace
