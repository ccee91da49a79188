// Bad indices that only the device sees: the load gives 0, the next synchronising call throws the index_error of the
// recording line, and everything after it works.
#include "tests/backend/expect.hpp"

using namespace sinter;
using namespace sinter_test;

namespace {

array table() { return array{10, 20, 30, 40}; }

/// The line of the call, as an error message has it.
std::string this_line(place at = place::here()) { return "fault_test.cpp:" + std::to_string(at.line); }

TEST(fault, negative_values_and_huge_ones_where_indices_are_unsigned) {
  EXPECT_TRUE(throws<index_error>([] { bincount(array{-1}, 3).to_vector<std::int64_t>(); }, {"negative", "3"}));
  const array huge{~std::uint64_t{0}};
  EXPECT_TRUE(throws<index_error>([&] { table()(huge).to_vector<std::int32_t>(); }, {"2^63 or more"}));
}

TEST(fault, a_bad_index_is_an_index_error_of_the_line_that_wrote_it) {
  const array ids{0, 7, 2};
  std::string line;
  const array picked_ones = (line = this_line(), table()(ids * 1)) + 1;
  EXPECT_TRUE(throws<index_error>([&] { picked_ones.to_vector<std::int32_t>(); }, {"7", line}));
  EXPECT_TRUE(equals(table()(array{3}) + 1, std::vector<std::int32_t>{41}));
}

TEST(fault, what_was_read_at_a_bad_index_is_zero) {
  const array y = table()(array{0, 4, -5, 3, 1000000}) + 1;
  eval(y);
  EXPECT_TRUE(throws<index_error>([] { synchronize(); }));
  EXPECT_TRUE(equals(y, std::vector<std::int32_t>{11, 1, 1, 41, 1}));
}

TEST(fault, it_is_told_once) {
  const array y = table()(array{4});
  eval(y);
  EXPECT_TRUE(throws<index_error>([] { synchronize(); }));
  EXPECT_NO_THROW(synchronize());
  EXPECT_TRUE(equals(y, std::vector<std::int32_t>{0}));
}

TEST(fault, negative_indices_count_from_the_end_and_no_further) {
  EXPECT_TRUE(equals(table()(array{-1, -4}), std::vector<std::int32_t>{40, 10}));
  EXPECT_TRUE(throws<index_error>([] { table()(array{-5}).to_vector<std::int32_t>(); }, {"-5"}));
}

TEST(fault, every_index_dtype_is_checked_in_its_full_width) {
  const array x = counting(i32, {300}).to_device();
  const auto bad = [&](const array& i) { return throws<index_error>([&] { x(i).to_vector<std::int32_t>(); }); };
  EXPECT_TRUE(bad(array{std::uint16_t{300}}));
  EXPECT_TRUE(bad(array{std::int16_t{-301}}));
  EXPECT_TRUE(bad(array{std::uint32_t{4294967295u}}));
  EXPECT_TRUE(bad(array{std::int64_t{1} << 40}));
  EXPECT_TRUE(bad(array{(std::int64_t{1} << 32) + 5}));
  EXPECT_TRUE(bad(array{~std::uint64_t{0}}));
  EXPECT_TRUE(bad(array{std::numeric_limits<std::int64_t>::min()}));
  EXPECT_TRUE(equals(x(array{std::uint8_t{255}}), std::vector<std::int32_t>{255}));
}

TEST(fault, take_and_take_along_axis_report_their_lines_too) {
  const array x = counting(i32, {2, 3}).to_device();
  EXPECT_TRUE(throws<index_error>([&] { take(x, array{3}, 1).to_vector<std::int32_t>(); }, {"3", "fault_test.cpp"}));
  EXPECT_TRUE(throws<index_error>(
      [&] {
        take_along_axis(x, array{{0}, {-4}}, 1).to_vector<std::int32_t>();
      },
      {"-4", "fault_test.cpp"}));
  EXPECT_TRUE(throws<index_error>([&] { take(x, array{6}).to_vector<std::int32_t>(); }, {"6"}));
}

TEST(fault, an_index_that_is_not_needed_is_not_checked) {
  // where computes both sides; a view that leaves the bad element out does not.
  const array y = table()(array{0, 99, 3});
  EXPECT_TRUE(equals(y(range(0, end, 2)), std::vector<std::int32_t>{10, 40}));
  EXPECT_NO_THROW(synchronize());
}

TEST(fault, arrays_made_before_and_after_are_unharmed) {
  const array before = table() * 2;
  eval(before);
  const array bad = table()(array{50}), after = before + 1;
  eval(bad, after);
  EXPECT_TRUE(throws<index_error>([] { synchronize(); }));
  EXPECT_TRUE(equals(before, std::vector<std::int32_t>{20, 40, 60, 80}));
  EXPECT_TRUE(equals(after, std::vector<std::int32_t>{21, 41, 61, 81}));
}

TEST(fault, one_bad_index_among_a_million_is_found) {
  const std::int64_t n = 1 << 20;
  const array i = arange(n), bad = where(i == 777'777, n, i);
  const array x = counting(i32, {n}).to_device();
  EXPECT_TRUE(throws<index_error>(
      [&] {
        eval(x(bad));
        synchronize();
      },
      {std::to_string(n)}));
  EXPECT_TRUE(equals(sum(x(i) - x), host_array(std::vector<std::int64_t>{0}, {})));
}

TEST(fault, the_first_of_two_gathers_that_fails_names_its_own_line) {
  const array x = table();
  std::string good_line, bad_line;
  const array good = (good_line = this_line(), x(array{1, 2}));
  const array bad = (bad_line = this_line(), x(array{1, 4}));
  const array both = good + bad;
  try {
    both.to_vector<std::int32_t>();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const index_error& e) {
    EXPECT_NE(std::string(e.what()).find(bad_line), std::string::npos) << e.what();
    EXPECT_EQ(std::string(e.what()).find(good_line), std::string::npos) << e.what();
  }
}

TEST(fault, item_and_printing_report_it) {
  EXPECT_TRUE(throws<index_error>([] { table()(array{9})(0).item<int>(); }));
  EXPECT_TRUE(throws<index_error>([] { static_cast<void>(to_string(table()(array{9}))); }));
  EXPECT_EQ(to_string(table()(array{1})), "[20]");
}

}  // namespace
