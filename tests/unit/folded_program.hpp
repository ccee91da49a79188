// A folder and all that it is given, so that what it folds to can be compared.
#pragma once

#include "jit/fold/trace_folder.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace sinter_test {

struct traced_statement {
  std::int32_t structure;
  std::vector<std::int64_t> parameters;
  friend bool operator==(const traced_statement&, const traced_statement&) = default;
};

inline std::int64_t value(const sinter::jit::traced_number& n, const std::vector<std::int64_t>& counters) {
  EXPECT_EQ(n.coefficients.size(), counters.size());
  auto sum = static_cast<std::uint64_t>(n.constant);
  for (std::size_t l = 0; l < counters.size(); ++l)
    sum += static_cast<std::uint64_t>(n.coefficients.at(l)) * static_cast<std::uint64_t>(counters[l]);
  if (n.column) {
    const std::int64_t row = counters.at(static_cast<std::size_t>(n.column_loop));
    sum += static_cast<std::uint64_t>(n.column->at(static_cast<std::size_t>(row)));
  }
  return static_cast<std::int64_t>(sum);
}

/// The statements that items stand for, by a plain walk.
inline void read(const std::vector<sinter::jit::trace_item>& items, std::vector<std::int64_t>& counters,
                 std::vector<traced_statement>& out) {
  for (const sinter::jit::trace_item& i : items) {
    if (i.is_loop()) {
      const std::int64_t count = value(i.count, counters);
      for (std::int64_t k = 0; k < count; ++k) {
        counters.push_back(k);
        read(i.body, counters, out);
        counters.pop_back();
      }
    } else {
      traced_statement& s = out.emplace_back(traced_statement{i.statement, {}});
      for (const sinter::jit::traced_number& p : i.parameters) s.parameters.push_back(value(p, counters));
    }
  }
}

/// A folder, and all that it was given.
class program {
 public:
  explicit program(const sinter::jit::folding_limits& limits = {}) : folder(limits) {}

  void run(std::int32_t structure, std::vector<std::int64_t> parameters) {
    folder.push(structure, parameters);
    pushed_.push_back({structure, std::move(parameters)});
  }

  /// The folded trace, checked to be exactly what was pushed.
  std::vector<sinter::jit::trace_item> take() {
    EXPECT_EQ(folder.statements(), pushed_.size());
    std::vector<sinter::jit::trace_item> items = folder.take();
    std::vector<traced_statement> out;
    std::vector<std::int64_t> counters;
    read(items, counters, out);
    EXPECT_TRUE(out == pushed_) << out.size() << " statements, " << pushed_.size() << " pushed";
    std::size_t at = 0, wrong = 0;
    sinter::jit::unroll(items, [&](std::int32_t structure, std::span<const std::int64_t> p) {
      if (at >= pushed_.size() || traced_statement{structure, {p.begin(), p.end()}} != pushed_[at]) ++wrong;
      ++at;
    });
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(at, pushed_.size());
    EXPECT_EQ(folder.statements() + folder.items() + folder.bytes(), 0u);
    pushed_.clear();
    return items;
  }

  sinter::jit::trace_folder folder;

 private:
  std::vector<traced_statement> pushed_;
};

class randoms {
 public:
  explicit randoms(std::uint64_t seed) : bits_(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(bits_() % static_cast<std::uint64_t>(n)); }
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }

 private:
  std::mt19937_64 bits_;
};

}  // namespace sinter_test
