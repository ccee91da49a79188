#include "dsl/random.hpp"

#include "dsl/create.hpp"
#include "dsl/random_internal.hpp"
#include "dsl/shape_ops.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace sinter::random {

using jit::op;

void check_keys(const array& keys, std::string_view function, const place& at) {
  if (keys.type() != u64)
    throw_type_error(fmt::format("{}: a key is u64, not {}", function, to_string(keys.type())), at,
                     "random::key(seed) makes one");
}

void check_key(const array& key, std::string_view function, const place& at) {
  check_keys(key, function, at);
  if (key.rank() != 0)
    throw_shape_error(fmt::format("{}: takes one key, not keys of shape {}", function, to_string(key.extents())), at,
                      "keys(0) is one of them");
}

array positions(const shape& extents, dtype type, std::string_view function, const place& at) {
  shape checked;
  for (const std::int64_t extent : extents) append_extent(checked, extent, function, at);
  checked_bytes(checked, type, at);
  if (checked.rank() == 0) return constant(0, u64, at);
  return convert(reshape(iota(checked.size(), at), checked, at), u64, at);
}

array with_axes(const array& keys, int rank, const place& at) {
  if (keys.rank() == 0 || rank == 0) return keys;
  shape extents = keys.extents();
  for (int k = 0; k < rank; ++k) append_extent(extents, 1, "random", at);
  return reshape(keys, extents, at);
}

array words(op code, const array& keys, const array& numbers, const jit::input& high, const place& at) {
  const jit::input in[] = {input_of(keys, at), input_of(numbers, at), high};
  return wrap(jit::record(code, in, at));
}

namespace {

jit::input high_word(purpose p, const place& at) { return input_of(scalar(static_cast<std::uint64_t>(p)), at); }

/// What a function draws for each element of its result.
struct drawing {
  array keys, numbers;
  place at;

  drawing(const array& keys_, const shape& extents, dtype type, std::string_view function, const place& at_) : at(at_) {
    check_keys(keys_, function, at);
    numbers = positions(extents, type, function, at);
    keys = with_axes(keys_, extents.rank(), at);
  }

  array word32(const array& number) const {
    return words(op::random32, keys, number, high_word(purpose::drawing, at), at);
  }
  array word64(const array& number) const {
    return words(op::random64, keys, number, high_word(purpose::drawing, at), at);
  }
  array word32() const { return word32(numbers); }
  array word64() const { return word64(numbers); }
};

array shifted(const array& x, int by, const place& at) { return record(op::shift_right, x, by, at); }
array times(const array& x, const scalar& factor, const place& at) { return record(op::multiply, x, factor, at); }
array masked(const array& x, std::uint64_t mask, const place& at) { return record(op::bit_and, x, mask, at); }

[[noreturn]] void throw_not_real(std::string_view function, dtype type, const place& at) {
  throw_type_error(fmt::format("{}: not defined for {}", function, to_string(type)), at,
                   is_integer(type) ? "random::randint draws integers"
                                    : "random::normal draws complex numbers, random::bernoulli booleans");
}

/// The dtype that numbers of `type` are computed in.
dtype computed_type(dtype type) { return size_of(type) == 2 ? f32 : type; }

/// Whole numbers below 2^31 as floats: signed ones convert in vector registers.
array small_number(const array& x, dtype type, const place& at) { return convert(convert(x, i32, at), type, at); }

/// [0, 1) in steps of the dtype's precision: exact.
array unit(const drawing& d, dtype type) {
  const place& at = d.at;
  if (type == f64) {  // two numbers that fit 31 bits; their sum is exact
    const array word = d.word64();
    const array high = times(small_number(shifted(word, 37, at), f64, at), 0x1p-27, at);
    const array low = times(small_number(masked(shifted(word, 11, at), (1u << 26) - 1, at), f64, at), 0x1p-53, at);
    return record(op::add, high, low, at);
  }
  const int kept = type == f32 ? 24 : type == f16 ? 11 : 8;
  return times(small_number(shifted(d.word32(), 32 - kept, at), f32, at), std::ldexp(1.0, -kept), at);
}

/// (x + 1) / 2^b for words x of b bits: in (0, 1], the smallest numbers the most exact.
array positive_unit(const array& word, dtype type, const place& at) {
  const array above = record(op::add, convert(word, type, at), 1, at);
  return times(above, type == f64 ? 0x1p-64 : 0x1p-32, at);
}

double rounded_to(double x, dtype type) {
  switch (type) {
    case dtype::f16:
      return static_cast<double>(static_cast<float>(float16(static_cast<float>(x))));
    case dtype::bf16:
      return static_cast<double>(static_cast<float>(bfloat16(static_cast<float>(x))));
    case dtype::f32:
      return static_cast<double>(static_cast<float>(x));
    default:
      return x;
  }
}

/// The greatest number of the dtype below `x`, which is one of them.
double number_below(double x, dtype type) {
  if (type == f64) return std::nextafter(x, -std::numeric_limits<double>::infinity());
  if (type == f32) return std::nextafter(static_cast<float>(x), -std::numeric_limits<float>::infinity());
  const double digits = type == f16 ? 11 : 8, least = type == f16 ? -24 : -133;
  if (x == 0) return -std::ldexp(1.0, static_cast<int>(least));
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);  // a step is half as wide below a power of two
  const int step = exponent - static_cast<int>(digits) - (fraction == 0.5 ? 1 : 0);
  return x - std::ldexp(1.0, std::max(step, static_cast<int>(least)));
}

struct interval {
  double low, high, width;
};

interval checked_interval(double low, double high, dtype type, const place& at) {
  const interval r{rounded_to(low, type), rounded_to(high, type), rounded_to(high, type) - rounded_to(low, type)};
  if (!(low < high) || !std::isfinite(low) || !std::isfinite(high))
    throw_shape_error(fmt::format("uniform: no numbers from {} to below {}", low, high), at);
  if (!(r.low < r.high))
    throw_shape_error(fmt::format("uniform: {} and {} are one {}", low, high, to_string(type)), at);
  if (!std::isfinite(r.high) || !std::isfinite(r.low) || !std::isfinite(rounded_to(r.width, type)))
    throw_shape_error(fmt::format("uniform: from {} to {} is more than {} can hold", low, high, to_string(type)), at);
  return r;
}

void check_finite(double x, std::string_view name, std::string_view function, const place& at) {
  if (!std::isfinite(x)) throw_shape_error(fmt::format("{}: the {} is {}", function, name, x), at);
}

/// r cos(t) of normal()'s pair of words, where t is `second` of 2^b turns.
array half_of_pair(const array& first, const array& second, double minus_factor, dtype type, const place& at) {
  const array log = record(op::log, positive_unit(first, type, at), at);
  const array r = record(op::sqrt, times(log, minus_factor, at), at);
  const bool wide = type == f64;
  const array turns = convert(convert(second, wide ? i64 : i32, at), type, at);  // t from -pi to pi, the same angle
  const double turn = 2 * std::numbers::pi * (wide ? 0x1p-64 : 0x1p-32);
  return record(op::multiply, r, record(op::cos, times(turns, turn, at), at), at);
}

/// A quarter of a turn back where `odd` is 1: the sine's angle becomes the cosine's.
array turned(const array& angle, const array& odd, int quarter, const place& at) {
  return record(op::subtract, angle, record(op::shift_left, odd, quarter, at), at);
}

/// The two words that normal() makes pair `j` of.
struct word_pair {
  array first, second;

  word_pair(const drawing& d, const array& j, bool wide) {
    const place& at = d.at;
    if (wide) {
      const array even = record(op::shift_left, j, 1, at);
      first = d.word64(even);
      second = d.word64(record(op::bit_or, even, 1, at));
    } else {
      const array both = d.word64(j);
      first = convert(both, u32, at);
      second = convert(shifted(both, 32, at), u32, at);
    }
  }
};

array normal_real(const drawing& d, dtype type) {
  const place& at = d.at;
  const bool wide = type == f64;
  const word_pair pair(d, shifted(d.numbers, 1, at), wide);
  const array odd = convert(masked(d.numbers, 1, at), wide ? u64 : u32, at);
  return half_of_pair(pair.first, turned(pair.second, odd, wide ? 62 : 30, at), -2, type, at);
}

array normal_complex(const drawing& d, dtype part) {
  const place& at = d.at;
  const bool wide = part == f64;
  const word_pair pair(d, d.numbers, wide);
  const array quarter = constant(std::uint64_t{1} << (wide ? 62 : 30), wide ? u64 : u32, at);
  const array re = half_of_pair(pair.first, pair.second, -1, part, at);
  const array im = half_of_pair(pair.first, record(op::subtract, pair.second, quarter, at), -1, part, at);
  return record(op::make_complex, re, im, at);
}

// ---- randint ----

/// The low 64 bits of an integer of any sign, which must fit `type`.
std::uint64_t integer_bits(const scalar& x, std::string_view name, const place& at) {
  if (x.type == i64) return static_cast<std::uint64_t>(x.as_i64);
  if (x.type == u64) return x.as_u64;
  throw_type_error(fmt::format("randint: {} is no integer", name), at, "random::uniform draws real numbers");
}

bool is_below(const scalar& a, const scalar& b) {
  const bool a_negative = a.type == i64 && a.as_i64 < 0, b_negative = b.type == i64 && b.as_i64 < 0;
  if (a_negative != b_negative) return a_negative;
  return a_negative ? a.as_i64 < b.as_i64 : a.as_u64 < b.as_u64;  // the same bits where both are signed
}

/// The high 64 bits of x * factor.
array high_product(const array& x, std::uint64_t factor, const place& at) {
  const std::uint64_t lower = factor & 0xffffffffu, upper = factor >> 32;
  const array low = masked(x, 0xffffffffu, at), high = shifted(x, 32, at);
  const array a = record(op::add, times(high, lower, at), shifted(times(low, lower, at), 32, at), at);
  const array b = record(op::add, times(low, upper, at), masked(a, 0xffffffffu, at), at);
  const array sum = record(op::add, times(high, upper, at), shifted(a, 32, at), at);
  return record(op::add, sum, shifted(b, 32, at), at);
}

/// Whole numbers below `count`, which is not 0.
array below(const drawing& d, std::uint64_t count) {
  const place& at = d.at;
  if (count <= std::uint64_t{1} << 32) {
    const array word = d.word64();
    const array low = shifted(times(masked(word, 0xffffffffu, at), count, at), 32, at);
    return shifted(record(op::add, times(shifted(word, 32, at), count, at), low, at), 32, at);
  }
  const array even = record(op::shift_left, d.numbers, 1, at);
  const array low = d.word64(even), high = d.word64(record(op::bit_or, even, 1, at));
  const array carried = high_product(low, count, at), sum = record(op::add, times(high, count, at), carried, at);
  const array carry = convert(record(op::less, sum, carried, at), u64, at);
  return record(op::add, high_product(high, count, at), carry, at);
}

}  // namespace

array key(std::uint64_t seed, place at) { return constant(seed, u64, at); }

array split(const array& keys, std::int64_t count, place at) {
  check_keys(keys, "split", at);
  shape extents;
  append_extent(extents, count, "split", at);
  const array numbers = positions(extents, u64, "split", at);
  return words(op::random64, with_axes(keys, 1, at), numbers, high_word(purpose::splitting, at), at);
}

array fold_in(const array& keys, const operand& data, place at) {
  check_keys(keys, "fold_in", at);
  const dtype type = data.node() ? data.node()->type : data.number().type;
  if (!is_integer(type))
    throw_type_error(fmt::format("fold_in: data are {}, not integers", to_string(type)), at, "data.astype(i64)");
  const array numbers = data.node() ? wrap(jit::make_convert(data.node(), u64, at))
                                    : constant(integer_bits(data.number(), "data", at), u64, at);
  return words(op::random64, keys, numbers, high_word(purpose::folding, at), at);
}

array bits(const array& keys, const shape& extents, dtype type, place at) {
  if (kind_of(type) != kind::unsigned_integer)
    throw_type_error(fmt::format("bits: not defined for {}", to_string(type)), at,
                     "random::randint has signed numbers");
  const drawing d(keys, extents, type, "bits", at);
  return type == u64 ? d.word64() : convert(d.word32(), type, at);
}

array uniform(const array& keys, const shape& extents, dtype type, double low, double high, place at) {
  if (!is_real(type)) throw_not_real("uniform", type, at);
  const interval r = checked_interval(low, high, type, at);
  array x = unit(drawing(keys, extents, type, "uniform", at), type);
  if (r.low == 0 && r.high == 1) return convert(x, type, at);
  // The minimum changes nothing, but keeps the product from being fused into the sum on some devices only.
  x = record(op::minimum, times(x, r.width, at), r.width, at);
  if (r.low != 0) x = record(op::add, x, r.low, at);
  return record(op::minimum, convert(x, type, at), number_below(r.high, type), at);
}

array normal(const array& keys, const shape& extents, dtype type, double mean, double stddev, place at) {
  if (is_integer_or_bool(type)) throw_not_real("normal", type, at);
  check_finite(mean, "mean", "normal", at);
  check_finite(stddev, "standard deviation", "normal", at);
  if (stddev < 0) throw_shape_error(fmt::format("normal: a standard deviation of {}", stddev), at);
  const drawing d(keys, extents, type, "normal", at);
  array x = is_complex(type) ? normal_complex(d, type == c64 ? f32 : f64) : normal_real(d, computed_type(type));
  if (stddev != 1) x = times(x, stddev, at);
  if (mean != 0) x = record(op::add, x, mean, at);
  return convert(x, type, at);
}

array randint(const array& keys, const shape& extents, const scalar& low, const scalar& high, dtype type, place at) {
  if (!is_integer(type))
    throw_type_error(fmt::format("randint: not defined for {}", to_string(type)), at,
                     is_real(type) ? "random::uniform draws real numbers" : "");
  const std::uint64_t first = integer_bits(low, "low", at), end = integer_bits(high, "high", at);
  if (!is_below(low, high)) throw_shape_error("randint: low is not below high", at, "high itself is never drawn");
  const bool negative_end = high.type == i64 && high.as_i64 < 0;
  const scalar last = negative_end || high.type == i64 ? scalar(static_cast<std::int64_t>(end - 1)) : scalar(end - 1);
  jit::make_scalar(low, type, at);  // both ends must fit
  jit::make_scalar(last, type, at);
  const array offset = below(drawing(keys, extents, type, "randint", at), end - first);
  return convert(first == 0 ? offset : record(op::add, offset, first, at), type, at);
}

array bernoulli(const array& keys, double p, const shape& extents, place at) {
  if (!(p >= 0 && p <= 1)) throw_shape_error(fmt::format("bernoulli: {} is no probability", p), at);
  const drawing d(keys, extents, boolean, "bernoulli", at);
  const array word = d.word64();
  if (p == 1) return record(op::greater_equal, word, std::uint64_t{0}, at);
  return record(op::less, word, static_cast<std::uint64_t>(std::ldexp(p, 64)), at);
}

array exponential(const array& keys, const shape& extents, dtype type, double scale, place at) {
  if (!is_real(type)) throw_not_real("exponential", type, at);
  if (!(scale > 0) || !std::isfinite(scale)) throw_shape_error(fmt::format("exponential: a scale of {}", scale), at);
  const drawing d(keys, extents, type, "exponential", at);
  const dtype computed = computed_type(type);
  const array word = computed == f64 ? d.word64() : d.word32();
  const array x = times(record(op::log, positive_unit(word, computed, at), at), -scale, at);
  return convert(x, type, at);
}

}  // namespace sinter::random
