// Integer systems with known answers, random ones against enumeration, and those that loop nests ask about.
#include "jit/fold/integer_system.hpp"

#include "runtime/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <ostream>
#include <random>
#include <vector>

namespace {

using sinter::jit::integer_system;
using sinter::jit::linear_form;
using answer = integer_system::answer;

std::ostream& operator<<(std::ostream& out, const linear_form& f) {
  for (std::size_t v = 0; v < f.coefficients.size(); ++v) out << f.coefficients[v] << " x" << v << " + ";
  return out << f.constant;
}

/// A system as the test keeps it, with a box that all solutions are in.
struct boxed {
  std::size_t unknowns = 0;
  std::int64_t low = 0, high = 0;
  std::vector<linear_form> equal, at_least;

  answer ask() const {
    integer_system s(unknowns);
    for (const linear_form& f : equal) s.equal_zero(f);
    for (const linear_form& f : at_least) s.at_least_zero(f);
    for (std::size_t v = 0; v < unknowns; ++v) {
      linear_form above{-low, {}}, below{high, {}};
      above.coefficients.assign(v + 1, 0);
      below.coefficients.assign(v + 1, 0);
      above.coefficients[v] = 1;
      below.coefficients[v] = -1;
      s.at_least_zero(above);
      s.at_least_zero(below);
    }
    return s.has_solution();
  }

  /// Tries every point of the box.
  bool enumerate() const {
    std::vector<std::int64_t> x(unknowns, low);
    for (;;) {
      const auto at = [&](const linear_form& f) {
        std::int64_t sum = f.constant;
        for (std::size_t v = 0; v < f.coefficients.size(); ++v) sum += f.coefficients[v] * x[v];
        return sum;
      };
      bool holds = true;
      for (const linear_form& f : equal) holds = holds && at(f) == 0;
      for (const linear_form& f : at_least) holds = holds && at(f) >= 0;
      if (holds) return true;
      std::size_t v = 0;
      while (v < unknowns && ++x[v] > high) x[v++] = low;
      if (v == unknowns) return false;
    }
  }
};

/// Numbers that are the same with every standard library.
class dice {
 public:
  explicit dice(std::uint32_t seed) : bits_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(bits_() % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::mt19937_64 bits_;
};

std::ostream& operator<<(std::ostream& out, const boxed& s) {
  out << s.unknowns << " unknowns from " << s.low << " to " << s.high;
  for (const linear_form& f : s.equal) out << ", " << f << " == 0";
  for (const linear_form& f : s.at_least) out << ", " << f << " >= 0";
  return out;
}

boxed random_system(dice& d) {
  boxed s;
  s.unknowns = static_cast<std::size_t>(d.between(1, 4));
  s.low = d.between(-4, 1);
  s.high = s.low + d.between(0, s.unknowns == 4 ? 5 : 8);
  const std::int64_t size = d.between(1, 7);
  const auto random_form = [&] {
    linear_form f{d.between(-3 * size, 3 * size), {}};
    const std::int64_t length = d.between(0, static_cast<std::int64_t>(s.unknowns));
    for (std::int64_t v = 0; v < length; ++v)
      f.coefficients.push_back(d.between(0, 2) == 0 ? 0 : d.between(-size, size));
    return f;
  };
  for (std::int64_t k = d.between(0, 2); k > 0; --k) s.equal.push_back(random_form());
  for (std::int64_t k = d.between(0, 4); k > 0; --k) s.at_least.push_back(random_form());
  return s;
}

TEST(integer_system, random_systems_agree_with_enumeration) {
  constexpr int systems = 40000;
  int undecided = 0, solvable = 0;
  for (std::uint32_t seed = 0; seed < systems; ++seed) {
    dice d(seed);
    const boxed s = random_system(d);
    const bool exists = s.enumerate();
    const answer a = s.ask();
    solvable += exists;
    undecided += a == answer::maybe;
    ASSERT_NE(a, exists ? answer::no : answer::yes) << "seed " << seed << ": " << s;
  }
  EXPECT_GT(solvable, systems / 10);
  EXPECT_LT(solvable, systems * 9 / 10);
  EXPECT_LT(undecided, systems / 1000);
}

/// The answer for x0 ... with these forms equal to 0, and those at least 0.
answer ask(std::size_t unknowns, const std::vector<linear_form>& equal, const std::vector<linear_form>& at_least = {}) {
  integer_system s(unknowns);
  for (const linear_form& f : equal) s.equal_zero(f);
  for (const linear_form& f : at_least) s.at_least_zero(f);
  return s.has_solution();
}

TEST(integer_system, an_equality_needs_the_gcd_to_divide_the_constant) {
  EXPECT_EQ(ask(2, {{-3, {2, 4}}}), answer::no);
  EXPECT_EQ(ask(2, {{-6, {2, 4}}}), answer::yes);
  EXPECT_EQ(ask(3, {{-1, {6, 10, 15}}}), answer::yes);
  EXPECT_EQ(ask(3, {{-1, {6, 10, 14}}}), answer::no);
  EXPECT_EQ(ask(1, {{5, {}}}), answer::no);
  EXPECT_EQ(ask(1, {{0, {}}}), answer::yes);
}

TEST(integer_system, equalities_are_solved_together) {
  // x + y = 4 and x - y = 1 have a rational solution only; each alone has integer ones.
  EXPECT_EQ(ask(2, {{-4, {1, 1}}, {-1, {1, -1}}}), answer::no);
  EXPECT_EQ(ask(2, {{-4, {1, 1}}, {-2, {1, -1}}}), answer::yes);
  // 3x + 7y = 5 only where x = 4 (mod 7).
  EXPECT_EQ(ask(2, {{-5, {3, 7}}}, {{0, {1}}, {3, {-1}}}), answer::no);
  EXPECT_EQ(ask(2, {{-5, {3, 7}}}, {{0, {1}}, {4, {-1}}}), answer::yes);
}

TEST(integer_system, bounds_are_rounded_to_integers) {
  EXPECT_EQ(ask(1, {}, {{-1, {2}}, {1, {-2}}}), answer::no);   // 1 <= 2x <= 1
  EXPECT_EQ(ask(1, {}, {{-4, {3}}, {5, {-3}}}), answer::no);   // 4 <= 3x <= 5
  EXPECT_EQ(ask(1, {}, {{5, {3}}, {-3, {-3}}}), answer::yes);  // -5 <= 3x <= -3
  EXPECT_EQ(ask(2, {}, {{-5, {2, 3}}, {5, {-2, -3}}, {0, {1}}, {0, {0, 1}}, {0, {0, -1}}}),
            answer::no);  // 2x + 3y = 5, y = 0
}

TEST(integer_system, unknowns_without_bounds_take_any_value) {
  EXPECT_EQ(integer_system(0).has_solution(), answer::yes);
  EXPECT_EQ(integer_system(3).has_solution(), answer::yes);
  EXPECT_EQ(ask(2, {}, {{-1, {1, -1}}, {-1000, {0, 1}}}), answer::yes);
  EXPECT_EQ(ask(2, {}, {{-1, {1, -1}}, {0, {-1, 1}}}), answer::no);  // x > y and y >= x
}

TEST(integer_system, unknowns_can_be_added_later) {
  integer_system s(1);
  s.equal_zero({-7, {1}});
  const std::size_t added = s.add_unknown();
  EXPECT_EQ(added, 1u);
  EXPECT_EQ(s.unknowns(), 2u);
  s.equal_zero({0, {1, -2}});  // 7 = 2y
  EXPECT_EQ(s.has_solution(), answer::no);
  EXPECT_THROW(s.equal_zero({0, {1, 1, 1}}), sinter::internal_error);
  EXPECT_THROW(s.at_least_zero({0, {1, 1, 1}}), sinter::internal_error);
}

TEST(integer_system, the_dark_shadow_proves_solutions_far_from_all_edges) {
  // No unknown has a unit coefficient, so no projection is exact.
  EXPECT_EQ(ask(2, {}, {{-7, {2, 3}}, {40, {5, -7}}, {100, {-4, -3}}}), answer::yes);
  // 27 <= 11x + 13y <= 45 and -10 <= 7x - 9y <= 4 hold for rational points, and for no integer one.
  EXPECT_NE(ask(2, {}, {{-27, {11, 13}}, {45, {-11, -13}}, {10, {7, -9}}, {4, {-7, 9}}}), answer::yes);
}

TEST(integer_system, numbers_too_large_are_left_undecided) {
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(ask(1, {{huge, {3}}}), answer::maybe);
  EXPECT_EQ(ask(1, {}, {{0, {INT64_MIN}}}), answer::maybe);
  const std::int64_t fits = (std::int64_t{1} << 60) + 1;
  EXPECT_EQ(ask(3, {{0, {1, -fits}}, {0, {0, 1, -fits}}}, {{-1, {1}}}), answer::maybe);  // x = fits * fits * z
  EXPECT_EQ(ask(2, {{-fits, {1}}, {0, {1, -1}}}, {{fits, {0, -1}}}), answer::yes);
  EXPECT_EQ(ask(2, {{-fits, {1}}, {0, {1, -1}}}, {{fits - 1, {0, -1}}}), answer::no);
}

TEST(integer_system, systems_made_around_a_solution_are_never_refuted) {
  int proven = 0, undecided = 0;
  for (std::uint32_t seed = 0; seed < 4000; ++seed) {
    dice d(seed);
    const std::int64_t unknowns = d.between(2, 10), largest = std::int64_t{1} << d.between(0, 50);
    std::vector<std::int64_t> x;
    for (std::int64_t v = 0; v < unknowns; ++v) x.push_back(d.between(-50, 50));
    const auto random_form = [&](std::int64_t value) {  // that takes this value at x
      linear_form f{value, {}};
      for (const std::int64_t at : x) {
        f.coefficients.push_back(d.between(0, 1) == 0 ? 0 : d.between(-largest, largest));
        f.constant -= f.coefficients.back() * at;
      }
      return f;
    };
    integer_system s(x.size()), odd(x.size());
    for (std::int64_t k = d.between(0, 4); k > 0; --k) s.equal_zero(random_form(0));
    for (std::int64_t k = d.between(0, 24); k > 0; --k)
      s.at_least_zero(random_form(d.between(0, 1) * d.between(0, largest)));
    const answer a = s.has_solution();
    ASSERT_NE(a, answer::no) << "seed " << seed;
    (a == answer::yes ? proven : undecided) += 1;
  }
  EXPECT_GT(proven, 1000);
  EXPECT_GT(undecided, 100);  // numbers and rows do grow beyond the limits
}

TEST(integer_system, systems_made_around_an_odd_sum_of_even_numbers_are_never_solved) {
  int refuted = 0;
  for (std::uint32_t seed = 0; seed < 4000; ++seed) {
    dice d(seed);
    const std::int64_t unknowns = d.between(2, 8), equalities = d.between(1, 3), largest = d.between(1, 9);
    linear_form sum{1, std::vector<std::int64_t>(static_cast<std::size_t>(unknowns), 0)};
    integer_system s(sum.coefficients.size());
    const auto coefficient = [&] { return d.between(0, 1) == 0 ? 0 : d.between(-largest, largest); };
    for (std::int64_t k = 0; k < equalities; ++k) {  // the equalities and `sum` add up to 1 + even coefficients
      linear_form f{coefficient(), {}};
      for (std::int64_t& c : sum.coefficients) {
        f.coefficients.push_back(coefficient());
        c += f.coefficients.back() + 2 * coefficient();
      }
      sum.constant += f.constant;
      s.equal_zero(f);
    }
    s.equal_zero(sum);
    for (std::int64_t k = d.between(0, 10); k > 0; --k) {
      linear_form f{coefficient(), {}};
      for (std::int64_t v = 0; v < unknowns; ++v) f.coefficients.push_back(coefficient());
      s.at_least_zero(f);
    }
    const answer a = s.has_solution();
    ASSERT_NE(a, answer::yes) << "seed " << seed;
    refuted += a == answer::no;
  }
  EXPECT_GT(refuted, 3990);
}

/// Counters run from 0 to below these, in terms of the counters further out; an access is a form per array dimension.
using loops = std::vector<linear_form>;
using access = std::vector<linear_form>;

/// Whether `a` in some iteration meets `b` in one where the counter of `level` is larger; the `fixed` outermost equal.
answer meets(const loops& counts, const access& a, const access& b, std::size_t level, std::size_t fixed) {
  const std::size_t depth = counts.size();
  integer_system s(2 * depth);
  for (std::size_t first : {std::size_t{0}, depth})
    for (std::size_t l = 0; l < depth; ++l) {
      linear_form f{0, std::vector<std::int64_t>(2 * depth, 0)};
      f.coefficients[first + l] = 1;
      s.at_least_zero(f);
      f.constant = counts[l].constant - 1;
      f.coefficients[first + l] = -1;
      for (std::size_t k = 0; k < counts[l].coefficients.size(); ++k)
        f.coefficients[first + k] += counts[l].coefficients[k];
      s.at_least_zero(f);
    }
  for (std::size_t k = 0; k < a.size(); ++k) {
    linear_form f{a[k].constant - b[k].constant, std::vector<std::int64_t>(2 * depth, 0)};
    for (std::size_t l = 0; l < a[k].coefficients.size(); ++l) f.coefficients[l] += a[k].coefficients[l];
    for (std::size_t l = 0; l < b[k].coefficients.size(); ++l) f.coefficients[depth + l] -= b[k].coefficients[l];
    s.equal_zero(f);
  }
  for (std::size_t l = 0; l < fixed; ++l) {
    linear_form f{0, std::vector<std::int64_t>(2 * depth, 0)};
    f.coefficients[l] = 1;
    f.coefficients[depth + l] = -1;
    s.equal_zero(f);
  }
  linear_form later{-1, std::vector<std::int64_t>(2 * depth, 0)};
  later.coefficients[level] = -1;
  later.coefficients[depth + level] = 1;
  s.at_least_zero(later);
  return s.has_solution();
}

/// With everything further out in the same iteration: whether the loop carries a dependence.
answer carried(const loops& counts, const access& a, const access& b, std::size_t level) {
  return meets(counts, a, b, level, level);
}

constexpr std::int64_t many = 1'000'000'000;

TEST(integer_system, matrix_products_carry_a_dependence_in_the_inner_loop_only) {
  const loops ijk = {{many, {}}, {many, {}}, {many, {}}};
  const access c = {{0, {1}}, {0, {0, 1}}};
  EXPECT_EQ(carried(ijk, c, c, 0), answer::no);
  EXPECT_EQ(carried(ijk, c, c, 1), answer::no);
  EXPECT_EQ(carried(ijk, c, c, 2), answer::yes);
  EXPECT_EQ(meets(ijk, c, c, 0, 0), answer::no);
  EXPECT_EQ(meets(ijk, c, c, 1, 0), answer::no);
}

TEST(integer_system, stencils_in_place_are_carried_and_colourings_are_not) {
  const loops i = {{many, {}}};
  const access here = {{1, {1}}}, left = {{0, {1}}}, right = {{2, {1}}};
  EXPECT_EQ(carried(i, here, left, 0), answer::yes);   // a later iteration reads what this one wrote
  EXPECT_EQ(carried(i, left, here, 0), answer::no);    // none reads its left before that is written
  EXPECT_EQ(carried(i, right, here, 0), answer::yes);  // but its right
  const access even = {{0, {2}}}, odd_left = {{-1, {2}}}, odd_right = {{1, {2}}};
  EXPECT_EQ(carried(i, even, odd_left, 0), answer::no);
  EXPECT_EQ(carried(i, odd_right, even, 0), answer::no);
  // x(t, i) from x(t - 1, i + 1): steps depend on each other, the points of one do not.
  const loops ti = {{many, {}}, {many, {}}};
  const access now = {{1, {1}}, {1, {0, 1}}}, before = {{0, {1}}, {2, {0, 1}}};
  EXPECT_EQ(carried(ti, now, before, 0), answer::yes);
  EXPECT_EQ(carried(ti, now, before, 1), answer::no);
  EXPECT_EQ(carried(ti, before, now, 0), answer::no);
  EXPECT_EQ(carried(ti, before, now, 1), answer::no);
  EXPECT_EQ(meets(ti, before, now, 1, 0), answer::yes);  // the right neighbour, of one step before
  EXPECT_EQ(meets(ti, now, before, 1, 0), answer::no);
}

TEST(integer_system, triangular_loops_keep_the_halves_of_a_matrix_apart) {
  const loops below = {{many, {}}, {0, {1}}}, with_diagonal = {{many, {}}, {1, {1}}};  // j < i, j <= i
  const access ij = {{0, {1}}, {0, {0, 1}}}, ji = {{0, {0, 1}}, {0, {1}}};
  for (const loops& counts : {below, with_diagonal})
    for (const std::size_t level : {0u, 1u}) {
      EXPECT_EQ(meets(counts, ij, ji, level, 0), answer::no);
      EXPECT_EQ(meets(counts, ji, ij, level, 0), answer::no);
    }
  const loops square = {{many, {}}, {many, {}}};
  EXPECT_EQ(carried(square, ij, ji, 0), answer::yes);
  // Forward substitution, x(i) -= l(i, j) x(j) for j < i: i needs earlier ones, and j sums up.
  const access xi = {{0, {1}}}, xj = {{0, {0, 1}}};
  EXPECT_EQ(carried(below, xi, xj, 0), answer::yes);
  EXPECT_EQ(carried(below, xj, xi, 0), answer::no);
  EXPECT_EQ(carried(below, xi, xj, 1), answer::no);
  EXPECT_EQ(carried(below, xi, xi, 1), answer::yes);
}

TEST(integer_system, coupled_subscripts_are_seen_together) {
  const loops ij = {{many, {}}, {many, {}}};
  const access diagonal = {{0, {1}}, {0, {1}}}, beside = {{0, {0, 1}}, {1, {0, 1}}};
  EXPECT_EQ(carried(ij, diagonal, beside, 0), answer::no);
  const access turned = {{0, {1, 1}}, {0, {1, -1}}}, flat = {{0, {1, 1}}, {0, {2, 2}}},
               mixed = {{0, {2, 1}}, {0, {1, 2}}};
  EXPECT_EQ(carried(ij, turned, turned, 0), answer::no);
  EXPECT_EQ(carried(ij, mixed, mixed, 0), answer::no);
  EXPECT_EQ(carried(ij, flat, flat, 0), answer::yes);
  // The points of even and of odd sum: i + j and i - j have one parity.
  const access shifted = {{0, {1, 1}}, {1, {1, -1}}};
  EXPECT_EQ(meets(ij, turned, shifted, 0, 0), answer::no);
}

TEST(integer_system, linear_offsets_stay_in_their_rows_when_bounds_say_so) {
  const access offset = {{0, {1000, 1}}};
  EXPECT_EQ(carried({{many, {}}, {1000, {}}}, offset, offset, 0), answer::no);
  EXPECT_EQ(carried({{many, {}}, {1001, {}}}, offset, offset, 0), answer::yes);
  EXPECT_EQ(carried({{many, {}}}, {{0, {1}}}, {{many, {1}}}, 0), answer::no);
  EXPECT_EQ(carried({{many, {}}}, {{many - 1, {1}}}, {{0, {1}}}, 0), answer::yes);
}

/// Calls f with the counters of each iteration.
void for_each_iteration(const loops& counts, std::vector<std::int64_t>& x,
                        const std::function<void(const std::vector<std::int64_t>&)>& f) {
  if (x.size() == counts.size()) return f(x);
  const linear_form& count = counts[x.size()];
  std::int64_t end = count.constant;
  for (std::size_t k = 0; k < count.coefficients.size(); ++k) end += count.coefficients[k] * x[k];
  for (std::int64_t n = 0; n < end; ++n) {
    x.push_back(n);
    for_each_iteration(counts, x, f);
    x.pop_back();
  }
}

std::vector<std::int64_t> location(const access& a, const std::vector<std::int64_t>& x) {
  std::vector<std::int64_t> out;
  for (const linear_form& f : a) {
    out.push_back(f.constant);
    for (std::size_t k = 0; k < f.coefficients.size(); ++k) out.back() += f.coefficients[k] * x[k];
  }
  return out;
}

/// What meets() answers, by going through all pairs of iterations.
bool meets_somewhere(const loops& counts, const access& a, const access& b, std::size_t level, std::size_t fixed) {
  struct visit {
    std::vector<std::int64_t> x, a, b;
  };
  std::vector<visit> visits;
  std::vector<std::int64_t> x;
  for_each_iteration(counts, x, [&](const std::vector<std::int64_t>& at) {
    visits.push_back({at, location(a, at), location(b, at)});
  });
  for (const visit& v : visits)
    for (const visit& w : visits)
      if (std::equal(v.x.begin(), v.x.begin() + static_cast<std::ptrdiff_t>(fixed), w.x.begin()) &&
          v.x[level] < w.x[level] && v.a == w.b)
        return true;
  return false;
}

TEST(integer_system, random_loop_nests_agree_with_running_them) {
  constexpr int nests = 30000;
  int undecided = 0, dependent = 0;
  for (std::uint32_t seed = 0; seed < nests; ++seed) {
    dice d(seed);
    const std::int64_t depth = d.between(1, 3), rank = d.between(1, 3), steepest = d.between(1, 3);
    loops counts;
    for (std::int64_t l = 0; l < depth; ++l) {
      counts.push_back({d.between(1, depth == 3 ? 4 : 6), {}});
      for (std::int64_t k = 0; k < l; ++k)
        counts.back().coefficients.push_back(d.between(0, 3) == 0 ? d.between(-1, 1) : 0);
    }
    const auto random_access = [&] {
      access a;
      for (std::int64_t k = 0; k < rank; ++k) {
        a.push_back({d.between(-2, 2), {}});
        for (std::int64_t l = 0; l < depth; ++l)
          a.back().coefficients.push_back(d.between(0, 1) == 0 ? 0 : d.between(-steepest, steepest));
      }
      return a;
    };
    const access a = random_access(), b = d.between(0, 1) == 0 ? a : random_access();
    const auto level = static_cast<std::size_t>(d.between(0, depth - 1));
    const std::size_t fixed = d.between(0, 1) == 0 ? level : 0;
    const bool meet = meets_somewhere(counts, a, b, level, fixed);
    const answer found = meets(counts, a, b, level, fixed);
    dependent += meet;
    undecided += found == answer::maybe;
    ASSERT_NE(found, meet ? answer::no : answer::yes) << "seed " << seed;
  }
  EXPECT_GT(dependent, nests / 5);
  EXPECT_LT(dependent, nests * 4 / 5);
  EXPECT_LT(undecided, nests / 1000);
}

}  // namespace
