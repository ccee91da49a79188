#include "jit/fold/trace_recorder.hpp"
#include "jit/graph.hpp"

#include <gtest/gtest.h>
#include <sinter/sinter.hpp>

namespace {

using namespace sinter;

TEST(graph_print, operands_come_first_and_values_are_not_followed) {
  array a = array{1.0f, 2.0f, 3.0f} * 2;
  eval(a);
  const array b = sum(a(range(1, 3)) + a(range(0, 2)), 0);
  jit::node* roots[] = {b.node()};
  const std::string text = jit::to_string(roots);
  EXPECT_EQ(text.find("multiply"), std::string::npos) << text;
  const std::size_t values = text.find("%0 = values"), view = text.find("view %0 [1 + 1 * i0]"),
                    add = text.find("add %"), total = text.find("reduce_sum %"),
                    site = text.find("graph_print_test.cpp:");
  EXPECT_LT(values, view) << text;
  EXPECT_LT(view, add) << text;
  EXPECT_LT(add, total) << text;
  EXPECT_NE(total, std::string::npos) << text;
  EXPECT_NE(site, std::string::npos) << text;
}

TEST(graph_print, a_deep_graph_needs_no_recursion) {
  const recording_limits before = get_recording_limits();
  set_recording_limits({.operations = INT64_MAX});
  const jit::statements_paused as_it_is;
  array a = array{1.0f};
  for (int k = 0; k < 200000; ++k) a = a + 1;
  set_recording_limits(before);
  jit::node* roots[] = {a.node()};
  EXPECT_NE(jit::to_string(roots).find("%400000 = add"), std::string::npos);
}

}  // namespace
