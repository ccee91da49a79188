// Libraries opened at run time, and what a BLAS is asked for: no library is needed here.
#include "jit/library/gemm.hpp"
#include "runtime/library.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace sinter;
using jit::blas_matrix;
using jit::blas_product;
using jit::memory_layout;

namespace {

memory_layout layout_of(const shape& extents, const std::vector<std::int64_t>& strides = {}) {
  memory_layout m{f32, extents, {}};
  contiguous_strides(extents, m.strides);
  for (std::size_t k = 0; k < strides.size(); ++k) m.strides[k] = strides[k];
  return m;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(library, one_that_is_absent_says_what_has_it) {
  const runtime::library none("FFT", {"libnowhere.so.3", "/nowhere/libnowhere.so"}, "libnowhere3 (Debian, Ubuntu)");
  EXPECT_FALSE(none);
  EXPECT_EQ(none.find("anything"), nullptr);
  EXPECT_TRUE(contains(none.absence(), "FFT was not found; looked for libnowhere.so.3, /nowhere/libnowhere.so"));
  EXPECT_TRUE(contains(none.absence(), "install libnowhere3 (Debian, Ubuntu)"));
}

TEST(library, one_that_lacks_a_symbol_is_not_it) {
  const runtime::library odd("BLAS", {"libm.so.6"}, "libopenblas0", {"cos", "cblas_sgemm"});
  EXPECT_FALSE(odd);
  EXPECT_TRUE(contains(odd.absence(), "has no cblas_sgemm")) << odd.absence();
  const runtime::library good("maths", {"libnowhere.so", "libm.so.6"}, "libc6", {"cos"});
  ASSERT_TRUE(good) << good.absence();
  EXPECT_TRUE(contains(good.path(), "libm.so.6"));
  EXPECT_EQ(good.find<double(double)>("cos")(0.0), 1.0);
}

TEST(library, cuda_libraries_are_looked_for_under_their_versions) {
  const std::vector<std::string> names = runtime::cuda_library_names("cublas", {13, 12});
  for (const char* name : {"libcublas.so", "libcublas.so.13", "/usr/local/cuda/lib64/libcublas.so.12"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
}

TEST(gemm, matrices_lie_by_rows_or_by_columns) {
  blas_matrix m;
  ASSERT_TRUE(jit::is_blas_matrix(4, 6, 6, 1, m));
  EXPECT_TRUE(!m.transposed && m.stride == 6);
  ASSERT_TRUE(jit::is_blas_matrix(4, 6, 1, 4, m));
  EXPECT_TRUE(m.transposed && m.stride == 4);
  ASSERT_TRUE(jit::is_blas_matrix(4, 6, 20, 1, m));
  EXPECT_TRUE(!m.transposed && m.stride == 20);
  ASSERT_TRUE(jit::is_blas_matrix(1, 6, -3, 1, m));
  EXPECT_TRUE(!m.transposed && m.stride == 6);
  ASSERT_TRUE(jit::is_blas_matrix(4, 1, 7, 5, m));
  EXPECT_TRUE(!m.transposed && m.stride == 7);
  for (const auto& [rows, columns] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {12, 2}, {-6, 1}, {6, -1}, {0, 1}, {1, 0}, {5, 1}, {1, 3}, {0, 0}, {1, 1}})
    EXPECT_FALSE(jit::is_blas_matrix(4, 6, rows, columns, m)) << rows << ", " << columns;
}

TEST(gemm, a_stack_on_the_left_of_one_matrix_is_one_tall_matrix) {
  const std::vector<blas_product> p = plan_products(layout_of({5, 7, 20, 30}), layout_of({30, 25}), {5, 7, 20, 25});
  ASSERT_EQ(p.size(), 1u);
  EXPECT_TRUE(p[0].n == 700 && p[0].m == 25 && p[0].k == 30 && p[0].count == 1);
}

TEST(gemm, stacks_side_by_side_are_one_call) {
  const memory_layout a = layout_of({5, 7, 20, 30}), b = layout_of({5, 7, 30, 25});
  const std::vector<blas_product> p = plan_products(a, b, {5, 7, 20, 25});
  ASSERT_EQ(p.size(), 1u);
  EXPECT_TRUE(p[0].n == 20 && p[0].count == 35 && p[0].a.next == 600 && p[0].b.next == 750 && p[0].c.next == 500);
}

TEST(gemm, broadcast_stacks_are_calls_along_their_longest_axis) {
  const memory_layout a = layout_of({3, 1, 20, 30}), b = layout_of({1, 9, 30, 25});
  const std::vector<blas_product> p = plan_products(a, b, {3, 9, 20, 25});
  ASSERT_EQ(p.size(), 3u);
  for (std::int64_t k = 0; k < 3; ++k) {
    const blas_product& q = p[static_cast<std::size_t>(k)];
    EXPECT_TRUE(q.count == 9 && q.a.next == 0 && q.b.next == 750 && q.c.next == 500);
    EXPECT_TRUE(q.a.offset == k * 600 && q.b.offset == 0 && q.c.offset == k * 9 * 500);
  }
}

TEST(gemm, stacks_that_go_backwards_are_a_call_each) {
  const std::vector<blas_product> p =
      plan_products(layout_of({4, 20, 30}, {-600}), layout_of({4, 30, 25}), {4, 20, 25});
  ASSERT_EQ(p.size(), 4u);
  for (std::int64_t k = 0; k < 4; ++k) {
    EXPECT_EQ(p[static_cast<std::size_t>(k)].a.offset, -600 * k);
    EXPECT_EQ(p[static_cast<std::size_t>(k)].c.offset, 500 * k);
  }
}

}  // namespace
