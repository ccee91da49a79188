#include "tests/fuzz/generate.hpp"

#include "tests/fuzz/places.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace sinter_test::fuzz {

using namespace sinter;

namespace {

constexpr dtype all_types[] = {boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128};
constexpr dtype usual_types[] = {f32, i32, f64, i64, u8, boolean};

/// Mostly not long: such arrays take their time. Else enough for teams of threads and pieces of rows; beside powers
/// of two, at times.
std::int64_t long_extent(std::mt19937_64& random) {
  if (random() % 4 != 0) return static_cast<std::int64_t>(200 + random() % 1000);
  const double x = static_cast<double>(random() % 10000) / 10000;
  const auto n = static_cast<std::int64_t>(std::exp2(10 + x * 6.1));
  if (random() % 3 != 0) return n;
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n))) - 1 +
         static_cast<std::int64_t>(random() % 3);
}

/// The extents that a program's shapes are made of: its own for each data set.
std::vector<std::int64_t> extents_for(std::mt19937_64& random) {
  static constexpr std::int64_t small[] = {0, 1, 2, 3, 4, 5, 6, 7, 9};
  std::vector<std::int64_t> out;
  for (int k = 0; k < 4; ++k) out.push_back(small[2 + random() % 7]);
  out.push_back(1);
  out.push_back(small[random() % 3]);                              // nothing, at times
  out.push_back(static_cast<std::int64_t>(900 + random() % 200));  // several blocks and threads
  out.push_back(long_extent(random));
  return out;
}

}  // namespace

program generate(std::uint64_t seed, int data_set, int statements) {
  std::seed_seq data_seed{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                          static_cast<std::uint32_t>(data_set)};
  std::seed_seq structure_seed{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  std::mt19937_64 data(data_seed), structure(structure_seed);
  const std::vector<std::int64_t> extents = extents_for(data);
  reference variables;
  program out;
  int newest = -1;
  for (int tries = 0; std::ssize(out) < statements && tries < 4 * statements; ++tries) {
    const std::uint64_t one = structure(), other = data();
    statement_maker maker(variables, one, other, extents, newest);
    for (step& s : tries < 6 ? maker.make_variable(tries) : maker.make()) {
      const outcome o = variables.run(s);
      if (o.skipped || (o.errors != 0 && one % 3 != 0)) break;
      if (s.result >= 0 && o.errors == 0) newest = s.result;
      out.push_back(std::move(s));
    }
  }
  return out;
}

std::vector<step> statement_maker::make_variable(int k) {
  make_data();
  made_.back().result = k;
  return std::move(made_);
}

std::vector<step> statement_maker::make() {
  static constexpr weighted list[] = {{12, &statement_maker::make_data},
                                      {4, &statement_maker::make_lazily},
                                      {6, &statement_maker::copy_variable},
                                      {7, &statement_maker::unary_operation},
                                      {12, &statement_maker::binary_operation},
                                      {6, &statement_maker::number_operation},
                                      {4, &statement_maker::choose_or_clip},
                                      {4, &statement_maker::convert},
                                      {1, &statement_maker::string_kernel},
                                      {5, &statement_maker::compound},
                                      {4, &statement_maker::reshape},
                                      {4, &statement_maker::reorder},
                                      {3, &statement_maker::axes_added},
                                      {3, &statement_maker::mirror},
                                      {3, &statement_maker::repeat},
                                      {9, &statement_maker::read_index},
                                      {2, &statement_maker::read_mask},
                                      {4, &statement_maker::take},
                                      {22, &statement_maker::write_index},
                                      {4, &statement_maker::write_mask},
                                      {7, &statement_maker::scatter},
                                      {6, &statement_maker::join},
                                      {4, &statement_maker::pad},
                                      {2, &statement_maker::split},
                                      {24, &statement_maker::reduce},
                                      {8, &statement_maker::scan},
                                      {3, &statement_maker::difference},
                                      {4, &statement_maker::exponentials},
                                      {4, &statement_maker::multiply},
                                      {3, &statement_maker::center},
                                      {3, &statement_maker::share},
                                      {3, &statement_maker::normalise},
                                      {3, &statement_maker::find_and_gather},
                                      {3, &statement_maker::reduce_again},
                                      {4, &statement_maker::reduce_together},
                                      {3, &statement_maker::spread_back},
                                      {4, &statement_maker::write_reduced},
                                      {3, &statement_maker::run_along},
                                      {2, &statement_maker::weigh},
                                      {3, &statement_maker::by_value},
                                      {4, &statement_maker::evaluate},
                                      {2, &statement_maker::check},
                                      {4, &statement_maker::mistake}};
  int total = 0;
  for (const weighted& w : list) total += w.weight;
  std::int64_t chosen = below(total);
  for (const weighted& w : list) {
    chosen -= w.weight;
    if (chosen >= 0) continue;
    (this->*w.what)();
    break;
  }
  return std::move(made_);
}

int statement_maker::some_variable() {
  if (newest_ >= 0 && at(newest_).size() > 1 && once_in(3)) return newest_;
  int k = any_variable();
  for (int tries = 0; tries < 4 && at(k).size() <= 1; ++tries) k = any_variable();
  return k;
}

int statement_maker::partner_of(int k) {
  if (once_in(25)) return any_variable();
  const int found = variable_where([&](const variable& v) {
    try {
      promote(v.h.type, at(k).h.type);
      return broadcast(v.h.extents, extents_of(k)).size() <= size_limit(std::max(v.size(), at(k).size()));
    } catch (const refused&) { return false; }
  });
  return found < 0 ? k : found;
}

dtype statement_maker::any_type() { return once_in(3) ? usual_types[below(6)] : all_types[below(15)]; }

shape statement_maker::any_shape() {
  if (once_in(12)) return {extents_[6]};
  if (once_in(20)) return long_shape();
  shape out;
  for (std::int64_t rank = once_in(3) ? below(5) : 1 + below(2); rank > 0; --rank) {
    const std::int64_t choice = below(40);  // one of four usual extents; or 1; or what is empty at times
    out.append(extents_[choice == 39 ? 5 : choice >= 34 ? 4 : static_cast<std::size_t>(choice % 4)]);
  }
  return out;
}

shape statement_maker::long_shape() {
  static constexpr std::int64_t counts[] = {1, 1, 2, 3, 5};
  const std::int64_t count = counts[below(5)], columns = extents_[7] / count, way = below(4);
  if (way == 0) return {columns};
  return way == 1 ? shape{columns, count} : shape{count, columns};
}

host_array statement_maker::whole_values(dtype type, const shape& extents) {
  host_array out(type, extents);
  const bool wide_range = once_in(6), has_sign = kind_of(type) == kind::signed_integer;
  for (std::int64_t k = 0; k < out.size(); ++k) {
    const auto bits = static_cast<std::int64_t>(data_());
    const std::int64_t small = static_cast<std::int64_t>(static_cast<std::uint64_t>(bits) % 13) - (has_sign ? 6 : 0);
    out.set(k, wrapped(type == boolean ? bits & 1 : wide_range ? bits : small, type));
  }
  return out;
}

host_array statement_maker::real_values(dtype type, const shape& extents) {
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double rare[] = {
      0.0, -0.0, infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), 1e30, -2.5, 1e-40, 0.5, 3e4, -1e9, 1.0};
  host_array out(type, extents);
  const std::int64_t style = below(8);
  for (std::int64_t k = 0; k < out.size(); ++k) {
    const auto bits = static_cast<std::uint64_t>(data_());
    double x = static_cast<double>(bits % 65) / 4 - 8;  // exact in every format
    if (style == 0) x = rare[bits % std::size(rare)];
    if (style == 1) x = static_cast<double>(bits % 100003) / 9973.0 - 5;
    if (style == 2) x = static_cast<double>(bits % 9) - 4;
    const double y = is_complex(type) ? static_cast<double>(bits / 65 % 9) - 4 : 0;
    if (is_complex(type)) x = static_cast<double>(bits % 9) - 4;
    out.set(k, {rounded(x, real_of(type)), y});
  }
  return out;
}

host_array statement_maker::values(dtype type, const shape& extents) {
  return is_integer_or_bool(type) ? whole_values(type, extents) : real_values(type, extents);
}

number statement_maker::any_number(dtype beside) {
  if (level(beside) == 0 && !once_in(3)) return {boolean, static_cast<double>(below(2))};
  const bool no_sign = kind_of(beside) == kind::unsigned_integer;
  if (level(beside) == 1 && !once_in(12)) return {i64, static_cast<double>(below(9) - (no_sign ? 0 : 4))};
  if (once_in(3)) return {i64, static_cast<double>(below(7) - (no_sign && !once_in(9) ? 0 : 3))};
  return {f64, static_cast<double>(below(33) - 16) / 4};
}

std::int64_t statement_maker::any_axis(int rank) {
  if (rank == 0 || once_in(40)) return below(2 * rank + 3) - rank - 1;
  return signed_axis(below(rank), rank);
}

std::vector<std::int64_t> statement_maker::some_axes(int rank, std::int64_t count) {
  std::vector<std::int64_t> order;
  for (int k = 0; k < rank; ++k) order.push_back(k);
  for (int k = rank; k > 1; --k)
    std::swap(order[static_cast<std::size_t>(k - 1)], order[static_cast<std::size_t>(below(k))]);
  order.resize(static_cast<std::size_t>(std::min<std::int64_t>(count, rank)));
  for (std::int64_t& k : order) k = signed_axis(k, rank);
  return order;
}

shape statement_maker::factors_of(std::int64_t size) {
  if (size == 0) return once_in(2) ? shape{0, below(3)} : shape{below(4), 0};
  shape to;
  for (std::int64_t rest = size; (rest > 1 || once_in(3)) && to.rank() < most_axes;) {
    std::int64_t factor = to.rank() == most_axes - 1 ? rest : 1 + below(std::min<std::int64_t>(rest, 12));
    while (rest % factor != 0) --factor;
    to.append(factor);
    rest /= factor;
  }
  return to;
}

shape statement_maker::narrowed(const shape& to) {
  shape out;
  const std::int64_t dropped = once_in(2) ? 0 : below(to.rank() + 1);
  for (int k = static_cast<int>(dropped); k < to.rank(); ++k) out.append(once_in(5) ? 1 : to[k]);
  return out;
}

step& statement_maker::add(verb what, std::vector<int> from) {
  made_.emplace_back();
  made_.back().what = what;
  made_.back().from = std::move(from);
  return made_.back();
}

step& statement_maker::add_result(verb what, std::vector<int> from) {
  // Seldom in place of an operand: what an operation was made of should live on, and be changed.
  int result = any_variable();
  if (!from.empty() && result == from[0]) result = any_variable();
  step& s = add(what, std::move(from));
  s.result = result;
  return s;
}

}  // namespace sinter_test::fuzz
