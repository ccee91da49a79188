// Several iterations of a stencil in one launch: the generated CUDA source, run on the host by the emulation of raw
// kernels, against loops over plain arrays.
#include "dsl/sinter.hpp"
#include "jit/codegen/emit.hpp"
#include "jit/fuse.hpp"
#include "jit/raw/emulated_module.hpp"
#include "jit/schedule.hpp"
#include "jit/steps.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

namespace sinter {
namespace {

using numbers = std::vector<std::int32_t>;

class evaluated_only final : public jit::stored_values {
 public:
  bool contains(const jit::node* n) const override { return n->values() != nullptr; }
};

numbers some_numbers(std::int64_t count, std::uint32_t seed) {
  numbers list(static_cast<std::size_t>(count));
  for (std::size_t k = 0; k < list.size(); ++k)
    list[k] = static_cast<std::int32_t>((static_cast<std::uint32_t>(k) + seed) * 2654435761u >> 20);
  return list;
}

/// `next` overwrites part of memory of its own that agrees with `now` in all else.
struct state {
  array now, next;
  numbers values, result{};
};

/// Lowers the states' next values to one kernel, for cuda.
bool lower_steps(std::vector<state>& states, jit::lowered& l) {
  std::vector<jit::node*> roots;
  std::vector<jit::stepped_state> stepped;
  for (state& s : states) {
    roots.push_back(s.next.node());
    stepped.push_back({s.now.node(), s.next.node()});
  }
  const jit::options how = jit::current_options();
  jit::plan p;
  jit::fuse(roots, how, {}, p);
  EXPECT_EQ(p.groups().size(), 1u);
  jit::lower(p.pool[0], evaluated_only(), how, true, l);
  if (!jit::make_steps(l, stepped)) return false;
  jit::verify(l.ir);
  return true;
}

void run_steps(std::vector<state>& states, jit::lowered& l, std::int64_t steps) {
  for (state& s : states) s.result = s.values;
  jit::set_steps(l, steps);
  jit::bind_pointers(
      l,
      [](void* context, const jit::node* n) -> void* {
        for (state& s : *static_cast<std::vector<state>*>(context)) {
          if (n == s.now.node()) return s.values.data();
          if (n == s.next.node()) return s.result.data();
        }
        return n->values()->data;
      },
      &states);
  const jit::kernel* const parts[] = {&l.ir};
  const std::string text = jit::emit(parts, "steps", jit::dialect::cuda);
  const auto module = jit::emulated_module::load({"steps", text, {}, {"steps"}, {}});
  const jit::raw_function* const f = module->find("steps");
  ASSERT_NE(f, nullptr);
  std::vector<void*> arguments;
  for (jit::slot& s : l.numbers.slots) arguments.push_back(&s);
  const runtime::launch_shape shape = jit::schedule_steps(l.numbers, jit::window_of(l.ir));
  module->launch(*f, {shape.grid[0], shape.grid[1], 1}, {shape.block[0], 1, 1}, 0, arguments.data());
}

state make_state(const shape& extents, std::uint32_t seed) {
  state s{zeros(extents, i32), zeros(extents, i32), some_numbers(extents.size(), seed)};
  eval(s.now, s.next);
  return s;
}

class plane_steps : public testing::TestWithParam<std::tuple<std::int64_t, std::int64_t, int>> {};

TEST_P(plane_steps, are_those_of_the_loop) {
  const auto [rows, columns, steps] = GetParam();
  std::vector<state> states{make_state({rows, columns}, 1)};
  const array& u = states[0].now;
  constexpr range inner(1, -1), before(0, -2), after(2, end);
  states[0].next(inner, inner) =
      u(before, inner) - u(after, inner) + u(inner, before) * 3 + u(inner, after) - u(inner, inner);
  jit::lowered l;
  ASSERT_TRUE(lower_steps(states, l));
  ASSERT_GE(l.ir.steps, steps);
  run_steps(states, l, steps);

  numbers now = states[0].values, next = now;
  const auto at = [&, width = columns](std::int64_t i, std::int64_t j) -> std::uint32_t {
    return static_cast<std::uint32_t>(now[static_cast<std::size_t>(i * width + j)]);
  };
  for (int s = 0; s < steps; ++s) {
    for (std::int64_t i = 1; i < rows - 1; ++i)
      for (std::int64_t j = 1; j < columns - 1; ++j)
        next[static_cast<std::size_t>(i * columns + j)] =
            static_cast<std::int32_t>(at(i - 1, j) - at(i + 1, j) + at(i, j - 1) * 3 + at(i, j + 1) - at(i, j));
    now = next;
  }
  EXPECT_EQ(states[0].result, now);
}

INSTANTIATE_TEST_SUITE_P(steps, plane_steps,
                         testing::Values(std::tuple{200, 170, 8}, std::tuple{49, 130, 7}, std::tuple{17, 16, 1},
                                         std::tuple{64, 64, 2}, std::tuple{4, 300, 8}, std::tuple{512, 512, 12},
                                         std::tuple{513, 511, 11}));

TEST(steps, two_states_of_a_plane_reach_two_rows_and_three_columns) {
  constexpr std::int64_t rows = 150, columns = 141;
  constexpr int steps = 2;
  std::vector<state> states{make_state({rows, columns}, 1), make_state({rows, columns}, 9)};
  const array &u = states[0].now, &v = states[1].now;
  const array weights(some_numbers((rows - 4) * (columns - 4), 5));
  const auto at = [](std::int64_t down, std::int64_t across) {  // the part inside, moved
    return std::pair{range(2 + down, rows - 2 + down), range(3 + across, columns - 1 + across)};
  };
  const auto [own_rows, own_columns] = at(0, 0);
  const auto moved = [&](const array& x, std::int64_t down, std::int64_t across) {
    const auto [r, c] = at(down, across);
    return x(r, c);
  };
  const array w = reshape(weights, {rows - 4, columns - 4});
  states[0].next(own_rows, own_columns) = moved(u, -2, 1) + moved(v, 1, -3) * w - moved(u, 0, -1);
  states[1].next(own_rows, own_columns) = moved(v, 2, 0) * 3 + moved(u, 0, 0);
  jit::lowered l;
  ASSERT_TRUE(lower_steps(states, l));
  ASSERT_GE(l.ir.steps, steps);
  EXPECT_EQ(jit::window_of(l.ir).row_reach, 2);
  EXPECT_EQ(jit::window_of(l.ir).column_reach, 3);
  run_steps(states, l, steps);

  numbers a = states[0].values, b = states[1].values, c = a, d = b;
  const numbers factors = some_numbers((rows - 4) * (columns - 4), 5);
  const auto natural = [](const numbers& x, std::int64_t k) {
    return static_cast<std::uint32_t>(x[static_cast<std::size_t>(k)]);
  };
  for (int s = 0; s < steps; ++s) {
    for (std::int64_t i = 2; i < rows - 2; ++i)
      for (std::int64_t j = 3; j < columns - 1; ++j) {
        const std::int64_t k = i * columns + j;
        c[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(
            natural(a, k - 2 * columns + 1) +
            natural(b, k + columns - 3) * natural(factors, (i - 2) * (columns - 4) + j - 3) - natural(a, k - 1));
        d[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(natural(b, k + 2 * columns) * 3 + natural(a, k));
      }
    a = c;
    b = d;
  }
  EXPECT_EQ(states[0].result, a);
  EXPECT_EQ(states[1].result, b);
}

TEST(steps, windows_suit_the_size_of_the_plane) {
  const auto window = [](std::int64_t n) {
    std::vector<state> states{{zeros({n, n}, f32), zeros({n, n}, f32), {}}};
    eval(states[0].now, states[0].next);
    constexpr range inner(1, -1), before(0, -2), after(2, end);
    const array& u = states[0].now;
    states[0].next(inner, inner) = u(before, inner) + u(after, inner) + u(inner, before) + u(inner, after);
    jit::lowered l;
    EXPECT_TRUE(lower_steps(states, l));
    const jit::step_window w = jit::window_of(l.ir);
    return std::tuple{w.rows, w.columns, int{l.ir.steps}};
  };
  EXPECT_EQ(window(512), std::tuple(96, 64, 16));  // a block for each processor
  EXPECT_EQ(window(4096), std::tuple(128, 128, 8));  // little done twice
}

TEST(steps, two_states_of_a_line_reach_two_elements) {
  constexpr std::int64_t n = 10000;
  constexpr int steps = 31;
  std::vector<state> states{make_state({n}, 1), make_state({n}, 9)};
  const array &u = states[0].now, &v = states[1].now;
  const array weights(some_numbers(n - 4, 5));
  states[0].next(range(2, -2)) = u(range(0, -4)) + v(range(4, end)) * weights;
  states[1].next(range(2, -2)) = u(range(2, -2)) - v(range(1, -3));
  jit::lowered l;
  ASSERT_TRUE(lower_steps(states, l));
  EXPECT_EQ(l.ir.steps, 32);  // the window is 2048 elements, of which 64 on each side may be lost
  run_steps(states, l, steps);

  numbers a = states[0].values, b = states[1].values, c = a, d = b;
  const numbers w = some_numbers(n - 4, 5);
  const auto natural = [](const numbers& x, std::size_t k) { return static_cast<std::uint32_t>(x[k]); };
  for (int s = 0; s < steps; ++s) {
    for (std::size_t k = 2; k < n - 2; ++k) {
      c[k] = static_cast<std::int32_t>(natural(a, k - 2) + natural(b, k + 2) * natural(w, k - 2));
      d[k] = static_cast<std::int32_t>(natural(a, k) - natural(b, k - 1));
    }
    a = c;
    b = d;
  }
  EXPECT_EQ(states[0].result, a);
  EXPECT_EQ(states[1].result, b);
}

TEST(steps, are_not_made_where_elements_need_only_themselves_or_lie_far_apart) {
  jit::lowered l;
  std::vector<state> own{make_state({300, 200}, 1)};
  own[0].next(range(1, -1), all) = own[0].now(range(1, -1), all) * 3;
  EXPECT_FALSE(lower_steps(own, l));
  EXPECT_EQ(l.ir.over, jit::distribution::elements);

  std::vector<state> far{make_state({300, 200}, 1)};
  far[0].next(range(20, end), all) = far[0].now(range(0, -20), all);
  EXPECT_FALSE(lower_steps(far, l));

  std::vector<state> turned{make_state({200, 200}, 1)};
  turned[0].next(range(1, -1), all) = transpose(turned[0].now)(range(1, -1), all);
  EXPECT_FALSE(lower_steps(turned, l));
}

}  // namespace
}  // namespace sinter
