// Shifts, and numbers that become integers: behind prelude.cuh.

/// Shifts by the width or more, and by negative counts, move everything out.
//@ shift_left
template <class T, class S>
SINTER_FUNCTION T shift_left(T x, S count) {
  const bool out = static_cast<unsigned long long>(count) >= 8 * sizeof(T);
  return out ? T(0) : static_cast<T>(static_cast<unsigned long long>(x) << (static_cast<unsigned>(count) & 63u));
}

//@ shift_right
template <class T, class S>
SINTER_FUNCTION T shift_right(T x, S count) {
  constexpr unsigned most = 8 * sizeof(T) - 1;
  const bool out = static_cast<unsigned long long>(count) > most;
  if constexpr (is_signed<T>) return static_cast<T>(x >> (out ? most : static_cast<unsigned>(count)));
  else return out ? T(0) : static_cast<T>(x >> (static_cast<unsigned>(count) & most));
}

/// Truncates, saturates, and takes NaN to 0.
//@ to_integer
template <class T, class F>
SINTER_FUNCTION T to_integer(F x) {
  constexpr int bits = 8 * sizeof(T) - (is_signed<T> ? 1 : 0);
  constexpr T most = static_cast<T>(~0ull >> (64 - bits)), least = is_signed<T> ? static_cast<T>(-most - 1) : T(0);
  constexpr F above = static_cast<F>(1ull << (bits - 1)) * 2, below = static_cast<F>(least);
  const bool over = x >= above, under = x < below;
  // Small numbers by hand: GCC makes one truncation of a cast there and back, which would keep the sign of -0.5.
  const bool small = (x > F(-1)) & (x < F(1));
  const F inside = (over | under | small | is_nan(x)) ? F(0) : x;
  return is_nan(x) ? T(0) : over ? most : under ? least : static_cast<T>(inside);
}
