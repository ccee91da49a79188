// What CUDA has built in, and what headers name, in kernels that users write as strings: the same on every device.
#include "tests/backend/expect.hpp"

#include "dsl/raw_kernel.hpp"

#include <cmath>
#include <limits>

using namespace sinter;
using namespace sinter_test;

namespace {

/// Of 1.5, 2, -3: a body that sets z, compared with what it gives for each.
void check(const std::string& body, double a, double b, double c, const std::string& preamble = "") {
  SCOPED_TRACE(body);
  const elementwise k{"built_in", "float64 x", "float64 z", body, {.preamble = preamble}};
  const std::vector<double> z = k(array{1.5, 2.0, -3.0}).to_vector<double>();
  const double want[] = {a, b, c};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(z[i], want[i], 1e-6 * (1 + std::abs(want[i]))) << i;
}

void check_all(const std::string& body, double x) { check(body, x, x, x); }

TEST(string_builtin, integer_intrinsics) {
  check("z = __popc((int)x) + __popcll((long long)x)", 2, 2, 31 + 63);
  check("z = __clz((int)x) + __ffs((int)x)", 31 + 1, 30 + 2, 0 + 1);
  check("z = __brev((unsigned)(int)x)", 2147483648.0, 1073741824.0, 3221225471.0);
  check("z = __mulhi((int)x, 1 << 30) + __umul24((int)x, 3)", 3, 6, -1 + 50331639.0);
  check("z = __byte_perm((int)x, 7, 0x4321)", 117440512, 117440512, 134217727);
  check("z = __funnelshift_l((int)x, 1, 4) + __sad((int)x, 3, 1)", 16 + 3, 16 + 2, 31 + 7);
  check("z = __dp4a((int)x, 0x01010101, 5)", 5 + 1, 5 + 2, 5 - 3 - 1 - 1 - 1);
  check("z = __vadd4(255u, (unsigned)(int)fabs(x))", 0, 1, 2);
}

TEST(string_builtin, bits_and_roundings) {
  check("z = __int_as_float(__float_as_int((float)x)) + __longlong_as_double(__double_as_longlong(x))", 3, 4, -6);
  check("z = __float2int_rn((float)x) + __double2int_rz(x) + __float2int_ru((float)x)", 2 + 1 + 2, 6, -9);
  check("z = __saturatef((float)x / 2) + __fmaf_rn(2.f, (float)x, 1.f) + __dadd_rn(x, 1)", 0.75 + 4 + 2.5,
        1 + 5 + 3, 0 - 5 - 2);
  check("z = __fdividef((float)x, 2.f) + x", 2.25, 3, -4.5);
}

TEST(string_builtin, functions_of_cuda) {
  check("double s, c; sincos(x, &s, &c); z = s * s + c * c + sinpi(x) + cospi(x)", 0, 2, 0);
  check("float s, c; sincosf((float)x, &s, &c); z = s - __sinf((float)x) + c - __cosf((float)x)", 0, 0, 0);
  check("z = normcdf(x)", 0.9331927987, 0.9772498681, 0.0013498980);
  check("z = erf(erfinv(x / 4)) + erfc(erfcinv(1 + x / 4))", 0.375 + 1.375, 0.5 + 1.5, -0.75 + 0.25);
  check("z = j0(x) + y0(fabs(x))", j0(1.5) + y0(1.5), j0(2) + y0(2), j0(3) + y0(3));
  check("z = rcbrt(8.0) + rsqrt(4.0) + norm3d(x, 0.0, 0.0)", 2.5, 3, 4);
  check("int e; z = frexp(x, &e); z = ldexp(z, e); double w; modf(x, &w); z += w", 2.5, 4, -6);
  check("z = __expf((float)x) - __powf(2.f, (float)x) * 0 - exp(x) * (1 - __logf(1.f))", 0, 0, 0);
  check("int y0 = 2, j1 = 3; z = y0 + j1", 5, 5, 5);
}

TEST(string_builtin, numbers_that_headers_name) {
  check_all("z = M_PI + M_SQRT2 - CUDART_PI", std::sqrt(2.0));
  check_all("z = isinf(INFINITY) + isnan(NAN) + isinf(CUDART_INF) + isnan(CUDART_NAN_F)", 4);
  check_all("z = (FLT_MAX < DBL_MAX) + FLT_EPSILON * 8388608 + (DBL_MIN > 0) + (FLT_MIN > 0)", 4);
  check_all("z = INT_MAX - (double)INT_MIN", 4294967295.0);
  check_all("z = std::numeric_limits<int>::min() + numeric_limits<unsigned char>::max()", 255 - 2147483648.0);
  check("z = std::sqrt(x * x) + std::max(x, 0.0) + std::min(x, 0.0) + std::abs(x)", 4.5, 6, 3);
}

TEST(string_builtin, vectors_and_memory) {
  check("float2 v = make_float2((float)x, 1); int3 n = make_int3(1, 2, 3); dim3 g(4); z = v.x + n.z + g.x + g.y", 9.5,
        10, 5);
  check("z = table[1] + x", 4.5, 5, 0, "__constant__ double table[2] = {1, 3};");
  check("assert(x < 5); if (x > 100) printf(\"large\"); if (x > 200) __trap(); z = x", 1.5, 2, -3);
}

TEST(string_builtin, what_elements_have_not_is_refused_by_name) {
  const auto refused = [](const char* body, const char* word) {
    return throws<error>([&] { elementwise{"built_in", "T x", "T z", body}; }, {"built_in", word});
  };
  EXPECT_TRUE(refused("z = x + threadIdx.x", "threadIdx"));
  EXPECT_TRUE(refused("z = x; __syncthreads();", "__syncthreads"));
  EXPECT_TRUE(refused("#if 0\nz = x", "#endif"));
  EXPECT_TRUE(refused("z = x\n#endif", "#if"));
  EXPECT_TRUE(refused("#line 7\nz = x", "#line 7"));
  check("z = x;  // unlike threadIdx.x\n/* __syncthreads() and __shared__ are of blocks */", 1.5, 2, -3);
}

TEST(string_builtin, raw_kernels_have_the_same) {
  const raw_kernel<void(inout<double>)> k{"built_in", R"(extern "C" __global__ void built_in(double* a) {
    a[0] = erf(erfinv(a[0])) + M_PI - CUDART_PI + (FLT_MAX < INFINITY);
    a[1] = __dp4a(3, 1, 0) + __vadd4(255, 1) + std::max(1.0, a[1]) + std::sqrt(4.0);
    a[2] = __ldg(&a[2]) + std::numeric_limits<int>::max() - INT_MAX + (double)std::numeric_limits<float>::epsilon();
  })"};
  array a{0.25, 8.0, 0.0};
  k({.grid = {1}, .block = {1}}, a);
  const std::vector<double> got = a.to_vector<double>();
  EXPECT_NEAR(got[0], 1.25, 1e-12);
  EXPECT_EQ(got[1], 3 + 0 + 8 + 2);
  EXPECT_EQ(got[2], std::numeric_limits<float>::epsilon());
}

TEST(string_builtin, names_of_the_users_own_come_first) {
  const raw_kernel<void(out<double>)> k{"of_my_own", R"(constexpr double M_PI = 3.0, M_E{2.0};
extern "C" __global__ void of_my_own(double* a) { a[0] = M_PI + M_E + (M_SQRT2 > 1); })"};
  array a = zeros({1}, f64);
  k({.grid = {1}, .block = {1}}, a);
  EXPECT_EQ(a.item<double>(), 6);
}

}  // namespace
