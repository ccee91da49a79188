// Programs of several raw kernels: compiled once, named, with variables; and what is told when they don't compile.
#include "tests/backend/expect.hpp"

#include <sinter/raw_kernel.hpp>

#include <cstdio>
#include <fstream>
#include <thread>

using namespace sinter;
using namespace sinter_test;

namespace {

array ramp(std::int64_t n) { return counting(f32, {n}).to_device(); }

constexpr const char* filters = R"(
__constant__ float weights[3];
__device__ int calls;
namespace lib {
__device__ double inside[2] = {1.5, 2.5};
enum class tag { a, b };
template <tag T> __global__ void value(int* y) { *y = static_cast<int>(T); }
}
__global__ void smooth(const float* x, float* y, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i == 0) atomicAdd(&calls, 1);
  if (i > 0 && i + 1 < n) y[i] = weights[0] * x[i - 1] + weights[1] * x[i] + weights[2] * x[i + 1];
}
template <class T> __global__ void count(T* y) { *y = calls; }
template <class A, class B> __global__ void two(A* a, B* b) { *a = sizeof(A); *b = sizeof(B); }
)";

/// A program that no other test has compiled.
std::string fresh(const std::string& text) {
  static int number = 0;
  return text + "\n// " + std::to_string(++number) + "\n";
}

TEST(raw_module, variables_are_copied_both_ways) {
  const raw_module m{"filters", fresh(filters)};
  EXPECT_EQ(m.size_of_global("weights"), 12u);
  m.set_global("weights", array{1.f, 2.f, 3.f});
  EXPECT_EQ(m.get_global<float>("weights"), (std::vector<float>{1, 2, 3}));
  const float halves[] = {0.5f, 0.5f, 0.f};
  m.set_global("weights", std::span<const float>(halves));
  array y = zeros({5}, f32);
  m.get_function("smooth")(for_each(5), ramp(5), y, 5);
  EXPECT_TRUE(equals(y(range(1, 4)), std::vector<float>{0.5f, 1.5f, 2.5f}));
  EXPECT_EQ(m.get_global<int>("calls"), std::vector<int>{1});
  m.set_global("calls", 7);
  EXPECT_EQ(m.get_global<int>("calls"), std::vector<int>{7});
  EXPECT_EQ(m.get_global<double>("lib::inside"), (std::vector<double>{1.5, 2.5}));
  EXPECT_TRUE(
      throws<shape_error>([&] { m.set_global("weights", array{1.f}); }, {"weights", "12", "4", "raw_module_test.cpp"}));
  EXPECT_TRUE(throws<shape_error>([&] { m.get_global<double>("weights"); }, {"weights", "12"}));
  EXPECT_TRUE(throws<error>([&] { m.size_of_global("nothing"); }, {"nothing", "weights", "raw_module_test.cpp"}));
}

// Instances compiled later see the same variables, with the values they have.
TEST(raw_module, instances_on_demand_share_variables) {
  const raw_module m{"filters", fresh(filters)};
  array y = zeros({4}, f32), n = zeros({1}, i32);
  const raw_kernel<> smooth = m.get_function("smooth");
  smooth(for_each(4), ramp(4), y, 4);
  m.get_function("count<int>")({.grid = {1}, .block = {1}}, n);
  EXPECT_EQ(n.item<std::int32_t>(), 1);
  smooth(for_each(4), ramp(4), y, 4);
  m.get_function("count<int>")({.grid = {1}, .block = {1}}, n);
  EXPECT_EQ(n.item<std::int32_t>(), 2);
  m.get_function<void(out<std::int32_t>)>("lib::value<lib::tag::b>")({.grid = {1}, .block = {1}}, n);
  EXPECT_EQ(n.item<std::int32_t>(), 1);
}

// Kernels of programs with variables do more than their outputs tell: they run in the order of their calls.
TEST(raw_module, kernels_with_variables_run_when_they_are_called) {
  const raw_module m{"filters", fresh(filters)};
  array y = zeros({4}, f32), n = zeros({1}, i32);
  m.get_function("smooth")(for_each(4), ramp(4) + 1, y, 4);  // its output is never read
  m.get_function("count<int>")({.grid = {1}, .block = {1}}, n);
  EXPECT_EQ(n.item<std::int32_t>(), 1);
}

// K08, in one process
TEST(raw_module, spellings_of_an_instance_are_one) {
  const raw_module m{"filters", fresh(filters), {}, {"two<float,double>"}};
  array a = zeros({1}, f32), b = zeros({1}, f64);
  eval(a, b);
  EXPECT_EQ(counted([&] { m.get_function("two<float,double>"); }).compiles, 1u);
  const statistics added = counted([&] { m.get_function("two<float, double>")({.grid = {1}, .block = {1}}, a, b); });
  EXPECT_EQ(added.compiles, 0u);
  EXPECT_EQ(a.item<float>(), 4.f);
  EXPECT_EQ(b.item<double>(), 8.);
}

TEST(raw_module, a_kernel_that_is_not_there_is_told_with_those_that_are) {
  const raw_module m{"filters", fresh(filters)};
  EXPECT_TRUE(throws<error>([&] { m.get_function("smoother"); }, {"filters", "smoother", "smooth", "count<...>"}));
}

// A new object of the same source loaded its module again each time (cupy #2469).
TEST(raw_kernel_cache, the_same_source_is_compiled_once) {
  const std::string source = fresh("__global__ void f(float* x) { x[0] += 1; }");
  array x = ramp(1);
  const statistics added = counted([&] {
    for (int k = 0; k < 1000; ++k) raw_kernel<void(inout<float>)>("f", source)({.grid = {1}, .block = {1}}, x);
  });
  EXPECT_EQ(added.compiles, 1u);
  EXPECT_EQ(added.launches, 1000u);
  EXPECT_EQ(x.item<float>(), 1000.f);
}

TEST(raw_kernel_cache, kernels_of_one_name_and_other_bodies_are_others) {
  const raw_kernel first{"f", "__global__ void f(float* x) { x[0] = 1; }"},
      second{"f", "__global__ void f(float* x) { x[0] = 2; }"};
  array x = ramp(1), y = ramp(1);
  first({.grid = {1}, .block = {1}}, x);
  second({.grid = {1}, .block = {1}}, y);
  EXPECT_EQ(x.item<float>(), 1.f);
  EXPECT_EQ(y.item<float>(), 2.f);
}

TEST(raw_kernel_cache, options_make_other_kernels) {
  const std::string source = fresh("__global__ void f(float* x) { x[0] = VALUE; }");
  array x = ramp(1);
  for (const int value : {3, 4, 3}) {
    raw_kernel("f", source, {.options = {"-DVALUE=" + std::to_string(value)}})({.grid = {1}, .block = {1}}, x);
    EXPECT_EQ(x.item<float>(), static_cast<float>(value));
  }
}

TEST(raw_kernel_cache, many_threads_compile_each_kernel_once) {
  std::vector<std::string> sources;
  for (int k = 0; k < 4; ++k)
    sources.push_back(fresh("__global__ void f(float* x) { x[0] = " + std::to_string(k) + "; }"));
  std::vector<std::thread> threads;
  std::vector<float> got(16, -1);
  const statistics before = stats();
  for (std::size_t t = 0; t < 16; ++t)
    threads.emplace_back([&, t] {
      array x = ramp(1);
      raw_kernel("f", sources[t % 4])({.grid = {1}, .block = {1}}, x);
      got[t] = x.item<float>();
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t t = 0; t < 16; ++t) EXPECT_EQ(got[t], static_cast<float>(t % 4));
  EXPECT_EQ(stats().compiles - before.compiles, 4u);
}

TEST(raw_kernel_failure, tells_the_users_line_and_fails_again_without_compiling) {
  const raw_kernel bad{"bad",
                       fresh("__global__ void bad(float* x) {\n  x[0] = 1;\n  x[1] = nowhere;\n}"),
                       {.options = {"-DSOMETHING=1"}}};
  array x = ramp(2);
  testing::internal::CaptureStdout();
  std::string first;
  for (int k = 0; k < 3; ++k) {
    const statistics added = counted([&] {
      try {
        bad({.grid = {1}, .block = {1}}, x);
        ADD_FAILURE() << "compiled";
      } catch (const compile_error& e) {
        const std::string text = e.what();
        if (k == 0) first = text;
        EXPECT_EQ(text, first);
        for (const char* part : {"kernel bad does not compile", "nowhere", "-DSOMETHING=1", "raw_module_test.cpp", "^"})
          EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
        EXPECT_TRUE(text.find("bad(3)") != std::string::npos || text.find("bad:3") != std::string::npos) << text;
        EXPECT_NE(e.source().find("nowhere"), std::string::npos);
        EXPECT_NE(e.log().find("nowhere"), std::string::npos);
        EXPECT_FALSE(e.options().empty());
      }
    });
    EXPECT_EQ(added.compiles, k == 0 ? 1u : 0u);
    EXPECT_EQ(added.launches, 0u);
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0, 1}));
}

// K04
TEST(raw_kernel_failure, says_what_the_text_says) {
  const raw_kernel bad{"bad",
                       "#if PRECISION != 2\n#error precision not supported\n#endif\n__global__ void bad() {}",
                       {.options = {"-DPRECISION=3"}}};
  EXPECT_TRUE(throws<compile_error>([&] { bad(for_each(1)); }, {"precision not supported"}));
  const raw_kernel good{"good",
                        "#if PRECISION != 2\n#error precision not supported\n#endif\n"
                        "__global__ void good(double* x) { *x = 0.1; }",
                        {.options = {"-DPRECISION=2"}}};
  array x = zeros({1}, f64);
  good({.grid = {1}, .block = {1}}, x);
  EXPECT_EQ(x.item<double>(), 0.1);
}

TEST(raw_kernel_failure, of_one_instance_leaves_the_others) {
  const raw_module m{"half", fresh("template <class T> __global__ void f(T* x) { x[0] = T(1) << 1; }")};
  EXPECT_TRUE(throws<compile_error>([&] { m.get_function("f<float>"); }, {"half"}));
  array x = zeros({1}, i32);
  m.get_function("f<int>")({.grid = {1}, .block = {1}}, x);
  EXPECT_EQ(x.item<std::int32_t>(), 2);
  x = zeros({1}, i32);
  const raw_module other{"half", fresh("template <class T> __global__ void g(T* x) { x[0] = 3; }")};
  EXPECT_TRUE(throws<compile_error>([&] { other.get_function("g<no_such_type>"); }, {"no_such_type"}));
  other.get_function("g<int>")({.grid = {1}, .block = {1}}, x);
  EXPECT_EQ(x.item<std::int32_t>(), 3);
}

// K02
TEST(raw_kernel_attributes, are_told) {
  const std::string source = fresh(
      "__constant__ float table[100];\n__global__ void plain(float* x) { x[0] = table[3]; }\n"
      "__global__ void sharing(float* x) { __shared__ float s[256]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads();"
      " x[threadIdx.x] = s[255 - threadIdx.x]; }\n");
  const raw_module m{"attributes", source};
  const kernel_attributes plain = m.get_function("plain").attributes(),
                          sharing = m.get_function("sharing").attributes();
  EXPECT_GT(plain.max_threads, 0);
  if (executor != "cuda") return;  // the cpu device has no more to tell
  EXPECT_GT(plain.registers, 0);
  EXPECT_EQ(plain.shared_bytes, 0);
  EXPECT_EQ(plain.local_bytes, 0);
  EXPECT_GE(plain.constant_bytes, 400);
  EXPECT_EQ(sharing.shared_bytes, 1024);
  EXPECT_GT(plain.max_dynamic_bytes, 48 << 10);
  EXPECT_GT(plain.binary_version, 0);
}

// K20
TEST(raw_kernel_attributes, warnings_of_the_compiler_are_kept) {
  const raw_kernel k{"k", fresh("__global__ void k(int* x) {\n  int unused = 3;\n  *x = 1;\n}")};
  const std::string log = k.compile_log();
  EXPECT_NE(log.find("warning"), std::string::npos) << log;
  EXPECT_NE(log.find("unused"), std::string::npos) << log;
  EXPECT_TRUE(log.find("k(2)") != std::string::npos || log.find("k:2") != std::string::npos) << log;
  const raw_kernel quiet{"k", fresh("__global__ void k(int* x) { __shared__ int s[32]; s[threadIdx.x] = 1;"
                                    " __syncthreads(); atomicAdd(x, s[0]); x[1] = __shfl_sync(~0u, *x, 0); }")};
  EXPECT_EQ(quiet.compile_log(), "") << "what is built in gives no cause";
}

TEST(raw_module_file, ptx_runs_on_cuda_devices_alone) {
  const std::string path = testing::TempDir() + "/sinter_raw_module_test.ptx";
  std::ofstream(path)
      << ".version 7.0\n.target sm_70\n.address_size 64\n"
         ".visible .entry set_one(.param .u64 p) {\n"
         "  .reg .b64 %a<3>; .reg .f32 %f<2>;\n  ld.param.u64 %a1, [p];\n  cvta.to.global.u64 %a2, %a1;\n"
         "  mov.f32 %f1, 0f3f800000;\n  st.global.f32 [%a2], %f1;\n  ret;\n}\n";
  const raw_module m = raw_module::from_file(path);
  array x = ramp(2);
  if (executor == "cuda") {
    m.get_function("set_one")({.grid = {1}, .block = {1}}, x);
    EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 1}));
    EXPECT_TRUE(throws<error>([&] { m.get_function("set_two"); }, {"set_two", "set_one"}));
    EXPECT_TRUE(throws<type_error>([&] { m.get_function("set_one")({.grid = {1}, .block = {1}}, x, 2); }));
  } else {
    EXPECT_TRUE(throws<device_error>([&] { m.get_function("set_one"); }, {"cpu", path}));
  }
  std::remove(path.c_str());
  EXPECT_TRUE(
      throws<io_error>([] { raw_module::from_file("/nowhere/at.all"); }, {"/nowhere/at.all", "raw_module_test.cpp"}));
}

TEST(raw_module, files_that_a_source_includes_are_looked_for_where_it_says) {
  const std::string folder = testing::TempDir();
  std::ofstream(folder + "/sinter_raw_value.h") << "#define VALUE 42\n";
  const raw_kernel k{
      "k", "#include \"sinter_raw_value.h\"\n__global__ void k(int* x) { *x = VALUE; }", {.include_paths = {folder}}};
  array x = zeros({1}, i32);
  k({.grid = {1}, .block = {1}}, x);
  EXPECT_EQ(x.item<std::int32_t>(), 42);
  std::remove((folder + "/sinter_raw_value.h").c_str());
}

}  // namespace
