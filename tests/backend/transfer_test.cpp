// Copies between arrays and host memory: any layout, any dtype, in pieces, with and without waiting, and in chunks.
#include "dsl/complex.hpp"
#include "dsl/transfer.hpp"
#include "tests/backend/expect.hpp"
#include "tests/backend/pieces.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <random>

using namespace sinter;
using namespace sinter_test;

namespace {

/// Some number of T that differs from its neighbours', whatever T can hold.
template <class T>
T number(std::int64_t k) {
  if constexpr (std::is_same_v<T, bool>) return k % 3 == 0;
  else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) return T(static_cast<float>(k % 100));
  else if constexpr (std::is_same_v<T, complex64>) return {static_cast<float>(k), static_cast<float>(-k)};
  else if constexpr (std::is_same_v<T, complex128>) return {static_cast<double>(k), static_cast<double>(-k)};
  else return static_cast<T>(k % 113);
}

template <class T>
std::unique_ptr<T[]> numbers(std::int64_t count) {
  std::unique_ptr<T[]> values(new T[static_cast<std::size_t>(count)]);
  for (std::int64_t k = 0; k < count; ++k) values[static_cast<std::size_t>(k)] = number<T>(k);
  return values;
}

/// What an array of rank 3 must hold: element (i, j, k) of memory with these steps, one by one.
template <class T>
std::vector<T> gathered(const T* first, const std::int64_t (&n)[3], const std::int64_t (&step)[3]) {
  std::vector<T> all;
  for (std::int64_t i = 0; i < n[0]; ++i)
    for (std::int64_t j = 0; j < n[1]; ++j)
      for (std::int64_t k = 0; k < n[2]; ++k) all.push_back(first[i * step[0] + j * step[1] + k * step[2]]);
  return all;
}

template <class T>
void check_layout(const std::int64_t (&n)[3], const std::int64_t (&step)[3], std::int64_t first, std::int64_t room) {
  const auto memory = numbers<T>(room);
  const T* const at = memory.get() + first;
  const array a = from_host({at, {n[0], n[1], n[2]}, {step[0], step[1], step[2]}});
  EXPECT_EQ(a.type(), dtype_of<T>);
  EXPECT_EQ(a.extents(), (shape{n[0], n[1], n[2]}));
  std::vector<T> want = gathered(at, n, step), back(static_cast<std::size_t>(a.size()));
  if (!back.empty()) copy_to(a, {back.data(), a.extents()});
  EXPECT_EQ(std::memcmp(back.data(), want.data(), want.size() * sizeof(T)), 0);

  // The other way: through the same layout into memory that is otherwise left alone.
  if (std::ranges::count(step, 0) > 0) return;
  std::unique_ptr<T[]> to(new T[static_cast<std::size_t>(room)]()), expected(new T[static_cast<std::size_t>(room)]());
  std::size_t next = 0;
  for (std::int64_t i = 0; i < n[0]; ++i)
    for (std::int64_t j = 0; j < n[1]; ++j)
      for (std::int64_t k = 0; k < n[2]; ++k)
        expected[static_cast<std::size_t>(first + i * step[0] + j * step[1] + k * step[2])] = want[next++];
  copy_to(a, {to.get() + first, {n[0], n[1], n[2]}, {step[0], step[1], step[2]}});
  EXPECT_EQ(std::memcmp(to.get(), expected.get(), static_cast<std::size_t>(room) * sizeof(T)), 0);
}

/// std::vector<bool> has no elements in memory.
template <>
void check_layout<bool>(const std::int64_t (&n)[3], const std::int64_t (&step)[3], std::int64_t first,
                        std::int64_t room) {
  const auto memory = numbers<bool>(room);
  const array a = from_host({memory.get() + first, {n[0], n[1], n[2]}, {step[0], step[1], step[2]}});
  EXPECT_EQ(a.type(), boolean);
  std::vector<std::uint8_t> want, back(static_cast<std::size_t>(a.size()));
  for (std::int64_t i = 0; i < n[0]; ++i)
    for (std::int64_t j = 0; j < n[1]; ++j)
      for (std::int64_t k = 0; k < n[2]; ++k)
        want.push_back(memory[static_cast<std::size_t>(first + i * step[0] + j * step[1] + k * step[2])]);
  copy_to(a, {back.data(), a.extents()});
  EXPECT_EQ(back, want);
}

template <class T>
void check_layouts() {
  check_layout<T>({4, 5, 6}, {30, 6, 1}, 0, 120);       // C order
  check_layout<T>({4, 5, 6}, {1, 4, 20}, 0, 120);       // Fortran order
  check_layout<T>({4, 5, 6}, {80, 8, 1}, 3, 400);       // rows apart
  check_layout<T>({4, 5, 6}, {-30, 6, 1}, 90, 120);     // the last first
  check_layout<T>({4, 5, 6}, {-30, -6, -1}, 119, 120);  // backwards
  check_layout<T>({4, 5, 6}, {-60, 12, -2}, 191, 260);
  check_layout<T>({4, 5, 6}, {0, 1, 0}, 2, 10);         // the same elements again and again
  check_layout<T>({4, 1, 6}, {6, 77, 1}, 0, 24);
  check_layout<T>({1, 1, 1}, {9, 8, 7}, 5, 6);
  check_layout<T>({4, 0, 6}, {6, 6, 1}, 0, 24);
}

TEST(transfer, every_layout_of_every_dtype) {
  for (const std::size_t bytes : {std::size_t{1} << 20, std::size_t{48}, std::size_t{1}}) {
    const piece_size small(bytes);
    check_layouts<bool>();
    check_layouts<std::int8_t>();
    check_layouts<std::int16_t>();
    check_layouts<std::int32_t>();
    check_layouts<std::int64_t>();
    check_layouts<std::uint8_t>();
    check_layouts<std::uint16_t>();
    check_layouts<std::uint32_t>();
    check_layouts<std::uint64_t>();
    check_layouts<float16>();
    check_layouts<bfloat16>();
    check_layouts<float>();
    check_layouts<double>();
    check_layouts<complex64>();
    check_layouts<complex128>();
  }
}

TEST(transfer, random_layouts_of_rank_0_to_6) {
  std::mt19937 random(42);
  const auto below = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  const piece_size small(64);
  for (int round = 0; round < 200; ++round) {
    // A dense block whose axes are kept in any order, with gaps, some of them backwards.
    const auto rank = static_cast<std::size_t>(below(7));
    std::vector<std::size_t> order(rank);
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::int64_t> n(rank), step(rank);
    std::int64_t block = 1, first = 0, count = 1;
    for (const std::size_t axis : order) {
      n[axis] = 1 + below(4);
      step[axis] = block * (1 + below(2));
      block = step[axis] * n[axis];
      count *= n[axis];
      if (below(3) == 0) {
        first += (n[axis] - 1) * step[axis];
        step[axis] = -step[axis];
      }
    }
    const auto memory = numbers<std::int32_t>(block);
    std::vector<std::int32_t> want, back(static_cast<std::size_t>(block), -1), expected = back;
    for (std::int64_t k = 0; k < count; ++k) {
      std::int64_t rest = k, at = first;
      for (std::size_t axis = rank; axis-- > 0; rest /= n[axis]) at += rest % n[axis] * step[axis];
      want.push_back(memory[static_cast<std::size_t>(at)]);
      expected[static_cast<std::size_t>(at)] = want.back();
    }
    const array a = from_host({memory.get() + first, shape(n), step});
    EXPECT_EQ(a.to_vector<std::int32_t>(), want) << "round " << round;
    copy_to(a, {back.data() + first, shape(n), step});
    EXPECT_EQ(back, expected) << "round " << round;
  }
}

TEST(transfer, one_element_and_none) {
  const double x = 2.5;
  EXPECT_EQ(from_host({&x, shape{}}).item<double>(), 2.5);
  double y = 0;
  copy_to(from_host({&x, shape{}}) * 2, {&y, shape{}});
  EXPECT_EQ(y, 5.0);
  const array none = from_host(std::span<const float>());
  EXPECT_EQ(none.extents(), shape{0});
  std::vector<float> room;
  copy_to(none + 1, room);
  const float* const nowhere = nullptr;
  EXPECT_EQ(from_host({nowhere, {3, 0, 2}}).size(), 0);
}

TEST(transfer, what_was_copied_from_may_change_and_go_at_once) {
  const piece_size small(4096);
  std::vector<array> all;
  for (int k = 0; k < 20; ++k) {
    auto values = std::make_unique<std::vector<std::int32_t>>(50000);
    std::iota(values->begin(), values->end(), k);
    all.push_back(from_host(*values));
    all.push_back(from_host({values->data() + 49999, {50000}, {-1}}));
    std::ranges::fill(*values, -1);
  }
  for (int k = 0; k < 20; ++k) {
    std::vector<std::int32_t> want(50000);
    std::iota(want.begin(), want.end(), k);
    EXPECT_EQ(all[2 * static_cast<std::size_t>(k)].to_vector<std::int32_t>(), want);
    std::ranges::reverse(want);
    EXPECT_EQ(all[2 * static_cast<std::size_t>(k) + 1].to_vector<std::int32_t>(), want);
  }
}

TEST(transfer, large_copies_are_the_same_in_pieces_of_any_size) {
  for (const std::size_t bytes : {std::size_t{4} << 20, std::size_t{100000}, std::size_t{4099}}) {
    const piece_size small(bytes);
    std::vector<float> x(3000000), y(3000000);
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k % 1000003);
    const array a = from_host(std::span(x), {1000, 3000});
    EXPECT_THROW(copy_to(a + 1, {y.data(), {3000, 1000}}), shape_error);
    copy_to(transpose(a + 1), {y.data(), {3000, 1000}, {1, 3000}});
    for (std::size_t k = 0; k < x.size(); ++k) ASSERT_EQ(y[k], x[k] + 1) << bytes;
  }
}

TEST(transfer, async_copies_arrive) {
  const piece_size small(10000);
  std::vector<double> x(100000), y(100000), z(100000);
  std::iota(x.begin(), x.end(), 0.0);
  incoming in = from_host_async(x);
  array a = in.values * 2;
  transfer first = copy_to_async(a, y), second = copy_to_async(in.values, z);
  a += 1;  // the copy has what a was
  eval(a);
  first.wait();
  second.wait();
  in.copy.wait();
  EXPECT_TRUE(first.is_done() && second.is_done() && in.copy.is_done());
  for (std::size_t k = 0; k < x.size(); ++k) {
    ASSERT_EQ(y[k], 2.0 * static_cast<double>(k));
    ASSERT_EQ(z[k], static_cast<double>(k));
  }
  EXPECT_EQ(a(99999).item<double>(), 2.0 * 99999 + 1);
}

// Copies that take longer than a launch, in both directions: what is computed waits for what it reads, and what is
// copied back for what computes it.
TEST(transfer, async_copies_of_pinned_memory_are_ordered_with_what_is_computed) {
  constexpr std::int64_t n = 4 << 20;
  pinned_vector<std::int32_t> x(n), y(n), z(n);
  for (int round = 1; round <= 3; ++round) {
    std::iota(x.begin(), x.end(), round);
    incoming in = from_host_async(std::span(x.begin(), x.end()));
    array a = in.values * 3;
    transfer once = copy_to_async(a, std::span(y.begin(), y.end()));
    a += in.values;
    eval(a);
    transfer again = copy_to_async(a, std::span(z.begin(), z.end()));
    in.copy.wait();
    std::fill(x.begin(), x.end(), -1);
    again.wait();
    once.wait();
    for (std::size_t k = 0; k < n; ++k) {
      ASSERT_EQ(y[k], 3 * (static_cast<std::int32_t>(k) + round));
      ASSERT_EQ(z[k], 4 * (static_cast<std::int32_t>(k) + round));
    }
  }
}

TEST(transfer, is_done_brings_a_copy_on) {
  const piece_size small(1000);
  std::vector<std::int64_t> x(10000), y(10000);
  std::iota(x.begin(), x.end(), 0);
  transfer t = copy_to_async(from_host(x), y);
  while (!t.is_done()) {}
  EXPECT_EQ(x, y);
}

TEST(transfer, letting_go_of_a_copy_waits_for_it) {
  std::vector<float> y(200000);
  { const transfer t = copy_to_async(full({200000}, 3.0, f32), y); }
  EXPECT_EQ(std::ranges::count(y, 3.0f), 200000);
  transfer t = copy_to_async(full({200000}, 4.0, f32), y);
  t = copy_to_async(full({200000}, 5.0, f32), y);
  t.wait();
  EXPECT_EQ(std::ranges::count(y, 5.0f), 200000);
}

TEST(transfer, pinned_memory_is_memory) {
  pinned_vector<float> x(300000), y(300000);
  EXPECT_EQ(std::ranges::count(x, 0.0f), 300000);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k);
  const array a = from_host(std::span(x.begin(), x.end()), {300, 1000});
  x[0] = -1;  // read already
  copy_to(a * 2, {y.data(), {300, 1000}});
  for (std::size_t k = 0; k < y.size(); ++k) ASSERT_EQ(y[k], 2 * static_cast<float>(k));
  // Columns 100 to 200 of 1000, there and back: rows at equal distances.
  const array part = from_host({x.data() + 100, {300, 100}, {1000, 1}});
  EXPECT_EQ(part(7, 5).item<float>(), 7105.0f);
  copy_to(-part, {y.data() + 100, {300, 100}, {1000, 1}});
  EXPECT_EQ(y[7105], -7105.0f);
  EXPECT_EQ(y[7099], 2 * 7099.0f);
  EXPECT_EQ(y[7200], 2 * 7200.0f);
  // By columns: rows of one element each.
  copy_to(transpose(a), {y.data(), {1000, 300}, {1, 1000}});
  EXPECT_EQ(y[7105], 7105.0f);
  pinned_vector<float> moved = std::move(y), none(0);
  EXPECT_EQ(moved[7105], 7105.0f);
  EXPECT_EQ(from_host(std::span(none.begin(), none.end())).size(), 0);
}

TEST(transfer, copies_are_counted) {
  std::vector<float> x(1000), y(500);
  const auto both = counted([&] {
    const array a = from_host(x);
    copy_to(a(range(500)) + 1, y);
    copy_to_async(a(range(500)) - 1, y).wait();
  });
  EXPECT_EQ(both.copies_to_device, 1u);
  EXPECT_EQ(both.bytes_to_device, 4000u);
  EXPECT_EQ(both.copies_to_host, 2u);
  EXPECT_EQ(both.bytes_to_host, 4000u);
}

/// Run by the test below in a process of its own: what is logged is decided once a process.
TEST(transfer, DISABLED_copies_again_and_again) {
  const std::vector<float> x(5000, 1.0f), few(10, 1.0f);
  float total = 0;
  std::printf("LINES %d %d\n", __LINE__ + 2, __LINE__ + 3);
  for (std::int64_t k = 0; k < 20; ++k) {
    total += sum(from_host(x) * k).item<float>();
    total += sum(array(x, {50, 100}) * k).item<float>();
    total += sum(from_host(few)).item<float>();                           // numbers rather than data
    total += sum(from_host({x.data(), {2000 + k}})).item<float>();        // never the same
  }
  for (int k = 0; k < 7; ++k) total += from_host(x)(0).item<float>();     // not yet often
  EXPECT_GT(total, 0);
}

TEST(transfer, the_log_names_lines_that_copy_the_same_again_and_again_once) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = "env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX SINTER_LOG=info '" + self +
                              "' --gtest_filter=transfer.DISABLED_copies_again_and_again "
                              "--gtest_also_run_disabled_tests" +
                              (executor.empty() ? "" : " --executor=" + executor) + " 2>&1";
  std::FILE* const child = ::popen(command.c_str(), "r");
  ASSERT_NE(child, nullptr);
  std::string text;
  for (int c; (c = std::fgetc(child)) != EOF;) text += static_cast<char>(c);
  EXPECT_EQ(::pclose(child), 0) << text;
  int first = 0, second = 0, told = 0;
  ASSERT_NE(text.find("LINES "), std::string::npos) << text;
  ASSERT_EQ(std::sscanf(text.c_str() + text.find("LINES "), "LINES %d %d", &first, &second), 2) << text;
  for (std::size_t at = 0; (at = text.find(" bytes copied 8 times", at)) != std::string::npos; ++at) ++told;
  EXPECT_EQ(told, 2) << text;
  for (const int line : {first, second})
    EXPECT_NE(text.find("transfer_test.cpp:" + std::to_string(line) + ": 20000 bytes copied 8 times from this line"),
              std::string::npos)
        << text;
}

TEST(transfer, errors_name_the_line) {
  std::vector<float> x(12);
  std::vector<double> y(12);
  const array a = from_host(std::span(x), {3, 4});
  const auto text = [](auto&& f) -> std::string {
    try {
      f();
    } catch (const error& e) { return e.what(); }
    return "nothing thrown";
  };
  const auto has = [](const std::string& what, const char* part) {
    return what.find(part) != std::string::npos && what.find("transfer_test.cpp") != std::string::npos;
  };
  std::string what = text([&] { copy_to(a, {y.data(), {3, 4}}); });
  EXPECT_TRUE(has(what, "f32 to host memory of f64")) << what;
  what = text([&] { copy_to(a, x); });
  EXPECT_TRUE(has(what, "shape [3, 4] to host memory of shape [12]")) << what;
  what = text([&] { from_host(std::span(x), {5, 4}); });
  EXPECT_TRUE(has(what, "12 values for shape [5, 4]")) << what;
  what = text([&] { from_host({x.data(), {3, 4}, {4}}); });
  EXPECT_TRUE(has(what, "1 steps for 2 axes")) << what;
  what = text([&] { copy_to(a, {x.data(), {3, 4}, {4, 0}}); });
  EXPECT_TRUE(has(what, "along axis 1 are at the same place")) << what;
  EXPECT_THROW(copy_to(a, {y.data(), {3, 4}}), type_error);
  EXPECT_THROW(copy_to(a, x), shape_error);
}

TEST(transfer, a_bad_index_is_found_by_whoever_waits) {
  const array table = from_host(std::vector<float>(10)), ids{3, 12};
  std::vector<float> y(2);
  EXPECT_THROW(copy_to(table(ids), y), index_error);
  transfer t = copy_to_async(table(ids), y);
  EXPECT_THROW(t.wait(), index_error);
  t.wait();  // done
}

}  // namespace
