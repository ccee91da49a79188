// The lazy graph: making, sharing and freeing nodes; views; numbers. Runs no kernel.
#include "jit/engine.hpp"
#include "jit/graph.hpp"
#include "jit/typing.hpp"
#include "runtime/host/stream.hpp"
#include "runtime/module.hpp"
#include "runtime/backend.hpp"
#include "runtime/counters.hpp"
#include "tests/unit/messages.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>

namespace {

using namespace sinter;
using jit::axis_map;
using jit::node;
using jit::node_ref;
using jit::op;

const place here{"graph_test.cpp", "test", 1};

/// A device in host memory that counts what it was asked to copy; launches nothing.
class memory_device final : public runtime::device {
 public:
  explicit memory_device(std::string name) : name_(std::move(name)) { usual_.hold(); }
  runtime::device_kind kind() const override { return runtime::device_kind::cuda; }
  int ordinal() const override { return 0; }
  std::string name() const override { return name_; }
  std::string target() const override { return "none"; }
  void* allocate(std::size_t bytes) override { return std::malloc(bytes); }
  void release(void* memory, std::size_t) noexcept override { std::free(memory); }
  void copy_from_host(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void copy_to_host(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void copy_on_device(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void synchronize() override {}
  std::unique_ptr<runtime::function> load(std::span<const std::byte>, const std::string&) override { return nullptr; }
  void launch(runtime::function&, std::span<void* const>, const runtime::launch_shape&) override {}
  std::unique_ptr<runtime::module> load_module(std::span<const std::byte>, const std::string&) override {
    return nullptr;
  }
  runtime::processor_facts processors() override { return {}; }
  runtime::stream& default_stream() override { return usual_; }
  std::unique_ptr<runtime::moment> make_moment(bool) override { return std::make_unique<runtime::clock_moment>(); }

 private:
  std::unique_ptr<runtime::stream> new_stream(int priority) override {
    return std::make_unique<runtime::prompt_stream>(*this, priority);
  }
  std::unique_ptr<runtime::stream> foreign_stream(void*) override { return new_stream(0); }

  std::string name_;
  runtime::prompt_stream usual_{*this, 0};
};

memory_device& first() {
  static memory_device d("first");
  return d;
}
memory_device& second() {
  static memory_device d("second");
  return d;
}

node_ref stored(const shape& extents, runtime::device& d = first(), dtype type = f32) {
  const auto bytes = static_cast<std::size_t>(extents.size() * size_of(type));
  runtime::reference<runtime::buffer> values(runtime::make_buffer(d, bytes));
  return jit::make_buffer_node(std::move(values), type, extents, here);
}

node_ref unary(const node_ref& x) {
  node* operand = x.get();
  return jit::make_node(op::sqrt, x->type, x->extents, {&operand, 1}, here);
}

node_ref binary(const node_ref& x, const node_ref& y) {
  node* const operands[] = {x.get(), y.get()};
  return jit::make_node(op::add, x->type, x->extents, operands, here);
}

TEST(graph, operands_live_as_long_as_their_users) {
  const node_ref x = stored({3});
  {
    const node_ref y = binary(x, x);
    EXPECT_EQ(x->references.load(), 3u);
    EXPECT_EQ(y->operands().size(), 2u);
  }
  EXPECT_EQ(x->references.load(), 1u);
}

TEST(graph, more_than_three_operands_are_kept_and_released) {
  const node_ref x = stored({3});
  {
    node* const operands[] = {x.get(), x.get(), x.get(), x.get(), x.get()};
    const node_ref y = jit::make_node(op::call, f32, x->extents, operands, here);
    EXPECT_EQ(y->operands().size(), 5u);
    EXPECT_EQ(x->references.load(), 6u);
  }
  EXPECT_EQ(x->references.load(), 1u);
}

/// No limit to what may be pending, while it lives.
class unlimited_recording {
 public:
  unlimited_recording() { jit::current_options().max_pending_operations = INT64_MAX; }
  ~unlimited_recording() { jit::current_options().max_pending_operations = jit::options{}.max_pending_operations; }
  unlimited_recording(const unlimited_recording&) = delete;
  unlimited_recording& operator=(const unlimited_recording&) = delete;
};

TEST(graph, a_chain_of_two_million_nodes_is_freed_without_recursion) {
  const unlimited_recording unlimited;
  node_ref x = stored({1});
  const node_ref leaf = x;
  for (int k = 0; k < 2'000'000; ++k) x = unary(x);
  x = {};
  EXPECT_EQ(leaf->references.load(), 1u);
}

TEST(graph, a_ladder_of_shared_operands_is_freed_once) {
  const node_ref leaf = stored({1});
  node_ref x = leaf;
  for (int k = 0; k < 1000; ++k) x = binary(x, x);
  x = {};
  EXPECT_EQ(leaf->references.load(), 1u);
}

TEST(graph, another_thread_may_free_what_this_one_made) {
  const node_ref leaf = stored({1});
  for (int round = 0; round < 4; ++round) {
    std::vector<node_ref> made;
    for (int k = 0; k < 10'000; ++k) made.push_back(unary(leaf));
    std::thread([nodes = std::move(made)]() mutable { nodes.clear(); }).join();
  }
  EXPECT_EQ(leaf->references.load(), 1u);
}

TEST(graph, threads_share_operands) {
  const node_ref leaf = stored({1});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([x = leaf] {
      for (int k = 0; k < 20'000; ++k) unary(binary(x, x));
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(leaf->references.load(), 1u);
}

TEST(graph, every_node_is_counted) {
  const node_ref x = stored({1});
  const auto before = runtime::count().recorded.load();
  unary(unary(x));
  EXPECT_EQ(runtime::count().recorded.load() - before, 2u);
}

TEST(graph, settling_drops_the_operands) {
  const node_ref x = stored({3});
  const node_ref y = binary(x, x);
  jit::settle(y.get(), runtime::reference<runtime::buffer>(runtime::make_buffer(first(), 12)));
  EXPECT_TRUE(y->operands().empty());
  EXPECT_NE(y->values(), nullptr);
  EXPECT_EQ(x->references.load(), 1u);
}

TEST(graph, a_settled_constant_belongs_to_the_device_of_its_values) {
  const node_ref one = jit::make_scalar(1, i32, here);
  const node_ref two = binary(one, one);
  EXPECT_EQ(two->owner, nullptr);
  jit::settle(two.get(), runtime::reference<runtime::buffer>(runtime::make_buffer(second(), 4)));
  EXPECT_EQ(two->owner, &second());
}

TEST(graph, constants_mix_with_any_device_and_devices_do_not_mix) {
  const node_ref c = jit::make_scalar(2.0, f32, here);
  const node_ref x = stored({1}, first()), y = stored({1}, second());
  EXPECT_EQ(binary(c, c)->owner, nullptr);
  EXPECT_EQ(binary(x, c)->owner, &first());
  EXPECT_EQ(binary(c, y)->owner, &second());
  const std::string text = message_of<device_error>([&] { binary(x, y); });
  EXPECT_NE(text.find("add: operands live on first and on second"), std::string::npos) << text;
  EXPECT_NE(text.find(".to(device)"), std::string::npos) << text;
}

// ---- Views ----

TEST(graph, a_view_that_changes_nothing_is_its_source) {
  const node_ref x = stored({4, 1});
  const axis_map same[] = {{0, 1, 0}, {0, 1, 1}};
  EXPECT_EQ(jit::make_view(x.get(), same, {4, 1}, here).get(), x.get());
  EXPECT_EQ(jit::make_broadcast(x.get(), {4, 1}, here).get(), x.get());
  EXPECT_EQ(jit::make_reshape(x.get(), {4, 1}, here).get(), x.get());
  EXPECT_EQ(jit::make_convert(x.get(), f32, here).get(), x.get());
}

TEST(graph, views_of_views_read_the_first_source) {
  const node_ref x = stored({10, 5});
  const axis_map every_second_from_1[] = {{1, 2, 0}, {0, 1, 1}};
  const node_ref slice = jit::make_view(x.get(), every_second_from_1, {4, 5}, here);
  const axis_map flipped_and_transposed[] = {{3, -1, 1}, {0, 1, 0}};
  const node_ref v = jit::make_view(slice.get(), flipped_and_transposed, {5, 4}, here);
  ASSERT_EQ(v->operands()[0], x.get());
  EXPECT_EQ(v->facts->view, (std::vector<axis_map>{{7, -2, 1}, {0, 1, 0}}));
}

TEST(graph, a_flip_of_a_flip_is_the_source) {
  const node_ref x = stored({4});
  const axis_map flip[] = {{3, -1, 0}};
  const node_ref once = jit::make_view(x.get(), flip, {4}, here);
  EXPECT_EQ(jit::make_view(once.get(), flip, {4}, here).get(), x.get());
}

TEST(graph, an_evaluated_view_is_a_source_of_its_own) {
  const node_ref x = stored({4});
  const axis_map tail[] = {{1, 1, 0}};
  const node_ref v = jit::make_view(x.get(), tail, {3}, here);
  jit::settle(v.get(), runtime::reference<runtime::buffer>(runtime::make_buffer(first(), 12)));
  EXPECT_EQ(jit::make_view(v.get(), tail, {2}, here)->operands()[0], v.get());
}

TEST(graph, broadcast_repeats_unit_and_new_axes) {
  const node_ref x = stored({3, 1});
  const node_ref b = jit::make_broadcast(x.get(), {2, 3, 4}, here);
  EXPECT_EQ(b->facts->view, (std::vector<axis_map>{{0, 1, 1}, {0, 0, -1}}));
  const node_ref c = jit::make_broadcast(jit::make_scalar(1, i8, here).get(), {2, 2}, here);
  EXPECT_EQ(c->extents, (shape{2, 2}));
  EXPECT_THROW(jit::make_broadcast(x.get(), {2, 4}, here), shape_error);
  EXPECT_THROW(jit::make_broadcast(x.get(), {3}, here), shape_error);
}

TEST(graph, views_outside_their_source_are_internal_errors) {
  const node_ref x = stored({4});
  const axis_map past_the_end[] = {{2, 1, 0}};
  EXPECT_THROW(jit::make_view(x.get(), past_the_end, {3}, here), internal_error);
  EXPECT_EQ(jit::make_view(x.get(), past_the_end, {0}, here)->extents.size(), 0);
}

// ---- Reshapes ----

TEST(graph, reshapes_of_reshapes_compose_and_cancel) {
  const node_ref x = unary(stored({4, 6}));
  const node_ref y = jit::make_reshape(x.get(), {3, 8}, here);
  EXPECT_EQ(jit::make_reshape(y.get(), {2, 12}, here)->operands()[0], x.get());
  EXPECT_EQ(jit::make_reshape(y.get(), {4, 6}, here).get(), x.get());
}

TEST(graph, a_reshape_of_values_shares_the_buffer) {
  const node_ref x = stored({4, 6});
  const node_ref y = jit::make_reshape(x.get(), {24}, here);
  EXPECT_EQ(y->code, op::buffer);
  EXPECT_EQ(y->values(), x->values());
  EXPECT_EQ(x->values()->references.load(), 2u);
}

TEST(graph, a_reshape_by_unit_axes_is_a_view) {
  const node_ref x = unary(stored({4, 1, 6}));
  const node_ref y = jit::make_reshape(x.get(), {1, 4, 6, 1}, here);
  EXPECT_EQ(y->code, op::view);
  EXPECT_EQ(y->facts->view, (std::vector<axis_map>{{0, 1, 1}, {}, {0, 1, 2}}));
  const node_ref number = jit::make_scalar(1, i8, here);
  EXPECT_EQ(jit::make_reshape(number.get(), {1, 1}, here)->code, op::view);
}

TEST(graph, a_reshape_keeps_the_number_of_elements) {
  const node_ref x = stored({4, 3});
  const std::string text = message_of<shape_error>([&] { jit::make_reshape(x.get(), {5}, here); });
  EXPECT_NE(text.find("reshape: shape [4, 3] (12 elements) into [5] (5 elements)"), std::string::npos) << text;
  EXPECT_EQ(jit::make_reshape(stored({0, 3}).get(), {7, 0}, here)->extents, (shape{7, 0}));
}

// ---- Numbers ----

TEST(graph, integers_must_fit) {
  EXPECT_EQ(jit::make_scalar(255, u8, here)->number.as_u64, 255u);
  EXPECT_EQ(jit::make_scalar(-128, i8, here)->number.as_i64, -128);
  EXPECT_EQ(jit::make_scalar(~std::uint64_t{0}, u64, here)->number.as_u64, ~std::uint64_t{0});
  EXPECT_EQ(jit::make_scalar(true, u16, here)->number.as_u64, 1u);
  const std::string text = message_of<type_error>([] { jit::make_scalar(300, u8, here); });
  EXPECT_NE(text.find("300 does not fit u8 [0, 255]"), std::string::npos) << text;
  EXPECT_THROW(jit::make_scalar(-1, u64, here), type_error);
  EXPECT_THROW(jit::make_scalar(128, i8, here), type_error);
  EXPECT_THROW(jit::make_scalar(-129, i8, here), type_error);
  EXPECT_THROW(jit::make_scalar(std::uint64_t{1} << 63, i64, here), type_error);
  EXPECT_THROW(jit::make_scalar(2.0, i32, here), type_error);
  EXPECT_THROW(jit::make_scalar(complex128{1, 0}, i32, here), type_error);
  EXPECT_THROW(jit::make_scalar(complex128{1, 0}, f32, here), type_error);
}

TEST(graph, anything_to_bool_is_whether_it_differs_from_zero) {
  EXPECT_TRUE(jit::make_scalar(0.5, boolean, here)->number.as_bool);
  EXPECT_TRUE(jit::make_scalar(std::nan(""), boolean, here)->number.as_bool);
  EXPECT_TRUE(jit::make_scalar(complex128{0, 1}, boolean, here)->number.as_bool);
  EXPECT_FALSE(jit::make_scalar(-0.0, boolean, here)->number.as_bool);
  EXPECT_FALSE(jit::make_scalar(0, boolean, here)->number.as_bool);
}

TEST(graph, numbers_round_once_to_the_dtype) {
  EXPECT_EQ(jit::make_scalar(0.1, f32, here)->number.as_f64, static_cast<double>(0.1f));
  EXPECT_EQ(jit::make_scalar(0.1, f64, here)->number.as_f64, 0.1);
  EXPECT_EQ(jit::make_scalar(1e300, f32, here)->number.as_f64, std::numeric_limits<double>::infinity());
  EXPECT_EQ(jit::make_scalar(1e300, bf16, here)->number.as_f64, std::numeric_limits<double>::infinity());
  EXPECT_EQ(jit::make_scalar(-70000, f16, here)->number.as_f64, -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(jit::make_scalar(std::nan(""), f16, here)->number.as_f64));
  // 2^54 + 2^30 + 1 is just above a tie of f32; through f64 it would become the tie and round down.
  EXPECT_EQ(jit::make_scalar((std::int64_t{1} << 54) + (std::int64_t{1} << 30) + 1, f32, here)->number.as_f64,
            static_cast<double>(std::int64_t{1} << 54) + static_cast<double>(std::int64_t{1} << 31));
  // just above the tie between 1 and 1 + 2^-10 of f16; through f32 it would become the tie
  EXPECT_EQ(jit::make_scalar(1 + 0x1p-11 + 0x1p-40, f16, here)->number.as_f64, 1 + 0x1p-10);
  EXPECT_EQ(jit::make_scalar(-(1 + 0x1p-8 + 0x1p-40), bf16, here)->number.as_f64, -(1 + 0x1p-7));
  EXPECT_EQ(jit::make_scalar(1 + 0x1p-11, f16, here)->number.as_f64, 1.0);
  const complex128 rounded{static_cast<double>(0.1f), 3};
  EXPECT_EQ(jit::make_scalar(complex128{0.1, 3}, c64, here)->number.as_c128, rounded);
  EXPECT_EQ(jit::make_scalar(7, c128, here)->number.as_c128, (complex128{7, 0}));
}

// ---- Between devices ----

TEST(graph, moving_copies_values_and_leaves_constants) {
  const node_ref x = stored({4}, first());
  const float values[] = {1, 2, 3, 4};
  std::memcpy(x->values()->data, values, sizeof values);
  EXPECT_EQ(jit::move_to(x.get(), first(), here).get(), x.get());
  const node_ref y = jit::move_to(x.get(), second(), here);
  EXPECT_EQ(y->owner, &second());
  EXPECT_EQ(std::memcmp(y->values()->data, values, sizeof values), 0);
  const node_ref c = jit::make_scalar(1, f32, here);
  EXPECT_EQ(jit::move_to(c.get(), second(), here).get(), c.get());
  EXPECT_EQ(jit::move_to(stored({0}, first()).get(), second(), here)->owner, &second());
}

}  // namespace
