// CUDA C++ for a host compiler, continued: barriers, warps, atomics, fences, clocks, cooperative groups.
// A default argument `line` is the user's line that calls.

// ---- Barriers ----

static inline void __syncthreads(const char* file = __builtin_FILE(), unsigned int line = __builtin_LINE(),
                                 unsigned int site = 0) {
  sinter_emulation::library().barrier(sinter_emulation::barrier_kind::plain, 0, {file, line, site});
}
static inline int __syncthreads_count(int predicate, const char* file = __builtin_FILE(),
                                      unsigned int line = __builtin_LINE(), unsigned int site = 0) {
  return sinter_emulation::library().barrier(sinter_emulation::barrier_kind::count, predicate != 0, {file, line, site});
}
static inline int __syncthreads_and(int predicate, const char* file = __builtin_FILE(),
                                    unsigned int line = __builtin_LINE(), unsigned int site = 0) {
  return sinter_emulation::library().barrier(sinter_emulation::barrier_kind::all, predicate != 0, {file, line, site});
}
static inline int __syncthreads_or(int predicate, const char* file = __builtin_FILE(),
                                   unsigned int line = __builtin_LINE(), unsigned int site = 0) {
  return sinter_emulation::library().barrier(sinter_emulation::barrier_kind::any, predicate != 0, {file, line, site});
}

// Calls in the user's text are told apart even where they stand on one line. (A macro doesn't expand inside itself; in
// parentheses the names are the functions.)
#define __syncthreads() __syncthreads(__builtin_FILE(), __builtin_LINE(), __COUNTER__ + 1)
#define __syncthreads_count(...) \
  __syncthreads_count(__VA_ARGS__, __builtin_FILE(), __builtin_LINE(), __COUNTER__ + 1)
#define __syncthreads_and(...) __syncthreads_and(__VA_ARGS__, __builtin_FILE(), __builtin_LINE(), __COUNTER__ + 1)
#define __syncthreads_or(...) __syncthreads_or(__VA_ARGS__, __builtin_FILE(), __builtin_LINE(), __COUNTER__ + 1)

namespace sinter_emulation {

/// How often this thread of the processor has tried to get hold of something; it lets others run now and then.
static thread_local unsigned int attempts;
static inline void let_others_run() {
  if (++attempts % 256 == 0) library().yield();
}

}  // namespace sinter_emulation

static inline void __threadfence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  sinter_emulation::let_others_run();
}
static inline void __threadfence_block() { __threadfence(); }
static inline void __threadfence_system() { __threadfence(); }
static inline void __nanosleep(unsigned int) { sinter_emulation::library().yield(); }

// ---- Warps ----

namespace sinter_emulation {

static inline unsigned int thread_rank() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
static inline unsigned int lane() { return thread_rank() % 32; }

/// A value of up to eight bytes as a word, and back.
template <class T>
static inline word to_word(T x) {
  static_assert(sizeof(T) <= 8, "values of at most 8 bytes go between the lanes of a warp");
  word w = 0;
  __builtin_memcpy(&w, &x, sizeof(T));
  return w;
}
template <class T>
static inline T from_word(word w) {
  T x;
  __builtin_memcpy(&x, &w, sizeof(T));
  return x;
}

template <class Visit>
static inline void each_lane(unsigned int mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(__builtin_ctz(mask));
}

/// Each lane gets the value of the lane that it brought as its extra; of one not in the mask: its own.
static void combine_shuffle(unsigned int mask, const word* values, const word* extras, word* results) {
  each_lane(mask, [&](int k) { results[k] = values[(mask >> extras[k] & 1) != 0 ? extras[k] : k]; });
}
static void combine_ballot(unsigned int mask, const word* values, const word*, word* results) {
  word votes = 0;
  each_lane(mask, [&](int k) { votes |= (values[k] & 1) << k; });
  each_lane(mask, [&](int k) { results[k] = votes | static_cast<word>(mask) << 32; });
}
static void combine_match(unsigned int mask, const word* values, const word*, word* results) {
  each_lane(mask, [&](int k) {
    results[k] = 0;
    each_lane(mask, [&](int other) { results[k] |= static_cast<word>(values[other] == values[k]) << other; });
  });
}
static void combine_nothing(unsigned int, const word*, const word*, word*) {}

template <class T, class Operation>
static void combine_reduce(unsigned int mask, const word* values, const word*, word* results) {
  T total = from_word<T>(values[__builtin_ctz(mask)]);
  each_lane(mask & (mask - 1), [&](int k) { total = Operation::apply(total, from_word<T>(values[k])); });
  each_lane(mask, [&](int k) { results[k] = to_word(total); });
}
#define SINTER_OPERATION(name, expression) \
  struct name { \
    template <class T> static T apply(T a, T b) { return static_cast<T>(expression); } \
  };
SINTER_OPERATION(adding, a + b)
SINTER_OPERATION(least, b < a ? b : a)
SINTER_OPERATION(greatest, a < b ? b : a)
SINTER_OPERATION(all_bits, a & b)
SINTER_OPERATION(any_bit, a | b)
SINTER_OPERATION(odd_bits, a ^ b)
#undef SINTER_OPERATION

template <class T>
static inline T shuffle(const char* name, unsigned int mask, T x, unsigned int source, const spot& at) {
  return from_word<T>(library().exchange(name, mask, to_word(x), source, combine_shuffle, at));
}
static inline word ballot(const char* name, unsigned int mask, int predicate, const spot& at) {
  return library().exchange(name, mask, predicate != 0, 0, combine_ballot, at);
}

}  // namespace sinter_emulation

static inline void __syncwarp(unsigned int mask = 0xffffffffu, const char* file = __builtin_FILE(),
                              unsigned int line = __builtin_LINE()) {
  sinter_emulation::library().exchange("__syncwarp", mask, 0, 0, sinter_emulation::combine_nothing, {file, line});
}
static inline unsigned int __activemask(const char* file = __builtin_FILE(), unsigned int line = __builtin_LINE()) {
  return sinter_emulation::library().active_mask({file, line});
}

template <class T>
static inline auto __shfl_sync(unsigned int mask, T x, int source, int width = 32,
                               const char* file = __builtin_FILE(), unsigned int line = __builtin_LINE()) {
  const unsigned int mine = sinter_emulation::lane(), segment = static_cast<unsigned int>(width);
  return sinter_emulation::shuffle("__shfl_sync", mask, +x,
                                   (mine & ~(segment - 1)) | (static_cast<unsigned int>(source) & (segment - 1)),
                                   {file, line});
}
template <class T>
static inline auto __shfl_up_sync(unsigned int mask, T x, unsigned int delta, int width = 32,
                                  const char* file = __builtin_FILE(), unsigned int line = __builtin_LINE()) {
  const unsigned int mine = sinter_emulation::lane(), within = mine & (static_cast<unsigned int>(width) - 1);
  return sinter_emulation::shuffle("__shfl_up_sync", mask, +x, delta > within ? mine : mine - delta, {file, line});
}
template <class T>
static inline auto __shfl_down_sync(unsigned int mask, T x, unsigned int delta, int width = 32,
                                    const char* file = __builtin_FILE(), unsigned int line = __builtin_LINE()) {
  const unsigned int mine = sinter_emulation::lane(), segment = static_cast<unsigned int>(width);
  const bool inside = delta < segment && (mine & (segment - 1)) + delta < segment;
  return sinter_emulation::shuffle("__shfl_down_sync", mask, +x, inside ? mine + delta : mine, {file, line});
}
template <class T>
static inline auto __shfl_xor_sync(unsigned int mask, T x, int bits, int width = 32,
                                   const char* file = __builtin_FILE(), unsigned int line = __builtin_LINE()) {
  const unsigned int mine = sinter_emulation::lane(), other = mine ^ static_cast<unsigned int>(bits);
  const unsigned int last = mine | (static_cast<unsigned int>(width) - 1);
  return sinter_emulation::shuffle("__shfl_xor_sync", mask, +x, other > last ? mine : other, {file, line});
}

static inline unsigned int __ballot_sync(unsigned int mask, int predicate, const char* file = __builtin_FILE(),
                                         unsigned int line = __builtin_LINE()) {
  return static_cast<unsigned int>(sinter_emulation::ballot("__ballot_sync", mask, predicate, {file, line}));
}
static inline int __any_sync(unsigned int mask, int predicate, const char* file = __builtin_FILE(),
                             unsigned int line = __builtin_LINE()) {
  return static_cast<unsigned int>(sinter_emulation::ballot("__any_sync", mask, predicate, {file, line})) != 0;
}
static inline int __all_sync(unsigned int mask, int predicate, const char* file = __builtin_FILE(),
                             unsigned int line = __builtin_LINE()) {
  const sinter_emulation::word votes = sinter_emulation::ballot("__all_sync", mask, predicate, {file, line});
  return static_cast<unsigned int>(votes) == votes >> 32;
}
template <class T>
static inline unsigned int __match_any_sync(unsigned int mask, T x, const char* file = __builtin_FILE(),
                                            unsigned int line = __builtin_LINE()) {
  return static_cast<unsigned int>(sinter_emulation::library().exchange(
      "__match_any_sync", mask, sinter_emulation::to_word(x), 0, sinter_emulation::combine_match, {file, line}));
}

#define SINTER_REDUCE(name, operation, T) \
  static inline T name(unsigned int mask, T x, const char* file = __builtin_FILE(), \
                       unsigned int line = __builtin_LINE()) { \
    using namespace sinter_emulation; \
    return from_word<T>( \
        library().exchange(#name, mask, to_word(x), 0, combine_reduce<T, operation>, {file, line})); \
  }
SINTER_REDUCE(__reduce_add_sync, adding, int)
SINTER_REDUCE(__reduce_add_sync, adding, unsigned int)
SINTER_REDUCE(__reduce_min_sync, least, int)
SINTER_REDUCE(__reduce_min_sync, least, unsigned int)
SINTER_REDUCE(__reduce_max_sync, greatest, int)
SINTER_REDUCE(__reduce_max_sync, greatest, unsigned int)
SINTER_REDUCE(__reduce_and_sync, all_bits, unsigned int)
SINTER_REDUCE(__reduce_or_sync, any_bit, unsigned int)
SINTER_REDUCE(__reduce_xor_sync, odd_bits, unsigned int)
#undef SINTER_REDUCE

// ---- Atomics: of the types that CUDA has them for, so that what compiles here compiles there ----

namespace sinter_emulation {

/// Replaces *at by change(*at), undisturbed; what was there.
template <class T, class Change>
static inline T change_at(T* at, Change change) {
  T old = *const_cast<volatile T*>(at), wanted = change(old);
  while (!__atomic_compare_exchange(at, &old, &wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) wanted = change(old);
  return old;
}

}  // namespace sinter_emulation

#define SINTER_ATOMIC(name, T, ...) \
  static inline T name(T* at, T x) { __VA_ARGS__ } \
  static inline T name##_block(T* at, T x) { return name(at, x); } \
  static inline T name##_system(T* at, T x) { return name(at, x); }
#define SINTER_FETCH(name, T, how) SINTER_ATOMIC(name, T, return __atomic_fetch_##how(at, x, __ATOMIC_RELAXED);)
#define SINTER_CHANGE(name, T, expression) \
  SINTER_ATOMIC(name, T, return sinter_emulation::change_at(at, [x](T old) { return static_cast<T>(expression); });)
#define SINTER_EXCHANGE(T) \
  SINTER_ATOMIC(atomicExch, T, sinter_emulation::let_others_run(); T old; \
                __atomic_exchange(at, &x, &old, __ATOMIC_SEQ_CST); return old;)
#define SINTER_SWAP(T) \
  static inline T atomicCAS(T* at, T expected, T wanted) { \
    sinter_emulation::let_others_run(); \
    __atomic_compare_exchange_n(at, &expected, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    return expected; \
  } \
  static inline T atomicCAS_block(T* at, T expected, T wanted) { return atomicCAS(at, expected, wanted); } \
  static inline T atomicCAS_system(T* at, T expected, T wanted) { return atomicCAS(at, expected, wanted); }
#define SINTER_BITS(T) \
  SINTER_FETCH(atomicAnd, T, and) \
  SINTER_FETCH(atomicOr, T, or) \
  SINTER_FETCH(atomicXor, T, xor)
#define SINTER_EXTREMES(T) \
  SINTER_CHANGE(atomicMin, T, x < old ? x : old) \
  SINTER_CHANGE(atomicMax, T, old < x ? x : old)

SINTER_FETCH(atomicAdd, int, add)
SINTER_FETCH(atomicAdd, unsigned int, add)
SINTER_FETCH(atomicAdd, unsigned long long, add)
SINTER_CHANGE(atomicAdd, float, old + x)
SINTER_CHANGE(atomicAdd, double, old + x)
SINTER_FETCH(atomicSub, int, sub)
SINTER_FETCH(atomicSub, unsigned int, sub)
SINTER_BITS(int)
SINTER_BITS(unsigned int)
SINTER_BITS(unsigned long long)
SINTER_EXTREMES(int)
SINTER_EXTREMES(unsigned int)
SINTER_EXTREMES(long long)
SINTER_EXTREMES(unsigned long long)
SINTER_EXCHANGE(int)
SINTER_EXCHANGE(unsigned int)
SINTER_EXCHANGE(unsigned long long)
SINTER_EXCHANGE(float)
SINTER_SWAP(unsigned short)
SINTER_SWAP(int)
SINTER_SWAP(unsigned int)
SINTER_SWAP(unsigned long long)
SINTER_CHANGE(atomicInc, unsigned int, old >= x ? 0 : old + 1)
SINTER_CHANGE(atomicDec, unsigned int, old == 0 || old > x ? x : old - 1)

#undef SINTER_ATOMIC
#undef SINTER_FETCH
#undef SINTER_CHANGE
#undef SINTER_EXCHANGE
#undef SINTER_SWAP
#undef SINTER_BITS
#undef SINTER_EXTREMES

// ---- Clocks ----

static inline long long clock64() {
#if defined(__x86_64__)
  return static_cast<long long>(__builtin_ia32_rdtsc());
#else
  long long now;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
#endif
}
#ifndef SINTER_WITH_LIBRARY
static inline long clock() { return static_cast<long>(clock64()); }
#endif
