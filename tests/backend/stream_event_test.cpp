// Events, streams of other libraries, and bad indices: who is told of them.
#include "tests/backend/slow_stream.hpp"

#include <cstdint>

#include <dlfcn.h>

using namespace sinter;
using namespace sinter_test;

namespace {

// ---- Faults ----

array bad(int index) { return array{10, 20, 30}(array{index}); }

TEST(stream, a_bad_index_is_told_to_who_waits_for_its_stream) {
  const stream a, b;
  array x, y;
  {
    const scoped_stream on(a);
    x = bad(7);
    eval(x);
  }
  {
    const scoped_stream on(b);
    y = array{1, 2} + 1;
    EXPECT_NO_THROW(eval(y));
    EXPECT_NO_THROW(b.synchronize());
    EXPECT_TRUE(equals(y, std::vector<std::int32_t>{2, 3}));
  }
  EXPECT_TRUE(throws<index_error>([&] { a.synchronize(); }, {"7", "stream_event_test.cpp"}));
  EXPECT_NO_THROW(synchronize());
}

TEST(stream, a_bad_index_is_told_to_who_uses_the_array_elsewhere) {
  const stream a, b, c;
  array x, y;
  {
    const scoped_stream on(a);
    x = bad(8);
    eval(x);
  }
  {
    const scoped_stream on(b);
    y = x + 1;
    eval(y);
  }
  {
    const scoped_stream on(c);  // waits for b alone
    EXPECT_TRUE(throws<index_error>([&] { (y * 2).to_vector<std::int32_t>(); }, {"8"}));
  }
  EXPECT_NO_THROW(synchronize());
}

TEST(stream, a_bad_index_of_an_ended_stream_is_told) {
  {
    const stream gone;
    const scoped_stream on(gone);
    eval(bad(9));
  }
  EXPECT_TRUE(throws<index_error>([] { synchronize(); }, {"9"}));
  EXPECT_NO_THROW(synchronize());
}

// ---- Events ----

TEST(event, comes_when_its_stream_is_done) {
  const stream a;
  event before, after;
  EXPECT_FALSE(before.is_recorded());
  before.record(a);
  {
    const scoped_stream on(a);
    slow(1);
  }
  after.record(a);
  after.synchronize();
  EXPECT_TRUE(before.query());
  EXPECT_TRUE(after.query());
  EXPECT_TRUE(a.query());
  EXPECT_GE(after.milliseconds_since(before), 0.0);
  EXPECT_LE(before.milliseconds_since(after), 0.0);
}

TEST(event, without_a_stream_marks_the_current_one) {
  const stream a;
  event e;
  {
    const scoped_stream on(a);
    e.record();
  }
  event other = std::move(e);
  EXPECT_FALSE(e.is_recorded());
  other.synchronize();
  EXPECT_TRUE(other.query());
  other.record(a);
  EXPECT_NO_THROW(default_stream().wait(other));
}

TEST(event, that_is_not_recorded_is_an_error_of_the_line) {
  const stream a;
  event none, some;
  some.record(a);
  const std::initializer_list<std::string> words = {"not recorded", "stream_event_test.cpp", "hint"};
  EXPECT_TRUE(throws<device_error>([&] { static_cast<void>(none.query()); }, words));
  EXPECT_TRUE(throws<device_error>([&] { none.synchronize(); }, words));
  EXPECT_TRUE(throws<device_error>([&] { static_cast<void>(none.milliseconds_since(some)); }, words));
  EXPECT_TRUE(throws<device_error>([&] { static_cast<void>(some.milliseconds_since(none)); }, words));
  EXPECT_TRUE(throws<device_error>([&] { a.wait(none); }, words));
}

TEST(event, of_another_device_gives_no_time) {
  if (!overlaps()) GTEST_SKIP() << "needs a second device: the default one is cpu";
  event here, there;
  here.record(default_stream());
  there.record(default_stream(cpu()));
  EXPECT_TRUE(throws<device_error>([&] { static_cast<void>(here.milliseconds_since(there)); }, {"cpu", "cuda:0"}));
  EXPECT_NO_THROW(default_stream().wait(there));
  EXPECT_NO_THROW(default_stream(cpu()).wait(here));
}

TEST(event, hands_a_fault_on) {
  const stream a, b;
  event e;
  {
    const scoped_stream on(a);
    eval(bad(12));
  }
  e.record(a);
  b.wait(e);
  EXPECT_TRUE(throws<index_error>([&] { b.synchronize(); }, {"12"}));
}

// ---- Other libraries' streams ----

TEST(stream, of_another_library_needs_a_handle) {
  const auto wrap = [](void* native) { return [native] { stream::wrap(default_device(), native); }; };
  EXPECT_TRUE(throws<device_error>(wrap(nullptr), {"stream::wrap", "stream_event_test.cpp"}));
  EXPECT_TRUE(throws<device_error>([] { stream::wrap(cpu(), nullptr); }, {"cpu", "stream_event_test.cpp"}));
}

TEST(stream, of_another_library_orders_our_work) {
  if (!overlaps()) GTEST_SKIP() << "the cpu device has no streams of other libraries";
  warm_up();
  const stream owner{stream_options{.priority = -1}};
  EXPECT_EQ(owner.priority(), -1);
  {
    const stream wrapped = stream::wrap(default_device(), owner.native());
    EXPECT_EQ(wrapped.native(), owner.native());
    EXPECT_NE(wrapped, owner);
    const scoped_stream on(wrapped);
    const array x = slow(13);
    EXPECT_TRUE(equals(x + std::uint32_t{1}, all_of(1, slow_result(13) + 1)));
    EXPECT_EQ(wrapped.impl().waits(), 0u);
  }
  owner.synchronize();  // it isn't destroyed with the wrapper
  EXPECT_TRUE(owner.query());
}

TEST(stream, that_is_being_captured_refuses_our_work) {
  if (!overlaps()) GTEST_SKIP() << "the cpu device has no streams of other libraries";
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(driver, nullptr);
  constexpr int relaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
  const auto begin = reinterpret_cast<int (*)(void*, int)>(dlsym(driver, "cuStreamBeginCapture_v2"));
  const auto finish = reinterpret_cast<int (*)(void*, void**)>(dlsym(driver, "cuStreamEndCapture"));
  const auto destroy = reinterpret_cast<int (*)(void*)>(dlsym(driver, "cuGraphDestroy"));
  ASSERT_TRUE(begin && finish && destroy);
  const stream owner;
  const stream wrapped = stream::wrap(default_device(), owner.native());
  array y = full({10}, 3u, u32) * std::uint32_t{2};
  {
    const scoped_stream before(wrapped);
    ASSERT_EQ(begin(owner.native(), relaxed), 0);
    EXPECT_TRUE(throws<device_error>([&] { const scoped_stream on(wrapped); }, {"captured", "stream_event_test.cpp"}));
    EXPECT_TRUE(throws<device_error>([&] { eval(y); }, {"captured"}));
    void* graph = nullptr;
    EXPECT_EQ(finish(owner.native(), &graph), 0);
    destroy(graph);
    EXPECT_TRUE(equals(y, all_of(10, 6)));  // as it was
  }
}

}  // namespace
