// Recording loops that elements run by themselves: what states may be, which lines errors name, what a body may do.
#include "dsl_support.hpp"

#include "jit/graph.hpp"
#include "jit/loops.hpp"
#include "messages.hpp"

#include <tuple>

using namespace sinter;
using namespace sinter_test;

namespace {

class loops : public dsl_test {};

const auto always = [](const array& s) { return s == s; };
const auto same = [](const array& s) { return s; };

const jit::loop_body& body_of(const array& result) { return *result.node()->operands()[0]->facts->loop; }

/// `f`, written on the caller's line and the few after it, throws an E that says `text` and names one of those lines.
template <class E, class F>
void expect_refused(F&& f, const std::string& text, place at = place::here()) {
  const std::string what = message_of<E>(f);
  EXPECT_TRUE(contains(what, text)) << at.line << ": " << what;
  bool named = false;
  for (unsigned line = at.line; line < at.line + 10 && !named; ++line)
    named = contains(what, std::string(at.file) + ":" + std::to_string(line) + " ");
  EXPECT_TRUE(named) << "not at line " << at.line << ": " << what;
}

TEST_F(loops, launch_nothing_while_they_are_recorded) {
  const std::uint64_t before = stats().launches;
  const array x{1, 2, 3}, y = for_loop(5, x, [](const array&s) { return s * 2; });
  EXPECT_EQ(stats().launches, before);
  EXPECT_FALSE(y.is_evaluated());
  EXPECT_EQ(y.to_vector<std::int32_t>(), (std::vector<std::int32_t>{32, 64, 96}));
  EXPECT_TRUE(y.is_evaluated());
}

TEST_F(loops, call_their_functions_once) {
  int conditions = 0, bodies = 0;
  const array y = while_loop(
      array{1, 50}, [&](const array& s) { return ++conditions, s < 40; },
      [&](const array& s) { return ++bodies, s * 3; });
  EXPECT_EQ(values(y), (list{81, 50}));
  EXPECT_EQ(conditions, 1);
  EXPECT_EQ(bodies, 1);
}

TEST_F(loops, results_have_the_common_shape_and_their_own_dtypes) {
  const auto [a, b] = for_loop(1, std::tuple{zeros({3, 1}, f32), zeros({4}, i8)}, [](const auto& s) {
    return std::tuple{std::get<0>(s) + 1, std::get<1>(s) + 1};
  });
  EXPECT_EQ(a.extents(), (shape{3, 4}));
  EXPECT_EQ(b.extents(), (shape{3, 4}));
  EXPECT_EQ(a.type(), f32);
  EXPECT_EQ(b.type(), i8);
}

TEST_F(loops, the_counter_is_a_number_of_64_bits) {
  for_loop(3, zeros({2}), [](const array& i, const array& s) {
    EXPECT_EQ(i.type(), i64);
    EXPECT_EQ(i.rank(), 0);
    EXPECT_EQ(s.extents(), (shape{2}));
    return s;
  });
}

TEST_F(loops, states_that_stay_are_not_carried) {
  const array x{1.0, 2.0}, y{3.0, 4.0};
  const auto [a, b] = for_loop(3, std::tuple{x, y}, [](const auto& s) {
    return std::tuple{std::get<0>(s) + std::get<1>(s), std::get<1>(s)};
  });
  EXPECT_TRUE(body_of(a).changes(0));
  EXPECT_FALSE(body_of(a).changes(1));
  EXPECT_EQ(b.node(), y.node());
  EXPECT_EQ(values(a), (list{10, 14}));
}

TEST_F(loops, only_what_a_body_needs_is_captured) {
  const array x{1.0, 2.0}, used{3.0, 4.0}, unused{5.0, 6.0};
  const array y = for_loop(3, x, [&](const array& s) {
    const array nothing = unused * s;
    return s + (used * 2 + 1);
  });
  EXPECT_EQ(y.node()->operands()[0]->operand_count, 2) << "the state, and used * 2 + 1";
  EXPECT_EQ(values(y), (list{22, 29}));
}

TEST_F(loops, refuse_conditions_that_are_no_truth) {
  expect_refused<type_error>(
      [] {
        while_loop(array{1, 2}, same, same);
      },
      "while_loop: the condition is i32, not boolean");
  expect_refused<type_error>([] { if_else(array{1, 2}, array{1, 2}, array{3, 4}); }, "if_else: the condition is i32");
  expect_refused<type_error>([] { if_else(array{1, 2}, array{1, 2}, 0); }, "if_else: the condition is i32");
}

TEST_F(loops, refuse_conditions_of_another_shape) {
  const array x{1, 2};
  expect_refused<shape_error>(
      [&] {
        while_loop(
            x,
            [](const array& s) {
              return s(newaxis) + zeros({3, 1}, i32) > 0;
            },
            same);
      },
      "condition has shape [3, 2], the states have [2]");
  expect_refused<shape_error>(
      [&] {
        while_loop(
            x, [](const array&) { return zeros({3}) > 0; }, same);
      },
      "[3]");
}

TEST_F(loops, refuse_another_dtype_or_shape_of_a_state) {
  const array x{1.0, 2.0};
  expect_refused<type_error>([&] { for_loop(3, x, [](const array& s) { return s.astype(f32); }); },
                           "for_loop: state 0 is f64, but the body makes it f32");
  const auto second_changes = [](const auto& s) { return std::tuple{std::get<0>(s), std::get<1>(s) * 2.5}; };
  EXPECT_TRUE(contains(message_of<type_error>([&] {
                         for_loop(3, std::tuple{x, array{1, 2}}, second_changes);
                       }),
                       "state 1 is i32, but the body makes it f64"));
  expect_refused<shape_error>([&] { for_loop(3, x, [](const array& s) {
                                    return s + zeros({3, 1});
                                  }); },
                            "state 0 has shape [2], but the body makes it [3, 2]");
  expect_refused<shape_error>([&] { for_loop(3, x, [](const array& s) { return s + zeros({3}); }); }, "[2]");
}

TEST_F(loops, smaller_next_states_broadcast) {
  const array y = for_loop(3, zeros({2, 3}), [](const array&) { return arange(3).astype(f64); });
  EXPECT_EQ(y.extents(), (shape{2, 3}));
  EXPECT_EQ(values(y), (list{0, 1, 2, 0, 1, 2}));
}

TEST_F(loops, refuse_states_that_do_not_broadcast) {
  expect_refused<shape_error>(
      [] {
        for_loop(3, std::tuple{zeros({2}), zeros({3})}, [](const auto& s) { return s; });
      },
      "for_loop");
}

TEST_F(loops, refuse_negative_counts) {
  expect_refused<shape_error>([] { for_loop(-1, zeros({2}), same); }, "for_loop: -1 iterations");
  expect_refused<shape_error>([] { while_loop(zeros({2}), always, same, {.limit = -5}); }, "while_loop: -5 iterations");
}

TEST_F(loops, elements_that_leave_by_themselves_read_no_others_and_move_nothing) {
  const array x{1.0, 2.0};
  const auto refused = [&](auto body, const std::string& what, place at = place::here()) {
    const auto run = [&] { while_loop(x, [](const array& s) { return s < 9; }, body); };
    expect_refused<type_error>(run, "while_loop: the body " + what, at);
  };
  const std::string other = "reads other elements of a state than its own ";
  refused([](const array& s) { return s + s(range(end, begin, -1)); }, other + "(view)");
  refused([](const array& s) { return s * 0 + sum(s); }, other + "(reduce_sum)");
  refused([](const array& s) { return s(array{1, 0}); }, other + "(gather)");
  refused([](const array& s) { return concat({s(range(0, 1)), s(range(0, 1))}); }, other + "(view)");
  refused([](const array& s) { return cumsum(s); }, "has a scan of what changes");
  refused([](const array& s) { return s + bincount(s.astype(i32), 2); }, "has a scatter of what changes");
}

// Counted loops have as many iterations for all elements, so that their bodies may be of whole arrays.
TEST_F(loops, counted_loops_may_move_elements) {
  const array x{1.0, 2.0};
  EXPECT_EQ(values(for_loop(3, x, [](const array& s) { return s + s(range(end, begin, -1)); })), (list{12, 12}));
  EXPECT_EQ(values(for_loop(3, x, [](const array& s) { return s * 0 + sum(s); })), (list{12, 12}));
  EXPECT_EQ(values(for_loop(3, x, [](const array& s) { return s(array{1, 0}); })), (list{2, 1}));
  EXPECT_EQ(values(for_loop(3, x, [](const array& s) { return cumsum(s); })), (list{1, 5}));
  EXPECT_EQ(values(for_loop(3, x, [&](const array& i, const array& s) { return s + cumsum(x * i); })), (list{4, 11}));
  EXPECT_EQ(values(for_loop(3, x, [&](const array& s) { return s + cumsum(x); })), (list{4, 11}));
}

// What a body writes to would be written while it is recorded: once, not in each iteration (drjit#58).
TEST_F(loops, refuse_writes_in_bodies) {
  array c{1.0, 2.0}, d = c;
  const array x{1.0, 2.0};
  const std::string text = "for_loop: the body writes to an array";
  expect_refused<type_error>(
      [&] {
        for_loop(3, x, [&](const array& s) {
          c(0) = 5.0;
          return s + c;
        });
      },
      text);
  expect_refused<type_error>(
      [&] {
        for_loop(3, x, [&](const array& s) {
          c(0) += s(0);
          return s;
        });
      },
      text);
  expect_refused<type_error>(
      [&] {
        for_loop(3, x, [&](const array& s) {
          c(array{0}) = 5.0;
          return s;
        });
      },
      text);
  expect_refused<type_error>(
      [&] {
        for_loop(3, x, [&](const array& s) {
          put(c, array{0}, 3.0);
          return s;
        });
      },
      text);
  expect_refused<type_error>(
      [&] {
        while_loop(
            x,
            [&](const array& s) {
              c(s > 1) = 0.0;
              return s > 5;
            },
            same);
      },
      "while_loop: the body writes to an array");
  EXPECT_EQ(values(c), (list{1, 2}));
  c(0) = 7.0;  // allowed again
  EXPECT_EQ(values(c), (list{7, 2}));
  EXPECT_EQ(values(d), (list{1, 2}));
}

TEST_F(loops, variables_of_a_body_may_be_assigned_to) {
  const array y = for_loop(2, array{1.0, 2.0}, [](const array& s) {
    array t = s;
    t += 1;
    t = t * 2;
    return t;
  });
  EXPECT_EQ(values(y), (list{10, 14}));
}

TEST_F(loops, states_have_no_value_outside_of_their_loop) {
  const std::string text = "a state of a loop is read while the loop is recorded";
  const array x{1.0};
  expect_refused<type_error>(
      [&] {
        for_loop(3, x, [](const array& s) {
          s.item<double>();
          return s;
        });
      },
      text);
  array kept;
  for_loop(3, x, [&](const array& s) {
    kept = s + 1;
    return s;
  });
  EXPECT_TRUE(contains(message_of<type_error>([&] { kept.item<double>(); }), text));
  EXPECT_TRUE(contains(
      message_of<type_error>([&] { for_loop(3, x, [&](const array& s) { return s + kept; }).item<double>(); }), text));
}

TEST_F(loops, captured_values_may_be_read_in_a_body) {
  const array x{1.0, 2.0}, c{10.0, 20.0};
  const array y = for_loop(2, x, [&](const array& s) { return s + sum(c).item<double>(); });
  EXPECT_EQ(values(y), (list{61, 62}));
}

TEST_F(loops, what_a_body_throws_leaves_everything_as_it_was) {
  array x{1.0, 2.0};
  EXPECT_EQ(message_of<std::runtime_error>([&] {
              for_loop(3, x,
                       [](const array& s) -> array { throw std::runtime_error("no " + std::to_string(s.rank())); });
            }),
            "no 1");
  x(0) = 3.0;  // a body is recorded no more
  EXPECT_EQ(values(for_loop(1, x, [](const array& s) { return s * 2; })), (list{6, 4}));
}

TEST_F(loops, nest_to_a_depth) {
  const auto nested = [](int depth, const auto& self, const array& s) -> array {
    if (depth == 0) return s + 1;
    return for_loop(2, s, [&](const array& t) { return self(depth - 1, self, t); });
  };
  EXPECT_EQ(values(nested(8, nested, array{0, 5})), (list{256, 261}));
  EXPECT_TRUE(contains(message_of<type_error>([&] {
                         nested(9, nested, array{0, 5});
                       }),
                       "for_loop: loops in loops, 9 deep"));
}

// More operations than may wait for each other, none of which can be evaluated before the loop runs.
TEST_F(loops, long_bodies_are_not_evaluated_half_way) {
  const recording_limits before = get_recording_limits();
  set_recording_limits({.operations = 20});
  const array y = for_loop(2, array{1, 2}, [](const array& s) {
    array t = s;
    for (int k = 0; k < 100; ++k) t = t * 3 + k;
    return t;
  });
  set_recording_limits(before);
  std::vector<double> want;
  for (std::uint32_t t : {1u, 2u}) {
    for (int n = 0; n < 2; ++n)
      for (std::uint32_t k = 0; k < 100; ++k) t = t * 3 + k;
    want.push_back(static_cast<std::int32_t>(t));
  }
  EXPECT_EQ(values(y), want);
}

TEST_F(loops, tuples_without_arrays_are_no_states) {
  expect_refused<type_error>([] { for_loop(3, std::tuple<>{}, [](const auto& s) { return s; }); }, "no states");
}

TEST_F(loops, explain_shows_one_launch) {
  const array y = sum(for_loop(5, ones({100}), [](const array& s) { return s * 2; }));
  const std::string text = explain(y);
  EXPECT_TRUE(contains(text, "1 group(s), 1 launch(es)")) << text;
}

}  // namespace
