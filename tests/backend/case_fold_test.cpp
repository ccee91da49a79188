// Handed programs as loops of statements, which fold, and as loops inside kernels. References: NumPy.
#include "tests/backend/expect.hpp"

#include <tuple>
#include <utility>

using namespace sinter;
using namespace sinter_test;

namespace {

const range inner(1, -1), upper(2, end), lower(begin, -2);

// drjit-core loop.cpp, 06_nested_write; drjit test15_nested_loop.
TEST(case_fold, nested_loops) {
  run_matrix({.inputs = {checked(counting(i32, {17}), 0x1abf49d7)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array k = while_loop(
                    arange(10) * 12, [](const array& v) { return v % 7 != 0; },
                    [](const array& v) {
                      return while_loop(
                                 v, [](const array& u) { return u % 3 != 0; }, [](const array& u) { return u + 1; }) +
                             1;
                    });
                const auto [i, acc] = while_loop(
                    std::tuple{in[0] * 0, in[0] * 0}, [&](const auto& s) { return std::get<0>(s) < in[0]; },
                    [](const auto& s) {
                      const auto& [at, total] = s;
                      return std::tuple{at + 1, total + at};
                    });
                return {k, acc};
              },
              .outputs = {exactly("L05.k", i64), exactly("L05.acc", i32)},
              .retype = {{i32, i64}}});
}

// drjit tests/test_while_loop.py, test38 to test40: states that swap and are each other.
TEST(case_fold, rotated_variables) {
  const std::vector<host_array> inputs{checked(counting(f32, {3}), 0x30c8bc70),
                                       checked(counting(i32, {4}), 0x278eafa9)};
  const std::vector<expectation> outputs{exactly("L06.a", f32), exactly("L06.b", f32), exactly("L06.c", f32),
                                         exactly("L06.p", f32)};
  const auto partly = [](const array& k) {
    const array p = k.astype(f32) * 100;
    return where(k > 0, p + 1, p);
  };
  run_matrix({.inputs = inputs,
              .body = [&](const std::vector<array>& in) -> std::vector<array> {
                array a = in[0] + 1, b = in[0] + 2, c = in[0] + 3;
                for (int t = 0; t < 5; ++t) {
                  const array sum_of = a + b;
                  a = c;
                  b = c;
                  c = sum_of;
                  statement(a, b, c);
                }
                return {a, b, c, partly(in[1])};
              },
              .outputs = outputs});
  run_matrix({.inputs = inputs,
              .body = [&](const std::vector<array>& in) -> std::vector<array> {
                const std::tuple start{in[0] + 1, in[0] + 2, in[0] + 3};
                const auto [a, b, c] = for_loop(5, start, [](const auto& s) {
                  const auto& [x, y, z] = s;
                  return std::tuple{z, z, x + y};
                });
                return {a, b, c, partly(in[1])};
              },
              .outputs = outputs});
}

TEST(case_fold, a_damped_oscillator) {
  run_matrix({.inputs = {lcg_reals(f64, {500}, 235, -1, 1, 0xb2ffd740), lcg_reals(f64, {500}, 236, 0.5, 2, 0x5e96e200)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array x = in[0], v = x * 0;
                const array& w = in[1];
                for (int t = 0; t < 5000; ++t) {
                  v = v + 0.01 * (-w * w * x - 0.05 * v);
                  x = x + 0.01 * v;
                }
                return {x, v};
              },
              .outputs = {close_to("L08.x", f64, 1e-8, 1e-10), close_to("L08.v", f64, 1e-8, 1e-10)},
              .layouts = few_layouts});
}

// NPBench, spmv: bounds of a loop read from an array; some rows are empty.
TEST(case_fold, a_sparse_matrix_times_a_vector) {
  run_matrix(
      {.inputs = {lcg_integers(i32, {300}, 237, 0, 9, 0x6b6d49a0), lcg_integers(i32, {3000}, 238, 0, 300, 0x8a13433a),
                  lcg_reals(f32, {3000}, 239, -1, 1, 0xabde9e23), lcg_reals(f32, {300}, 240, -1, 1, 0x805fce4a)},
       .body = [](const std::vector<array>& in) -> std::vector<array> {
         const array p = concat({zeros({1}, i64), cumsum(in[0].astype(i64), 0)}, 0);
         const array last = p(range(1, end));
         const auto [k, y] = while_loop(
             std::tuple{p(range(0, -1)), zeros({in[0].extent(0)}, f32)},
             [&](const auto& s) { return std::get<0>(s) < last; },
             [&](const auto& s) {
               const auto& [at, total] = s;
               return std::tuple{at + 1, total + in[2](at) * in[3](in[1](at))};
             });
         return {y, p};
       },
       .outputs = {close_to("L10.y", f32, 2e-5, 1e-5), close_to("L10.p", i64, 2e-5, 1e-5)},
       .layouts = few_layouts});
}

// NPBench, vadv: forward elimination and back substitution along one axis.
TEST(case_fold, tridiagonal_systems) {
  run_matrix({.inputs = {lcg_reals(f64, {30, 200}, 241, 0.1, 0.4, 0x4e60fdc0),
                         lcg_reals(f64, {30, 200}, 242, 0.1, 0.4, 0xec49fbf2),
                         lcg_reals(f64, {30, 200}, 243, -1, 1, 0xd79455a7)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array &a = in[0], &c = in[1], &d = in[2];
                array cp = zeros_like(a), dp = zeros_like(a), x = zeros_like(a);
                cp(0, all) = c(0, all);
                dp(0, all) = d(0, all);
                for (int k = 1; k < 30; ++k) {
                  const array m = 1 / (1 - cp(k - 1, all) * a(k, all));
                  cp(k, all) = c(k, all) * m;
                  dp(k, all) = (d(k, all) - dp(k - 1, all) * a(k, all)) * m;
                  statement(cp, dp);
                }
                x(29, all) = dp(29, all);
                for (int k = 28; k >= 0; --k) {
                  x(k, all) = dp(k, all) - cp(k, all) * x(k + 1, all);
                  statement(x);
                }
                return {x};
              },
              .outputs = {close_to("L12.x", f64, 1e-12, 1e-12)},
              .layouts = few_layouts});
}

TEST(case_fold, trip_counts_from_zero_to_many) {
  const std::vector<host_array> inputs{checked(counting(i32, {4096}), 0x2f5700c1)};
  const std::vector<expectation> outputs{close_to("L14.x", f64, 1e-13, 0)};
  run_matrix({.inputs = inputs,
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array k = in[0].astype(f64), count = in[0] % 97;
                array x = zeros_like(k);
                for (int t = 0; t < 97; ++t) x = where(t < count, x * 0.5 + k, x);
                return {x};
              },
              .outputs = outputs,
              .independent_axis = 0,
              .layouts = few_layouts});
  run_matrix({.inputs = inputs,
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array k = in[0].astype(f64), count = in[0] % 97;
                const auto [t, x] = while_loop(
                    std::tuple{count * 0, zeros_like(k)}, [&](const auto& s) { return std::get<0>(s) < count; },
                    [&](const auto& s) {
                      const auto& [step, value] = s;
                      return std::tuple{step + 1, value * 0.5 + k};
                    });
                return {x};
              },
              .outputs = outputs,
              .independent_axis = 0,
              .layouts = few_layouts});
}

/// The inside of p after a step of Jacobi's method.
array relaxed(const array& p) {
  return 0.2 * (p(inner, inner) + p(inner, lower) + p(inner, upper) + p(upper, inner) + p(lower, inner));
}

// NPBench, jacobi_1d and jacobi_2d.
TEST(case_fold, jacobi) {
  run_matrix(
      {.inputs = {lcg_reals(f32, {100}, 251, -1, 1, 0x99de3794), lcg_reals(f32, {100}, 252, -1, 1, 0xab9a0c18),
                  lcg_reals(f32, {24, 30}, 253, -1, 1, 0xc1b1432d), lcg_reals(f32, {24, 30}, 254, -1, 1, 0xfc6375b9)},
       .body = [](const std::vector<array>& in) -> std::vector<array> {
         array a = in[0], b = in[1], p = in[2], q = in[3];
         for (int t = 0; t < 20; ++t) {
           b(inner) = (a(lower) + a(inner) + a(upper)) / 3;
           a(inner) = (b(lower) + b(inner) + b(upper)) / 3;
           q(inner, inner) = relaxed(p);
           p(inner, inner) = relaxed(q);
           statement(a, b, p, q);
         }
         return {a, b, p, q};
       },
       .outputs = {close_to("T01.a", f32, 1e-5, 1e-5), close_to("T01.b", f32, 1e-5, 1e-5),
                   close_to("T01.plane_a", f32, 1e-5, 1e-5), close_to("T01.plane_b", f32, 1e-5, 1e-5)},
       .layouts = few_layouts});
}

// from-python-to-numpy, gray-scott.py.
TEST(case_fold, gray_scott) {
  const auto laplacian = [](const array& z) {
    return z(lower, inner) + z(upper, inner) + z(inner, lower) + z(inner, upper) - 4 * z(inner, inner);
  };
  run_matrix(
      {.inputs = {lcg_reals(f64, {34, 34}, 257, 0.4, 1, 0x330a6af8), lcg_reals(f64, {34, 34}, 258, 0, 0.3, 0x8b94ae75)},
       .body = [&](const std::vector<array>& in) -> std::vector<array> {
         array u = in[0], v = in[1];
         for (int t = 0; t < 40; ++t) {
           const array lu = laplacian(u), lv = laplacian(v), r = u(inner, inner) * square(v(inner, inner));
           u(inner, inner) += 0.16 * lu - r + 0.035 * (1 - u(inner, inner));
           v(inner, inner) += 0.08 * lv + r - 0.1 * v(inner, inner);
           statement(u, v);
         }
         return {u, v};
       },
       .outputs = {close_to("T04.U", f64, 1e-10, 1e-12), close_to("T04.V", f64, 1e-10, 1e-12)},
       .layouts = few_layouts});
}

// NPBench, conv2d_bias: a window at a time.
TEST(case_fold, a_convolution_with_channels) {
  run_matrix(
      {.inputs = {lcg_reals(f32, {2, 8, 9, 3}, 261, -1, 1, 0xc53114f1),
                  lcg_reals(f32, {3, 3, 3, 4}, 262, -1, 1, 0xc6f15ee8), lcg_reals(f32, {4}, 263, -1, 1, 0x297a2824)},
       .body = [](const std::vector<array>& in) -> std::vector<array> {
         const array &x = in[0], &w = in[1];
         array o = zeros({2, 6, 7, 4}, f32);
         for (int i = 0; i < 6; ++i)
           for (int j = 0; j < 7; ++j) {
             const array window = x(all, range(i, i + 3), range(j, j + 3), all);
             o(all, i, j, all) = sum(window(ellipsis, newaxis) * w(newaxis, ellipsis), axes{1, 2, 3});
             statement(o);
           }
         return {o + in[2]};
       },
       .outputs = {close_to("T06.o", f32, 2e-5, 1e-5)},
       .layouts = few_layouts});
}

}  // namespace
