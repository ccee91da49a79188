// What users of CuPy, Warp and Jitify reported about their elementwise kernels as strings, each with the small program
// that would show it here. The thread is named beside each.
#include "tests/backend/expect.hpp"

#include <bit>
#include <functional>

using namespace sinter;
using namespace sinter_test;

namespace {

const elementwise& sum_of() {
  static const elementwise k{"sum_of", "T x, T y", "T z", "z = x + y"};
  return k;
}

struct row {
  const char* thread;
  std::function<void()> program;
};

class string_symptom : public testing::TestWithParam<row> {};

TEST_P(string_symptom, is_not_ours) {
  SCOPED_TRACE(GetParam().thread);
  GetParam().program();
}

std::string message_of(const array& y) {
  try {
    eval(y);
  } catch (const compile_error& e) { return e.what(); }
  return "";
}

const std::vector<row>& rows() {
  static const std::vector<row> all = {
      {"cupy#2091: a letter that only a number carries",
       [] {
         const elementwise k{"letters", "T a, U b", "U z", "z = b * 2"};
         EXPECT_TRUE(equals(k(array{1.f, 2.f}, 3), std::vector<std::int64_t>{6, 6}));
       }},
      {"cupy#563: numbers past i64",
       [] {
         EXPECT_TRUE(equals(sum_of()(array{std::uint64_t{5}}, 18446744073709551605u), std::vector<std::uint64_t>{18446744073709551610u}));
       }},
      {"cupy#779: a bool stays one",
       [] {
         const elementwise k{"exclusive", "bool x, bool y", "bool z", "z = x ^ y"};
         const array z = k(eye(3, 3, 0, boolean), true);
         EXPECT_EQ(z.type(), boolean);
         EXPECT_TRUE(equals(z, booleans({0, 1, 1, 1, 0, 1, 1, 1, 0}, {3, 3})));
       }},
      {"cupy#9374: a constant of another kind names its kernel",
       [] { EXPECT_TRUE(throws<type_error>([] { sum_of()(array{1.f}, complex128{0, 1}); }, {"f32"})); }},
      {"cupy#8323: -1 is no u8", [] { EXPECT_TRUE(throws<type_error>([] { sum_of()(array{std::uint8_t{1}}, -1); }, {"-1", "u8"})); }},
      {"cupy#6940: a number arrives",
       [] {
         const elementwise k{"scaled", "float s, float x", "float y", "y = s * x"};
         EXPECT_TRUE(equals(k(5.0, array{1.f, 2.f}), std::vector<float>{5, 10}));
       }},
      {"cupy#8674, warp#485: doubles keep their bits",
       [] {
         const elementwise k{"constant", "", "double y", "y = 3.141592653589793"}, given{"given", "double x", "double y", "y = x"};
         EXPECT_EQ(std::bit_cast<std::uint64_t>(k().item<double>()), 0x400921FB54442D18u);
         EXPECT_EQ(std::bit_cast<std::uint64_t>(given(3.141592653589793).item<double>()), 0x400921FB54442D18u);
       }},
      {"cupy#8382: subnormals are not flushed",
       [] {
         const elementwise k{"half_of", "float x", "float y", "y = x / 2"};
         EXPECT_TRUE(equals(k(array{1.1754944e-38f}), std::vector<float>{5.877472e-39f}));
       }},
      {"cupy#9122, #7527: every operation compiles for half floats",
       [] {
         for (const dtype type : {f16, bf16})
           for (const char* body :
                {"z = x + y", "z = x - y", "z = x * y", "z = x / y", "z = x < y", "z = -x",
                 "z = max((float)x, (float)y)", "z = sqrtf(x)", "z = x; z += y", "z = x == y ? x : y"}) {
             const elementwise k{"halves", "T x, T y", "T z", body};
             EXPECT_NO_THROW(eval(k(ones({3}, type), full({3}, 2, type)))) << body;
           }
       }},
      {"cupy#5328: 64-bit indices",
       [] {
         const elementwise k{"gathers", "T x, raw T t", "T y", "y = x + t[n - 1 - i]"};
         const array x = counting(i32, {2, 3, 4}).to_device();
         const std::vector<std::int32_t> narrow = k(x, x).to_vector<std::int32_t>();
         const wide_indices wide;
         EXPECT_EQ(k(x, x).to_vector<std::int32_t>(), narrow);
         EXPECT_EQ(narrow, std::vector<std::int32_t>(24, 23));
       }},
      {"cupy#2469: a thousand objects of one text are one kernel",
       [] {
         const statistics added = counted([] {
           for (int k = 0; k < 1000; ++k) eval(elementwise("one_of_many", "T x", "T y", "y = x + 1")(array{k}));
         });
         EXPECT_EQ(added.compiles, 1u);
       }},
      {"warp#1713: a kernel that failed fails again, and writes nothing",
       [] {
         const elementwise k{"never", "float x", "float y", "y = x;\nnowhere = y"};
         array y = array{7.f};
         const array before = y;
         std::string first;
         const statistics added = counted([&] {
           for (int time = 0; time < 3; ++time) {
             array z = y;
             k.into(z)(array{1.f});
             const std::string message = message_of(z);
             EXPECT_NE(message.find("nowhere"), std::string::npos);
             if (time == 0) first = message;
             EXPECT_EQ(message, first);
           }
         });
         EXPECT_EQ(added.compiles, 1u);
         EXPECT_TRUE(equals(before, std::vector<float>{7}));
       }},
      {"cupy#5298: the user's own line and a caret",
       [] {
         const elementwise k{"third_line", "float x", "float y", "float t = x;\nt += 1;\n  y = t + w;"};
         const std::string message = message_of(k(array{1.f}));
         EXPECT_NE(message.find("third_line, line 3: error: "), std::string::npos) << message;
         EXPECT_NE(message.find("\n    y = t + w;\n"), std::string::npos) << message;
         EXPECT_NE(message.find("          ^"), std::string::npos) << message;
         EXPECT_NE(message.find("string_symptom_test.cpp"), std::string::npos) << message;
         const elementwise helper{"helped", "float x", "float y", "y = f(x)",
                                  {.preamble = "__device__ float f(float v) {\n  return v + g;\n}"}};
         EXPECT_NE(message_of(helper(array{1.f})).find("helped (preamble), line 2: error: "), std::string::npos);
       }},
      {"jitify#59, cudf#6509: nothing on stdout",
       [] {
         const elementwise k{"silent", "float x", "float y", "y = undeclared_here"};
         testing::internal::CaptureStdout();
         const std::string message = message_of(k(array{1.f}));
         EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
         EXPECT_NE(message, "");
       }},
      {"cupy#2262: keywords are no names",
       [] { EXPECT_TRUE(throws<error>([] { elementwise("double", "T x", "T y", "y = x"); }, {"\"double\" is a keyword"})); }},
      {"cupy#8734: standard headers",
       [] {
         EXPECT_TRUE(throws<error>([] { elementwise("headed", "T x", "T y", "y = x", {.preamble = "#include <type_traits>"}); },
                                   {"<type_traits>", "no headers"}));
       }},
      {"warp limitations: division in C and in NumPy",
       [] {
         const elementwise k{"remainders", "int x, int y", "int z", "z = x % y"};
         EXPECT_EQ(k(-7, 2).item<std::int32_t>(), -1);
         EXPECT_EQ(remainder(array{-7}, 2).item<std::int32_t>(), 1);
       }},
      {"chainer#435: integer division by zero, in the language",
       [] { EXPECT_EQ((array{3} % 0).item<std::int32_t>(), 0); }},
      {"cupy#8198, #8381: outputs of one call have one shape, expressions their own",
       [] {
         const array a = ones({2, 2, 2}), b = ones({2, 2}), x = a * 2, y = b * 3;
         eval(x, y);
         EXPECT_EQ(to_string(x.extents()) + to_string(y.extents()), "[2, 2, 2][2, 2]");
       }},
  };
  return all;
}

INSTANTIATE_TEST_SUITE_P(threads, string_symptom, testing::ValuesIn(rows()), [](const auto& p) {
  std::string name;
  for (const char c : std::string(p.param.thread)) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name.substr(0, name.find("__"));
});

// Scalars at the limits of their dtypes: CuPy core_tests/test_userkernel.py, TestUserkernelScalar. What does not fit is
// refused.
// K06 of the catalogue
TEST(string_symptom_scalars, numbers_at_the_limits_of_their_dtypes) {
  const std::int64_t values[] = {-1, std::int64_t{1} << 32, std::numeric_limits<std::int64_t>::max(),
                                 std::numeric_limits<std::int64_t>::min()};
  for (const dtype type : {i8, u16, i32, u64, i64, f32, f64}) {
    const array x = counting(type, {24}).to_device();
    for (const std::int64_t v : values) {
      const bool fits = type == i64 || is_real(type) || (v == -1 ? type != u16 && type != u64 : v > 0 && type == u64);
      if (!fits) {
        EXPECT_TRUE(throws<type_error>([&] { sum_of()(x, v); }, {std::to_string(v), to_string(type)}))
            << to_string(type);
        continue;
      }
      host_array want(type, {24});
      for (std::int64_t k = 0; k < 24; ++k) {
        if (is_real(type)) {
          const double exact = static_cast<double>(v) + static_cast<double>(k);
          want.set(k, {type == f32 ? static_cast<float>(static_cast<float>(v) + static_cast<float>(k)) : exact, 0});
          continue;
        }
        const auto sum = static_cast<std::uint64_t>(v) + static_cast<std::uint64_t>(k);
        if (type == u64 || type == i64) continue;
        want.set(k, {static_cast<double>(static_cast<std::int64_t>(sum)), 0});
      }
      if (type == u64 || type == i64) {
        const array z = sum_of()(x, v).astype(u64);
        std::vector<std::uint64_t> whole;
        for (std::uint64_t k = 0; k < 24; ++k) whole.push_back(static_cast<std::uint64_t>(v) + k);
        EXPECT_TRUE(equals(z, whole)) << to_string(type) << " " << v;
      } else {
        EXPECT_TRUE(equals(sum_of()(x, v), want)) << to_string(type) << " " << v;
      }
    }
  }
}

}  // namespace
