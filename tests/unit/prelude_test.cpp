// The functions that generated kernels call, compiled by the host's compiler: conversions with all answers, indices,
// accumulators; and which of them a kernel gets.
#include "jit/codegen/magic.hpp"
#include "tests/unit/native_library.hpp"

#include <bit>

using namespace sinter_test;

namespace {

// ---- Half floats, exhaustively ----

TEST(prelude, every_half_float_converts_both_ways) {
  SINTER_NEEDS_COMPILER();
  const library lib(R"(extern "C" void widen(const float16* h, const bfloat16* b, float* from_h, float* from_b, int n) {
  for (int k = 0; k < n; ++k) { from_h[k] = to_float(h[k]); from_b[k] = to_float(b[k]); }
}
extern "C" void narrow(const float* x, float16* h, bfloat16* b, int n) {
  for (int k = 0; k < n; ++k) { h[k] = to_float16(x[k]); b[k] = to_bfloat16(x[k]); }
}
)");
  std::vector<float16> h(65536), h_back(65536);
  std::vector<bfloat16> b(65536), b_back(65536);
  for (std::size_t k = 0; k < 65536; ++k) h[k].bits = b[k].bits = static_cast<std::uint16_t>(k);
  std::vector<float> from_h(65536), from_b(65536);
  const auto widen = lib.get<void(const float16*, const bfloat16*, float*, float*, int)>("widen");
  const auto narrow = lib.get<void(const float*, float16*, bfloat16*, int)>("narrow");
  widen(h.data(), b.data(), from_h.data(), from_b.data(), 65536);
  for (std::size_t k = 0; k < 65536; ++k) {
    EXPECT_EQ(difference(from_h[k], static_cast<float>(h[k])), 0) << k;
    EXPECT_EQ(difference(from_b[k], static_cast<float>(b[k])), 0) << k;
  }
  // Floats of all exponents, a prime apart, with those around ties: both neighbours and the middle.
  std::vector<float> x;
  for (std::uint64_t bits = 0; bits < 0x100000000; bits += 262139)
    for (const std::uint32_t low : {0u, 0xfffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u})
      x.push_back(std::bit_cast<float>((static_cast<std::uint32_t>(bits) & 0xffff0000u) | low));
  h.resize(x.size());
  b.resize(x.size());
  narrow(x.data(), h.data(), b.data(), static_cast<int>(x.size()));
  for (std::size_t k = 0; k < x.size(); ++k) {
    EXPECT_EQ(difference(h[k], float16(x[k])), 0) << x[k];
    EXPECT_EQ(difference(b[k], bfloat16(x[k])), 0) << x[k];
  }
}

TEST(prelude, doubles_round_to_half_floats_once_and_neighbours_are_the_formats_own) {
  SINTER_NEEDS_COMPILER();
  const library lib(R"(extern "C" float once(double x) { return round_float16(x); }
extern "C" float once_b(double x) { return round_bfloat16(x); }
extern "C" float next(float a, float b) { return nextafter_float16(a, b); }
extern "C" float next_b(float a, float b) { return nextafter_bfloat16(a, b); }
)");
  const auto once = lib.get<float(double)>("once"), once_b = lib.get<float(double)>("once_b");
  const auto next = lib.get<float(float, float)>("next"), next_b = lib.get<float(float, float)>("next_b");
  EXPECT_EQ(once(1 + 0x1p-11), 1.0f);
  EXPECT_EQ(once(1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10f);
  EXPECT_EQ(once(-1 - 0x1p-11 - 0x1p-40), -1 - 0x1p-10f);
  EXPECT_EQ(once(1 + 0x3p-11 - 0x1p-40), 1 + 0x1p-10f);
  EXPECT_EQ(once_b(1 + 0x1p-8 + 0x1p-40), 1 + 0x1p-7f);
  EXPECT_EQ(once(1e300), static_cast<float>(infinity));
  EXPECT_EQ(once(1e-300), 0.0f);
  EXPECT_EQ(next(1, 2), 1 + 0x1p-10f);
  EXPECT_EQ(next(0, -1), -0x1p-24f);
  EXPECT_EQ(next(-1, 0), -1 + 0x1p-11f);
  EXPECT_EQ(next(65504, 1e9f), static_cast<float>(infinity));
  EXPECT_EQ(next_b(1, 2), 1 + 0x1p-7f);
}

// ---- Conversion, indices, accumulators ----

TEST(prelude, to_integer_truncates_saturates_and_takes_nan_to_zero) {
  SINTER_NEEDS_COMPILER();
  const library lib(R"(
extern "C" void all(const double* x, signed char* a, unsigned char* b, int* c, long long* d, unsigned long long* e,
                    int n) {
  for (int k = 0; k < n; ++k) {
    a[k] = to_integer<signed char>(x[k]);
    b[k] = to_integer<unsigned char>((float)x[k]);
    c[k] = to_integer<int>(x[k]);
    d[k] = to_integer<long long>((float)x[k]);
    e[k] = to_integer<unsigned long long>(x[k]);
  }
}
)");
  const std::vector<double> x = {not_a_number,  infinity,   -infinity, 1.9,  -1.9,   127.5, -128.5, 128,
                                 1e10, -1e10, 1e19, -0.5, 1.8e19, 1e20,  255.9};
  const std::vector<float> narrow(x.begin(), x.end());
  const std::size_t n = x.size();
  std::vector<std::int8_t> a(n), a0(n);
  std::vector<std::uint8_t> b(n), b0(n);
  std::vector<std::int32_t> c(n), c0(n);
  std::vector<std::int64_t> d(n), d0(n);
  std::vector<std::uint64_t> e(n), e0(n);
  lib.get<void(const double*, std::int8_t*, std::uint8_t*, std::int32_t*, std::int64_t*, std::uint64_t*, int)>("all")(
      x.data(), a.data(), b.data(), c.data(), d.data(), e.data(), static_cast<int>(n));
  const auto reference = [&]<class T, class F>(const std::vector<F>& from, std::vector<T>& out) {
    kernel_builder k{static_cast<std::int64_t>(n)};
    const std::uint32_t along = k.form({{0}});
    k.store(dtype_of<T>, out.data(), along, k.add(op::convert, dtype_of<T>, {k.load(dtype_of<F>, from, along)}));
    k.run();
  };
  reference(x, a0);
  reference(narrow, b0);
  reference(x, c0);
  reference(narrow, d0);
  reference(x, e0);
  EXPECT_EQ(a, a0);
  EXPECT_EQ(b, b0);
  EXPECT_EQ(c, c0);
  EXPECT_EQ(d, d0);
  EXPECT_EQ(e, e0);
}

TEST(prelude, division_by_magic_numbers_is_exact_at_the_edges) {
  SINTER_NEEDS_COMPILER();
  const library lib(R"(extern "C" unsigned divided(unsigned n, unsigned m, unsigned s) { return fast_divide(n, m, s); }
)");
  const auto divided = lib.get<unsigned(unsigned, unsigned, unsigned)>("divided");
  constexpr std::uint32_t most = 0x7fffffff;
  std::vector<std::uint32_t> divisors;
  for (std::uint32_t d = 1; d < 4000; ++d) divisors.push_back(d);
  for (std::uint32_t bit = 12; bit < 31; ++bit)
    for (int step = -3; step <= 3; ++step) divisors.push_back((1u << bit) + static_cast<std::uint32_t>(step));
  divisors.insert(divisors.end(), {most, most - 1, most / 2, most / 2 + 1, most / 3, 1000000007});
  for (const std::uint32_t d : divisors) {
    const magic_numbers m = magic(d);
    const auto expect = [&](std::uint32_t n) {
      ASSERT_EQ(divided(n, m.multiplier, m.shift), n / d) << n << " / " << d;
    };
    const std::uint32_t top = most / d;
    for (const std::uint32_t q : {0u, 1u, 2u, top / 2, top - 1, top})
      for (int step = -1; step <= 1; ++step) {
        const std::int64_t n = static_cast<std::int64_t>(q) * d + step;
        if (n >= 0 && n <= most) expect(static_cast<std::uint32_t>(n));
      }
    expect(most);
  }
}

TEST(prelude, checked_indices_count_from_the_end_and_report_the_first_bad_one) {
  SINTER_NEEDS_COMPILER();
  const library lib(R"(
extern "C" int signed_index(long long x, long long size, bool* good, index_fault* f) {
  return checked_index<int>(x, size, *good, f, 7, 2, 99);
}
extern "C" long long unsigned_index(unsigned long long x, long long size, bool* good, index_fault* f) {
  return checked_index<long long>(x, size, *good, f, 7, 3, 100);
}
)");
  const auto at = lib.get<int(std::int64_t, std::int64_t, bool*, runtime::index_fault*)>("signed_index");
  const auto at_unsigned =
      lib.get<std::int64_t(std::uint64_t, std::int64_t, bool*, runtime::index_fault*)>("unsigned_index");
  runtime::index_fault fault;
  bool good = false;
  EXPECT_EQ(at(2, 5, &good, &fault), 2);
  EXPECT_TRUE(good);
  EXPECT_EQ(at(-5, 5, &good, &fault), 0);
  EXPECT_TRUE(good);
  EXPECT_EQ(at_unsigned(4, 5, &good, &fault), 4);
  EXPECT_TRUE(good);
  EXPECT_EQ(fault.set, 0);
  EXPECT_EQ(at_unsigned(UINT64_MAX, 5, &good, &fault), 0);
  EXPECT_FALSE(good);
  EXPECT_EQ(at(-6, 5, &good, &fault), 0);
  EXPECT_FALSE(good);
  EXPECT_EQ(fault.set, 2);
  EXPECT_EQ(fault.ordinal, 3);
  EXPECT_EQ(fault.launch, 7);
  EXPECT_EQ(fault.index, INT64_MAX);
  EXPECT_EQ(fault.size, 5);
  EXPECT_EQ(fault.position, 100);
}

TEST(prelude, packs_move_all_elements_aligned_or_not) {
  SINTER_NEEDS_COMPILER();
  const library lib(R"(extern "C" void moved(const float* a, float* out, bool aligned) {
  const pack<float, 4> v = load_pack<float, 4>(a, aligned);
  store_pack(out, v, aligned);
}
)");
  const auto moved = lib.get<void(const float*, float*, bool)>("moved");
  alignas(16) const float a[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  alignas(16) float out[8] = {};
  moved(a, out, true);
  moved(a + 1, out + 4, false);
  for (int k = 0; k < 4; ++k) {
    EXPECT_EQ(out[k], a[k]);
    EXPECT_EQ(out[4 + k], a[1 + k]);
  }
}

TEST(prelude, accumulators_agree_with_the_interpreter) {
  SINTER_NEEDS_COMPILER();
  const auto function = [](std::string_view name, std::string_view type, std::string_view in, std::string_view out) {
    const bool finds = type.starts_with("position");
    return fmt::format(
        "extern \"C\" void {0}(const {2}* x, {3}* out, int n) {{\n  {1} first, second;\n"
        "  for (int k = 0; k < n / 2; ++k) first.add(x[k]{4});\n"
        "  for (int k = n / 2; k < n; ++k) second.add(x[k]{4});\n"
        "  first.merge(second);\n  *out = first.value();\n}}\n",
        name, type, in, out, finds ? ", k" : "");
  };
  const library lib(function("sum_f32", "sum_of<float>", "float", "float") +
                    function("sum_f64", "sum_of<double>", "double", "double") +
                    function("prod_i64", "product_of<long long>", "long long", "long long") +
                    function("sum_c64", "sum_of<complex<float>>", "complex<float>", "complex<float>") +
                    function("prod_c64", "product_of<complex<float>>", "complex<float>", "complex<float>") +
                    function("min_f64", "smallest_of<double>", "double", "double") +
                    function("max_f64", "largest_of<double>", "double", "double") +
                    function("argmin_f64", "position_of_smallest<double>", "double", "long long") +
                    function("argmax_f64", "position_of_largest<double>", "double", "long long"));
  const auto check = [&]<class T, class R>(const char* name, op code, const std::vector<T>& x, R) {
    R got{}, wanted{};
    const auto n = static_cast<std::int64_t>(x.size());
    lib.get<void(const T*, R*, int)>(name)(x.data(), &got, static_cast<int>(n));
    kernel_builder b{1};
    const value l = b.loop(dtype_of<R>, {n});
    const value v = b.load(dtype_of<T>, x, b.form({{1}}));
    b.store(dtype_of<R>, &wanted, b.form({{0}}), b.reduce_and_end(code, dtype_of<R>, v, l));
    b.run();
    EXPECT_EQ(difference(got, wanted), 0) << name << ": " << shown(got) << ", the interpreter's " << shown(wanted);
  };
  check("sum_f32", op::reduce_sum, std::vector<float>{1e8f, 1, -1e8f, 0.1f, 0.2f}, float{});
  check("prod_i64", op::reduce_prod, std::vector<std::int64_t>{INT64_MAX, 3, 5}, std::int64_t{});
  check("sum_c64", op::reduce_sum, std::vector<complex64>{{1e8f, 2}, {1, 1e8f}, {-1e8f, -1e8f}}, complex64{});
  check("prod_c64", op::reduce_prod, std::vector<complex64>{{1, 2}, {3, -1}, {0.5f, 0.25f}}, complex64{});
  const std::vector<double> rows[] = {{1, 1e100, 1, -1e100}, {infinity, 1, -1}, {1, not_a_number, 3, not_a_number, -5},
                                      {4, 2, 2, 4, 4},       {-0.0, 0.0},       {infinity, -infinity},
                                      {5}};
  for (const std::vector<double>& x : rows) {
    check("sum_f64", op::reduce_sum, x, double{});
    check("min_f64", op::reduce_min, x, double{});
    check("max_f64", op::reduce_max, x, double{});
    check("argmin_f64", op::reduce_argmin, x, std::int64_t{});
    check("argmax_f64", op::reduce_argmax, x, std::int64_t{});
  }
}

TEST(prelude, what_has_seen_nothing_changes_nothing) {
  SINTER_NEEDS_COMPILER();
  std::string text;
  const std::pair<const char*, const char*> accumulators[] = {
      {"sum_of<double>", "double"},
      {"product_of<float>", "float"},
      {"smallest_of<float>", "float"},
      {"largest_of<int>", "int"},
      {"largest_of<double>", "double"},
      {"smallest_of<signed char>", "signed char"},
      {"smallest_of<bool>", "bool"},
      {"largest_of<unsigned char>", "unsigned char"}};
  int n = 0;
  for (const auto& [type, of] : accumulators)
    text += fmt::format(
        "extern \"C\" double before{0}(double x) {{ {1} a, b; b.add(({2})x); a.merge(b); return a.value(); }}\n"
        "extern \"C\" double after{0}(double x) {{ {1} a, b; a.add(({2})x); a.merge(b); return a.value(); }}\n",
        n++, type, of);
  const library lib(text);
  for (int k = 0; k < n; ++k)
    for (const double x : {1.0, 0.0}) {
      EXPECT_EQ(lib.get<double(double)>(fmt::format("before{}", k))(x), x) << accumulators[k].first;
      EXPECT_EQ(lib.get<double(double)>(fmt::format("after{}", k))(x), x) << accumulators[k].first;
    }
}

TEST(prelude, positions_merge_in_any_order) {
  SINTER_NEEDS_COMPILER();
  const library lib(R"(extern "C" long long halves(const double* x, int n, int largest, int swapped) {
  position_of_smallest<double> a, b;
  position_of_largest<double, int> c, d;
  for (int k = 0; k < n; ++k) (k % 2 ? a : b).add(x[k], k), (k % 2 ? c : d).add(x[k], k);
  if (swapped) a.merge(b), c.merge(d);
  else b.merge(a), d.merge(c);
  return largest ? (swapped ? c : d).value() : (swapped ? a : b).value();
}
)");
  const auto halves = lib.get<long long(const double*, int, int, int)>("halves");
  const std::vector<double> equal{3, 1, 1, 3}, infinite{-infinity, -infinity}, nan{1, 7, not_a_number, not_a_number},
      above{infinity, infinity, infinity};
  for (const int swapped : {0, 1}) {
    EXPECT_EQ(halves(equal.data(), 4, 0, swapped), 1);
    EXPECT_EQ(halves(equal.data(), 4, 1, swapped), 0);
    EXPECT_EQ(halves(infinite.data(), 2, 1, swapped), 0);
    EXPECT_EQ(halves(above.data(), 3, 0, swapped), 0);
    EXPECT_EQ(halves(nan.data(), 4, 0, swapped), 2);
    EXPECT_EQ(halves(nan.data(), 4, 1, swapped), 2);
  }
}

// ---- Which sections a kernel gets ----

TEST(prelude, a_kernel_gets_only_what_it_names) {
  EXPECT_EQ(prelude_for("out[i] = a[i] + b[i];", dialect::cuda), "");
  EXPECT_EQ(prelude_for("out[i] = expf(a[i]);  // divide", dialect::cuda), "");
  EXPECT_EQ(prelude_for("const float x = absolute(a[i]);", dialect::cuda).find("double"), std::string::npos);
  EXPECT_NE(prelude_for("expf(x)", dialect::host).find("float expf(float);"), std::string::npos);
}

TEST(prelude, complex_functions_bring_those_they_are_made_of) {
  const std::string text = prelude_for("complex<double> z = asinh(z);", dialect::cuda);
  EXPECT_NE(text.find("complex<T> asin(complex<T> z)"), std::string::npos);
  EXPECT_NE(text.find("complex<T> sqrt(complex<T> z)"), std::string::npos);
  EXPECT_EQ(text.find("complex<T> sin(complex<T> z)"), std::string::npos);
}

TEST(prelude, no_marker_or_placeholder_is_left_in_what_kernels_get) {
  for (const dialect d : {dialect::cuda, dialect::host}) {
    const std::string text = whole_prelude(d);
    EXPECT_EQ(text.find("//@"), std::string::npos);
    EXPECT_EQ(text.find("///"), std::string::npos);
    EXPECT_EQ(text.find("SINTER_"), std::string::npos);
  }
}

}  // namespace
