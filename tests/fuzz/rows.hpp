// Elements along some axes of an array, and what is made of all of them together.
#pragma once

#include "tests/fuzz/values.hpp"

namespace sinter_test::fuzz {

/// The elements that each position of a reduction's result is made of.
struct grouped {
  sinter::shape extents;  ///< of the result
  sinter::shape kept;     ///< with reduced axes of extent 1
  std::vector<std::vector<std::int64_t>> members;
};

/// Along `axes`, or all of them when empty. Throws refused for bad and repeated ones.
grouped groups_of(const std::vector<std::int64_t>& axes, const sinter::shape& from, bool keep);

/// log(sum(exp(x))) of numbers in the dtype to compute in.
cell logarithm_of_sum(const std::vector<cell>& cells, sinter::dtype computed, sinter::dtype result);

}  // namespace sinter_test::fuzz
