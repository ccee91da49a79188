// Loops that ask their condition once in several iterations: the generated CUDA source, run on the host by the
// emulation of raw kernels, against plain loops. Counters begin and end near the ends of their dtypes' ranges.
#include "dsl/sinter.hpp"
#include "jit/codegen/emit.hpp"
#include "jit/fuse.hpp"
#include "jit/lower.hpp"
#include "jit/raw/emulated_module.hpp"
#include "jit/schedule.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <tuple>

namespace sinter {
namespace {

class evaluated_only final : public jit::stored_values {
 public:
  bool contains(const jit::node* n) const override { return n->values() != nullptr; }
};

struct emulated {
  std::vector<std::int32_t> values;
  std::string source;
};

/// The elements of a lazy i32 array of one axis, computed by its cuda kernel.
emulated emulate(const array& a) {
  jit::node* const root = a.node();
  const jit::options how = jit::current_options();
  jit::plan p;
  jit::fuse({&root, 1}, how, {}, p);
  EXPECT_EQ(p.groups().size(), 1u);
  jit::lowered l;
  jit::lower(p.pool[0], evaluated_only(), how, true, l);
  emulated e{std::vector<std::int32_t>(static_cast<std::size_t>(a.size())), {}};
  const auto memory = std::pair{root, e.values.data()};
  jit::bind_pointers(
      l,
      [](void* context, const jit::node* n) -> void* {
        const auto& [output, data] = *static_cast<const std::pair<jit::node*, std::int32_t*>*>(context);
        return n == output ? data : n->values()->data;
      },
      const_cast<std::pair<jit::node*, std::int32_t*>*>(&memory));
  runtime::index_fault fault{};
  std::vector<void*> arguments;
  for (std::size_t k = 0; k < l.numbers.slots.size(); ++k) {
    if (l.ir.parameters[k].kind == jit::parameter_kind::fault) l.numbers.slots[k].as_pointer = &fault;
    arguments.push_back(&l.numbers.slots[k]);
  }
  const jit::kernel* const parts[] = {&l.ir};
  e.source = jit::emit(parts, "loops", jit::dialect::cuda);
  const auto module = jit::emulated_module::load({"loops", e.source, {}, {"loops"}, {}});
  const runtime::launch_shape s =
      jit::schedule(l.numbers.rows, l.numbers.inner, l.ir.lanes, l.numbers.cost, 0, l.numbers.blocks_over);
  module->launch(*module->find("loops"), {s.grid[0], s.grid[1], 1}, {s.block[0], s.block[1], 1}, 0, arguments.data());
  EXPECT_EQ(fault.set, 0);
  return e;
}

bool asks_before(const emulated& e) { return e.source.find(".has(result") != std::string::npos; }

TEST(batched_loop, counters_are_asked_once_in_a_batch) {
  // Each element doubles its x until it is past its own bound or has been counted.
  for (const int limit : {0, 1, 7, 8, 9, 16, 61}) {
    const std::int64_t n = 40;
    const array bound = arange(n) * 30000;
    const auto [x, count] = while_loop(
        std::tuple{full({n}, 1, i64), zeros({n}, i32)},
        [&](const auto& s) { return std::get<0>(s) < bound && std::get<1>(s) < limit; },
        [](const auto& s) { return std::tuple{std::get<0>(s) * 2, std::get<1>(s) + 1}; });
    const emulated e = emulate(count);
    EXPECT_TRUE(asks_before(e));
    for (std::int64_t k = 0; k < n; ++k) {
      std::int32_t want = 0;
      for (std::int64_t v = 1; v < k * 30000 && want < limit; v *= 2) ++want;
      EXPECT_EQ(e.values[static_cast<std::size_t>(k)], want) << k << " of at most " << limit;
    }
  }
}

/// The iterations, and where the counter stood after them, of `condition` on counters of type T from `first` on.
template <class T>
void counts_as(dtype type, T first, T step, bool (*holds)(T), array (*condition)(const array&)) {
  const auto [at, count] = while_loop(
      std::tuple{full({3}, first, type), zeros({3}, i32)}, [&](const auto& s) { return condition(std::get<0>(s)); },
      [&](const auto& s) { return std::tuple{std::get<0>(s) + full({}, step, type), std::get<1>(s) + 1}; });
  const emulated e = emulate(count * 1000 + at.astype(i32));
  EXPECT_TRUE(asks_before(e));
  std::int32_t want = 0;
  T v = first;
  for (; holds(v); v = static_cast<T>(static_cast<std::uint32_t>(v) + static_cast<std::uint32_t>(step))) ++want;
  EXPECT_EQ(e.values, std::vector<std::int32_t>(3, want * 1000 + static_cast<std::int32_t>(v))) << to_string(type);
}

TEST(batched_loop, counters_may_wrap_and_run_backwards) {
  using i8_t = std::int8_t;
  using u8_t = std::uint8_t;
  counts_as<i8_t>(i8, -100, 7, [](i8_t v) { return v < 120; }, [](const array& v) { return v < 120; });
  counts_as<i8_t>(i8, -100, 7, [](i8_t v) { return v <= 124; }, [](const array& v) { return v <= 124; });
  counts_as<i8_t>(i8, 100, -9, [](i8_t v) { return v < 101; }, [](const array& v) { return v < 101; });
  counts_as<u8_t>(u8, 3, 50, [](u8_t v) { return v < 230; }, [](const array& v) { return v < 230; });
  counts_as<u8_t>(u8, 0, 1, [](u8_t v) { return 200 > v; }, [](const array& v) { return 200 > v; });
  counts_as<std::int32_t>(i32, 2147483600, 3, [](std::int32_t v) { return v < 2147483647 && v > 0; },
                          [](const array& v) { return v < 2147483647 && v > 0; });
}

}  // namespace
}  // namespace sinter
