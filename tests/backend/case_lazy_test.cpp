// Hazards of lazy evaluation: inputs that change or end before what was recorded from them is evaluated, shared parts,
// failures in between. Cases met in the tests and bug reports of other libraries, restated. References: NumPy.
#include "tests/backend/expect.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

const range backwards(end, begin, -1);

// tinygrad#17074; arrayfire assign.cpp, CPP_COPY_ON_WRITE; pytorch#198101.
TEST(case_lazy, what_was_recorded_before_a_write_keeps_the_old_values) {
  run_matrix({.inputs = {checked(host_array(std::vector<std::int32_t>{1, 2}), 0x0381177c),
                         lcg_reals(f32, {20}, 331, -1, 1, 0x79276c6f), lcg_reals(f32, {10}, 332, -1, 1, 0xe29843e1)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array x = in[0], a = in[1];
                const array r = x + 10;
                statement(x, r);
                x(range(begin, 1)) = 9;
                statement(r, x);
                const array c = a * 2, d = a;
                statement(a, c, d);
                a(range(begin, 10)) = in[2];
                statement(d, a, c);
                a(range(5, 15)) += 1;
                statement(a, c, d);
                return {r, x, c, d, a};
              },
              .outputs = {exactly("H01.r", i32), exactly("H01.x", i32), close_to("H01.c", f32, 1e-06, 1e-06),
                          close_to("H01.d", f32, 1e-06, 1e-06), close_to("H01.a", f32, 1e-06, 1e-06)},
              .retype = {{f32, f64}}});
}

TEST(case_lazy, the_reader_and_the_written_array_evaluate_in_either_order) {
  for (const bool is_reader_first : {true, false})
    for (const bool is_evaluated : {true, false}) {
      array x = array{1, 2} * 1;
      if (is_evaluated) eval(x);
      const array r = x + 10;
      x(range(begin, 1)) = 9;
      if (is_reader_first) eval(r);
      eval(x);
      EXPECT_TRUE(equals(r, std::vector<std::int32_t>{11, 12}));
      EXPECT_TRUE(equals(x, std::vector<std::int32_t>{9, 2}));
    }
}

// ArrayFire cast.cpp, ImplicitCastIndexedAndScoped; index.cpp, CopiedIndexDestroyed; MLX, "compile lambda".
TEST(case_lazy, sources_end_before_what_reads_them_is_evaluated) {
  run_matrix({.inputs = {lcg_reals(f64, {100, 100}, 333, -1, 1, 0xa79bcc3a)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array c, s;
                {
                  const array a = in[0] * 1;
                  c = abs(a(all, 1) - a(all, 1).astype(f32));
                  s = a(all, 2);
                }
                statement(c, s);
                for (int k = 0; k < 100; ++k) {
                  const array half = s * 0.5;
                  {
                    const array moved = half + k;
                    s = moved;
                  }
                  statement(s);
                }
                return {c, s};
              },
              .outputs = {close_to("H04.c", f64, 0, 1e-07), close_to("H04.s", f64, 0, 1e-07)},
              .independent_axis = 0,
              .layouts = few_layouts});
}

// ArrayFire jit.cpp, CPP_JIT_Reset_Binary and Reset_Unary; arrayfire#1279.
TEST(case_lazy, parts_are_used_again_after_an_evaluation) {
  run_matrix({.inputs = {checked(host_array(std::vector<float>(25, 2.f), {5, 5}), 0x40ab1c5b),
                         checked(host_array(std::vector<float>(25, 1.f), {5, 5}), 0x2bf770b5)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array c = in[0] + in[1], d = in[0] - in[1], s = sin(in[0]), t = cos(in[1]), e = c * d;
                statement(e);
                const array f = c - d;
                statement(f);
                const array g = d - c;
                statement(g, c);
                const array h = s * t;
                statement(h);
                const array i = s - t;
                statement(i, t);
                const array j = t - s;
                statement(j);
                return {e, f, g, h, i, j};
              },
              .outputs = {close_to("H05.e", f32, 2e-07, 0), close_to("H05.f", f32, 2e-07, 0),
                          close_to("H05.g", f32, 2e-07, 0), close_to("H05.h", f32, 2e-07, 0),
                          close_to("H05.i", f32, 2e-07, 0), close_to("H05.j", f32, 2e-07, 0)},
              .launches = 1});
}

// MLX, "test compile deep graph": a walk over a tree would have 2^60 steps.
TEST(case_lazy, sixty_doublings_and_sixty_steps_of_a_function_of_itself) {
  run_matrix({.inputs = {lcg_reals(f64, {16}, 334, 1, 2, 0xae74a201)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array y = in[0], z = in[0];
                for (int k = 0; k < 60; ++k) {
                  y = y + y;
                  z = sqrt(z * z + z) / (1 + z * 0.5);
                  statement(y, z);
                }
                return {y, z};
              },
              .outputs = {close_to("H06.y", f64, 1e-12, 0), close_to("H06.z", f64, 1e-12, 0)},
              .launches = 1,
              .independent_axis = 0});
}

TEST(case_lazy, sixty_updates_from_itself_of_each_half) {
  run_matrix({.inputs = {lcg_reals(f64, {16}, 334, 1, 2, 0xae74a201)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array y = in[0];
                for (int k = 0; k < 60; ++k) {
                  y(range(begin, 8)) += y(range(begin, 8));
                  statement(y);
                  y(range(8, end)) += y(range(8, end));
                  statement(y);
                }
                return {y};
              },
              .outputs = {close_to("H06.y", f64, 1e-12, 0)}});
}

// arrayfire#1646: a kernel with too many inputs.
TEST(case_lazy, a_thousand_turns_with_two_sums_and_a_reduction) {
  run_matrix({.inputs = {lcg_reals(f64, {10, 10}, 336, -1, 1, 0x0ff970dd), lcg_reals(f64, {10}, 337, -1, 1, 0x9029465a),
                         lcg_reals(f64, {10}, 338, -1, 1, 0xf7b14071)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                array t2 = in[1], t3 = in[2];
                for (int k = 0; k < 1000; ++k) {
                  t3 += sum(in[0], 1);
                  t2 += t3;
                  statement(t2, t3);
                }
                return {t2, t3};
              },
              .outputs = {close_to("H08.t2", f64, 1e-09, 1e-09), close_to("H08.t3", f64, 1e-09, 1e-09)},
              .layouts = {layout::evaluated}});
}

// arrayfire#3511; MLX, "compile internal output", "tape with outside parents".
TEST(case_lazy, outputs_that_are_parts_of_other_outputs) {
  run_matrix({.inputs = {lcg_reals(f32, {10}, 340, -1, 1, 0x2d5f94d5)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array a = in[0] + 1, n = -a;
                statement(n, a);
                const array q = a * a, e = exp(a), s = sum(a), t = exp(a) + exp(sum(a));
                statement(t, s, a, n);
                return {n, a, q, e, s, t};
              },
              .outputs = {close_to("H12.n", f32, 3e-05, 1e-05), close_to("H12.A", f32, 3e-05, 1e-05),
                          close_to("H12.q", f32, 3e-05, 1e-05), close_to("H12.e", f32, 3e-05, 1e-05),
                          close_to("H12.s", f32, 3e-05, 1e-05), close_to("H12.t", f32, 3e-05, 1e-05)},
              .retype = {{f32, f64}}});
}

/// Good work, pending beside bad work: `fail` must throw E, then the good arrays must still be right, and gone without
/// a trace.
template <class E, class F>
void check_rolled_back(F&& fail) {
  const std::uint64_t bytes = stats().bytes_in_use;
  {
    const array a = lcg_reals(f32, {1000}, 341, -1, 1, 0x67a35768).to_device(), r = a * 3;
    array scattered = zeros({10}, i32);
    scattered(array{1, 1, 4}) += 5;
    array written = a;
    written(range(0, 500)) = r(range(500, end));
    EXPECT_TRUE(throws<E>([&] { fail(r, scattered, written); }));
    host_array want = reference("H14.r");
    EXPECT_TRUE(equals(r, want, {1e-06, 1e-06, false}));
    EXPECT_TRUE(equals(scattered, std::vector<std::int32_t>{0, 10, 0, 0, 5, 0, 0, 0, 0, 0}));
    EXPECT_TRUE(equals(written(range(0, 500)),
                       picked(want, 0,
                              [] {
                                std::vector<std::int64_t> upper;
                                for (std::int64_t k = 500; k < 1000; ++k) upper.push_back(k);
                                return upper;
                              }()),
                       {1e-06, 1e-06, false}));
    EXPECT_TRUE(equals(a * 3, want, {1e-06, 1e-06, false}));
  }
  EXPECT_EQ(stats().bytes_in_use, bytes);
}

// drjit-core mem.cpp, 19_eval_exception_rollback and 20; arrayfire#1700.
TEST(case_lazy, a_shape_that_does_not_fit_leaves_the_rest_alone) {
  check_rolled_back<shape_error>([](const array& r, array& scattered, array& written) {
    written(range(0, 3)) = r(range(0, 4));
    eval(r, scattered, written);
  });
}

TEST(case_lazy, more_memory_than_there_is_leaves_the_rest_alone) {
  check_rolled_back<error>([](const array& r, array& scattered, array& written) {
    const std::int64_t edge = std::int64_t{1} << 25;  // 2^50 bytes
    const array huge = zeros({edge, 1}, u8) + arange(edge).astype(u8);
    try {
      eval(r, huge, scattered, written);
    } catch (const out_of_memory&) { throw; } catch (const shape_error&) {
      throw;
    } catch (const error& e) {
      ADD_FAILURE() << "another error: " << e.what();
      throw;
    }
  });
}

TEST(case_lazy, a_kernel_that_does_not_compile_leaves_the_rest_alone) {
  const elementwise bad{"bad_kernel", "T x", "T y", "y = x + undeclared_name;"};
  const auto fail = [&](const array& r, array& scattered, array& written) {
    const array never = bad(r) + 1;
    eval(r, scattered, never, written);
  };
  check_rolled_back<compile_error>(fail);
}

// drjit test_memop.py, test26_elide_scatter; CuPy fusion, test_ignore_op.
TEST(case_lazy, writes_that_are_written_over_and_results_that_nobody_reads) {
  run_matrix({.inputs = {lcg_reals(f32, {50}, 342, -1, 1, 0x1c3e3989), lcg_reals(f32, {50}, 343, -1, 1, 0x10d8371c)},
              .body = [](const std::vector<array>& in) -> std::vector<array> {
                const array unused = in[0] + in[1];
                array a = zeros({10}, f32);
                a(all) = 1;
                statement(a);
                a(all) = 2;
                statement(a);
                const array b = a;
                a(range(2, 5)) = 9;
                statement(a, b);
                a(all) = 0;
                statement(a, b);
                a(3) = 4;
                statement(a, b);
                return {b, a, in[0] - in[1]};
              },
              .outputs = {close_to("H15.b", f32, 1e-06, 1e-06), close_to("H15.a", f32, 1e-06, 1e-06),
                          close_to("H15.r", f32, 1e-06, 1e-06)}});
}

TEST(case_lazy, what_nobody_reads_is_never_launched) {
  array x = lcg_reals(f32, {50}, 342, -1, 1, 0x1c3e3989).to_device(), y = x;
  const array twice_one{1, 1};
  const statistics added = counted([&] {
    const array z = x + y;
    array written = x;
    written(range(2, 5)) = 1;
    written(twice_one) += z(range(2));
    y(all) *= 2;
    y = x;
    const array joined = concat({z, written});
  });
  EXPECT_EQ(added.launches, 0u);
  EXPECT_EQ(added.synchronizations, 0u);
}

TEST(case_lazy, writes_over_the_whole_of_an_array_need_nothing_of_what_was_there) {
  // Were the first writes done, the bad index would be met.
  array a = zeros({10}, f32);
  a(array{99}) = 1;
  a(range(2, 5)) = 9;
  a(all) = 2;
  EXPECT_EQ(counted([&] { eval(a); }).launches, 1u);
  EXPECT_NO_THROW(synchronize());
  EXPECT_TRUE(equals(a, std::vector<float>(10, 2.f)));
}

// tinygrad#15698; MLX gpu_tests, "dynamic slice update waits for its start".
TEST(case_lazy, an_input_is_written_to_while_its_readers_run) {
  const host_array h = lcg_reals(f32, {200000}, 346, -1, 1, 0x4f2011c8);
  for (int round = 0; round < 3; ++round) {
    array x = h.to_device(), y = x;
    for (int k = 0; k < 30; ++k) y = y * 0.9f + x * 0.1f;
    const array s = sum(reshape(y, {4, -1}), 1), k = y(range(begin, end, 9973));
    eval(s, k);
    x(all) = -1;
    eval(x);
    {
      const array freed = x * 2;
      eval(freed);
    }
    array taken = full({200000}, 77, f32);  // likely in the memory that was just freed
    taken(range(1, end, 2)) = 78;
    eval(taken);
    EXPECT_TRUE(equals(s, reference("H19.s"), {1e-04, 5e-03, false}));
    EXPECT_TRUE(equals(k, reference("H19.k"), {2e-05, 1e-05, false}));
    EXPECT_EQ(x(199999).item<float>(), -1.f);
    EXPECT_EQ(taken(199998).item<float>() + taken(199999).item<float>(), 77.f + 78.f);
  }
}

// cupy fusion, test_batchnorm; MLX, "compile repeat input".
TEST(case_lazy, sums_stencils_gathers_and_writes_in_one_program) {
  run_matrix(
      {.inputs = {lcg_reals(f32, {40, 30}, 351, -1, 1, 0x3f6b0d01), lcg_integers(i32, {40}, 352, 0, 40, 0x3c325254)},
       .body = [](const std::vector<array>& in) -> std::vector<array> {
         const array t = tanh(in[0]);
         array y = t - mean(t, 1, keepdims);
         statement(y);
         const array z = y(range(1, -1)) * 2 - y(range(2, end)) - y(range(begin, -2));
         statement(z, y);
         const array w = z / (1 + max(abs(z)));
         statement(w, y);
         y(range(1, -1)) += w;
         statement(y);
         array g = y(in[1]) + y(backwards);
         statement(g, y);
         g(all, range(1, end)) += g(all, range(begin, -1));
         statement(g, y);
         return {g, sum(g, 0), argmax(g, 1), y};
       },
       .outputs = {close_to("H24.g", f32, 2e-05, 2e-05), close_to("H24.s", f32, 2e-05, 2e-05), exactly("H24.m", i64),
                   close_to("H24.y", f32, 2e-05, 2e-05)},
       .retype = {{f32, f64}}});
}

}  // namespace
