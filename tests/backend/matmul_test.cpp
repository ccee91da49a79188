// Products of matrices, large enough for a library and not, against plain loops: dtypes, layouts, stacks, what fuses.
// Where no library is installed all of it runs on generated kernels; counts of launches are then not checked.
#include "tests/backend/plain_product.hpp"

#include <cstdio>
#include <string>

#include <unistd.h>

using namespace sinter;
using namespace sinter_test;

namespace {

constexpr dtype library_types[] = {f16, bf16, f32, f64, c64, c128};

/// What large products take; said once when that can't be checked.
bool library_is_there() {
  static const bool there = has_library();
  static const bool told = there || (std::puts("no BLAS is installed: launches of library calls aren't checked"), true);
  return there && told;
}

std::uint64_t launches_of(const array& x) {
  return counted([&] { eval(x); }).launches;
}

// ---- Results ----

TEST(matmul, large_products_of_every_dtype) {
  for (const dtype type : every_type) {
    if (type == i8 || type == u8) continue;  // these wrap
    const host_array a = small_numbers(type, {37, 50}, 1), b = small_numbers(type, {50, 45}, 2);
    const host_array want = plain_sum("ij,jk->ik", {a, b}, type);
    for (const bool libraries : {true, false}) {
      const with_libraries use(libraries);
      const array c = matmul(a.to_device(), b.to_device());
      EXPECT_EQ(c.type(), type);
      EXPECT_TRUE(equals(c, want)) << to_string(type) << (libraries ? ", library" : "");
    }
  }
}

TEST(matmul, integers_wrap_and_dtypes_mix) {
  const host_array a = small_numbers(i8, {40, 40}, 3), b = small_numbers(i8, {40, 40}, 4);
  host_array want = plain_sum("ij,jk->ik", {a, b}, i64);
  host_array wrapped(i8, want.extents);
  for (std::int64_t k = 0; k < want.size(); ++k)
    wrapped.set(k, {static_cast<long double>(static_cast<std::int8_t>(static_cast<std::int64_t>(want.get(k).re))), 0});
  EXPECT_TRUE(equals(matmul(a.to_device(), b.to_device()), wrapped));
  const host_array x = small_numbers(f32, {40, 40}, 5);
  for (const dtype type : {f16, bf16, f64, c64, c128, i32}) {
    const host_array y = small_numbers(type, {40, 40}, 6);
    const dtype common = type == f64 || is_complex(type) ? type : f32;
    const array c = matmul(x.to_device(), y.to_device());
    EXPECT_EQ(c.type(), common) << to_string(type);
    EXPECT_TRUE(equals(c, plain_sum("ij,jk->ik", {x, y}, common))) << to_string(type);
  }
}

TEST(matmul, operands_in_every_layout) {
  for (const dtype type : library_types) {
    const host_array a = small_numbers(type, {41, 36}, 7), b = small_numbers(type, {36, 43}, 8);
    const host_array want = plain_sum("ij,jk->ik", {a, b}, type);
    for (const layout way : all_layouts)
      EXPECT_TRUE(equals(matmul(laid_out(a, way, 0), laid_out(b, way, 1)), want))
          << to_string(type) << ", " << sinter_test::to_string(way);
  }
}

TEST(matmul, views_of_one_array) {
  const host_array a = small_numbers(f32, {90, 100}, 9);
  const array x = a.to_device();
  const auto check = [&](const array& left, const array& right, const char* name) {
    const host_array want = plain_sum("ij,jk->ik", {from_device(left * 1.0f), from_device(right * 1.0f)}, f32);
    EXPECT_TRUE(equals(matmul(left, right), want)) << name;
  };
  check(x, transpose(x), "x x'");
  check(transpose(x), x, "x' x");
  check(x(range(10, 60), range(20, 70)), x(range(30, 80), range(1, 41)), "blocks");
  check(transpose(x(range(10, 60), range(20, 70))), x(range(30, 80), range(1, 41)), "a transposed block");
  check(x(range(0, 80, 2), all), transpose(x)(all, range(0, 90, 3)), "steps along rows");
  check(x(all, range(0, 100, 2)), x(range(0, 50), all), "steps within rows");
  check(flip(x, 0), transpose(flip(x)), "reversed");
  check(broadcast_to(x(0), {60, 100}), transpose(x), "one row again and again");
  check(reshape(x, {100, 90}), x, "reshaped");
  check(reshape(transpose(x), {90, 100}), reshape(x, {100, 90}), "reshaped after a transposition");
  check(x(range(0, 1), all), transpose(x), "one row");
}

TEST(matmul, stacks_broadcast) {
  struct row {
    const char* formula;
    shape a, b;
  };
  const row rows[] = {
      {"bij,bjk->bik", {5, 20, 30}, {5, 30, 25}},      {"bij,jk->bik", {5, 20, 30}, {30, 25}},
      {"ij,bjk->bik", {20, 30}, {5, 30, 25}},          {"abij,abjk->abik", {3, 1, 20, 30}, {1, 4, 30, 25}},
      {"abij,bjk->abik", {3, 4, 20, 30}, {4, 30, 25}}, {"abij,abjk->abik", {3, 4, 9, 30}, {3, 1, 30, 25}},
      {"bij,bjk->bik", {1, 40, 30}, {1, 30, 35}},      {"bij,bjk->bik", {100, 4, 30}, {1, 30, 25}},
      {"bij,bjk->bik", {300, 6, 7}, {300, 7, 5}},      {"bij,jk->bik", {40, 1, 60}, {60, 50}},
      {"bij,bjk->bik", {0, 40, 30}, {0, 30, 35}},
  };
  for (const row& r : rows)
    for (const layout way : {layout::evaluated, layout::transposed, layout::strided, layout::times_one}) {
      const host_array a = small_numbers(f32, r.a, 10), b = small_numbers(f32, r.b, 11);
      EXPECT_TRUE(equals(matmul(laid_out(a, way, 0), laid_out(b, way, 1)), plain_sum(r.formula, {a, b}, f32)))
          << to_string(r.a) << " x " << to_string(r.b) << ", " << sinter_test::to_string(way);
    }
}

TEST(matmul, stacks_by_steps_and_reversed) {
  const host_array a = small_numbers(f64, {6, 4, 20, 30}, 12), b = small_numbers(f64, {6, 4, 30, 25}, 13);
  const array x = a.to_device(), y = b.to_device();
  const auto check = [&](const array& left, const array& right, const char* name) {
    const host_array l = from_device(left * 1.0), r = from_device(right * 1.0);
    EXPECT_TRUE(equals(matmul(left, right), plain_sum("abij,abjk->abik", {l, r}, f64))) << name;
  };
  check(x(range(0, 6, 2)), y(range(1, 6, 2)), "every second");
  check(flip(x, 0), y, "from the last on");
  check(swapaxes(x, 0, 1), swapaxes(y, 0, 1), "axes of the stack exchanged");
  check(swapaxes(x, 1, 2)(all, range(0, 4)), y, "rows of the stack as its axis");
  check(swapaxes(y, 2, 3), swapaxes(x, 2, 3), "transposed");
}

TEST(matmul, nothing_to_multiply) {
  const array none = matmul(ones({40, 0}, f32), ones({0, 50}, f32));
  EXPECT_TRUE(equals(none, host_array(std::vector<float>(2000, 0.0f), {40, 50})));
  EXPECT_EQ(matmul(ones({0, 40}, f32), ones({40, 50}, f32)).to_vector<float>().size(), 0u);
  EXPECT_EQ(matmul(ones({3, 40, 60}), ones({3, 60, 0})).extents(), (shape{3, 40, 0}));
}

TEST(matmul, constants_and_infinities) {
  EXPECT_TRUE(equals(matmul(ones({40, 50}, f32) * 2, ones({50, 60}, f32)),
                     host_array(std::vector<float>(2400, 100.0f), {40, 60})));
  host_array a = small_numbers(f32, {40, 40}, 14);
  a.set(41, {infinity, 0});
  a.set(82, {not_a_number, 0});
  const std::vector<float> c = matmul(a.to_device(), ones({40, 40}, f32)).to_vector<float>();
  for (std::size_t k = 0; k < 40; ++k) {
    EXPECT_EQ(c[40 + k], infinity);
    EXPECT_TRUE(std::isnan(c[80 + k]));
    EXPECT_TRUE(std::isfinite(c[k]) && std::isfinite(c[120 + k]));
  }
}

TEST(matmul, f32_is_ieee_by_default) {
  EXPECT_EQ(get_matmul_precision(), matmul_precision::ieee);
  host_array a(f32, {64, 64}), b(f32, {64, 64}), want(f64, {64, 64});
  lcg g(15);
  for (host_array* x : {&a, &b})
    for (std::int64_t k = 0; k < x->size(); ++k)
      x->set(k, {static_cast<long double>(static_cast<float>(1 + static_cast<double>(g.below(1 << 22)) * 0x1p-22)), 0});
  want = plain_sum("ij,jk->ik", {a, b}, f64);
  EXPECT_TRUE(equals(matmul(a.to_device(), b.to_device()), want, {64 * 0x1p-24, 0, false}));
  set_matmul_precision(matmul_precision::tf32);
  EXPECT_TRUE(equals(matmul(a.to_device(), b.to_device()), want, {0x1p-10, 0, false}));
  set_matmul_precision(matmul_precision::ieee);
}

// ---- What is a launch ----

TEST(matmul, the_library_is_one_launch_between_those_that_fuse) {
  if (!library_is_there()) return;
  const array x = small_numbers(f32, {64, 96}, 16).to_device(), y = small_numbers(f32, {96, 80}, 17).to_device(),
              square_one = small_numbers(f32, {96, 96}, 18).to_device(), bias = ones({80}, f32);
  eval(x, y, square_one, bias);
  EXPECT_EQ(launches_of(matmul(x, y)), 1u);
  EXPECT_EQ(launches_of(matmul(x, transpose(square_one))), 1u) << "a transposed view is read where it is";
  EXPECT_EQ(launches_of(matmul(x(range(0, 64, 2), all), y(all, range(8, 72)))), 1u) << "so are blocks and steps";
  EXPECT_EQ(launches_of(matmul(reshape(x, {96, 64}), reshape(y, {64, 120}))), 1u) << "and other shapes";
  EXPECT_EQ(launches_of(matmul(x, flip(square_one))), 2u) << "reversed ones are stored first";
  EXPECT_EQ(launches_of(exp(matmul(x, y) + bias)), 2u) << "what is made of it is one launch";
  EXPECT_EQ(launches_of(matmul(exp(x * 2) + 1, y)), 2u) << "what is multiplied is one launch";
  EXPECT_EQ(launches_of(matmul(square_one * 2, square_one + 1)), 2u) << "both factors are";
  EXPECT_EQ(launches_of(sum(square(matmul(x, y)), 1)), 2u);
  EXPECT_EQ(launches_of(matmul(matmul(x, square_one), y)), 2u);
}

TEST(matmul, small_and_thin_products_fuse) {
  const array x = small_numbers(f32, {8, 8}, 19).to_device(), large = small_numbers(f32, {200, 200}, 20).to_device(),
              v = small_numbers(f32, {200}, 21).to_device();
  eval(x, large, v);
  EXPECT_EQ(launches_of(matmul(x * 2, x + 1) * 3), 1u);
  EXPECT_EQ(launches_of(matmul(large * 2, v) * 3), 1u);
  EXPECT_EQ(launches_of(sum((large * 2)(all, all, newaxis) * large(newaxis, all, all), 1)), 1u);
  EXPECT_EQ(launches_of(matmul(large.astype(i32), large.astype(i32))), 1u);
  const with_libraries none(false);
  EXPECT_EQ(launches_of(matmul(large * 2, large) * 3), 1u);
}

TEST(matmul, products_with_one_hot_matrices_stay_gathers) {
  const array table = small_numbers(f32, {500, 64}, 22).to_device(), ids = arange(60) * 7 % 500;
  eval(table, ids);
  const array rows = matmul(one_hot(ids, 500, f32), table);
  EXPECT_EQ(launches_of(rows), 1u);
  EXPECT_TRUE(equals(rows, from_device(table(ids, all))));
  EXPECT_EQ(explain(matmul(one_hot(ids, 500, f32), table)).find("library: "), std::string::npos);
}

TEST(matmul, explain_names_the_library_and_what_it_waits_for) {
  if (!library_is_there()) return;
  const array x = small_numbers(f32, {2, 64, 96}, 23).to_device(), y = small_numbers(f32, {96, 80}, 24).to_device();
  eval(x, y);
  const std::string text = explain(matmul(x * 2, y) + 1);
  EXPECT_NE(text.find("gemm f32, [64, 96] x [96, 80] for each of [2] at "), std::string::npos) << text;
  EXPECT_NE(text.find("reads it from memory"), std::string::npos) << text;
  EXPECT_NE(text.find("cut after multiply [2, 64, 96]"), std::string::npos) << text;
}

// ---- Around loops and writes ----

TEST(matmul, recorded_loops_of_products) {
  const host_array w = small_factors(f32, {40, 40}, 25), u0 = small_numbers(f32, {40, 40}, 26);
  const array weights = w.to_device();
  array u = u0.to_device();
  host_array want = u0;
  for (int t = 0; t < 12; ++t) {
    u = matmul(u, weights) * 0.125f;
    want = plain_sum("ij,jk->ik", {want, w}, f64);
    for (std::int64_t k = 0; k < want.size(); ++k) want.set(k, {want.get(k).re / 8, 0});
  }
  EXPECT_TRUE(equals(u, want, {1e-4, 1e-3, false}));
}

TEST(matmul, recorded_loops_that_write_parts) {
  const host_array a = small_numbers(f32, {12, 36, 40}, 27), b = small_numbers(f32, {40, 33}, 28);
  const array x = a.to_device(), y = b.to_device();
  array c = zeros({12, 36, 33}, f32);
  for (int k = 0; k < 12; ++k) c(k) = matmul(x(k), y) + k;
  host_array want = plain_sum("bij,jk->bik", {a, b}, f32);
  for (std::int64_t k = 0; k < want.size(); ++k)
    want.set(k, {want.get(k).re + static_cast<long double>(k / (36 * 33)), 0});
  EXPECT_TRUE(equals(c, want));
}

TEST(matmul, an_operand_that_is_overwritten_later_keeps_its_values) {
  const host_array a = small_numbers(f32, {40, 40}, 29);
  array x = a.to_device();
  const array before = matmul(x, transpose(x));
  x(0) = 7.0f;
  x *= 2.0f;
  eval(x);
  EXPECT_TRUE(equals(before, plain_sum("ij,kj->ik", {a, a}, f32)));
}

// ---- Without a library ----

/// What another process of this program prints that runs tests of products under the settings.
std::string output_under(const std::string& settings) {
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return "no /proc";
  const std::string command = settings + " '" + self + "' --executor=" + (executor == "cuda" ? "cuda" : "interpreter") +
                              " --gtest_filter='matmul.views_of_one_array:matmul.stacks_broadcast' 2>&1";
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return "no shell";
  for (char line[4096]; std::fgets(line, sizeof line, pipe);) text += line;
  return text + (pclose(pipe) == 0 ? "all good" : "failed");
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(matmul, a_missing_library_is_one_warning) {
  if (executor == "cuda") GTEST_SKIP() << "cuBLAS can't be hidden without a setting";
  const std::string text = output_under("SINTER_BLAS=/nowhere/libnone.so.3");
  EXPECT_TRUE(text.ends_with("all good")) << text;
  EXPECT_EQ(count_of(text, "BLAS was not found; looked for /nowhere/libnone.so.3"), 1) << text;
  EXPECT_EQ(count_of(text, "hint: install libopenblas0-pthread"), 1) << text;
  EXPECT_EQ(count_of(text, "matmul at "), 1) << text;
}

TEST(matmul, libraries_that_are_switched_off_are_no_warning) {
  const std::string text = output_under("SINTER_LIBRARIES=off");
  EXPECT_TRUE(text.ends_with("all good")) << text;
  EXPECT_EQ(count_of(text, "sinter: "), 0) << text;
}

// ---- Errors ----

TEST(matmul, shapes_that_do_not_contract) {
  const array a = ones({40, 50}), b = ones({40, 60});
  EXPECT_TRUE(throws<shape_error>([&] { matmul(a, b); }, {"[40, 50]", "[40, 60]", "rows of 50", "matmul_test.cpp"}));
  EXPECT_TRUE(throws<shape_error>([&] { matmul(ones({2, 40, 40}), ones({3, 40, 40})); }, {"do not broadcast"}));
  EXPECT_TRUE(throws<shape_error>([&] { dot(a, ones({7, 40, 60})); }, {"dot", "[40, 50]", "[7, 40, 60]", "hint"}));
  EXPECT_TRUE(throws<type_error>([&] { matmul(a.astype(i64), transpose(a).astype(u64)); }, {"no dtype holds"}));
}

}  // namespace
