// Programs made at random, folded: regular ones to what was written, and all of them exactly.
#include "tests/unit/folded_program.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace {

using sinter::jit::folding_limits;
using sinter_test::program;
using sinter_test::randoms;
using coefficients = std::vector<std::int64_t>;

constexpr std::uint64_t most_statements = 3000;

struct made_loop {
  std::int32_t structure = -1;        // negative: a loop
  std::vector<coefficients> numbers;  // of a statement: constant, then a factor for each loop around it
  coefficients count;
  std::int64_t jitter = 0;  // of a loop's count or a statement's first number
  std::vector<made_loop> body;
};

class maker {
 public:
  maker(std::uint64_t seed, bool irregular) : random_(seed), irregular_(irregular) {
    for (std::size_t& n : parameters_) n = static_cast<std::size_t>(between(irregular ? 0 : 1, 5));
  }

  std::int64_t between(std::int64_t low, std::int64_t high) { return random_.between(low, high); }
  made_loop make(std::size_t depth, std::size_t deepest) {
    made_loop m;
    if (depth == deepest || (depth > 0 && between(0, 2) == 0)) {
      m.structure = static_cast<std::int32_t>(between(0, 7));
      m.numbers.resize(parameters_[static_cast<std::size_t>(m.structure)]);
      for (coefficients& n : m.numbers) n = number(between(-20, 20), depth, 2);
      if (irregular_ && between(0, 20) == 0) m.jitter = 1000;
      return m;
    }
    m.count = number(irregular_ && between(0, 3) == 0 ? between(0, 3) : between(3, 9), depth, 0);
    if (between(0, irregular_ ? 3 : 9) == 0 && depth > 0) m.count.back() = between(-1, 1);
    if (irregular_ && between(0, 20) == 0) m.jitter = 2;
    for (std::int64_t k = between(1, 3); k > 0; --k) m.body.push_back(make(depth + 1, deepest));
    return m;
  }
  void run(const made_loop& m, std::vector<std::int64_t>& counters, program& p) {
    if (p.folder.statements() > most_statements) return;
    const auto at = [&](const coefficients& n) {
      return std::inner_product(counters.begin(), counters.end(), n.begin() + 1, n[0]);
    };
    if (m.structure >= 0) {
      std::vector<std::int64_t> values;
      for (const coefficients& n : m.numbers) values.push_back(at(n));
      if (m.jitter > 0 && !values.empty()) values[0] += between(0, m.jitter);
      p.run(m.structure, std::move(values));
      return;
    }
    const std::int64_t count = at(m.count) + between(0, m.jitter);
    for (std::int64_t k = 0; k < count; ++k) {
      counters.push_back(k);
      for (const made_loop& b : m.body) run(b, counters, p);
      counters.pop_back();
    }
  }

 private:
  coefficients number(std::int64_t constant, std::size_t depth, std::int64_t largest) {
    coefficients n{constant};
    for (std::size_t l = 0; l < depth; ++l) n.push_back(between(-largest, largest));
    return n;
  }

  randoms random_;
  bool irregular_;
  std::size_t parameters_[8];
};

TEST(trace_folder_random, random_programs_come_back_statement_by_statement) {
  for (std::uint64_t seed = 0; seed < 250 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    maker make(seed, true);
    folding_limits limits;
    if (make.between(0, 3) == 0) limits.body = static_cast<std::uint32_t>(make.between(1, 8));
    if (make.between(0, 1) == 0) {
      limits.table_after = static_cast<std::uint32_t>(make.between(4, 40));
      limits.table_exit = static_cast<std::uint32_t>(make.between(4, 48));
    }
    program p(limits);
    for (int round = 0; round < 2; ++round) {
      std::vector<made_loop> nests;
      for (std::int64_t k = make.between(1, 4); k > 0; --k)
        nests.push_back(make.make(0, static_cast<std::size_t>(make.between(1, 4))));
      for (std::int64_t times = make.between(0, 3) == 0 ? 5 : 1; times > 0; --times)
        for (const made_loop& m : nests) {
          std::vector<std::int64_t> counters;
          make.run(m, counters, p);
        }
      p.take();
    }
  }
}

TEST(trace_folder_random, nests_of_affine_loops_nearly_always_fold_to_what_was_written) {
  int nests = 0, folded = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    maker make(seed, false);
    const made_loop m = make.make(0, static_cast<std::size_t>(make.between(1, 4)));
    program p;
    std::vector<std::int64_t> counters;
    make.run(m, counters, p);
    if (p.folder.statements() > most_statements) continue;
    ++nests;
    folded += p.take().size() == 1;
  }
  EXPECT_GT(nests, 400);
  EXPECT_GE(folded, nests * 97 / 100) << nests;
}

}  // namespace
