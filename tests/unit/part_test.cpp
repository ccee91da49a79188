// Parts of a buffer: memory that several values share byte ranges of.
#include "runtime/backend.hpp"
#include "runtime/memory.hpp"

#include <gtest/gtest.h>

#include <cstddef>

using namespace sinter::runtime;

namespace {

std::uint64_t in_use() { return memory_count().bytes_in_use.load(); }

TEST(part, lies_where_it_should_and_keeps_the_whole_alive) {
  const std::uint64_t before = in_use();
  buffer* whole = make_buffer(cpu(), 64);
  buffer* first = make_part(*whole, 0, 16);
  buffer* last = make_part(*whole, 48, 16);
  EXPECT_EQ(first->data, whole->data);
  EXPECT_EQ(last->data, static_cast<std::byte*>(whole->data) + 48);
  EXPECT_EQ(last->bytes, 16u);
  EXPECT_EQ(last->owner, whole->owner);
  EXPECT_EQ(in_use(), before + 64);
  release(whole);
  release(first);
  EXPECT_EQ(in_use(), before + 64);
  static_cast<std::byte*>(last->data)[15] = std::byte{1};
  release(last);
  EXPECT_EQ(in_use(), before);
}

TEST(part, of_a_part) {
  const std::uint64_t before = in_use();
  buffer* whole = make_buffer(cpu(), 32);
  buffer* half = make_part(*whole, 16, 16);
  buffer* quarter = make_part(*half, 8, 8);
  EXPECT_EQ(quarter->data, static_cast<std::byte*>(whole->data) + 24);
  release(whole);
  release(half);
  EXPECT_EQ(in_use(), before + 32);
  release(quarter);
  EXPECT_EQ(in_use(), before);
}

TEST(part, without_bytes_has_no_address) {
  buffer* whole = make_buffer(cpu(), 8);
  buffer* none = make_part(*whole, 8, 0);
  EXPECT_EQ(none->data, nullptr);
  release(none);
  release(whole);
}

}  // namespace
