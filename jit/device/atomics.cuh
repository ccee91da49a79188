// Elements in memory that many threads combine values with.
//
//   combine_at(address, [&](S old) { return new; })   any element type S of 1, 2, 4 or 8 bytes, any operation
//   add_at(address, x)                                sums of whole and real numbers and, part by part, complex ones

//@ word_of
// The unsigned integer as wide as an element.
template <int bytes> struct word_of;
template <> struct word_of<1> { using type = unsigned char; };
template <> struct word_of<2> { using type = unsigned short; };
template <> struct word_of<4> { using type = unsigned int; };
template <> struct word_of<8> { using type = unsigned long long; };

//@cuda swap_if_equal
// Puts `wanted` in place of `expected`; what was there. Bytes are swapped within their word.
template <class W>
SINTER_FUNCTION W swap_if_equal(W* at, W expected, W wanted) { return atomicCAS(at, expected, wanted); }

SINTER_FUNCTION unsigned char swap_if_equal(unsigned char* at, unsigned char expected, unsigned char wanted) {
  const unsigned long long address = reinterpret_cast<unsigned long long>(at);
  unsigned int* const word = reinterpret_cast<unsigned int*>(address & ~3ull);
  const unsigned shift = static_cast<unsigned>(address & 3) * 8;
  unsigned int seen = *reinterpret_cast<volatile unsigned int*>(word);
  while ((seen >> shift & 0xffu) == expected) {
    const unsigned int whole = seen, changed = (whole & ~(0xffu << shift)) | static_cast<unsigned>(wanted) << shift;
    seen = atomicCAS(word, whole, changed);
    if (seen == whole) return expected;
  }
  return static_cast<unsigned char>(seen >> shift & 0xffu);
}

//@host swap_if_equal
// Puts `wanted` in place of `expected`; what was there.
template <class W>
static inline W swap_if_equal(W* at, W expected, W wanted) {
  __atomic_compare_exchange_n(at, &expected, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}

//@ combine_at
// Replaces an element by combine(element), undisturbed by others.
template <class S, class F>
SINTER_FUNCTION void combine_at(S* address, F combine) {
  using word = typename word_of<sizeof(S)>::type;
  word* const at = reinterpret_cast<word*>(address);
  word seen = *reinterpret_cast<volatile word*>(at);
  for (;;) {
    union bits {
      word whole;
      S element;
      SINTER_MEMBER bits(word w) : whole(w) {}
    };
    bits now(seen);
    const word expected = seen;
    now.element = combine(now.element);
    if (now.whole == expected) return;
    seen = swap_if_equal(at, expected, now.whole);
    if (seen == expected) return;
  }
}

//@cuda add_at
SINTER_FUNCTION void add_at(int* at, int x) { atomicAdd(at, x); }
SINTER_FUNCTION void add_at(unsigned int* at, unsigned int x) { atomicAdd(at, x); }
SINTER_FUNCTION void add_at(long long* at, long long x) {
  atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(x));
}
SINTER_FUNCTION void add_at(unsigned long long* at, unsigned long long x) { atomicAdd(at, x); }
SINTER_FUNCTION void add_at(float* at, float x) { atomicAdd(at, x); }
SINTER_FUNCTION void add_at(double* at, double x) { atomicAdd(at, x); }

//@host add_at
template <class T>
static inline void add_at(T* at, T x) {
  if constexpr (T(1) / T(2) == T(0)) __atomic_fetch_add(at, x, __ATOMIC_RELAXED);
  else combine_at(at, [x](T old) { return old + x; });
}

//@ add_at with complex
template <class T>
SINTER_FUNCTION void add_at(complex<T>* at, complex<T> x) {
  add_at(&at->re, x.re);
  add_at(&at->im, x.im);
}

//@cuda same_bits
template <class T>
SINTER_FUNCTION bool same_bits(T a, T b) {
  typename word_of<sizeof(T)>::type x, y;
  memcpy(&x, &a, sizeof(T));
  memcpy(&y, &b, sizeof(T));
  return x == y;
}

//@cuda block_table
// Elements [first, first + count) of an array, in shared memory while the block runs: 1 << shift copies of each next to
// each other, which the lanes of a warp share.
template <class T, class I>
struct block_table {
  T* own;
  I first;
  int count, shift;
  SINTER_MEMBER static T nothing() { return T(1) / T(2) == T(0) ? T(0) : -T(0); }  // -0 + x is x, whatever x
  SINTER_MEMBER void clear() {
    for (int k = threadIdx.x; k < count << shift; k += blockDim.x) own[k] = nothing();
  }
  SINTER_MEMBER void add(I at, T x) const {
    const I k = at - first;
    if (k >= 0 && k < count) add_at(&own[(static_cast<int>(k) << shift) + (threadIdx.x & ((1 << shift) - 1))], x);
  }
  template <class S>
  SINTER_MEMBER void add_to(S* array) const {
    const T zero = nothing();
    for (int k = threadIdx.x; k < count; k += blockDim.x) {
      T sum = nothing();
      for (int c = 0; c < 1 << shift; ++c) sum += own[(k << shift) + ((c + threadIdx.x) & ((1 << shift) - 1))];
      if (!same_bits(sum, zero)) add_at(&array[first + k], static_cast<S>(sum));
    }
  }
};
