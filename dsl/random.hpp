// Random numbers as a pure function of a key and of an element's position: no state, the same on every device, in any
// order, in any kernel. All functions are lazy: they record and launch nothing; the numbers are made inside the kernels
// that use them, and take no memory unless they are evaluated on their own.
//
//   array keys = random::split(random::key(7), 2);
//   array x = random::uniform(keys(0), {n}, f32), y = random::uniform(keys(1), {n}, f32);
//   array inside = mean((x * x + y * y < 1).astype(f32));      // one launch, no array
//
// A key is an array of u64, of any shape: one key is 0-d. Functions of keys [k..] draw for each of them by itself: keys
// [k..] and extents [s..] give [k.., s..]. Use a key for one drawing only: what is drawn twice from one key is the same
// numbers, or shares bits with them. split() and fold_in() make new keys.
//
// The bits are a contract. Words come from Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy
// as 1, 2, 3", SC 2011), whose counter has two halves of 64 bits. word32(k, i) is 32-bit word i % 4 of the block of
// counter {i / 4, 0} under key k; word64(k, i) is words 2 i and 2 i + 1 of them, the low one first. With i the position
// of an element among those of its key, in C order:
//   bits      8, 16 and 32 bit: the low bits of word32(i); 64 bit: word64(i)
//   uniform   f16: 11, bf16: 8, f32: 24 high bits of word32(i); f64: 53 high bits of word64(i); over 2^11, 2^8, ..
//   normal    Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958: elements 2 j and 2 j + 1 are
//             r cos(t) and r sin(t), r = sqrt(-2 log((a + 1) / 2^b)), t = 2 pi c / 2^b; a and c are word32 2 j and
//             2 j + 1 (b = 32) for f16, bf16 and f32, word64 2 j and 2 j + 1 (b = 64) for f64. A complex number is
//             such a pair divided by sqrt(2): (2 i, 2 i + 1)
//   exponential  -log((a + 1) / 2^b) with a word32(i), or word64(i) for f64
//   randint   low + the whole part of word64(i) * (high - low) / 2^64; where high - low > 2^32, of the 128-bit number
//             with low half word64(2 i) and high half word64(2 i + 1) instead, over 2^128
//   bernoulli word64(i) < p 2^64
//   fold_in   the 64-bit word of counter {data, 1} (its low half); split: of counter {i, 2}
// bits, keys, randint, bernoulli, uniform and permutation are the same to the last bit on every executor. normal and
// exponential go through the executor's log and cos: the same to a few units in the last place of r, in strict mode,
// too, as no two libraries round alike. On the cpu that holds between kernels, too: those of vector code and of the
// elements it leaves over are not the same functions.
#pragma once

#include "array.hpp"
#include "maybe.hpp"

#include <cstdint>

namespace sinter::random {

/// The key that a seed stands for, which is the seed: 0-d u64. Philox's streams under neighbouring keys pass the tests
/// that its streams pass.
array key(std::uint64_t seed, place at = place::here());
/// `count` new keys of each key: [k..] -> [k.., count]. Throws shape_error for negative counts.
array split(const array& keys, std::int64_t count = 2, place at = place::here());
/// A new key for each of `data`, a C++ integer or an array of integers, lazy or a state of a loop as it may be:
/// broadcast together. type_error for other data. Two of n different keys or data are equal by chance with probability
/// n^2 / 2^65.
array fold_in(const array& keys, const operand& data, place at = place::here());

// Everything below: [k..] keys and extents [s..] give [k.., s..]. type_error for keys that aren't u64, shape_error for
// negative extents, and numbers that make no distribution, at the line of the call.

/// Random bits: unsigned integers of any width (else type_error).
array bits(const array& keys, const shape& extents = {}, dtype type = u32, place at = place::here());
/// low <= x < high, each of the steps 2^-11 (f16), 2^-8 (bf16), 2^-24 (f32), 2^-53 (f64) between 0 and 1 equally
/// likely, scaled and rounded. Real dtypes (else type_error). shape_error unless low < high are finite in the dtype,
/// and so is high - low.
array uniform(const array& keys, const shape& extents = {}, dtype type = f64, double low = 0, double high = 1,
              place at = place::here());
/// The normal distribution. Reals and complex numbers; these have E|x - mean|^2 = stddev^2. Extremes that can be drawn,
/// in units of stddev: 6.6 in f16, bf16 and f32, 9.4 in f64; what is beyond has probability 4e-11 and 5e-21.
/// shape_error for a negative stddev, and unless both are finite.
array normal(const array& keys, const shape& extents = {}, dtype type = f64, double mean = 0, double stddev = 1,
             place at = place::here());
/// Integers low <= x < high in `type` (else type_error); both must fit it, but for a high that is one past its end. Of
/// h = high - low numbers none is more or less likely than 1 / h by more than 2^-64 (2^-128 where h > 2^32), so that it
/// would take above 2^64 draws to see a difference; where h is a power of two there is none. shape_error unless low <
/// high.
array randint(const array& keys, const shape& extents, const scalar& low, const scalar& high, dtype type = i64,
              place at = place::here());
/// Boolean: true with probability p, to 2^-64. shape_error unless 0 <= p <= 1. For an array of probabilities:
/// uniform(keys, p.extents(), f64) < p.
array bernoulli(const array& keys, double p = 0.5, const shape& extents = {}, place at = place::here());
/// The exponential distribution of mean `scale`, which is 1 / rate: real dtypes (else type_error). At most 22.2 (f64:
/// 44.4) times scale. shape_error unless scale is positive and finite.
array exponential(const array& keys, const shape& extents = {}, dtype type = f64, double scale = 1,
                  place at = place::here());

/// 0 .. n - 1 in random order: [k..] -> i64 [k.., n]. Each element is found by itself, so that parts, gathers through
/// it, and n beyond memory cost only what is used. Up to 256 elements, the ranks of 64-bit random words: every order
/// equally likely (to 2^-47), for n words an element. More: a Feistel network of 8 rounds (Luby and Rackoff, "How to
/// Construct Pseudorandom Permutations from Pseudorandom Functions", 1988) with Philox as its functions, applied until
/// the number is below n (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002): at most 2 times on
/// average, 8 Philox blocks each. That is one of 2^64 permutations, as there are keys, not of all n!; where n is a
/// power of two, an even one, always. Tests of first elements, pairs, ascents and fixed points find no other
/// difference; not for cryptography. shape_error for negative n and beyond 2^62.
array permutation(const array& keys, std::int64_t n, place at = place::here());
/// The slices of x along `axis` in random order: take(x, permutation(key, n), axis). One key (else shape_error).
array shuffle(const array& key, const array& x, int axis = 0, place at = place::here());

/// What choice takes by name.
struct choice_options {
  bool replace = true;  ///< whether something may be chosen more than once
  int axis = 0;         ///< what is chosen: slices along it
  maybe<array> p = {};  ///< weights, real [n], not negative: how likely each is, times any constant
};
/// Slices of x along an axis, chosen at random: [.., n, ..] and extents [s..] give [.., s.., ..], in the order of
/// choice. One key (else shape_error). shape_error for more than n without replacement, for n = 0, and for weights of
/// another shape; type_error for weights that aren't real. Without weights: elements of randint, or of permutation;
/// lazy, one launch. With weights: their running sum, where each choice searches for a uniform number in log2(n) steps;
/// two launches; on cuda the last bit of that sum may differ from run to run (scan.hpp), and with it a choice in 10^14.
/// With weights and without replacement: the least of n exponential numbers divided by the weights
/// (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006); these are sorted, which is not lazy
/// and takes about log2(n)^2 / 4 launches over n elements. Where the weights allow no choice, index n is chosen, an
/// index_error at the next wait: when a weight is negative, infinite or NaN, when all are zero, and without replacement
/// when fewer than the chosen elements are positive.
array choice(const array& key, const array& x, const shape& extents = {}, const choice_options& options = {},
             place at = place::here());
/// The same of the numbers 0 .. n - 1: i64.
array choice(const array& key, std::int64_t n, const shape& extents = {}, const choice_options& options = {},
             place at = place::here());

}  // namespace sinter::random
