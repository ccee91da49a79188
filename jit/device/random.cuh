/// Philox4x32-10: jit/philox.hpp says what it is, and does the same on the host. Loops around these functions become
/// vector code only when they are inlined, and neighbours share a block only when its number is seen to be the same.

//@ philox_words
struct philox_words {
  unsigned a, b, c, d;
};

/// High and low halves of products: apart, where the compiler would else go on with 64 bits.
//@cuda philox_round
SINTER_FUNCTION philox_words philox_round(philox_words x, unsigned k, unsigned l) {
  return {__umulhi(0xcd9e8d57u, x.c) ^ x.b ^ k, 0xcd9e8d57u * x.c, __umulhi(0xd2511f53u, x.a) ^ x.d ^ l,
          0xd2511f53u * x.a};
}

//@host philox_round
__attribute__((always_inline)) SINTER_FUNCTION philox_words philox_round(philox_words x, unsigned k, unsigned l) {
  const unsigned long long p = 0xd2511f53ull * x.a, q = 0xcd9e8d57ull * x.c;
  return {static_cast<unsigned>(q >> 32) ^ x.b ^ k, static_cast<unsigned>(q),
          static_cast<unsigned>(p >> 32) ^ x.d ^ l, static_cast<unsigned>(p)};
}

//@ philox
// The block of random words that counter {low, high} has under the key.
__attribute__((always_inline)) SINTER_FUNCTION philox_words philox(unsigned long long key, unsigned long long low,
                                                                   unsigned long long high) {
  const unsigned k = static_cast<unsigned>(key), l = static_cast<unsigned>(key >> 32);
  philox_words x = {static_cast<unsigned>(low), static_cast<unsigned>(low >> 32), static_cast<unsigned>(high),
                    static_cast<unsigned>(high >> 32)};
  x = philox_round(x, k, l);
  x = philox_round(x, k + 1 * 0x9e3779b9u, l + 1 * 0xbb67ae85u);
  x = philox_round(x, k + 2 * 0x9e3779b9u, l + 2 * 0xbb67ae85u);
  x = philox_round(x, k + 3 * 0x9e3779b9u, l + 3 * 0xbb67ae85u);
  x = philox_round(x, k + 4 * 0x9e3779b9u, l + 4 * 0xbb67ae85u);
  x = philox_round(x, k + 5 * 0x9e3779b9u, l + 5 * 0xbb67ae85u);
  x = philox_round(x, k + 6 * 0x9e3779b9u, l + 6 * 0xbb67ae85u);
  x = philox_round(x, k + 7 * 0x9e3779b9u, l + 7 * 0xbb67ae85u);
  x = philox_round(x, k + 8 * 0x9e3779b9u, l + 8 * 0xbb67ae85u);
  return philox_round(x, k + 9 * 0x9e3779b9u, l + 9 * 0xbb67ae85u);
}

//@ random32
// Word `number` of the blocks of counters {0, high}, {1, high}, ...
__attribute__((always_inline)) SINTER_FUNCTION unsigned random32(unsigned long long key, unsigned long long number,
                                                                 unsigned long long high) {
  const philox_words x = philox(key, number >> 2, high);
  const unsigned low_pair = number & 1 ? x.b : x.a, high_pair = number & 1 ? x.d : x.c;
  return number & 2 ? high_pair : low_pair;
}

//@ random64
// The same in words of 64 bits.
__attribute__((always_inline)) SINTER_FUNCTION unsigned long long random64(unsigned long long key,
                                                                           unsigned long long number,
                                                                           unsigned long long high) {
  const philox_words x = philox(key, number >> 1, high);
  const unsigned low = number & 1 ? x.c : x.a, upper = number & 1 ? x.d : x.b;
  return low | static_cast<unsigned long long>(upper) << 32;
}
