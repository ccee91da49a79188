// Users' own CUDA kernels: what they compute, when they run, and that arrays stay values. Restated from CuPy's tests of
// them (core_tests/test_raw.py) and from reports of what went wrong there (cupy/cupy, by number).
#include "tests/backend/expect.hpp"

#include <sinter/raw_kernel.hpp>

#include "dsl/complex.hpp"

#include <complex>
#include <thread>

using namespace sinter;
using namespace sinter_test;

namespace {

constexpr const char* add_source = R"(
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
)";

constexpr const char* scale_source = R"(
extern "C" __global__ void scale(float* x, float by, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
)";

const raw_kernel<void(in<float>, in<float>, out<float>, std::int32_t)>& add() {
  static const raw_kernel<void(in<float>, in<float>, out<float>, std::int32_t)> k{"add", add_source};
  return k;
}
const raw_kernel<void(inout<float>, float, std::int32_t)>& scale() {
  static const raw_kernel<void(inout<float>, float, std::int32_t)> k{"scale", scale_source};
  return k;
}

array ramp(std::int64_t n) { return counting(f32, {n}).to_device(); }

std::vector<float> times(float by, int n) {
  std::vector<float> v;
  for (int k = 0; k < n; ++k) v.push_back(by * static_cast<float>(k));
  return v;
}

TEST(raw_kernel, adds_two_vectors) {
  const int n = 1000;
  const array x = ramp(n), y = ramp(n);
  array z = zeros({n}, f32);
  add()({.grid = {(n + 127) / 128}, .block = {128}}, x, y, z, n);
  EXPECT_TRUE(equals(z, times(2, n)));
  array w = zeros({n}, f32);
  const raw_kernel untyped{"add", add_source};
  untyped(for_each(n), x, y, w, n);
  EXPECT_TRUE(equals(w, times(2, n)));
}

TEST(raw_kernel, a_thread_for_each_element_whatever_their_number) {
  const raw_kernel<void(inout<std::int32_t>, std::int32_t)> mark{
      "mark",
      "__global__ void mark(int* x, int n) { int i = blockDim.x * blockIdx.x + threadIdx.x; "
      "if (i < n) x[i] += blockDim.x; }"};
  for (const int n : {1, 31, 32, 1000, 100003}) {
    array x = zeros({n}, i32);
    mark(for_each(n), x, n);
    const std::vector<std::int32_t> got = x.to_vector<std::int32_t>();
    EXPECT_EQ(got.front() % 32, 0) << n;
    EXPECT_EQ(got, std::vector<std::int32_t>(static_cast<std::size_t>(n), got.front()));
  }
  array x = zeros({100}, i32);
  mark(for_each(100, {64}), x, 100);
  EXPECT_TRUE(equals(x, std::vector<std::int32_t>(100, 64)));
}

// K18
TEST(raw_kernel, a_grid_of_nothing_does_nothing) {
  array x = ramp(4);
  const statistics added = counted([&] {
    scale()(for_each(0), x, 2.f, 4);
    scale()({.grid = {0}, .block = {32}}, x, 2.f, 4);
    scale()({.grid = {4, 0}, .block = {32}}, x, 2.f, 4);
  });
  EXPECT_EQ(added.launches, 0u);
  EXPECT_TRUE(equals(x, times(1, 4)));
  array none = zeros({0}, f32);
  scale()(for_each(0), none, 2.f, 0);
  EXPECT_EQ(none.size(), 0);
}

// ---- Order ----

TEST(raw_kernel, waits_for_what_it_reads_and_is_waited_for) {
  array x = ramp(100), z = zeros({100}, f32);
  const array doubled = x * 2;
  const statistics recorded = counted([&] { add()(for_each(100), doubled + 1, x, z, 100); });
  EXPECT_EQ(recorded.launches, 0u) << "inputs were pending";
  EXPECT_FALSE(z.is_evaluated());
  const array after = z - 1;
  z *= 0;
  EXPECT_TRUE(equals(after, times(3, 100)));
  EXPECT_TRUE(equals(z, times(0, 100)));
}

TEST(raw_kernel, is_launched_at_once_when_its_inputs_are_there) {
  array x = ramp(100), z = zeros({100}, f32);
  const statistics added = counted([&] { add()(for_each(100), x, x, z, 100); });
  EXPECT_EQ(added.launches, 1u);
  EXPECT_TRUE(z.is_evaluated());
  EXPECT_TRUE(equals(z, times(2, 100)));
}

TEST(raw_kernel, nobody_needs_means_nobody_launches) {
  const array x = ramp(10) + 1;
  const statistics added = counted([&] {
    array z = zeros({10}, f32);
    add()(for_each(10), x, x, z, 10);
  });
  EXPECT_EQ(added.launches, 0u);
}

TEST(raw_kernel, long_chains_run_without_deep_recursion) {
  array x = ramp(8) + 0;
  for (int k = 0; k < 3000; ++k) {
    scale()(for_each(8), x, k % 2 == 0 ? 2.f : 0.5f, 8);
    if (k % 100 == 0) x += 0;
  }
  EXPECT_TRUE(equals(x, times(1, 8)));
}

TEST(raw_kernel, several_outputs_come_from_one_launch) {
  const raw_kernel<void(in<float>, out<float>, out<std::int32_t>, int)> split{
      "split",
      "__global__ void split(const float* x, float* half, int* whole, int n) {"
      " int i = blockDim.x * blockIdx.x + threadIdx.x; if (i < n) { half[i] = x[i] / 2; whole[i] = (int)x[i]; } }"};
  const array x = ramp(50) + 0;
  array half = zeros({50}, f32), whole = zeros({5, 10}, i32);
  split(for_each(50), x, half, whole, 50);
  const array sum_of_whole = whole + 1;
  const statistics added = counted([&] { eval(half, sum_of_whole); });
  EXPECT_EQ(added.launches, 3u);  // x, the kernel, whole + 1
  EXPECT_TRUE(equals(half, times(0.5f, 50)));
  EXPECT_EQ(whole.extents(), (shape{5, 10}));
  EXPECT_EQ(whole(4, 9).item<std::int32_t>(), 49);
}

TEST(raw_kernel, is_explained_as_opaque) {
  const array x = ramp(10) + 1;
  array z = zeros({10}, f32);
  add()({.grid = {1}, .block = {32}}, x, x, z, 10);
  const array after = z * 2;
  const statistics added = counted([&] {
    const std::string text = explain(after);
    EXPECT_NE(text.find("raw kernel add, 1 block(s) of 32 threads"), std::string::npos) << text;
    EXPECT_NE(text.find("raw_kernel_test.cpp"), std::string::npos) << text;
    EXPECT_NE(text.find("cut after add [10]"), std::string::npos) << text;
  });
  EXPECT_EQ(added.launches, 0u);
  EXPECT_TRUE(equals(after, [] {
    std::vector<float> want;
    for (int k = 0; k < 10; ++k) want.push_back(4.f * static_cast<float>(k + 1));
    return want;
  }()));
}

// ---- Values ----

TEST(raw_kernel, copies_made_before_keep_their_values) {
  array x = ramp(10);
  const array before = x, pending = x + 1;
  scale()(for_each(10), x, 3.f, 10);
  EXPECT_TRUE(equals(x, times(3, 10)));
  EXPECT_TRUE(equals(before, times(1, 10)));
  EXPECT_TRUE(equals(pending - 1, times(1, 10)));
}

TEST(raw_kernel, writes_in_place_what_nobody_else_sees) {
  array x = ramp(1000), address = zeros({2}, u64);
  const raw_kernel<void(inout<float>, inout<std::uint64_t>, int)> where{
      "where",
      "__global__ void where(float* x, unsigned long long* a, int k) { a[k] = (unsigned long long)x; x[k] = -1; }"};
  eval(address);
  const std::uint64_t bytes = stats().bytes_in_use;
  where({.grid = {1}, .block = {1}}, x, address, 0);
  where({.grid = {1}, .block = {1}}, x, address, 1);
  EXPECT_EQ(stats().bytes_in_use, bytes);
  const std::vector<std::uint64_t> at = address.to_vector<std::uint64_t>();
  EXPECT_EQ(at[0], at[1]);
  EXPECT_EQ(x(range(3)).to_vector<float>(), (std::vector<float>{-1, -1, 2}));
}

TEST(raw_kernel, in_place_once_pending_work_is_done) {
  array x = ramp(1 << 16) + 1;
  scale()(for_each(1 << 16), x, 2.f, 1 << 16);
  scale()(for_each(1 << 16), x, 2.f, 1 << 16);
  eval(x);
  EXPECT_EQ(x(range(2)).to_vector<float>(), (std::vector<float>{4, 8}));
  const std::uint64_t bytes = stats().bytes_in_use;
  scale()(for_each(1 << 16), x, 2.f, 1 << 16);
  EXPECT_EQ(stats().bytes_in_use, bytes);
}

TEST(raw_kernel, an_array_read_and_written_is_read_as_it_was) {
  array x = ramp(6);
  const raw_kernel<void(in<float>, inout<float>, int)> reverse{
      "reverse",
      "__global__ void reverse(const float* from, float* to, int n) {"
      " for (int i = 0; i < n; ++i) to[n - 1 - i] = from[i]; }"};
  reverse({.grid = {1}, .block = {1}}, x, x, 6);
  EXPECT_TRUE(equals(x, std::vector<float>{5, 4, 3, 2, 1, 0}));
}

TEST(raw_kernel, two_outputs_in_one_variable_are_refused) {
  array x = ramp(6);
  const raw_kernel both{"both", "__global__ void both(float* x, float* y) { x[0] = y[0] = 1; }"};
  EXPECT_TRUE(throws<type_error>([&] { both(for_each(1), x, x); }, {"both", "one variable", "raw_kernel_test.cpp"}));
}

// x[:, :4] of a 2 x 5 array was read as if it lay in one piece (cupy #3095, #7267), flipped ones from their end
// (#10303).
// K22
TEST(raw_kernel, selections_are_seen_in_order) {
  array x = counting(f32, {2, 5}).to_device(), y = zeros({8}, f32);
  const raw_kernel<void(in<float>, out<float>, int)> same{
      "same", "__global__ void same(const float* x, float* y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i]; }"};
  same(for_each(8), x(all, range(4)), y, 8);
  EXPECT_TRUE(equals(y, std::vector<float>{0, 1, 2, 3, 5, 6, 7, 8}));
  const array flipped = x(range(end, begin, -1), 0);
  array z = zeros({2}, f32);
  same(for_each(2), flipped, z, 2);
  EXPECT_TRUE(equals(z, std::vector<float>{5, 0}));
}

// A kernel without outputs is all effects: it runs when it is called.
TEST(raw_kernel, without_outputs_runs_at_once) {
  const raw_kernel<void(in<float>)> look{"look", "__global__ void look(const float* x) { }"};
  const array x = ramp(4) + 1;
  EXPECT_EQ(counted([&] { look({.grid = {1}, .block = {32}}, x); }).launches, 2u);
}

// ---- What kernels can be ----

// K10
TEST(raw_kernel, reads_a_pointer_to_void_as_it_likes) {
  array x = ones({100}, f64);
  const raw_kernel cast{"cast",
                        "__global__ void cast(void* p, int n) { double* x = (double*)p;"
                        " int i = threadIdx.x + blockIdx.x * blockDim.x; if (i < n) x[i] = 3 * x[i] - 8; }"};
  cast(for_each(100), x, 100);
  EXPECT_TRUE(equals(x, std::vector<double>(100, -5)));
}

struct twenty_five {
  float values[25];
};

// K14
TEST(raw_kernel, takes_structs_by_value) {
  const raw_kernel<void(twenty_five, out<float>)> total{
      "total",
      "struct twenty_five { float values[25]; };\n"
      "__global__ void total(twenty_five s, float* y) { *y = 0; for (int i = 0; i < 25; ++i) *y += s.values[i]; }"};
  twenty_five s;
  for (int k = 0; k < 25; ++k) s.values[k] = static_cast<float>(k);
  array y = zeros({1}, f32);
  total({.grid = {1}, .block = {1}}, s, y);
  EXPECT_EQ(y.item<float>(), 300.f);
  const raw_kernel untyped{"total",
                           "struct twenty_five { float values[25]; };\n"
                           "__global__ void total(twenty_five s, float* y) { *y = s.values[3]; }"};
  untyped({.grid = {1}, .block = {1}}, s, y);
  EXPECT_EQ(y.item<float>(), 3.f);
}

TEST(raw_kernel, sees_vectors_of_four) {
  array b = counting(f32, {5, 4}).to_device();
  const raw_kernel<void(inout<float>, int)> advance{
      "advance",
      "__global__ void advance(float4* b, int n) { int i = threadIdx.x; if (i < n) {"
      " float4 p = b[i]; p.x += p.z; p.z += p.w; b[i] = p; } }"};
  advance(for_each(5), b, 5);
  EXPECT_TRUE(equals(b(0, all), std::vector<float>{2, 1, 5, 3}));
  EXPECT_TRUE(equals(b(4, all), std::vector<float>{34, 17, 37, 19}));
  array odd = ramp(6);
  EXPECT_TRUE(throws<shape_error>([&] { advance(for_each(1), odd, 1); }, {"advance", "16"}));
}

// cupy#9046
TEST(raw_kernel, null_is_null) {
  const raw_kernel<void(in<float>, out<std::int32_t>)> is_null{
      "is_null", "__global__ void is_null(const float* p, int* y) { *y = p == nullptr; }"};
  array y = zeros({1}, i32);
  is_null({.grid = {1}, .block = {1}}, nullptr, y);
  EXPECT_EQ(y.item<std::int32_t>(), 1);
  is_null({.grid = {1}, .block = {1}}, ramp(1), y);
  EXPECT_EQ(y.item<std::int32_t>(), 0);
}

TEST(raw_kernel, numbers_arrive_as_they_are) {
  const raw_kernel take{"take",
                        "__global__ void take(double* y, float f, long long i, bool b, unsigned char c) {"
                        " y[0] = 3.141592653589793; y[1] = f; y[2] = i; y[3] = b; y[4] = c; }"};
  array y = zeros({5}, f64);
  take({.grid = {1}, .block = {1}}, y, 5.f, -7, true, 200);
  EXPECT_TRUE(equals(y, std::vector<double>{0x1.921fb54442d18p+1, 5, -7, 1, 200}));
}

// K06
TEST(raw_kernel, instances_of_templates_are_named_like_in_cpp) {
  constexpr const char* source =
      "template <typename T> __global__ void sq(T* in) { int x = threadIdx.x; in[x] *= in[x]; }\n"
      "__global__ void plain(float* in) { in[threadIdx.x] += 1; }\n";
  array i = counting(i32, {10}).to_device(), f = ramp(10), c = counting(c128, {10}).to_device();
  raw_kernel<void(inout<std::int32_t>)>("sq<int>", source)({.grid = {1}, .block = {10}}, i);
  raw_kernel<void(inout<float>)>("sq<float>", source)({.grid = {1}, .block = {10}}, f);
  raw_kernel<void(inout<std::complex<double>>)>("sq<complex<double>>", source)({.grid = {1}, .block = {10}}, c);
  std::vector<std::int32_t> squares;
  std::vector<float> squares_f;
  std::vector<std::complex<double>> squares_c;
  for (int k = 0; k < 10; ++k) {
    squares.push_back(k * k);
    squares_f.push_back(static_cast<float>(k * k));
    squares_c.emplace_back(k * k, 0);
  }
  EXPECT_TRUE(equals(i, squares));
  EXPECT_TRUE(equals(f, squares_f));
  EXPECT_TRUE(equals(c, squares_c));
  raw_kernel("plain", source)({.grid = {1}, .block = {10}}, f);
  EXPECT_EQ(f(3).item<float>(), 10.f);
}

TEST(raw_kernel, shared_memory_goes_as_far_as_the_device) {
  const raw_kernel<void(out<float>, int)> fill{
      "fill",
      "__global__ void fill(float* y, int n) { extern __shared__ float s[]; __shared__ int one[1];"
      " if (threadIdx.x == 0) one[0] = 1; for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = i;"
      " __syncthreads(); if (threadIdx.x == 0) *y = s[n - 1] + one[0]; }"};
  array y = zeros({1}, f32);
  // Just 48 KiB besides what is declared (cupy #2118), and more.
  for (const int n : {100, 12288, 50000}) {
    fill({.grid = {1}, .block = {128}, .shared_bytes = n * 4}, y, n);
    EXPECT_EQ(y.item<float>(), static_cast<float>(n));
  }
  EXPECT_TRUE(throws<shape_error>([&] { fill({.grid = {1}, .block = {32}, .shared_bytes = 1 << 30}, y, 1); },
                                  {"fill", "1073741824", "raw_kernel_test.cpp"}));
}

// K16
// cupy#3894
TEST(raw_kernel, blocks_may_wait_for_each_other) {
  const raw_kernel<void(in<float>, in<float>, out<float>, int)> both{
      "both",
      "#include <cooperative_groups.h>\n"
      "__global__ void both(const float* x1, const float* x2, float* y, int n) {\n"
      "  const int step = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  for (int i = first; i < n; i += step) y[i] = x1[i];\n"
      "  cooperative_groups::this_grid().sync();\n"
      "  for (int i = first; i < n; i += step) y[n - 1 - i] += x2[n - 1 - i];\n}\n"};
  for (const int n : {100, 10000, 1000000})
    for (const int block : {64, 256}) {
      const array x1 = ramp(n), x2 = ramp(n) * 2;
      array y = zeros({n}, f32);
      both({.grid = {std::min(8, (n + block - 1) / block)}, .block = {block}, .cooperative = true}, x1, x2, y, n);
      EXPECT_TRUE(equals(y, times(3, n)));
    }
  array y = zeros({4}, f32);
  EXPECT_TRUE(throws<shape_error>(
      [&] { both({.grid = {1 << 20}, .block = {256}, .cooperative = true}, y, ramp(4), y, 4); }, {"both", "at most"}));
}

// ---- Faults ----

// A kernel that does wrong is told on the host with its line; on a device, assert ends the context.
TEST(raw_kernel, faults_are_errors_on_the_host) {
  if (executor == "cuda") GTEST_SKIP() << "a failed assertion ends the CUDA context";
  const raw_kernel<void(inout<float>)> wrong{"wrong", "__global__ void wrong(float* x) {\n  assert(x[0] == 1);\n}\n"};
  array x = ones({1}, f32) * 2;
  EXPECT_TRUE(throws<device_error>(
      [&] {
        wrong({.grid = {1}, .block = {32}}, x);
        eval(x);
      },
      {"wrong", "assert"}));
  array y = ramp(4);
  scale()(for_each(4), y, 2.f, 4);
  EXPECT_TRUE(equals(y, times(2, 4)));
}

}  // namespace
