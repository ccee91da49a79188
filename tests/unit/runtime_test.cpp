// The vocabulary of the runtime layer: shapes, 16-bit floats, error layout, settings, counters.
#include "runtime/counters.hpp"
#include "runtime/error.hpp"
#include "runtime/log.hpp"
#include "runtime/shape.hpp"
#include "runtime/types.hpp"
#include "tests/unit/messages.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

using namespace sinter;

namespace {

shape broadcast(const shape& a, const shape& b) {
  shape out;
  EXPECT_TRUE(broadcast_into(a, b, out));
  shape swapped;
  EXPECT_TRUE(broadcast_into(b, a, swapped));
  EXPECT_EQ(to_string(out), to_string(swapped));
  return out;
}

std::vector<std::int64_t> strides(const shape& s) {
  std::vector<std::int64_t> steps(static_cast<std::size_t>(s.rank()));
  contiguous_strides(s, steps.data());
  return steps;
}

}  // namespace

// ---- shape ----

TEST(shape, rank_zero_holds_one_element_and_prints_as_empty_brackets) {
  EXPECT_EQ(shape{}.size(), 1);
  EXPECT_EQ(to_string(shape{}), "[]");
}

TEST(shape, size_is_the_product_of_extents) {
  EXPECT_EQ((shape{4, 3}).size(), 12);
  EXPECT_EQ((shape{4, 0, 3}).size(), 0);
  EXPECT_EQ(to_string(shape{4, 0, 3}), "[4, 0, 3]");
}

TEST(shape, size_of_an_empty_shape_is_zero_even_beside_huge_extents) {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_EQ((shape{huge, huge, 0}).size(), 0);
}

TEST(shape, seventeen_axes_throw_shape_error) {
  shape s;
  for (int k = 0; k < max_rank; ++k) s.append(1);
  EXPECT_THROW(s.append(1), shape_error);
  EXPECT_EQ(s.rank(), max_rank);
}

TEST(shape, a_negative_extent_throws_shape_error) { EXPECT_THROW((shape{2, -1}), shape_error); }

TEST(shape, converts_from_contiguous_ranges) {
  const std::vector<std::int64_t> extents{2, 5};
  EXPECT_EQ(shape(extents), (shape{2, 5}));
}

TEST(shape, broadcast_aligns_the_innermost_axes) {
  EXPECT_EQ(broadcast({4, 3}, {3}), (shape{4, 3}));
  EXPECT_EQ(broadcast({4, 1}, {1, 3}), (shape{4, 3}));
  EXPECT_EQ(broadcast({}, {2, 3}), (shape{2, 3}));
  EXPECT_EQ(broadcast({5, 1, 3}, {4, 1}), (shape{5, 4, 3}));
}

TEST(shape, broadcast_of_zero_and_one_is_zero) {
  EXPECT_EQ(broadcast({0}, {1}), (shape{0}));
  EXPECT_EQ(broadcast({0, 3}, {3}), (shape{0, 3}));
}

TEST(shape, broadcast_of_different_extents_fails_and_leaves_the_result_alone) {
  shape out{7};
  EXPECT_FALSE(broadcast_into({4, 3}, {5, 3}, out));
  EXPECT_FALSE(broadcast_into({0}, {2}, out));
  EXPECT_EQ(out, shape{7});
}

TEST(shape, broadcast_may_write_over_its_operand) {
  shape s{4, 1};
  EXPECT_TRUE(broadcast_into(s, {3}, s));
  EXPECT_EQ(s, (shape{4, 3}));
}

TEST(shape, contiguous_strides_are_in_c_order) {
  EXPECT_EQ(strides({2, 3, 4}), (std::vector<std::int64_t>{12, 4, 1}));
  EXPECT_EQ(strides({}), std::vector<std::int64_t>{});
}

constexpr place here{"program.cpp", "main", 7};

TEST(shape, checked_bytes_multiplies_by_the_element_size) {
  EXPECT_EQ(checked_bytes({4, 3}, f64, here), 96);
  EXPECT_EQ(checked_bytes({}, c128, here), 16);
  EXPECT_EQ(checked_bytes({std::int64_t{1} << 62}, u8, here), std::int64_t{1} << 62);
}

TEST(shape, checked_bytes_throws_above_two_to_the_62) {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_THROW(checked_bytes({huge, huge}, f32, here), shape_error);
  EXPECT_THROW(checked_bytes({std::int64_t{1} << 62}, i16, here), shape_error);
  EXPECT_EQ(checked_bytes({huge, huge, 0}, f32, here), 0);
}

TEST(shape, bad_extents_are_told_at_the_line_that_lists_them) {
  const std::uint32_t next = __LINE__ + 2;
  const std::string negative = message_of<shape_error>([] {
    static_cast<void>(shape{2, -1});
  });
  EXPECT_NE(negative.find("extent of -1"), std::string::npos) << negative;
  EXPECT_NE(negative.find("runtime_test.cpp:" + std::to_string(next)), std::string::npos) << negative;
  const std::string large = message_of<shape_error>([] { checked_bytes({std::int64_t{1} << 62, 2}, u8, here); });
  EXPECT_NE(large.find("program.cpp:7"), std::string::npos) << large;
}

// ---- 16-bit floats ----

TEST(float16, every_value_survives_the_way_through_f32) {
  for (std::uint32_t b = 0; b < 65536; ++b) {
    float16 h;
    h.bits = static_cast<std::uint16_t>(b);
    ASSERT_EQ(float16(static_cast<float>(h)).bits, b);
  }
}

TEST(float16, values_are_what_ieee_says) {
  for (std::uint32_t b = 0; b < 0x7c00; ++b) {
    float16 h;
    h.bits = static_cast<std::uint16_t>(b);
    const int exponent = static_cast<int>(b >> 10), mantissa = static_cast<int>(b & 0x3ff);
    const float expected = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                         : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
    ASSERT_EQ(static_cast<float>(h), expected) << b;
    h.bits = static_cast<std::uint16_t>(b | 0x8000);
    ASSERT_EQ(static_cast<float>(h), -expected) << b;
  }
}

TEST(float16, rounds_to_the_nearest_and_ties_to_even_between_all_neighbours) {
  for (std::uint32_t b = 0; b < 0x7bff; ++b) {
    float16 low, high;
    low.bits = static_cast<std::uint16_t>(b);
    high.bits = static_cast<std::uint16_t>(b + 1);
    const float middle = (static_cast<float>(low) + static_cast<float>(high)) / 2;  // exact: f32 has bits to spare
    ASSERT_EQ(float16(middle).bits, b + (b & 1)) << b;
    ASSERT_EQ(float16(std::nextafter(middle, 0.0f)).bits, b) << b;
    ASSERT_EQ(float16(std::nextafter(middle, 1e9f)).bits, b + 1) << b;
    ASSERT_EQ(float16(-middle).bits, (b + (b & 1)) | 0x8000) << b;
  }
}

TEST(float16, too_large_becomes_infinity_and_too_small_zero) {
  EXPECT_EQ(float16(65519.0f).bits, 0x7bff);
  EXPECT_EQ(float16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(float16(std::numeric_limits<float>::infinity()).bits, 0x7c00);
  EXPECT_EQ(float16(-std::numeric_limits<float>::max()).bits, 0xfc00);
  EXPECT_EQ(float16(0x1p-25f).bits, 0);  // halfway to the least subnormal: even
  EXPECT_EQ(float16(0x1.000002p-25f).bits, 1);
  EXPECT_EQ(float16(-std::numeric_limits<float>::denorm_min()).bits, 0x8000);
}

TEST(float16, nan_stays_nan) {
  EXPECT_TRUE(std::isnan(static_cast<float>(float16(std::numeric_limits<float>::quiet_NaN()))));
  float low_payload = 0;
  const std::uint32_t bits = 0x7f800001;
  std::memcpy(&low_payload, &bits, 4);
  EXPECT_TRUE(std::isnan(static_cast<float>(float16(low_payload))));
}

TEST(bfloat16, every_value_survives_the_way_through_f32) {
  for (std::uint32_t b = 0; b < 65536; ++b) {
    bfloat16 h;
    h.bits = static_cast<std::uint16_t>(b);
    ASSERT_EQ(bfloat16(static_cast<float>(h)).bits, b);
  }
}

TEST(bfloat16, rounds_to_the_nearest_and_ties_to_even) {
  EXPECT_EQ(bfloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(bfloat16(1.0f + 0x1p-8f).bits, 0x3f80);
  EXPECT_EQ(bfloat16(1.0f + 0x3p-8f).bits, 0x3f82);
  EXPECT_EQ(bfloat16(std::nextafter(1.0f + 0x1p-8f, 2.0f)).bits, 0x3f81);
  EXPECT_EQ(bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  float low_payload = 0;
  const std::uint32_t bits = 0x7f800001;
  std::memcpy(&low_payload, &bits, 4);
  EXPECT_TRUE(std::isnan(static_cast<float>(bfloat16(low_payload))));
}

// ---- errors ----

TEST(error, text_is_what_then_where_then_hint) {
  const place at{"model.cpp", "step", 17};
  EXPECT_EQ(error_text("add: no", at, "try this"), "add: no\n  at model.cpp:17 in step()\n  hint: try this");
  EXPECT_EQ(error_text("add: no", at), "add: no\n  at model.cpp:17 in step()");
}

TEST(error, an_unknown_place_is_left_out) { EXPECT_EQ(error_text("no", place{}), "no"); }

TEST(error, throwers_throw_their_type_under_error) {
  EXPECT_THROW(throw_shape_error("x", place::here()), shape_error);
  EXPECT_THROW(throw_type_error("x", place::here()), type_error);
  EXPECT_THROW(throw_index_error("x", place::here()), index_error);
  EXPECT_THROW(throw_io_error("x", place::here()), io_error);
  EXPECT_THROW(throw_internal_error("x"), error);
  EXPECT_THROW(SINTER_CHECK(1 > 2), internal_error);
  EXPECT_NO_THROW(SINTER_CHECK(2 > 1));
}

// ---- settings ----

namespace {

std::map<std::string, const char*> variables;

runtime::settings read(std::vector<std::string>* told = nullptr) {
  std::vector<std::string> complaints;
  const runtime::settings s = runtime::read_settings(
      [](const char* name) -> const char* {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second;
      },
      complaints);
  if (told != nullptr) *told = complaints;
  else EXPECT_TRUE(complaints.empty()) << complaints.front();
  return s;
}

}  // namespace

TEST(settings, an_empty_environment_gives_the_defaults) {
  variables.clear();
  const runtime::settings s = read();
  EXPECT_EQ(s.verbosity, runtime::level::warning);
  EXPECT_EQ(s.dumps, 0);
  EXPECT_EQ(s.dump_glob, "*");
  EXPECT_EQ(s.temporary_directory, "/tmp");
  EXPECT_EQ(s.threads, 0);
}

TEST(settings, raw_kernels_of_the_cpu_device) {
  variables = {{"SINTER_HOST_OPTIONS", "-g -O0"}, {"SINTER_CHECKED", "1"}};
  EXPECT_EQ(read().host_options, "-g -O0");
  EXPECT_TRUE(read().checked);
  variables = {{"SINTER_CHECKED", "0"}};
  EXPECT_FALSE(read().checked);
  std::vector<std::string> told;
  variables = {{"SINTER_CHECKED", "yes"}};
  EXPECT_FALSE(read(&told).checked);
  EXPECT_EQ(told.size(), 1u);
}

TEST(settings, compiling_later_and_counters_at_the_end) {
  variables.clear();
  EXPECT_EQ(read().compile_mode, "");
  EXPECT_FALSE(read().prints_statistics);
  variables = {{"SINTER_COMPILE", "async"}, {"SINTER_STATS", "1"}};
  EXPECT_EQ(read().compile_mode, "async");
  EXPECT_TRUE(read().prints_statistics);
  std::vector<std::string> told;
  variables = {{"SINTER_COMPILE", "later"}};
  EXPECT_EQ(read(&told).compile_mode, "");
  EXPECT_EQ(told.size(), 1u);
}

TEST(settings, known_words_are_taken) {
  variables = {{"SINTER_LOG", "debug"},      {"SINTER_DUMP", "ir,source@row_*"}, {"SINTER_DEVICE", "cuda"},
               {"SINTER_THREADS", "3"},      {"SINTER_EXECUTOR", "interpreter"}, {"CUDA_PATH", "/opt/cuda"},
               {"TMPDIR", "/somewhere else"}};
  const runtime::settings s = read();
  EXPECT_EQ(s.verbosity, runtime::level::debug);
  EXPECT_EQ(s.dumps, static_cast<int>(runtime::dump::ir) | static_cast<int>(runtime::dump::source));
  EXPECT_EQ(s.dump_glob, "row_*");
  EXPECT_EQ(s.device, "cuda");
  EXPECT_EQ(s.threads, 3);
  EXPECT_EQ(s.executor, "interpreter");
  EXPECT_EQ(s.cuda_home, "/opt/cuda");
  EXPECT_EQ(s.temporary_directory, "/somewhere else");
}

TEST(settings, unknown_words_are_ignored_and_the_valid_ones_listed) {
  variables = {{"SINTER_LOG", "loud"}, {"SINTER_DUMP", "ir,smoke"}, {"SINTER_DEVICE", "tpu"}, {"SINTER_THREADS", "-2"}};
  std::vector<std::string> complaints;
  const runtime::settings s = read(&complaints);
  EXPECT_EQ(s.verbosity, runtime::level::warning);
  EXPECT_EQ(s.dumps, static_cast<int>(runtime::dump::ir));
  EXPECT_EQ(s.device, "");
  EXPECT_EQ(s.threads, 0);
  ASSERT_EQ(complaints.size(), 4u);
  EXPECT_EQ(complaints[0], "SINTER_LOG: \"loud\" is ignored; valid are silent, error, warning, info, debug");
  EXPECT_EQ(complaints[1], "SINTER_DUMP: \"smoke\" is ignored; valid are graph, groups, ir, source, time");
}

TEST(settings, where_kernels_are_kept) {
  variables = {{"SINTER_CACHE", "read_only"}, {"SINTER_CACHE_DIR", "/c"}, {"XDG_CACHE_HOME", "/x"}, {"HOME", "/h"}};
  const runtime::settings s = read();
  EXPECT_EQ(s.cache_mode, "read_only");
  EXPECT_EQ(s.cache_directory, "/c");
  EXPECT_EQ(s.cache_home, "/x");
  EXPECT_EQ(s.home, "/h");
  variables = {{"SINTER_CACHE", "disk"}};
  std::vector<std::string> complaints;
  EXPECT_EQ(read(&complaints).cache_mode, "");
  EXPECT_EQ(complaints, std::vector<std::string>{
                            "SINTER_CACHE: \"disk\" is ignored; valid are read_write, read_only, memory, off"});
}

TEST(log, a_key_is_told_once) {
  testing::internal::CaptureStderr();
  for (int k = 0; k < 3; ++k) runtime::log_once(runtime::level::silent, "runtime_test", "only once");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "sinter: only once\n");
}

TEST(counters, a_snapshot_sees_what_was_counted) {
  const statistics before = runtime::snapshot();
  runtime::bump(runtime::count().recorded, 5);
  EXPECT_EQ(runtime::snapshot().recorded - before.recorded, 5u);
  runtime::bump(runtime::count().recorded, ~std::uint64_t{4});  // as it was
}
