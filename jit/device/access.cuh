// How generated kernels reach memory: checked indices, several elements at once, division of indices.

//@ index_fault
// The first bad index of a launch; the host reads it after waiting.
struct index_fault {
  int set, ordinal;
  long long launch, index, size, position;
};

//@cuda claim
// Whether this thread is the first.
SINTER_FUNCTION bool claim(int* flag) { return atomicCAS(flag, 0, 1) == 0; }

//@host claim
// Whether this thread is the first.
static inline bool claim(int* flag) {
  int expected = 0;
  return __atomic_compare_exchange_n(flag, &expected, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

//@cuda publish_fault
// After claim(): what this thread wrote since is there.
SINTER_FUNCTION void publish_fault(int* flag) {
  __threadfence();
  atomicExch(flag, 2);
}

//@host publish_fault
// After claim(): what this thread wrote since is there.
static inline void publish_fault(int* flag) { __atomic_store_n(flag, 2, __ATOMIC_RELEASE); }

//@ checked_index
// The element that a user's index means, counted from the end when negative. A bad one is reported and gives 0.
template <class I, class X>
SINTER_FUNCTION I checked_index(X index, long long size, bool& good, index_fault* fault, long long launch, int ordinal,
                                long long position) {
  // Unsigned indices past 2^63 would come out negative.
  const bool huge = !is_signed<X> && static_cast<unsigned long long>(index) >> 63 != 0;
  const long long wanted = huge ? 0x7fffffffffffffff : static_cast<long long>(index);
  const long long at = wanted < 0 ? wanted + size : wanted;
  good = at >= 0 && at < size;
  if (good) return static_cast<I>(at);
  if (claim(&fault->set)) {
    fault->ordinal = ordinal;
    fault->launch = launch;
    fault->index = wanted;
    fault->size = size;
    fault->position = position;
    publish_fault(&fault->set);
  }
  return 0;
}

//@ pack
// Neighbours in memory, moved together.
template <class T, int N>
struct alignas(sizeof(T) * N) pack {
  T at[N];
};

//@ load_pack
template <class T, int N>
SINTER_FUNCTION pack<T, N> load_pack(const T* from, bool aligned) {
  if (aligned) return *reinterpret_cast<const pack<T, N>*>(from);
  pack<T, N> result;
  for (int k = 0; k < N; ++k) result.at[k] = from[k];
  return result;
}

//@ store_pack
template <class T, int N>
SINTER_FUNCTION void store_pack(T* to, const pack<T, N>& v, bool aligned) {
  if (aligned) {
    *reinterpret_cast<pack<T, N>*>(to) = v;
    return;
  }
  for (int k = 0; k < N; ++k) to[k] = v.at[k];
}

//@cuda stream_pack
// store_pack() of what nobody reads soon: it leaves the cache to what is read again and again.
template <class T, int N>
SINTER_FUNCTION void stream_pack(T* to, const pack<T, N>& v, bool aligned) {
  if (sizeof(pack<T, N>) != 16 || !aligned) return store_pack(to, v, aligned);
  int4 bytes;
  memcpy(&bytes, &v, sizeof(pack<T, N>) == 16 ? 16 : 0);
  __stcs(reinterpret_cast<int4*>(to), bytes);
}

//@ fast_divide
// n / divisor for n < 2^31; multiplier and shift belong to the divisor.
SINTER_FUNCTION unsigned fast_divide(unsigned n, unsigned multiplier, unsigned shift) {
  return (static_cast<unsigned>(static_cast<unsigned long long>(n) * multiplier >> 32) + n) >> shift;
}
