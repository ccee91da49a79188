// Orders and choices: permutation, shuffle, choice.
#include "dsl/create.hpp"
#include "dsl/loops.hpp"
#include "dsl/random_internal.hpp"
#include "dsl/reduce.hpp"
#include "dsl/scan.hpp"
#include "dsl/scatter.hpp"
#include "dsl/shape_ops.hpp"
#include "dsl/sort_internal.hpp"

#include <fmt/format.h>

#include <bit>
#include <limits>

namespace sinter::random {

using jit::op;

namespace {

constexpr auto order_word = static_cast<std::uint64_t>(purpose::ordering);
constexpr std::int64_t most_ranked = 256;
constexpr std::int64_t most_ordered = std::int64_t{1} << 62;
constexpr std::int64_t pairs_of_rounds = 4;
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// ---- permutation ----

/// Where each of n random words would stand among them: [k.., n].
array ranks(const array& keys, std::int64_t n, const place& at) {
  const array numbers = iota(n, at);
  const array drawn =
      words(op::random64, with_axes(keys, 1, at), convert(numbers, u64, at), input_of(scalar(order_word), at), at);
  const array own = expand_dims(drawn, -1, at), other = expand_dims(drawn, -2, at);
  const array earlier = record(op::less, numbers, expand_dims(numbers, -1, at), at);  // equal words: in their own order
  const array ties = record(op::logical_and, record(op::equal, other, own, at), earlier, at);
  return sum(record(op::logical_or, record(op::less, other, own, at), ties, at), -1, {}, at);
}

/// A Feistel network on the low bits of a number: a left part of `left` bits, a right one of `right` bits.
class network {
 public:
  network(const array& keys, std::int64_t n, const place& at) : keys_(keys), at_(at) {
    const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
    left_ = bits / 2;
    right_ = bits - left_;
  }

  /// A bit that applied() takes away, so that a number with it has still to be permuted.
  std::uint64_t fresh() const { return std::uint64_t{1} << (left_ + right_); }

  /// u64 numbers; bits above the network's are dropped.
  array applied(const array& x) const {
    using parts = std::pair<array, array>;
    const parts before{cut(record(op::shift_right, x, right_, at_), left_), cut(x, right_)};
    const parts after = for_loop(
        pairs_of_rounds, before,
        [&](const array& pair, const parts& p) {
          const array high = record(op::add, record(op::shift_left, convert(pair, u64, at_), 33, at_), order_word, at_);
          const array left = mixed(p.first, p.second, high, left_);
          const array next = record(op::add, high, std::uint64_t{1} << 32, at_);
          return parts{left, mixed(p.second, left, next, right_)};
        },
        at_);
    return record(op::bit_or, record(op::shift_left, after.first, right_, at_), after.second, at_);
  }

 private:
  array cut(const array& x, int bits) const { return record(op::bit_and, x, (std::uint64_t{1} << bits) - 1, at_); }
  /// One round: `x` changed by a random function of the other part.
  array mixed(const array& x, const array& other, const array& high, int bits) const {
    const array word = convert(words(op::random32, keys_, other, input_of(high, at_), at_), u64, at_);
    return record(op::bit_xor, x, cut(word, bits), at_);
  }

  array keys_;
  place at_;
  int left_ = 0, right_ = 0;
};

array permuted_positions(const array& keys, std::int64_t n, const place& at) {
  const network net(with_axes(keys, 1, at), n, at);
  const array start = record(op::bit_or, convert(iota(n, at), u64, at), net.fresh(), at);
  shape extents = keys.extents();
  append_extent(extents, n, "permutation", at);
  const array found = while_loop(
      broadcast_to(start, extents, at),
      [&](const array& x) { return record(op::greater_equal, x, static_cast<std::uint64_t>(n), at); },
      [&](const array& x) { return net.applied(x); }, {}, at);
  return convert(found, i64, at);
}

// ---- choice ----

/// Choices of n elements; one that is n, which stands for none, is an index_error at the next wait.
array checked(const array& chosen, std::int64_t n, const place& at) { return take(iota(n, at), chosen, 0, at); }

array is_weight(const array& w, const place& at) {
  return record(op::logical_and, record(op::greater_equal, w, 0, at), record(op::isfinite, w, at), at);
}

array weighted(const array& key, const array& weights, const shape& extents, const place& at) {
  const std::int64_t n = weights.size();
  const array w = convert(weights, f64, at);
  // What is no weight makes a total that is none, without another pass over them.
  const array checked_weights = choose(is_weight(w, at), input_of(w, at), input_of(scalar(not_a_number), at), at);
  const array running = cumsum(checked_weights, 0, at);
  const array total = take(running, constant(n - 1, i64, at), 0, at);
  const array drawn = record(op::multiply, uniform(key, extents, f64, 0, 1, at), total, at);
  // The last element has all that is left, whatever the total was rounded to.
  const array found = record(op::minimum, places_among(running, drawn, true, at), n - 1, at);
  const array positive = record(op::greater, total, 0, at), finite = record(op::isfinite, total, at);
  const array possible = record(op::logical_and, positive, finite, at);
  return checked(choose(possible, input_of(found, at), input_of(scalar(n), at), at), n, at);
}

array weighted_once_each(const array& key, const array& weights, const shape& extents, const place& at) {
  const std::int64_t n = weights.size(), count = extents.size();
  const array w = convert(weights, f64, at);
  const array waits =
      choose(record(op::greater, w, 0, at), input_of(record(op::divide, exponential(key, {n}, f64, 1, at), w, at), at),
             input_of(scalar(std::numeric_limits<double>::infinity()), at), at);
  const array in_order = sorted(waits, at);
  // The element that waits k-th shortest is choice k; elements that nothing chooses are not written.
  const array place_of = places_among(in_order, waits, false, at);
  const array finite = record(op::isfinite, waits, at);
  const array written = choose(finite, input_of(place_of, at), input_of(scalar(n), at), at);
  array chosen = full({n + 1}, n, i64, at);  // what stays so is no choice
  scatter(chosen, written, convert(iota(n, at), i64, at), 0, at);
  const array first = take(chosen, iota(count, at), 0, at);
  const array all_good = all_true(is_weight(w, at), axes(), {}, at);
  return reshape(checked(choose(all_good, input_of(first, at), input_of(scalar(n), at), at), n, at), extents, at);
}

void check_weights(const array& p, std::int64_t n, const place& at) {
  if (!is_real(p.type()))
    throw_type_error(fmt::format("choice: weights are {}, not real numbers", to_string(p.type())), at, "p.astype(f64)");
  if (p.rank() != 1 || p.size() != n)
    throw_shape_error(fmt::format("choice: weights of shape {} for {} elements", to_string(p.extents()), n), at);
}

/// Which of n are chosen.
array chosen_positions(const array& key, std::int64_t n, const shape& extents, const choice_options& options,
                       const place& at) {
  check_key(key, "choice", at);
  const std::int64_t count = positions(extents, i64, "choice", at).size();
  if (n < 0) throw_shape_error(fmt::format("choice: from {} elements", n), at);
  if (options.p) check_weights(*options.p, n, at);
  if (count == 0) return zeros(extents, i64, at);
  if (n == 0) throw_shape_error("choice: there is nothing to choose from", at);
  if (options.replace) return options.p ? weighted(key, *options.p, extents, at) : randint(key, extents, 0, n, i64, at);
  if (count > n)
    throw_shape_error(fmt::format("choice: {} of {} elements without replacement", count, n), at,
                      "{.replace = true} may choose one more than once");
  if (options.p) return weighted_once_each(key, *options.p, extents, at);
  return reshape(take(permutation(key, n, at), iota(count, at), 0, at), extents, at);
}

}  // namespace

array permutation(const array& keys, std::int64_t n, place at) {
  check_keys(keys, "permutation", at);
  if (n < 0 || n > most_ordered) throw_shape_error(fmt::format("permutation: of {} elements", n), at);
  return n <= most_ranked ? ranks(keys, n, at) : permuted_positions(keys, n, at);
}

array shuffle(const array& key, const array& x, int axis, place at) {
  check_key(key, "shuffle", at);
  const int k = checked_axis(axis, x.rank(), "shuffle", at);
  return take(x, permutation(key, x.extents()[k], at), k, at);
}

array choice(const array& key, const array& x, const shape& extents, const choice_options& options, place at) {
  const int k = checked_axis(options.axis, x.rank(), "choice", at);
  return take(x, chosen_positions(key, x.extents()[k], extents, options, at), k, at);
}

array choice(const array& key, std::int64_t n, const shape& extents, const choice_options& options, place at) {
  return chosen_positions(key, n, extents, options, at);
}

}  // namespace sinter::random
