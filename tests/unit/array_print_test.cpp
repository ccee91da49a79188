// Arrays as text: what NumPy's str() gives for the same values.
#include "tests/unit/dsl_support.hpp"

#include <limits>
#include <sstream>

namespace {

using namespace sinter;

constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

class printing : public sinter_test::dsl_test {};

TEST_F(printing, integers_and_booleans_align) {
  EXPECT_EQ(to_string(array{1, -20, 300}), "[  1 -20 300]");
  EXPECT_EQ(to_string(array{true, false}), "[ True False]");
  EXPECT_EQ(to_string(array{true, true}), "[ True  True]");
  EXPECT_EQ(to_string(array{{1, 2}, {3, 40}}), "[[ 1  2]\n [ 3 40]]");
  EXPECT_EQ(to_string(array{~0ull}), "[18446744073709551615]");
}

TEST_F(printing, floats_share_one_format) {
  EXPECT_EQ(to_string(array{1.f, 2.5f, -3.25f}), "[ 1.    2.5  -3.25]");
  EXPECT_EQ(to_string(array{1.0, 2.0}), "[1. 2.]");
  EXPECT_EQ(to_string(array{0.1f, 0.2f}), "[0.1 0.2]");
  EXPECT_EQ(to_string(array{1.0 / 3, 2.0 / 3}), "[0.33333333 0.66666667]");
  EXPECT_EQ(to_string(array{1.f / 3}), "[0.33333334]");
  EXPECT_EQ(to_string(array{0.0, -0.0}), "[ 0. -0.]");
  EXPECT_EQ(to_string(array{99999999.0}), "[99999999.]");
}

TEST_F(printing, wide_ranges_use_exponents) {
  EXPECT_EQ(to_string(array{1e8}), "[1.e+08]");
  EXPECT_EQ(to_string(array{1.0, 1e-5}), "[1.e+00 1.e-05]");
  EXPECT_EQ(to_string(array{1.5, 2000.25}), "[1.50000e+00 2.00025e+03]");
  EXPECT_EQ(to_string(array{1e-300, -1.25}), "[ 1.00e-300 -1.25e+000]");
  EXPECT_EQ(to_string(array{123456789.123456789}), "[1.23456789e+08]");
}

TEST_F(printing, specials_pad_like_numbers) {
  EXPECT_EQ(to_string(array{nan, 1.0, inf, -inf}), "[ nan   1.  inf -inf]");
  EXPECT_EQ(to_string(array{nan}), "[nan]");
  EXPECT_EQ(to_string(array{-inf, 1.125}), "[ -inf 1.125]");
}

TEST_F(printing, small_floats_print_their_own_digits) {
  EXPECT_EQ(to_string(array{0.1, 65504.0}.astype(f16)), "[1.00e-01 6.55e+04]");
  EXPECT_EQ(to_string(array{0.1, 1.5}.astype(f16)), "[0.1 1.5]");
}

TEST_F(printing, complex_numbers_have_two_columns) {
  EXPECT_EQ(to_string(array{complex128{1, 2}, complex128{-1.5, -0.25}}), "[ 1. +2.j   -1.5-0.25j]");
  EXPECT_EQ(to_string(array(complex128{1, 2})), "(1+2j)");
  EXPECT_EQ(to_string(array(complex128{0, -2.5})), "-2.5j");
}

TEST_F(printing, single_elements_print_alone) {
  EXPECT_EQ(to_string(array(3)), "3");
  EXPECT_EQ(to_string(array(true)), "True");
  EXPECT_EQ(to_string(array(3.0)), "3.0");
  EXPECT_EQ(to_string(array(1.0 / 3)), "0.3333333333333333");
  EXPECT_EQ(to_string(array(1e16)), "1e+16");
  EXPECT_EQ(to_string(array(1.5e-7)), "1.5e-07");
  EXPECT_EQ(to_string(array(nan)), "nan");
  EXPECT_EQ(to_string(array{0.1f}(0)), "0.1");
}

TEST_F(printing, empty_arrays_print_brackets) {
  EXPECT_EQ(to_string(array()), "[]");
  EXPECT_EQ(to_string(zeros({2, 0})), "[]");
}

TEST_F(printing, long_rows_wrap_at_75_columns) {
  EXPECT_EQ(to_string(arange(30)),
            "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
            " 24 25 26 27 28 29]");
  EXPECT_EQ(to_string(reshape(zeros({8}), {2, 2, 2})), "[[[0. 0.]\n  [0. 0.]]\n\n [[0. 0.]\n  [0. 0.]]]");
}

TEST_F(printing, long_arrays_show_their_ends_and_read_no_more) {
  EXPECT_EQ(to_string(arange(1001)), "[   0    1    2 ...  998  999 1000]");
  const array x = reshape(arange(40000), {4, 100, 100});
  eval(x);
  const std::uint64_t before = stats().bytes_to_host;
  const std::string text = to_string(x);
  EXPECT_EQ(stats().bytes_to_host - before, 4u * 6 * 6 * 8);
  EXPECT_EQ(text.substr(0, text.find("\n\n")),
            "[[[    0     1     2 ...    97    98    99]\n"
            "  [  100   101   102 ...   197   198   199]\n"
            "  [  200   201   202 ...   297   298   299]\n"
            "  ...\n"
            "  [ 9700  9701  9702 ...  9797  9798  9799]\n"
            "  [ 9800  9801  9802 ...  9897  9898  9899]\n"
            "  [ 9900  9901  9902 ...  9997  9998  9999]]");
  EXPECT_EQ(to_string(reshape(arange(1200), {600, 2})),
            "[[   0    1]\n [   2    3]\n [   4    5]\n ...\n [1194 1195]\n [1196 1197]\n [1198 1199]]");
}

TEST_F(printing, streams_print_the_same) {
  std::ostringstream out;
  out << array{1, 2} << '!';
  EXPECT_EQ(out.str(), "[1 2]!");
}

}  // namespace
