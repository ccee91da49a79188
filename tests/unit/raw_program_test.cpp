// Users' sources through NVRTC, which needs no GPU: kernels by expressions, headers, what the compiler says.
#include "jit/compile/compiler.hpp"
#include "runtime/error.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

using namespace sinter;
using namespace sinter::jit;

namespace {

class raw_program_source : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (nvrtc_version(&why).empty()) GTEST_SKIP() << why;
  }
  static compiled_program compiled(const std::string& source, const std::vector<std::string>& expressions,
                                   const std::vector<std::string>& options = {}) {
    compile_request r;
    r.name = "mine";
    r.source = "#line 1 \"mine\"\n" + source;
    r.target = "sm_90";
    r.options = options;
    return compile_cuda_program(r, expressions);
  }
};

}  // namespace

TEST_F(raw_program_source, expressions_name_instances_and_plain_kernels) {
  const compiled_program p = compiled(
      "extern \"C\" __global__ void f(int* x) { *x = 1; }\n"
      "template <class T, int N> __global__ void k(T* x) { *x = N; }\n"
      "namespace lib { enum class tag { a, b }; template <tag T> __global__ void e(int* x) { *x = (int)T; } }\n",
      {"f", "k<float, 4>", "lib::e<lib::tag::b>"});
  using pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(
      p.symbols,
      (pairs{{"f", "f"}, {"k<float, 4>", "_Z1kIfLi4EEvPT_"}, {"lib::e<lib::tag::b>", "_ZN3lib1eILNS_3tagE1EEEvPi"}}));
  ASSERT_GT(p.code.size(), 4u);
  EXPECT_EQ(std::memcmp(p.code.data(), "\177ELF", 4), 0);
  EXPECT_EQ(p.log, "");
}

TEST_F(raw_program_source, warnings_come_with_the_code) {
  const compiled_program p = compiled("__global__ void f(int* x) { int unused = 3; *x = 1; }", {"f"});
  EXPECT_NE(p.log.find("warning"), std::string::npos) << p.log;
  EXPECT_NE(p.log.find("mine(1)"), std::string::npos) << p.log;
}

TEST_F(raw_program_source, options_choose_what_is_compiled_and_an_error_tells_the_users_line) {
  const std::string source =
      "#if PRECISION == 2\n#define TYPE double\n#else\n#error precision not supported\n#endif\n"
      "__global__ void f(TYPE* x) { *x *= 2; }\n";
  EXPECT_EQ(compiled(source, {"f"}, {"-DPRECISION=2"}).symbols[0].second, "_Z1fPd");
  try {
    compiled(source, {"f"}, {"-DPRECISION=3"});
    FAIL() << "compiled";
  } catch (const compile_error& e) {
    EXPECT_NE(std::string(e.what()).find("mine(4)"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("precision not supported"), std::string::npos) << e.what();
    EXPECT_NE(e.options().find("-DPRECISION=3"), std::string::npos);
    EXPECT_NE(e.source().find("#error"), std::string::npos);
  }
}

TEST_F(raw_program_source, headers_of_the_standard_may_be_included) {
  const std::string source =
      "#include <cstdint>\n#include <cmath>\n#include <climits>\n#include <cassert>\n#include <cstdio>\n"
      "static_assert(sizeof(std::int64_t) == 8 && sizeof(uint16_t) == 2);\n"
      "__global__ void f(int64_t* x, std::size_t n, float* y) {\n"
      "  assert(n > 0);\n  *x = INT_MAX + std::uint8_t(3);\n  *y = std::sqrt(*y) + float(M_PI) + FLT_MAX;\n}\n";
  EXPECT_NO_THROW(compiled(source, {"f"}));
  EXPECT_THROW(compiled("#include <vector>\n__global__ void f() {}", {"f"}), compile_error);
}

TEST_F(raw_program_source, a_standard_of_ones_own_takes_the_place_of_the_usual_one) {
  const std::string source = "static_assert(__cplusplus > 201703L);\n__global__ void f(int* x) { *x = 1; }";
  EXPECT_NO_THROW(compiled(source, {"f"}, {"-std=c++20"}));
  EXPECT_THROW(compiled(source, {"f"}), compile_error);
}
