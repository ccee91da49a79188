// The first few of long rows in order (jit/library/select_kernels.cpp); stands after radix_sort.cuh, whose keys, tasks
// and helpers it uses. Digit by digit, the highest first, elements are counted by the digit among those that agree with
// the last wanted one so far; so its key is found, and if more elements have that key than are wanted, its position by
// the same steps. Then all that don't come after it are collected, in no order, and a block sorts them.

constexpr int select_bits = 11, select_bins = 1 << select_bits, select_unroll = 4;

// What is known of a row's last wanted element.
struct selection {
  unsigned long long key, position;  // it isn't after those: bits not looked at yet are 0
  unsigned long long wanted;         // how many of those that agree so far are wanted
  unsigned long long collected;
  unsigned int blocks;               // that have counted in this step
  unsigned int done;                 // key and position are final
};

// A step looks at the bits [low, high) of keys or of positions.
struct select_step {
  int high, low, of_position;
};

__device__ inline unsigned long long bits_from(unsigned long long x, int low) { return low >= 64 ? 0 : x >> low; }

// Begins with nothing known.
__global__ void begin_selection(selection* rows, unsigned long long* counts, long long count, long long wanted) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (long long k = first; k < count; k += step) rows[k] = {0, 0, static_cast<unsigned long long>(wanted), 0, 0, 0};
  for (long long k = first; k < count * select_bins; k += step) counts[k] = 0;
}

// Calls f(key, position) for a part of a row.
template <class Key, class F>
__device__ void for_each_key(const task<Key>& t, long long row, long long begin, long long end, const F& f) {
  const Key* const source = t.source + row * t.length;
  long long at = begin + threadIdx.x;
  for (; at + (select_unroll - 1) * threads < end; at += select_unroll * threads) {
    Key bits[select_unroll];
#pragma unroll
    for (int k = 0; k < select_unroll; ++k) bits[k] = source[at + k * threads];
#pragma unroll
    for (int k = 0; k < select_unroll; ++k) f(t.how.key_of(bits[k]), at + k * threads);
  }
  for (; at < end; at += threads) f(t.how.key_of(source[at]), at);
}

// Counts the digits of a part of a row, in shared memory.
template <class Key>
__device__ void count_agreeing(const task<Key>& t, const selection& now, const select_step& s, long long row,
                               long long begin, long long end, unsigned int* here) {
  for (unsigned int k = threadIdx.x; k < select_bins; k += threads) here[k] = 0;
  __syncthreads();
  const unsigned long long agreed = bits_from(s.of_position ? now.position : now.key, s.high);
  const unsigned int mask = (1u << (s.high - s.low)) - 1;
  for_each_key(t, row, begin, end, [&](Key key, long long at) {
    if (s.of_position && key != static_cast<Key>(now.key)) return;
    const unsigned long long x = s.of_position ? static_cast<unsigned long long>(at) : key;
    if (bits_from(x, s.high) == agreed) atomicAdd(&here[static_cast<unsigned int>(x >> s.low) & mask], 1u);
  });
  __syncthreads();
}

// The digit of the last wanted element, from how many have each: each thread knows that of neighbouring ones. One
// thread finds it, and says in `next` what is known then.
constexpr int bins_of_thread = select_bins / threads;
__device__ inline void find_digit(const selection& now, const select_step& s,
                                  const unsigned long long (&own)[bins_of_thread], unsigned int* totals,
                                  selection* next) {
  // Sums are cut off where more decides nothing, and so fit 32 bits.
  unsigned long long sum = 0;
  for (int k = 0; k < bins_of_thread; ++k) {
    sum += own[k];
    if (sum > now.wanted) sum = now.wanted;
  }
  unsigned long long before = sum_before(static_cast<unsigned int>(sum), totals);
  for (int k = 0; k < bins_of_thread; ++k) {
    if (before < now.wanted && before + own[k] >= now.wanted) {
      selection n = now;
      const unsigned long long digit = static_cast<unsigned long long>(threadIdx.x * bins_of_thread + k) << s.low;
      const unsigned long long rest = s.low > 0 ? ~0ull >> (64 - s.low) : 0;
      n.wanted = now.wanted - before;
      n.blocks = 0;
      n.done = own[k] == n.wanted;  // all of them: what is left of the bits doesn't matter
      if (s.of_position) n.position |= digit | (n.done ? rest : 0);
      else n.key |= digit | (n.done ? rest : 0);
      if (n.done && !s.of_position) n.position = ~0ull;
      *next = n;
    }
    before += own[k];
  }
}

template <class Key>
__device__ bool is_wanted(const selection& last, Key key, long long at) {
  const Key last_key = static_cast<Key>(last.key);
  return key < last_key || (key == last_key && static_cast<unsigned long long>(at) <= last.position);
}

// ---- Rows that many blocks share ----

// One step. The last block of a row to finish finds the digit.
template <class Key>
__global__ void __launch_bounds__(256) narrow_selection(task<Key> t, selection* all, unsigned long long* counts,
                                                        long long parts, long long part_length, select_step s) {
  __shared__ unsigned int here[select_bins];
  __shared__ unsigned int totals[warps];
  __shared__ unsigned int is_last;
  const long long row = blockIdx.x / parts, begin = blockIdx.x % parts * part_length;
  const long long end = begin + part_length < t.length ? begin + part_length : t.length;
  const selection now = all[row];
  if (now.done) return;
  count_agreeing(t, now, s, row, begin, end, here);
  unsigned long long* const of_row = counts + row * select_bins;
  for (unsigned int k = threadIdx.x; k < select_bins; k += threads)
    if (here[k] > 0) atomicAdd(&of_row[k], static_cast<unsigned long long>(here[k]));
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(&all[row].blocks, 1u) == static_cast<unsigned int>(parts) - 1;
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  unsigned long long own[bins_of_thread];
  for (int k = 0; k < bins_of_thread; ++k) {
    volatile unsigned long long* const bin = of_row + threadIdx.x * bins_of_thread + k;
    own[k] = *bin;
    *bin = 0;
  }
  find_digit(now, s, own, totals, &all[row]);
}

// The elements that are wanted, in no order.
template <class Key>
__global__ void __launch_bounds__(256) collect_selection(task<Key> t, selection* all, Key* keys, long long* positions,
                                                         long long parts, long long part_length) {
  const long long row = blockIdx.x / parts, begin = blockIdx.x % parts * part_length;
  const long long end = begin + part_length < t.length ? begin + part_length : t.length;
  const selection last = all[row];
  for_each_key(t, row, begin, end, [&](Key key, long long at) {
    if (!is_wanted(last, key, at)) return;
    const long long to = row * t.kept + static_cast<long long>(atomicAdd(&all[row].collected, 1ull));
    keys[to] = key;
    positions[to] = at;
  });
}

constexpr int most_selected = 2048;

// Sorts a row's wanted elements and gives them out: a power of two of places, the network of sort_short_rows.
template <class Key>
__device__ void sort_selected(const task<Key>& t, long long row, Key* keys, long long* positions, int places) {
  for (int block = 2; block <= places; block *= 2) {
    for (int half = block / 2; half > 0; half /= 2) {
      __syncthreads();
      for (int c = static_cast<int>(threadIdx.x); c < places / 2; c += threads) {
        const int first = c / half * (2 * half), lower = first + c % half;
        const int upper = half == block / 2 ? first + 2 * half - 1 - c % half : lower + half;
        const Key a = keys[lower], b = keys[upper];
        const long long i = positions[lower], j = positions[upper];
        if (a < b || (a == b && i < j)) continue;
        keys[lower] = b, keys[upper] = a;
        positions[lower] = j, positions[upper] = i;
      }
    }
  }
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x); k < t.kept; k += threads) t.finish(row, k, keys[k], positions[k]);
  __syncthreads();
}

template <class Key>
__global__ void __launch_bounds__(256) sort_selection(task<Key> t, const Key* from, const long long* places_from,
                                                      int places) {
  __shared__ Key keys[most_selected];
  __shared__ long long positions[most_selected];
  for (long long row = blockIdx.x; row < t.rows; row += gridDim.x) {
    for (int k = static_cast<int>(threadIdx.x); k < places; k += threads) {
      const bool is_there = k < t.kept;
      keys[k] = is_there ? from[row * t.kept + k] : static_cast<Key>(~Key(0));
      positions[k] = is_there ? places_from[row * t.kept + k] : static_cast<long long>(~0ull >> 1);
    }
    sort_selected(t, row, keys, positions, places);
  }
}

// ---- A block for each row ----

template <class Key>
__global__ void __launch_bounds__(256) select_rows(task<Key> t, int position_bits, int places) {
  __shared__ Key keys[most_selected];
  __shared__ long long positions[most_selected];
  __shared__ unsigned int here[select_bins];
  __shared__ unsigned int totals[warps], collected;
  __shared__ selection now;
  for (long long row = blockIdx.x; row < t.rows; row += gridDim.x) {
    if (threadIdx.x == 0) {
      now = {0, 0, static_cast<unsigned long long>(t.kept), 0, 0, 0};
      collected = 0;
    }
    for (int of_position = 0; of_position < 2; ++of_position) {
      int high = of_position ? position_bits : 8 * static_cast<int>(sizeof(Key));
      while (high > 0) {
        const int low = high > select_bits ? high - select_bits : 0;
        const select_step s{high, low, of_position};
        __syncthreads();
        const selection before = now;
        if (before.done) break;
        count_agreeing(t, before, s, row, 0, t.length, here);
        unsigned long long own[bins_of_thread];
        for (int k = 0; k < bins_of_thread; ++k) own[k] = here[threadIdx.x * bins_of_thread + k];
        find_digit(before, s, own, totals, &now);
        high = low;
      }
    }
    for (int k = static_cast<int>(threadIdx.x); k < places; k += threads) {
      keys[k] = static_cast<Key>(~Key(0));
      positions[k] = static_cast<long long>(~0ull >> 1);
    }
    __syncthreads();
    const selection last = now;
    for_each_key(t, row, 0, t.length, [&](Key key, long long at) {
      if (!is_wanted(last, key, at)) return;
      const unsigned int to = atomicAdd(&collected, 1u);
      keys[to] = key;
      positions[to] = at;
    });
    sort_selected(t, row, keys, positions, places);
  }
}
