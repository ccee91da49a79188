// Memory of other code as arrays, and arrays as memory: pointers of any strides, who may write, when it is given back.
#include "dsl/interchange.hpp"
#include "dsl/host_view.hpp"
#include "tests/backend/expect.hpp"
#include "tests/backend/foreign.hpp"

#include <sys/mman.h>
#include <unistd.h>

using namespace sinter;
using namespace sinter_test;

namespace {

/// Elements at the strides given, read one by one.
host_array picked_by_strides(const host_array& memory, std::int64_t first, const shape& extents,
                             const std::vector<std::int64_t>& strides) {
  host_array out(memory.type, extents);
  for (std::int64_t k = 0; k < out.size(); ++k) {
    std::int64_t rest = k, from = first;
    for (int axis = extents.rank(); axis-- > 0; rest /= extents[axis])
      from += rest % extents[axis] * strides[static_cast<std::size_t>(axis)];
    out.set(k, memory.get(from));
  }
  return out;
}

host_array counted(dtype type, std::int64_t count) {
  host_array x(type, shape{count});
  for (std::int64_t k = 0; k < count; ++k) x.set(k, {static_cast<long double>(type == boolean ? k % 2 : k % 100), 0});
  return x;
}

TEST(interchange, every_dtype_in_any_strides_reads_what_lies_there) {
  struct layout {
    std::int64_t first;
    shape extents;
    std::vector<std::int64_t> strides;
  };
  const layout layouts[] = {
      {0, {60}, {1}},
      {0, {3, 4, 5}, {20, 5, 1}},
      {3, {3, 4, 5}, {20, 5, 1}},
      {0, {5, 4, 3}, {1, 5, 20}},
      {1, {10, 2}, {4, 2}},
      {59, {60}, {-1}},
      {40, {3, 4}, {-20, 5}},
      {7, {3, 4}, {0, 1}},
      {0, {50, 8}, {1, 1}},
      {2, {5, 5}, {6, 5}},
      {5, {}, {}},
      {3, {2, 3}, {0, 0}},
      {0, {7, 7}, {8, 1}},
      {61, {4, 3, 2}, {-3, 7, 2}},
      {0, {1, 4}, {1000, 1}},
      {9, {2, 2, 2}, {12, 4, 2}},
      {0, {6, 10}, {10, 1}},
  };
  for (int t = 0; t < dtype_count; ++t) {
    const host_array x = counted(static_cast<dtype>(t), 80);
    int given_back = 0;
    {
      const lent memory(x.bytes);
      for (const layout& l : layouts) {
        const import_options how{
            .where = default_device(), .strides = l.strides, .release = count_up, .context = &given_back};
        const array a = from_pointer(memory.at(l.first * size_of(x.type)), x.type, l.extents, how);
        const host_array want = picked_by_strides(x, l.first, l.extents, l.strides);
        EXPECT_TRUE(equals(a, want)) << to_string(x.type) << " " << to_string(l.extents);
        EXPECT_TRUE(equals(where(a == a, a, a), want));
      }
    }
    EXPECT_EQ(given_back, static_cast<int>(std::size(layouts)));
  }
}

TEST(interchange, dense_memory_is_read_where_it_lies) {
  const lent memory(counted(f32, 64).bytes);
  const array a = from_pointer(memory.at(0), f32, {8, 8}, {.where = default_device()});
  EXPECT_TRUE(a.is_evaluated());
  EXPECT_EQ(data_pointer(a), memory.at(0));
  memory.write(counted(f32, 65).bytes.data() + 4, 4);  // element 0 is 1 now
  EXPECT_EQ(sum(a).item<float>(), 64 * 63 / 2 + 1);
}

TEST(interchange, writes_to_an_array_leave_foreign_memory_alone) {
  const host_array x = counted(i32, 24);
  const lent memory(x.bytes);
  const import_options how{.where = default_device()};
  array a = from_pointer(memory.at(0), i32, {4, 6}, how);
  a(all, 0) += 100;
  a(1, all) = -1;
  eval(a);
  array b = from_pointer(memory.at(0), i32, {4, 6}, how);
  b += 1;
  eval(b);
  array c = from_pointer(memory.at(0), i32, {24}, how);
  c(array{3, 3, 5}) += 7;
  for (int k = 0; k < 10; ++k) c(k) = c(k + 1) * 2;
  eval(c);
  EXPECT_EQ(memory.read(), x.bytes);
  EXPECT_EQ(array(a(0, 0)).item<int>(), 100);
  EXPECT_EQ(array(b(3, 5)).item<int>(), 24);
  EXPECT_EQ(array(c(0)).item<int>(), 2);
}

TEST(interchange, writes_in_place_change_foreign_memory_when_asked_and_nobody_else_can_tell) {
  const host_array x = counted(f32, 24);
  const lent memory(x.bytes);
  int given_back = 0;
  {
    array a = from_pointer(memory.at(0), f32, {4, 6},
                           {.where = default_device(), .in_place = true, .release = count_up, .context = &given_back});
    a(all, 0) += 100;
    eval(a);
    EXPECT_EQ(data_pointer(a), memory.at(0));
    const array snapshot = a;
    a(all, 1) = 0;
    eval(a);
    EXPECT_NE(data_pointer(a), memory.at(0));
    EXPECT_EQ(array(snapshot(1, 1)).item<float>(), 7);
    EXPECT_EQ(given_back, 0);
  }
  EXPECT_EQ(given_back, 1);
  host_array want = x;
  for (int k = 0; k < 4; ++k) want.set(6 * k, {static_cast<long double>(6 * k + 100), 0});
  EXPECT_EQ(memory.read(), want.bytes);
}

TEST(interchange, memory_is_given_back_once_after_the_last_who_needs_it) {
  const lent memory(counted(f64, 12).bytes);
  int given_back = 0;
  array pending;
  {
    const array a = from_pointer(memory.at(0), f64, {3, 4},
                                 {.where = default_device(), .release = count_up, .context = &given_back});
    const array copy = a, column = a(all, 1);
    pending = sum(column) + 1;
    EXPECT_EQ(given_back, 0);
  }
  EXPECT_EQ(given_back, 0);
  EXPECT_EQ(pending.item<double>(), 1 + 5 + 9 + 1);
  EXPECT_EQ(given_back, 1);
}

TEST(interchange, copies_need_the_memory_no_longer) {
  for (const std::vector<std::int64_t>& strides : {std::vector<std::int64_t>{}, {1, 3}, {2, 1}}) {
    const host_array x = counted(i16, 12);
    const lent memory(x.bytes);
    int given_back = 0;
    const array a = from_pointer(
        memory.at(0), i16, {3, 2},
        {.where = default_device(), .strides = strides, .copy = true, .release = count_up, .context = &given_back});
    EXPECT_EQ(given_back, 1);
    memory.write(counted(i16, 13).bytes.data() + 2, 24);
    const std::vector<std::int64_t> plain = strides.empty() ? std::vector<std::int64_t>{2, 1} : strides;
    EXPECT_TRUE(equals(a, picked_by_strides(x, 0, {3, 2}, plain)));
  }
}

TEST(interchange, what_cannot_be_an_array_is_refused_and_stays_the_callers) {
  const lent memory(counted(f32, 16).bytes);
  int given_back = 0;
  import_options how{.where = default_device(), .release = count_up, .context = &given_back};
  const auto message = [&](auto&& call) -> std::string {
    try {
      call();
    } catch (const error& e) { return e.what(); }
    return "nothing was thrown";
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  void* const nothing = nullptr;
  std::string text = message([&] { from_pointer(nothing, f32, {2}, how); });
  EXPECT_TRUE(has(text, "address is null, but shape [2]")) << text;
  text = message([&] { from_pointer(memory.at(2), f32, {2}, how); });
  EXPECT_TRUE(has(text, "not aligned to the 4 bytes")) << text;
  const std::int64_t one[] = {1}, far[] = {INT64_MAX / 2, 1}, apart[] = {8, 1};
  how.strides = one;
  text = message([&] { from_pointer(memory.at(0), f32, {2, 2}, how); });
  EXPECT_TRUE(has(text, "1 strides for shape [2, 2]")) << text;
  how.strides = far;
  text = message([&] { from_pointer(memory.at(0), f32, {4, 2}, how); });
  EXPECT_TRUE(has(text, "beyond limits")) << text;
  how.strides = apart;
  how.in_place = true;
  text = message([&] { from_pointer(memory.at(0), f32, {2, 4}, how); });
  EXPECT_TRUE(has(text, "only memory in C order can be written in place")) << text;
  how.strides = {};
  text = message([&] { from_pointer(static_cast<const void*>(memory.at(0)), f32, {2}, how); });
  EXPECT_TRUE(has(text, "constants can't be written in place")) << text;
  EXPECT_EQ(given_back, 0);
  const array none =
      from_pointer(nothing, f32, {0, 3}, {.where = default_device(), .release = count_up, .context = &given_back});
  EXPECT_EQ(none.extents(), (shape{0, 3}));
  EXPECT_EQ(none.to_vector<float>().size(), 0u);
}

/// Whole pages of host memory, after which comes one that nobody may touch.
class guarded {
 public:
  explicit guarded(std::size_t bytes) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))), bytes_(bytes) {
    room_ = (bytes + page_ - 1) / page_ * page_;
    start_ = static_cast<std::byte*>(
        mmap(nullptr, room_ + page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(start_ + room_, page_, PROT_NONE);
  }
  guarded(const guarded&) = delete;
  guarded& operator=(const guarded&) = delete;
  ~guarded() { munmap(start_, room_ + page_); }
  /// The last bytes before the forbidden page.
  void* end() const { return start_ + room_ - bytes_; }

 private:
  std::size_t page_, bytes_, room_;
  std::byte* start_;
};

TEST(interchange, views_touch_nothing_past_their_last_element) {
  constexpr std::int64_t rows = 1001;
  constexpr std::size_t count = 4 * (rows - 1) + 3;  // the last row lacks its last number
  const guarded memory(count * sizeof(float));
  auto* const x = static_cast<float*>(memory.end());
  for (std::size_t k = 0; k < count; ++k) x[k] = static_cast<float>(k);
  const std::int64_t strides[] = {4, 1};
  const array a = from_pointer(static_cast<const float*>(x), {rows, 3}, {.strides = strides});
  double total = 0, first = 0;
  for (std::size_t k = 0; k < count; ++k) total += k % 4 != 3 ? x[k] : 0;
  for (std::size_t k = 0; k < count; k += 4) first += x[k];
  EXPECT_EQ(sum(a.astype(f64)).item<double>(), total);
  EXPECT_EQ(sum((a(all, 0) + a(all, 2)).astype(f64)).item<double>(), 2 * first + 2 * rows);
  EXPECT_EQ(sum(max(a, 1).astype(f64)).item<double>(), first + 2 * rows);
  const array moved = a * 2 + 1, joined = concat({a, a}), sums = sum(a, 0);
  eval(moved, joined, sums);
  EXPECT_EQ(array(moved(rows - 1, 2)).item<float>(), 2 * x[count - 1] + 1);
}

TEST(interchange, memory_of_the_host_is_no_memory_of_a_gpu) {
  if (!default_device().is_cuda()) GTEST_SKIP() << "only GPUs have memory of their own";
  std::vector<float> values(4);
  try {
    from_pointer(values.data(), {4}, {.where = default_device()});
    GTEST_SKIP() << "this GPU reaches pageable memory of the host";
  } catch (const device_error& e) {
    EXPECT_NE(std::string(e.what()).find("is memory of the host"), std::string::npos) << e.what();
  }
}

TEST(interchange, pointers_for_writing_are_nobody_elses) {
  array a = arange(6).astype(i32);
  eval(a);
  const array copy = a;
  void* p = writable_pointer(a);
  EXPECT_NE(p, data_pointer(copy));
  EXPECT_EQ(writable_pointer(a), p);
  EXPECT_EQ(data_pointer(a), p);
  EXPECT_EQ(a.to_vector<std::int32_t>(), copy.to_vector<std::int32_t>());
  EXPECT_EQ(data_pointer(zeros({0, 2}, f32)), nullptr);
  array fours = zeros({3}, i16) + 4;
  EXPECT_NE(writable_pointer(fours), nullptr);
  EXPECT_EQ(fours.to_vector<std::int16_t>(), (std::vector<std::int16_t>{4, 4, 4}));
}

TEST(interchange, values_are_stored_where_they_are_asked_for) {
  const lent memory(counted(f32, 6).bytes);
  array a = from_pointer(memory.at(0), f32, {6}, {.where = default_device(), .in_place = true});
  a = a * 2 + flip(a);
  store_at(memory.at(0), a);
  const host_array want(std::vector<float>{5, 6, 7, 8, 9, 10});
  EXPECT_EQ(memory.read(), want.bytes);
  a += 1;  // in place, or not: it is there afterwards
  store_at(memory.at(0), a);
  EXPECT_EQ(memory.read(), host_array(std::vector<float>{6, 7, 8, 9, 10, 11}).bytes);
  store_at(nullptr, zeros({0}));
  EXPECT_THROW(store_at(nullptr, zeros({1})), type_error);
}

TEST(interchange, spans_both_ways) {
  std::vector<float> values{1, 2, 3, 4, 5, 6};
  array a = from_span(std::span<float>(values), {2, 3}, {.in_place = true});
  a += 1;
  eval(a);
  EXPECT_EQ(values, (std::vector<float>{2, 3, 4, 5, 6, 7}));
  const std::span<const float> seen = as_span<float>(a);
  EXPECT_EQ(seen.data(), values.data());
  EXPECT_EQ(seen.size(), 6u);
  const array b = from_span(std::span<const float>(values));
  EXPECT_EQ(sum(b).item<float>(), 27);
  EXPECT_THROW(from_span(std::span<float>(values), {4, 2}), shape_error);
  EXPECT_THROW(as_span<double>(b), type_error);
  if (default_device().is_cuda()) { EXPECT_THROW(as_span<double>(ones({3})), device_error); }
  EXPECT_EQ(as_span<double>(zeros({0}).to(cpu())).size(), 0u);
}

TEST(interchange, host_views_read_elements_by_index) {
  const array a = reshape(arange(24), {2, 3, 4}).to(cpu());
  eval(a);
  array b = a;
  const host_view<std::int64_t, 3> whole(a);
  const host_view<std::int64_t, 2> part(a(1, all, range(1, 4, 2)));
  const host_view<std::int64_t, 2> turned(transpose(a(0, all, all)));
  const host_view<std::int64_t, 1> backwards(a(0, 0, range(end, begin, -1)));
  const host_view<std::int64_t, 0> one(a(1, 2, 3));
  b(1, 2, 3) = 0;
  eval(b);
  EXPECT_EQ(whole(1, 2, 3), 23);
  EXPECT_EQ(whole.extent(1), 3);
  EXPECT_EQ(part(2, 1), 12 + 8 + 3);
  EXPECT_EQ(part.stride(1), 2);
  EXPECT_EQ(part.data(), whole.data() + 13);
  EXPECT_EQ(turned(3, 2), 11);
  EXPECT_EQ(backwards(0), 3);
  EXPECT_EQ(one(), 23);
  EXPECT_EQ((host_view<std::uint8_t, 1>((a(0, 0, all) > 1))(2)), 1);
  EXPECT_THROW((host_view<std::int64_t, 2>(a)), shape_error);
  EXPECT_THROW((host_view<float, 3>(a)), type_error);
  EXPECT_EQ((host_view<std::int64_t, 1>(arange(0).to(cpu())).size()), 0);
}

TEST(interchange, cuda_array_interface_both_ways) {
  if (!default_device().is_cuda()) {
    EXPECT_THROW(to_cuda_array_interface(ones({2})), device_error);
    return;
  }
  const array a = reshape(arange(12), {3, 4}).astype(f32);
  eval(a);
  const cuda_array_interface whole = to_cuda_array_interface(a), part = to_cuda_array_interface(a(all, range(0, 4, 2)));
  EXPECT_STREQ(whole.typestr, "<f4");
  EXPECT_FALSE(whole.has_strides);
  EXPECT_TRUE(part.has_strides);
  EXPECT_EQ(part.strides[0], 16);
  EXPECT_EQ(part.strides[1], 8);
  const array back = from_cuda_array_interface(part);
  EXPECT_EQ(back.to_vector<float>(), (std::vector<float>{0, 2, 4, 6, 8, 10}));
  cuda_array_interface wrong = whole;
  wrong.typestr[1] = 'V';
  EXPECT_THROW(from_cuda_array_interface(wrong), type_error);
  EXPECT_THROW(from_cuda_array_interface(whole, {.where = default_device(), .in_place = true}), type_error);
  EXPECT_THROW(to_cuda_array_interface(a.astype(bf16)), type_error);
}

}  // namespace
