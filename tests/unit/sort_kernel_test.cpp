// The CUDA kernels that sort, emulated on the processors: the same text as a GPU runs.
#include "jit/compile/compiler.hpp"
#include "jit/library/sort.hpp"
#include "jit/raw/program.hpp"
#include "runtime/backend.hpp"
#include "tests/support/sort_reference.hpp"

#include <gtest/gtest.h>

using namespace sinter_test;
using sinter::dtype;

namespace sinter::jit::device {
extern const std::string_view radix_select, radix_sort;
}

namespace {

struct sort_case {
  std::int64_t rows, length;
  bool descending = false, values = true, positions = true;
  std::int64_t kept = -1;
  bool wide = false;
};

std::string to_text(const sort_case& c, dtype type) {
  return std::string(sinter::to_string(type)) + " [" + std::to_string(c.rows) + ", " + std::to_string(c.length) + "]" +
         (c.descending ? " descending" : "") + (c.values ? " values" : "") + (c.positions ? " positions" : "") +
         (c.kept >= 0 ? " first " + std::to_string(c.kept) : "") + (c.wide ? " wide" : "");
}

void check(dtype type, const sort_case& c, const host_array& x) {
  SCOPED_TRACE(to_text(c, type));
  const std::int64_t kept = c.kept < 0 ? c.length : c.kept;
  const sorted_reference want = sorted_along(x, 1, c.descending, kept);
  host_array values(type, {c.rows, kept}), positions(sinter::i64, {c.rows, kept});
  sinter::jit::sort_task t;
  t.type = type;
  t.descending = c.descending;
  t.rows = c.rows, t.length = c.length, t.kept = kept;
  t.source = x.bytes.data();
  if (c.values) t.values = values.bytes.data();
  if (c.positions) t.positions = reinterpret_cast<std::int64_t*>(positions.bytes.data());
  sinter::jit::library_run r(sinter::runtime::cpu(), sinter::place::here());
  sinter::jit::sort_by_kernels(t, r, c.wide);
  if (c.values) { EXPECT_EQ(difference(values, want.values), ""); }
  if (c.positions) { EXPECT_EQ(difference(positions, want.positions), ""); }
}

void check(dtype type, const sort_case& c) {
  check(type, c, numbers_to_sort(type, {c.rows, c.length}, static_cast<std::uint32_t>(c.length + 1)));
}

class sort_kernels : public testing::Test {
 protected:
  void SetUp() override {
    if (sinter::jit::host_compiler().empty()) GTEST_SKIP() << "there is no C++ compiler to emulate kernels with";
    // All at once: an emulation that gets one more kernel is compiled anew.
    sinter::jit::find_program({"radix_sort", std::string(sinter::jit::device::radix_sort), {}, {}, {}}).want(kernels());
    sinter::jit::find_program({"radix_select", selecting_text(), {}, {}, {}}).want(selecting_kernels());
  }

  static std::string selecting_text() {
    return std::string(sinter::jit::device::radix_sort) + std::string(sinter::jit::device::radix_select);
  }
  static std::vector<std::string> selecting_kernels() {
    std::vector<std::string> all{"begin_selection"};
    for (const std::string key : {"unsigned char", "unsigned short", "unsigned int", "unsigned long long"})
      for (const char* kernel : {"narrow_selection<", "collect_selection<", "sort_selection<", "select_rows<"})
        all.push_back(kernel + key + ">");
    return all;
  }

  static std::vector<std::string> kernels() {
    const std::string u8 = "unsigned char", u16 = "unsigned short", u32 = "unsigned int", u64 = "unsigned long long";
    std::vector<std::string> all{"clear_words", "sort_rows<" + u32 + ", 4>", "sort_rows<" + u32 + ", 16>",
                                 "sort_rows<" + u64 + ", 8>", "count_digits<" + u32 + ", " + u64 + ">"};
    for (const std::string& key : {u8, u16, u32, u64}) {
      all.push_back("sort_short_rows<" + key + ">");
      all.push_back("count_digits<" + key + ", " + u32 + ">");
    }
    const auto digit = [&](const std::string& key, const std::string& index, const std::string& items, bool positions) {
      all.push_back("sort_digit<" + key + ", " + index + ", " + index + ", " + items +
                    (positions ? ", true>" : ", false>"));
    };
    digit(u8, u32, "16", true);
    digit(u16, u32, "16", true);
    digit(u32, u32, "16", true);
    digit(u32, u32, "16", false);
    digit(u32, u64, "8", true);
    digit(u64, u32, "8", true);
    digit(u64, u32, "16", false);
    return all;
  }
};

TEST_F(sort_kernels, sort_short_rows_of_any_length_several_a_block) {
  for (std::int64_t n : {1, 2, 3, 4, 7, 31, 32, 33, 100, 255, 256})
    for (bool descending : {false, true}) check(dtype::f32, {.rows = 37, .length = n, .descending = descending});
  for (dtype type : {dtype::boolean, dtype::i8, dtype::u8, dtype::i16, dtype::u16, dtype::f16, dtype::bf16, dtype::i32,
                     dtype::u32, dtype::i64, dtype::u64, dtype::f64}) {
    check(type, {.rows = 5, .length = 200});
    check(type, {.rows = 5, .length = 77, .descending = true, .positions = false});
  }
}

TEST_F(sort_kernels, sort_rows_that_fit_a_block_by_digits) {
  for (std::int64_t n : {257, 1000, 1024, 1025, 4095, 4096}) {
    check(dtype::f32, {.rows = 3, .length = n});
    check(dtype::f32, {.rows = 2, .length = n, .descending = true, .positions = false});
  }
  for (std::int64_t n : {1300, 2048}) check(dtype::f64, {.rows = 3, .length = n, .descending = true});
}

TEST_F(sort_kernels, sort_long_rows_digit_by_digit) {
  for (std::int64_t n : {4097, 8192, 30001}) {
    check(dtype::f32, {.rows = 2, .length = n});
    check(dtype::i32, {.rows = 1, .length = n, .descending = true, .positions = false});
  }
  check(dtype::u8, {.rows = 3, .length = 5000});
  check(dtype::bf16, {.rows = 2, .length = 10000, .values = false});
  check(dtype::f16, {.rows = 1, .length = 10000, .descending = true});
  check(dtype::i64, {.rows = 2, .length = 7001});
  check(dtype::f64, {.rows = 1, .length = 7001, .descending = true, .positions = false});
}

TEST_F(sort_kernels, count_in_64_bits_where_rows_are_longer_than_this_one_is_said_to_be) {
  check(dtype::f32, {.rows = 2, .length = 9000, .wide = true});
  check(dtype::i32, {.rows = 1, .length = 5000, .descending = true, .wide = true});
}

TEST_F(sort_kernels, keep_the_first_ones) {
  check(dtype::f32, {.rows = 9, .length = 100, .descending = true, .kept = 7});
  check(dtype::f32, {.rows = 3, .length = 1000, .descending = true, .kept = 1});
  check(dtype::f32, {.rows = 2, .length = 9000, .descending = true, .kept = 10});
  check(dtype::f32, {.rows = 2, .length = 9000, .positions = false, .kept = 8999});
}

/// Rows that a block each selects from, and longer ones, which many share.
constexpr std::int64_t short_row = 5000, long_row = 50000;

TEST_F(sort_kernels, select_the_first_few_of_long_rows) {
  for (const std::int64_t n : {short_row, long_row})
    for (const std::int64_t kept : {1, 2, 100, 1024, 2048})
      check(dtype::f32, {.rows = 2, .length = n, .descending = kept != 2, .kept = kept});
  for (dtype type : {dtype::boolean, dtype::i8, dtype::u8, dtype::i16, dtype::f16, dtype::bf16, dtype::i32, dtype::u32,
                     dtype::i64, dtype::u64, dtype::f64})
    for (const std::int64_t n : {short_row, long_row}) {
      check(type, {.rows = 2, .length = n, .descending = true, .kept = 37});
      check(type, {.rows = 1, .length = n, .kept = 500});
    }
  check(dtype::f32, {.rows = 2, .length = long_row, .positions = false, .kept = 77});
  check(dtype::i32, {.rows = 2, .length = long_row, .values = false, .kept = 77});
}

TEST_F(sort_kernels, select_the_first_of_equal_numbers) {
  for (const std::int64_t n : {short_row, long_row}) {
    host_array same(dtype::i32, {1, n}), two = same, backwards = same, ends = same;
    for (std::int64_t k = 0; k < n; ++k) {
      same.set(k, {7, 0});
      two.set(k, {static_cast<long double>(k % 3 == 1), 0});
      backwards.set(k, {static_cast<long double>(-k / 100), 0});
      ends.set(k, {k > n - 300 ? 1.0L : 0.0L, 0});
    }
    for (const host_array* x : {&same, &two, &backwards, &ends})
      for (const bool descending : {false, true})
        for (const std::int64_t kept : {1, 250, 1500})
          check(dtype::i32, {.rows = 1, .length = n, .descending = descending, .kept = kept}, *x);
  }
}

TEST_F(sort_kernels, sort_equal_and_ordered_numbers) {
  host_array same(dtype::i32, {1, 10000}), ordered = same, backwards = same;
  for (std::int64_t k = 0; k < same.size(); ++k) {
    same.set(k, {7, 0});
    ordered.set(k, {static_cast<long double>(k / 3), 0});
    backwards.set(k, {static_cast<long double>(-k), 0});
  }
  for (const host_array* x : {&same, &ordered, &backwards}) check(dtype::i32, {.rows = 1, .length = 10000}, *x);
}

TEST(sort_kernels_for_cuda, compile) {
  std::string why;
  if (sinter::jit::nvrtc_version(&why).empty()) GTEST_SKIP() << why;
  sinter::jit::compile_request r;
  r.name = "radix_sort";
  r.source = std::string(sinter::jit::device::radix_sort);
  r.target = "sm_90";
  const std::vector<std::string> kernels{"clear_words",
                                         "count_digits<unsigned int, unsigned int>",
                                         "sort_digit<unsigned int, unsigned int, unsigned int, 16, true>",
                                         "sort_digit<unsigned char, unsigned long long, unsigned long long, 8, false>",
                                         "sort_rows<unsigned long long, 8>",
                                         "sort_short_rows<unsigned short>"};
  const sinter::jit::compiled_program made = sinter::jit::compile_cuda_program(r, kernels);
  EXPECT_FALSE(made.code.empty());
  EXPECT_EQ(made.log, "");
  EXPECT_EQ(made.symbols.size(), kernels.size());
}

TEST(sort_kernels_for_cuda, compile_what_selects) {
  std::string why;
  if (sinter::jit::nvrtc_version(&why).empty()) GTEST_SKIP() << why;
  sinter::jit::compile_request r;
  r.name = "radix_select";
  r.source = std::string(sinter::jit::device::radix_sort) + std::string(sinter::jit::device::radix_select);
  r.target = "sm_90";
  const std::vector<std::string> kernels{"begin_selection", "narrow_selection<unsigned char>",
                                         "collect_selection<unsigned short>", "sort_selection<unsigned long long>",
                                         "select_rows<unsigned int>", "select_rows<unsigned long long>"};
  const sinter::jit::compiled_program made = sinter::jit::compile_cuda_program(r, kernels);
  EXPECT_FALSE(made.code.empty());
  EXPECT_EQ(made.log, "");
  EXPECT_EQ(made.symbols.size(), kernels.size());
}

}  // namespace
