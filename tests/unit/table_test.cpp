// Scatters into small arrays as CUDA source: which have tables in shared memory, of what size, and that they compile.
#include "jit/codegen/emit.hpp"
#include "jit/compile/compiler.hpp"
#include "jit/planning.hpp"
#include "jit/tables.hpp"

#include <gtest/gtest.h>
#include <sinter/sinter.hpp>

#include <algorithm>
#include <stdexcept>

namespace {

using namespace sinter;

/// The launch with the scatter, lowered for a GPU; tests run on the cpu device, which grants 47 KiB.
jit::lowered scatter_of(const array& a) {
  jit::node* const roots[] = {a.node()};
  jit::planning p;
  p.run(roots, jit::options{});
  for (std::size_t g = 0; g < p.groups.count; ++g) {
    p.values.current = g;
    jit::lowered l;
    jit::lower(p.groups.pool[g], p.values, jit::options{}, true, l);
    jit::verify(l.ir);
    if (std::ranges::count(l.ir.body, jit::op::atomic, &jit::inst::code) > 0) return l;
  }
  throw std::runtime_error("no scatter");
}

constexpr std::int64_t many = std::int64_t{1} << 20;

array added(std::int64_t places, std::int64_t values, dtype type) {
  array sums = zeros({places}, type), at = zeros({values}, i64), x = ones({values}, type);
  eval(at, x);
  scatter_add(sums, at, x);
  return sums;
}

std::string source_of(const jit::lowered& l) {
  const jit::kernel* const parts[] = {&l.ir};
  return jit::emit(parts, "sums", jit::dialect::cuda);
}

TEST(table, few_places_and_very_many_values) {
  EXPECT_EQ(scatter_of(added(1000, many, f32)).ir.tables.size(), 1u);
  EXPECT_TRUE(scatter_of(added(1000, many / 2, f32)).ir.tables.empty());
  EXPECT_TRUE(scatter_of(added(many / 32, many, f32)).ir.tables.empty());
  EXPECT_TRUE(jit::pays_tables(many, many / 64));
  EXPECT_FALSE(jit::pays_tables(many, many / 64 + 1));
}

TEST(table, sums_of_elements_that_shared_memory_can_add) {
  for (const dtype type : {f32, f64, i32, i64, u32, u64})
    EXPECT_FALSE(scatter_of(added(10, many, type)).ir.tables.empty());
  for (const dtype type : {f16, bf16, i8, u16, c64}) EXPECT_TRUE(scatter_of(added(10, many, type)).ir.tables.empty());
  array products = ones({10}, f32), at = zeros({many}, i64);
  eval(at);
  scatter_multiply(products, at, 2.0f);
  EXPECT_TRUE(scatter_of(products).ir.tables.empty());
}

TEST(table, small_ones_have_copies_by_lane_and_large_ones_parts) {
  const jit::lowered small = scatter_of(added(256, many, f32)), large = scatter_of(added(10'000, many, f64));
  EXPECT_EQ(small.numbers.shared_bytes, 256u * 4 * 32);
  EXPECT_EQ(small.ir.threads, 512);
  const auto number = [](const jit::lowered& l, std::uint32_t k) {
    return l.numbers.slots[l.ir.tables[0].size + k].as_i64;
  };
  EXPECT_EQ(number(small, 1), 5);
  EXPECT_EQ(number(small, 2), 256);
  EXPECT_EQ(number(large, 1), 0);
  EXPECT_EQ(number(large, 2), 5000);
  EXPECT_GE(large.numbers.shared_bytes, 5000u * 8);
  EXPECT_EQ(large.ir.threads, 1024);
}

TEST(table, counts_take_32_bits) {
  array x = zeros({many}, u8);
  eval(x);
  array counts = zeros({100}, i64), wide = counts;
  counts(x) += 1;
  wide(x) += std::int64_t{1} << 20;
  EXPECT_NE(source_of(scatter_of(counts)).find("block_table<unsigned, int, ("), std::string::npos);
  EXPECT_NE(source_of(scatter_of(wide)).find("block_table<long long, int, ("), std::string::npos);
}

TEST(table, compiles) {
  std::string why;
  if (jit::nvrtc_version(&why).empty()) GTEST_SKIP() << why;
  array rows = zeros({20, 3}, f64), at = zeros({many / 2}, i64), x = zeros({many}, u8);
  eval(at, x);
  scatter_add(rows, at, ones({many / 2, 3}, f64));
  array counts = zeros({256}, i64);
  counts(x) += 1;
  for (const array& a : {added(10'000, many, f64), rows, counts, added(7, many + 1, u64)}) {
    const jit::lowered l = scatter_of(a);
    ASSERT_EQ(l.ir.tables.size(), 1u);
    jit::compile_request r;
    r.name = "sums";
    r.source = source_of(l);
    r.target = "sm_90";
    EXPECT_GT(jit::compile_cuda(r).size(), 1000u);
  }
}

}  // namespace
