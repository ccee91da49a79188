// Reading __global__ declarations: what is told about parameters, and what is left unknown.
#include "jit/raw/declaration.hpp"
#include "jit/raw/tokens.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace sinter;
using namespace sinter::jit;

namespace {

/// "i32 4" of a value, "*f32 16" of a pointer, "*const f32 4"; "?" where nothing is known.
std::string told(const raw_parameter& p) {
  std::string text = p.is_pointer ? p.is_const ? "*const " : "*" : "";
  text += p.has_element ? to_string(p.element) : "?";
  const std::size_t bytes = p.is_pointer ? p.element_bytes : p.bytes;
  return bytes == 0 ? text : text + " " + std::to_string(bytes);
}

std::string told(const std::vector<raw_parameter>& parameters) {
  std::string text;
  for (const raw_parameter& p : parameters) text += (text.empty() ? "" : ", ") + told(p);
  return text;
}

std::string parameters_of(std::string_view text, std::string_view name, const std::vector<std::string>& options = {}) {
  const raw_declarations all = read_declarations(text, options);
  const raw_declaration* d = all.find(name);
  return d ? told(d->parameters) : "not found";
}

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  for (const raw_declaration& d : read_declarations(text, {}).kernels) names.push_back(d.name);
  return names;
}

}  // namespace

TEST(raw_declaration, types_are_known_however_they_are_spelled) {
  const std::pair<const char*, const char*> cases[] = {
      {"int", "i32 4"},
      {"unsigned", "u32 4"},
      {"const unsigned long long int", "u64 8"},
      {"long", sizeof(long) == 8 ? "i64 8" : "i32 4"},
      {"long int unsigned", sizeof(long) == 8 ? "u64 8" : "u32 4"},
      {"short", "i16 2"},
      {"unsigned char", "u8 1"},
      {"bool", "bool 1"},
      {"std::size_t", "u64 8"},
      {"::std::int16_t", "i16 2"},
      {"double", "f64 8"},
      {"float4", "f32 16"},
      {"float*", "*f32 4"},
      {"const float* __restrict__", "*const f32 4"},
      {"float const *", "*const f32 4"},
      {"float* const", "*f32 4"},
      {"const float4*", "*const f32 16"},
      {"uchar4*", "*u8 4"},
      {"complex<float>*", "*c64 8"},
      {"thrust::complex<double> const*", "*const c128 16"},
      {"cuda::std::complex<float>", "c64 8"},
      {"__half*", "*f16 2"},
      {"__nv_bfloat16 const*", "*const bf16 2"},
      {"void*", "*?"},
      {"const void*", "*const ?"},
      {"float**", "*?"},
      {"pair", "?"},
      {"T*", "*?"},
      {"float&", "?"},
  };
  for (const auto& [type, want] : cases) EXPECT_EQ(told(describe_type(type)), want) << type;
}

TEST(raw_declaration, parameters_are_found_behind_attributes_names_and_defaults) {
  constexpr const char* source = R"cuda(
    // __global__ void not_me(double a);
    /* extern "C" __global__ void nor_me(double a); */
    #define LIKE_THIS(T) __global__ void nor_me_##T(T a) { }
    const char* text = "__global__ void in_text(int)"; const char* raw = R"x(__global__ void in_raw(int))x";
    extern "C" __global__ void __launch_bounds__(256, 2) first(const float* __restrict__ x, float* y, int n = 3) {
      if (n > 0) { y[0] = x[0]; }
    }
    extern "C" { __global__ __launch_bounds__(64) void second(unsigned int, const size_t count, float v[], double w[4]); }
    [[maybe_unused]] static __device__ int helper(int a) { return a; }
    template <typename T, int N = (3 > 2)> __global__ void third(T* x, float4 v) { x[0] = N; }
    namespace lib { namespace inner { __global__ void fourth(void) {} } enum class tag { a, b }; }
    struct s { int a; }; __global__ void fifth(s value, s* pointer) {}
  )cuda";
  EXPECT_EQ(names_in(source), (std::vector<std::string>{"first", "second", "third", "lib::inner::fourth", "fifth"}));
  EXPECT_EQ(parameters_of(source, "first"), "*const f32 4, *f32 4, i32 4");
  EXPECT_EQ(parameters_of(source, "second"), "u32 4, u64 8, *f32 4, *f64 8");
  EXPECT_EQ(parameters_of(source, "third"), "*?, f32 16");
  EXPECT_EQ(parameters_of(source, "lib::inner::fourth"), "");
  EXPECT_EQ(parameters_of(source, "fifth"), "?, *?");
}

TEST(raw_declaration, aliases_are_followed_unless_they_mean_several_things) {
  constexpr const char* source = R"(
    typedef float real;
    using index = unsigned int;
    #define WORD unsigned char
    #if SMALL
    typedef short either;
    #else
    typedef int either;
    #endif
    __global__ void f(real* x, index n, WORD* w, either e, number v) {}
  )";
  EXPECT_EQ(parameters_of(source, "f"), "*f32 4, u32 4, *u8 1, ?, ?");
  EXPECT_EQ(parameters_of(source, "f", {"-Dnumber=double"}), "*f32 4, u32 4, *u8 1, ?, f64 8");
  // A name that an option and the text define in two ways.
  EXPECT_EQ(parameters_of("#define T float\n__global__ void f(T* x) {}", "f", {"-DT=double"}), "*?");
}

TEST(raw_declaration, kernels_declared_in_several_ways_are_not_known) {
  EXPECT_EQ(parameters_of("__global__ void f(int* x) {} __global__ void f(float* x) {}", "f"), "not found");
  EXPECT_EQ(parameters_of("__global__ void f(int* x); __global__ void f(int* y) {}", "f"), "*i32 4");
}

TEST(raw_declaration, variables_are_told_from_functions) {
  constexpr const char* source = R"(
    __constant__ float table[100];
    __device__ int counter = 0, other;
    extern "C" __device__ double scale;
    __device__ float helper(float x) { return x; }
    template <class T> __device__ T constant = 1;
    namespace lib { __managed__ int inside; }
  )";
  EXPECT_EQ(read_declarations(source, {}).variables,
            (std::vector<std::string>{"table", "counter", "scale", "lib::inside"}));
}

TEST(raw_declaration, symbols_tell_names_and_types) {
  const auto text = [](const char* symbol) {
    const std::optional<raw_declaration> d = read_symbol(symbol);
    return d ? d->name + ": " + told(d->parameters) : std::string("none");
  };
  EXPECT_EQ(text("_Z1kIfLi4EEvPT_"), "k<float,4>: *f32 4");
  EXPECT_EQ(text("_ZN3lib1gEPKdm"), "lib::g: *const f64 8, u64 8");
  EXPECT_EQ(text("_Z1f6float4iPv"), "f: f32 16, i32 4, *?");
  EXPECT_EQ(text("_Z1fv"), "f: ");
  EXPECT_EQ(text("plain"), "none");
  EXPECT_EQ(text("_Znonsense"), "none");
}

TEST(raw_declaration, names_are_the_same_but_for_blanks) {
  EXPECT_TRUE(same_name("k<float,4>", " k< float , 4 >"));
  EXPECT_TRUE(same_name("k<unsigned int>", "k<unsigned  int>"));
  EXPECT_FALSE(same_name("k<float>", "k<double>"));
}

TEST(raw_declaration, text_that_is_no_source_is_read_without_harm) {
  for (const char* text : {"", "__global__", "__global__ void", "__global__ void f(", "__global__ void f(int x", "}}}",
                           "{{{", "\"", "R\"(", "/*", "#", "template <", "'", "__global__ void f(int) \\"})
    EXPECT_LE(read_declarations(text, {}).kernels.size(), 1u) << text;
}
