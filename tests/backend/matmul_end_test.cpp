// Products with what follows them, where a library does both in one call: factors by any BLAS, addends, biases and
// ramps by cuBLASLt. Numbers are small whole ones, so that all results are exact; where no library is installed all of
// it runs on generated kernels, and counts of launches aren't checked.
#include "dsl/compile.hpp"
#include "dsl/einsum.hpp"
#include "tests/backend/plain_product.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>

using namespace sinter;
using namespace sinter_test;

namespace {

bool library_is_there() {
  static const bool there = has_library();
  static const bool told = there || (std::puts("no BLAS is installed: launches of library calls aren't checked"), true);
  return there && told;
}
bool on_cuda() { return executor == "cuda"; }

/// What `c` is where the product is p, in row `row` and column `column`.
using plain_end = std::function<long double(long double p, std::int64_t row, std::int64_t column)>;

struct product_case {
  host_array a, b, addend, bias;
  array x, y, c, v;

  product_case(dtype type, shape stack, std::int64_t n, std::int64_t k, std::int64_t m) {
    shape of_a = stack, of_c = stack;
    of_a.append(n), of_a.append(k);
    of_c.append(n), of_c.append(m);
    a = small_numbers(type, of_a, 31), b = small_numbers(type, {k, m}, 32);
    addend = small_numbers(type, of_c, 33), bias = small_numbers(type, {m}, 34);
    if (size_of(type) == 2)
      for (host_array* h : {&a, &b, &addend, &bias})
        for (std::int64_t j = 0; j < h->size(); ++j) h->set(j, {std::trunc(h->get(j).re / 2), 0});
    x = a.to_device(), y = b.to_device(), c = addend.to_device(), v = bias.to_device();
    eval(x, y, c, v);
  }

  host_array want(const plain_end& f) const {
    host_array p = plain_sum(a.extents.rank() == 3 ? "bij,jk->bik" : "ij,jk->ik", {a, b}, f64);
    host_array out(a.type, p.extents);
    const std::int64_t m = p.extents[p.extents.rank() - 1];
    for (std::int64_t k = 0; k < p.size(); ++k) out.set(k, {f(p.get(k).re, k / m, k % m), 0});
    return out;
  }
  long double c_at(std::int64_t row, std::int64_t column) const {
    return addend.get(row * bias.size() + column).re;
  }
  long double v_at(std::int64_t column) const { return bias.get(column).re; }
};

std::uint64_t launches_of(const array& x) {
  return counted([&] { eval(x); }).launches;
}

/// `made` is evaluated once, in `launches` launches on cuda, `on_host` on the cpu device.
void expect_call(const std::function<array()>& made, const host_array& want, std::uint64_t launches,
                 std::uint64_t on_host, const std::string& name) {
  const array r = made();
  const std::uint64_t count = launches_of(r);
  if (library_is_there()) { EXPECT_EQ(count, on_cuda() ? launches : on_host) << name; }
  EXPECT_TRUE(equals(r, want)) << name;
}

long double at_least_0(long double x) { return x > 0 ? x : 0; }

void check_ends(const product_case& t, const std::string& name) {
  const auto p = [&] { return matmul(t.x, t.y); };
  using number = long double;
  expect_call([&] { return 2 * p(); }, t.want([](number x, auto, auto) { return 2 * x; }), 1, 1, name + ", factor");
  expect_call([&] { return p() / 4; }, t.want([](number x, auto, auto) { return x / 4; }), 1, 1, name + ", divisor");
  expect_call([&] { return -p(); }, t.want([](number x, auto, auto) { return -x; }), 1, 1, name + ", negative");
  expect_call([&] { return p() + t.v; }, t.want([&](number x, auto, auto k) { return x + t.v_at(k); }), 1, 2,
              name + ", bias");
  expect_call([&] { return maximum(p(), 0); }, t.want([](number x, auto, auto) { return at_least_0(x); }), 1, 2,
              name + ", ramp");
  expect_call([&] { return maximum(t.v(newaxis, all) + p(), 0); },
              t.want([&](number x, auto, auto k) { return at_least_0(x + t.v_at(k)); }), 1, 2, name + ", bias, ramp");
  expect_call([&] { return p() + t.c; }, t.want([&](number x, auto i, auto k) { return x + t.c_at(i, k); }), 1, 2,
              name + ", addend");
  expect_call([&] { return 2 * p() + 3 * t.c; },
              t.want([&](number x, auto i, auto k) { return 2 * x + 3 * t.c_at(i, k); }), 1, 2, name + ", both scaled");
  expect_call([&] { return p() - t.c; }, t.want([&](number x, auto i, auto k) { return x - t.c_at(i, k); }), 1, 2,
              name + ", minus");
  expect_call([&] { return t.c - p() * 2; }, t.want([&](number x, auto i, auto k) { return t.c_at(i, k) - 2 * x; }), 1,
              2, name + ", from");
  expect_call([&] { return maximum(p() + t.v - t.c, 0) + 1; },
              t.want([&](number x, auto i, auto k) { return at_least_0(x + t.v_at(k) - t.c_at(i, k)) + 1; }), 2, 2,
              name + ", all of it and more");
}

TEST(matmul_end, is_part_of_the_call) {
  for (const dtype type : {f32, f64, bf16, f16}) {
    // The cpu device's BLAS has no halves: they are converted.
    if (!on_cuda() && size_of(type) == 2) continue;
    const bool is_short = type == bf16;  // whole numbers of 8 bits are few
    check_ends(product_case(type, {}, 96, is_short ? 4 : 40, 128), std::string(to_string(type)));
    check_ends(product_case(type, {}, 87, is_short ? 5 : 41, 123), std::string(to_string(type)) + ", odd");
    check_ends(product_case(type, {3}, 83, is_short ? 4 : 20, 104), std::string(to_string(type)) + ", stack");
  }
}

TEST(matmul_end, of_stacks_that_share_no_matrix) {
  const host_array a = small_numbers(f32, {3, 40, 30}, 41), b = small_numbers(f32, {3, 30, 50}, 42),
                   v = small_numbers(f32, {50}, 43), c = small_numbers(f32, {3, 40, 50}, 44);
  const array x = a.to_device(), y = b.to_device(), bias = v.to_device(), addend = c.to_device();
  eval(x, y, bias, addend);
  host_array want = plain_sum("bij,bjk->bik", {a, b}, f32);
  for (std::int64_t k = 0; k < want.size(); ++k)
    want.set(k, {at_least_0(want.get(k).re * 2 + c.get(k).re + v.get(k % 50).re), 0});
  expect_call([&] { return maximum(2 * matmul(x, y) + addend + bias, 0); }, want, 1, 2, "two stacks");
}

TEST(matmul_end, halves_on_the_host_are_right_in_more_launches) {
  const product_case t(bf16, {}, 90, 4, 100);
  EXPECT_TRUE(equals(maximum(matmul(t.x, t.y) * 2 + t.v, 0),
                     t.want([&](long double x, auto, auto k) { return at_least_0(2 * x + t.v_at(k)); })));
}

TEST(matmul_end, a_product_that_is_read_elsewhere_is_computed_once_and_kept) {
  const product_case t(f32, {}, 40, 33, 36);
  const array p = matmul(t.x, t.y);
  const array r = maximum(p + t.v, 0), twice = p * 2;
  const std::uint64_t launches = counted([&] { eval(r, twice); }).launches;
  if (library_is_there()) { EXPECT_EQ(launches, 2u); }
  EXPECT_TRUE(equals(r, t.want([&](long double x, auto, auto k) { return at_least_0(x + t.v_at(k)); })));
  EXPECT_TRUE(equals(twice, t.want([](long double x, auto, auto) { return 2 * x; })));
  EXPECT_TRUE(equals(p, t.want([](long double x, auto, auto) { return x; })));
}

TEST(matmul_end, what_is_between_may_be_kept_too) {
  const product_case t(f32, {}, 40, 33, 36);
  const array sum = matmul(t.x, t.y) + t.v;
  const array r = maximum(sum, 0);
  EXPECT_TRUE(equals(r, t.want([&](long double x, auto, auto k) { return at_least_0(x + t.v_at(k)); })));
  EXPECT_TRUE(equals(sum, t.want([&](long double x, auto, auto k) { return x + t.v_at(k); })));
}

TEST(matmul_end, layers_are_a_call_each) {
  const host_array a = small_numbers(f32, {40, 36}, 51), w1 = small_numbers(f32, {36, 48}, 52),
                   w2 = small_numbers(f32, {48, 44}, 53), v1 = small_numbers(f32, {48}, 54),
                   v2 = small_numbers(f32, {44}, 55);
  const array x = a.to_device(), m1 = w1.to_device(), m2 = w2.to_device(), b1 = v1.to_device(), b2 = v2.to_device();
  eval(x, m1, m2, b1, b2);
  host_array h = plain_sum("ij,jk->ik", {a, w1}, f64);
  for (std::int64_t k = 0; k < h.size(); ++k) h.set(k, {at_least_0(h.get(k).re + v1.get(k % 48).re), 0});
  host_array want = plain_sum("ij,jk->ik", {h, w2}, f32);
  for (std::int64_t k = 0; k < want.size(); ++k) want.set(k, {2 * (want.get(k).re + v2.get(k % 44).re), 0});
  const auto net = [&](array u) {
    const array hidden = maximum(matmul(u, m1) + b1, 0);
    return (matmul(hidden, m2) + b2) * 2;
  };
  const array r = net(x);
  const std::uint64_t launches = launches_of(r);
  if (library_is_there()) { EXPECT_EQ(launches, on_cuda() ? 3u : 4u); }
  EXPECT_TRUE(equals(r, want));
  auto compiled_net = compile(net);
  for (int k = 0; k < 3; ++k) EXPECT_TRUE(equals(compiled_net(x), want)) << k;
}

TEST(matmul_end, replays_with_other_arguments) {
  auto layer = compile([](array u, array w, array v, array c) { return maximum(2 * matmul(u, w) + c + v, 0); });
  for (const std::int64_t n : {40, 40, 64}) {
    const product_case t(f32, {}, n, 33 + n, 36);
    EXPECT_TRUE(equals(layer(t.x, t.y, t.v, t.c), t.want([&](long double x, auto i, auto k) {
      return at_least_0(2 * x + t.c_at(i, k) + t.v_at(k));
    }))) << n;
  }
}

TEST(matmul_end, nan_stays_in_maximum_and_goes_in_fmax) {
  for (const dtype type : {f32, f64, bf16, f16})
    for (const std::int64_t n : {48, 37, 200}) {
      product_case t(type, {}, n, 40, n + 8);
      t.a.set(40 * 5 + 1, {not_a_number, 0});
      t.x = t.a.to_device();
      eval(t.x);
      const std::int64_t m = n + 8;
      const host_array kept = from_device(maximum(matmul(t.x, t.y) + t.v, 0).astype(f64)),
                       gone = from_device(fmax(matmul(t.x, t.y), 0).astype(f64)),
                       alone = from_device(maximum(matmul(t.x, t.y), 0).astype(f64));
      for (std::int64_t k = 0; k < m; ++k) {
        EXPECT_TRUE(std::isnan(kept.get(5 * m + k).re)) << to_string(type) << n;
        EXPECT_TRUE(std::isnan(alone.get(5 * m + k).re)) << to_string(type) << n;
        EXPECT_EQ(gone.get(5 * m + k).re, 0) << to_string(type) << n;
        EXPECT_FALSE(std::isnan(kept.get(4 * m + k).re));
      }
    }
}

TEST(matmul_end, zero_times_a_product_keeps_nan_and_infinities) {
  product_case t(f32, {}, 40, 40, 40);
  t.a.set(7, {infinity, 0});
  t.b.set(0, {1, 0});
  t.addend.set(81, {not_a_number, 0});
  t.x = t.a.to_device(), t.y = t.b.to_device(), t.c = t.addend.to_device();
  eval(t.x, t.y, t.c);
  const std::vector<float> r = (matmul(t.x, t.y) * 0).to_vector<float>();
  EXPECT_TRUE(std::isnan(r[1]));
  EXPECT_EQ(r[40], 0.0f);
  EXPECT_TRUE(std::isnan((matmul(t.x, t.y) + 0 * t.c).to_vector<float>()[81]));
}

TEST(matmul_end, what_is_no_part_of_a_call_follows_it) {
  const product_case t(f32, {}, 40, 33, 36);
  const array column = small_numbers(f32, {40, 1}, 61).to_device(), number = full({}, 3, f32);
  eval(column, number);
  EXPECT_TRUE(equals(matmul(t.x, t.y) * 2 * 3, t.want([](long double x, auto, auto) { return 6 * x; })));
  EXPECT_TRUE(equals((matmul(t.x, t.y) + t.v) * 2 + t.v,
                     t.want([&](long double x, auto, auto k) { return (x + t.v_at(k)) * 2 + t.v_at(k); })));
  EXPECT_TRUE(equals(maximum(matmul(t.x, t.y), 1),
                     t.want([](long double x, auto, auto) { return x > 1 ? x : 1; })));
  EXPECT_TRUE(equals(maximum(maximum(matmul(t.x, t.y), 0) * 2, 0) + t.v,
                     t.want([&](long double x, auto, auto k) { return 2 * at_least_0(x) + t.v_at(k); })));
  EXPECT_TRUE(equals(matmul(t.x, t.y) * number, t.want([](long double x, auto, auto) { return 3 * x; })));
  const host_array columns = from_device(column);
  EXPECT_TRUE(equals(matmul(t.x, t.y) + column,
                     t.want([&](long double x, auto i, auto) { return x + columns.get(i).re; })));
  EXPECT_EQ((matmul(t.x, t.y) * 2.5).type(), f32);
  EXPECT_EQ((matmul(t.x, t.y) + t.c.astype(f64)).type(), f64);
}

TEST(matmul_end, explain_says_what_the_call_does) {
  if (!library_is_there()) return;
  const product_case t(f32, {}, 40, 33, 36);
  const std::string scaled = explain(matmul(t.x, t.y) * 2.5f);
  EXPECT_NE(scaled.find("BLAS gemm f32, [40, 33] x [33, 36], times 2.5 at "), std::string::npos) << scaled;
  EXPECT_NE(scaled.find("0 group(s)"), std::string::npos) << scaled;
  const std::string text = explain(maximum(matmul(t.x, t.y) + t.v - 3 * t.c, 0));
  if (on_cuda()) {
    EXPECT_NE(text.find("cuBLASLt gemm f32"), std::string::npos) << text;
    EXPECT_NE(text.find(", plus -3 times an array, plus a bias, at least 0 at "), std::string::npos) << text;
  } else {
    EXPECT_EQ(text.find("a bias"), std::string::npos) << text;
    EXPECT_NE(text.find("1 group(s)"), std::string::npos) << text;
  }
}

TEST(matmul_end, strict_numbers_are_rounded_at_each_step) {
  if (!library_is_there()) return;
  const product_case t(f32, {}, 40, 33, 36);
  set_math_mode(math_mode::strict);
  EXPECT_EQ(launches_of(matmul(t.x, t.y) * 3), 2u);
  set_math_mode(math_mode::standard);
  EXPECT_EQ(launches_of(matmul(t.x, t.y) * 3), 1u);
}

TEST(matmul_end, recorded_statements_of_products) {
  const product_case t(f32, {}, 40, 40, 40);
  array u = t.c;
  host_array want = t.addend;
  for (int k = 0; k < 3; ++k) {
    u = matmul(t.x, t.y) + u;
    const host_array before = want;
    want = t.want([&](long double x, auto i, auto j) { return x + before.get(i * 40 + j).re; });
  }
  EXPECT_TRUE(equals(u, want));
}

// ---- Conjugates ----

TEST(matmul_end, conjugates_of_transposed_matrices_are_read_where_they_are) {
  for (const dtype type : {c64, c128}) {
    const host_array a = small_numbers(type, {36, 41}, 71), b = small_numbers(type, {36, 43}, 72);
    host_array conjugate = a;
    for (std::int64_t k = 0; k < a.size(); ++k) conjugate.set(k, {a.get(k).re, -a.get(k).im});
    host_array other = b;
    for (std::int64_t k = 0; k < b.size(); ++k) other.set(k, {b.get(k).re, -b.get(k).im});
    const array x = a.to_device(), y = b.to_device();
    eval(x, y);
    const host_array want = plain_sum("ji,jk->ik", {conjugate, b}, type),
                     both = plain_sum("ji,jk->ik", {conjugate, other}, type);
    expect_call([&] { return matmul(conj(transpose(x)), y); }, want, 1, 1, "conj(x')");
    expect_call([&] { return matmul(transpose(conj(x)), y); }, want, 1, 1, "conj(x)'");
    expect_call([&] { return matmul(transpose(conj(x)), conj(y)); }, both, 2, 2, "y isn't transposed");
    expect_call([&] { return matmul(conj(transpose(y)), x); }, plain_sum("ji,jk->ik", {other, a}, type), 1, 1, "y' x");
    expect_call([&] { return matmul(transpose(y), conj(x)); }, plain_sum("ji,jk->ik", {b, conjugate}, type), 2, 2,
                "x isn't transposed");
    expect_call([&] { return matmul(transpose(conj(x * 2)), y) / 2; }, want, 3, 3, "computed before");
    auto gram = compile([](array u, array w) { return matmul(conj(transpose(u)), w); });
    for (int k = 0; k < 2; ++k) EXPECT_TRUE(equals(gram(x, y), want)) << k;
  }
}

TEST(matmul_end, conjugates_of_stacks) {
  const host_array a = small_numbers(c64, {3, 30, 20}, 73), b = small_numbers(c64, {3, 30, 25}, 74);
  host_array conjugate = a;
  for (std::int64_t k = 0; k < a.size(); ++k) conjugate.set(k, {a.get(k).re, -a.get(k).im});
  const array x = a.to_device(), y = b.to_device();
  EXPECT_TRUE(equals(matmul(conj(swapaxes(x, 1, 2)), y), plain_sum("bji,bjk->bik", {conjugate, b}, c64)));
}

// A bias goes along the matrices' columns, which here are two axes of the result.
TEST(matmul_end, a_last_axis_that_is_part_of_the_columns_is_no_bias) {
  const host_array a = small_numbers(f32, {64, 64}, 41), b = small_numbers(f32, {64, 8, 16}, 42),
                   v = small_numbers(f32, {16}, 43);
  const array x = a.to_device(), y = b.to_device(), bias = v.to_device();
  eval(x, y, bias);
  const host_array p = plain_sum("ij,jkl->ikl", {a, b}, f64);
  host_array plain(f32, p.extents), ramp(f32, p.extents);
  for (std::int64_t k = 0; k < p.size(); ++k) {
    const long double value = p.get(k).re + v.get(k % 16).re;
    plain.set(k, {value, 0});
    ramp.set(k, {std::max(value, 0.0L), 0});
  }
  EXPECT_TRUE(equals(tensordot(x, y, 1) + bias, plain));
  EXPECT_TRUE(equals(maximum(tensordot(x, y, 1) + bias, 0), ramp));
}

}  // namespace
