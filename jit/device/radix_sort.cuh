// Sorting rows of numbers (jit/library/sort_kernels.cpp). Keys are unsigned integers in the order of the numbers; all
// sorts are stable. Rows of up to 256 elements are sorted by a network, several a block; rows that fit a block by its
// digits in shared memory; longer ones by a pass over memory for each 8-bit digit, each of which reads and writes all
// once: a block finds where its digits go by looking at the counts that the blocks before it have left.
// After Adinets and Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs" (arXiv 2206.01784).

// Blocks have 256 threads: as many as a digit has values.
[[maybe_unused]] constexpr int threads = 256, warps = 8, digits = 256;

// How numbers become keys.
template <class Key>
struct order {
  Key sign;      // the bit that says negative; 0: there is none
  Key infinity;  // the bits of infinity; 0: not floating point
  Key flip;      // all bits for descending order
  Key zero;      // the bits of -0, when it has 0's key; else 0

  __device__ Key key_of(Key bits) const {
    if (infinity != 0) {
      if (static_cast<Key>(bits & ~sign) > infinity) return static_cast<Key>(~flip);  // NaN: after all others
      if (bits == zero) bits = 0;
      return static_cast<Key>(((bits & sign) != 0 ? ~bits : bits | sign) ^ flip);
    }
    return static_cast<Key>(bits ^ sign ^ flip);
  }
  __device__ Key bits_of(Key key) const {
    key = static_cast<Key>(key ^ flip);
    if (infinity != 0) return static_cast<Key>((key & sign) != 0 ? key ^ sign : ~key);
    return static_cast<Key>(key ^ sign);
  }
};

template <class Key>
__device__ unsigned int digit_of(Key key, int pass) {
  return static_cast<unsigned int>(key >> (8 * pass)) & 255u;
}

// The sum of what the threads before this one have.
__device__ unsigned int sum_before(unsigned int x, unsigned int* totals) {
  const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned int sum = x;
  for (unsigned int step = 1; step < 32; step *= 2) {
    const unsigned int other = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == 31) totals[warp] = sum;
  __syncthreads();
  for (unsigned int w = 0; w < warp; ++w) sum += totals[w];
  __syncthreads();
  return sum - x;
}

// Where the k-th key of this thread is in its block: each warp has neighbouring ones.
template <int items>
__device__ unsigned int place_of(int k) {
  return threadIdx.x / 32 * (32 * items) + static_cast<unsigned int>(k) * 32 + threadIdx.x % 32;
}

// Where each of the block's keys goes among them by one digit. Thread d learns how many have digit d, and where the
// first of them goes.
template <class Key, int items>
__device__ void rank_keys(const Key (&keys)[items], int pass, unsigned int (&ranks)[items], unsigned int* counts,
                          unsigned int* totals, unsigned int& total, unsigned int& start) {
  for (unsigned int k = threadIdx.x; k < warps * digits; k += threads) counts[k] = 0;
  __syncthreads();
  unsigned int* const own = counts + threadIdx.x / 32 * digits;
  const unsigned int lanes_before = (1u << threadIdx.x % 32) - 1;
#pragma unroll
  for (int k = 0; k < items; ++k) {
    const unsigned int digit = digit_of(keys[k], pass);
    const unsigned int equal = __match_any_sync(0xffffffffu, digit);
    const unsigned int before = static_cast<unsigned int>(__popc(equal & lanes_before));
    const unsigned int met = own[digit];
    __syncwarp();
    if (before == 0) own[digit] = met + static_cast<unsigned int>(__popc(equal));
    __syncwarp();
    ranks[k] = met + before;
  }
  __syncthreads();
  total = 0;
  for (int w = 0; w < warps; ++w) total += counts[w * digits + threadIdx.x];
  start = sum_before(total, totals);
  unsigned int running = start;
  for (int w = 0; w < warps; ++w) {
    const unsigned int count = counts[w * digits + threadIdx.x];
    counts[w * digits + threadIdx.x] = running;
    running += count;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < items; ++k) ranks[k] += own[digit_of(keys[k], pass)];
}

// What is asked for: `source` [rows, length] in C order; of each row the first `kept` values, their positions, or both
// (null: not wanted).
template <class Key>
struct task {
  const Key* source;
  Key* values;
  long long* positions;
  long long rows, length, kept;
  order<Key> how;

  __device__ void finish(long long row, long long at, Key key, long long position) const {
    if (at >= kept) return;
    if (positions) positions[row * kept + at] = position;
    if (values) values[row * kept + at] = positions ? source[row * length + position] : how.bits_of(key);
  }
};

// ---- Rows of up to 256 elements ----

// Each row has a power of two of places, those at its end of keys that come last. Bitonic merges: the first stage of a
// merge mirrors its block, so that every comparison puts the smaller key first.
template <class Key>
__global__ void __launch_bounds__(256) sort_short_rows(task<Key> t, int places) {
  constexpr int most = 1024;
  __shared__ Key keys[most];
  __shared__ unsigned short positions[most];
  const long long rows_here = most / places, rounds = (t.rows + rows_here - 1) / rows_here;
  for (long long round = blockIdx.x; round < rounds; round += gridDim.x) {
    for (int k = static_cast<int>(threadIdx.x); k < most; k += threads) {
      const long long row = round * rows_here + k / places, at = k % places;
      const bool is_there = row < t.rows && at < t.length;
      keys[k] = is_there ? t.how.key_of(t.source[row * t.length + at]) : static_cast<Key>(~Key(0));
      positions[k] = static_cast<unsigned short>(at);
    }
    for (int block = 2; block <= places; block *= 2) {
      for (int half = block / 2; half > 0; half /= 2) {
        __syncthreads();
        for (int c = static_cast<int>(threadIdx.x); c < most / 2; c += threads) {
          const int first = c / half * (2 * half), lower = first + c % half;
          const int upper = half == block / 2 ? first + 2 * half - 1 - c % half : lower + half;
          const Key a = keys[lower], b = keys[upper];
          const unsigned short i = positions[lower], j = positions[upper];
          if (a < b || (a == b && i < j)) continue;
          keys[lower] = b, keys[upper] = a;
          positions[lower] = j, positions[upper] = i;
        }
      }
    }
    __syncthreads();
    for (int k = static_cast<int>(threadIdx.x); k < most; k += threads) {
      const long long row = round * rows_here + k / places, at = k % places;
      if (row < t.rows && at < t.length) t.finish(row, at, keys[k], positions[k]);
    }
    __syncthreads();
  }
}

// ---- Rows that a block holds ----

template <class Key, int items>
__global__ void __launch_bounds__(256) sort_rows(task<Key> t) {
  __shared__ Key shared_keys[threads * items];
  __shared__ unsigned short shared_positions[threads * items];
  __shared__ unsigned int counts[warps * digits], totals[warps];
  for (long long row = blockIdx.x; row < t.rows; row += gridDim.x) {
    Key keys[items];
    unsigned short positions[items];
    unsigned int ranks[items], total = 0, start = 0;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const unsigned int at = place_of<items>(k);
      keys[k] = at < t.length ? t.how.key_of(t.source[row * t.length + at]) : static_cast<Key>(~Key(0));
      positions[k] = static_cast<unsigned short>(at);
    }
    for (int pass = 0; pass < static_cast<int>(sizeof(Key)); ++pass) {
      rank_keys<Key, items>(keys, pass, ranks, counts, totals, total, start);
#pragma unroll
      for (int k = 0; k < items; ++k) {
        shared_keys[ranks[k]] = keys[k];
        shared_positions[ranks[k]] = positions[k];
      }
      __syncthreads();
#pragma unroll
      for (int k = 0; k < items; ++k) {
        keys[k] = shared_keys[place_of<items>(k)];
        positions[k] = shared_positions[place_of<items>(k)];
      }
    }
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const unsigned int at = place_of<items>(k);
      if (at < t.length) t.finish(row, at, keys[k], positions[k]);
    }
    __syncthreads();
  }
}

// ---- Longer rows ----

__global__ void clear_words(unsigned long long* words, long long count) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long k = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; k < count; k += step) words[k] = 0;
}

// How often each digit has each value in each row: counts[row][pass][digit]. A block counts in a part of a row. Equal
// digits in a row are added at once: numbers often have the same high bytes.
template <class Key, class Count>
__global__ void __launch_bounds__(256)
    count_digits(task<Key> t, Count* counts, long long parts, long long part_length) {
  constexpr int passes = static_cast<int>(sizeof(Key));
  __shared__ unsigned int here[passes * digits];
  for (unsigned int k = threadIdx.x; k < passes * digits; k += threads) here[k] = 0;
  __syncthreads();
  const long long row = blockIdx.x / parts, begin = blockIdx.x % parts * part_length;
  const long long end = begin + part_length < t.length ? begin + part_length : t.length;
  unsigned int last[passes], runs[passes];
#pragma unroll
  for (int p = 0; p < passes; ++p) last[p] = 0, runs[p] = 0;
  for (long long at = begin + threadIdx.x; at < end; at += threads) {
    const Key key = t.how.key_of(t.source[row * t.length + at]);
#pragma unroll
    for (int p = 0; p < passes; ++p) {
      const unsigned int digit = digit_of(key, p);
      if (digit != last[p]) {
        if (runs[p] > 0) atomicAdd(&here[p * digits + static_cast<int>(last[p])], runs[p]);
        last[p] = digit;
        runs[p] = 0;
      }
      ++runs[p];
    }
  }
#pragma unroll
  for (int p = 0; p < passes; ++p)
    if (runs[p] > 0) atomicAdd(&here[p * digits + static_cast<int>(last[p])], runs[p]);
  __syncthreads();
  for (unsigned int k = threadIdx.x; k < passes * digits; k += threads)
    if (here[k] > 0) atomicAdd(&counts[row * (passes * digits) + k], static_cast<Count>(here[k]));
}

// Between passes: keys, and the positions they came from.
template <class Key, class Index>
struct step {
  const Key* keys;
  const Index* positions;
  Key* next_keys;
  Index* next_positions;
};

// A word for each block and digit: how many elements of the row have that digit in this block (state 1), or in all
// blocks so far plus those with smaller digits (state 2). Words that are left from earlier passes have smaller states.
template <class Count>
struct progress {
  static constexpr int shift = static_cast<int>(8 * sizeof(Count)) - 5;
  static constexpr Count mask = (Count(1) << shift) - 1;
  static __device__ Count word(int pass, int state, Count count) {
    return static_cast<Count>(static_cast<Count>(2 * pass + state) << shift | count);
  }
};

// One digit. Tickets order the blocks: all that a block waits for have begun.
template <class Key, class Index, class Count, int items, bool with_positions>
__global__ void __launch_bounds__(256) sort_digit(task<Key> t, step<Key, Index> s, const Count* counts, Count* found,
                                                  unsigned long long* tickets, long long blocks_of_row, int pass) {
  constexpr int most = threads * items, passes = static_cast<int>(sizeof(Key));
  __shared__ Key shared_keys[most];
  __shared__ Index shared_positions[with_positions ? most : 1];
  __shared__ unsigned int rank_counts[warps * digits], totals[warps];
  __shared__ Count first_place[digits];
  __shared__ unsigned long long ticket;
  if (threadIdx.x == 0) ticket = atomicAdd(&tickets[pass], 1ull);
  __syncthreads();
  const long long number = static_cast<long long>(ticket), row = number / blocks_of_row, block = number % blocks_of_row;
  const long long begin = block * most, rest = t.length - begin;
  const unsigned int valid = rest < most ? static_cast<unsigned int>(rest) : most;
  Key keys[items];
  Index positions[items];
  unsigned int ranks[items], total = 0, start = 0;
#pragma unroll
  for (int k = 0; k < items; ++k) {
    const unsigned int at = place_of<items>(k);
    const long long from = row * t.length + begin + at;
    keys[k] = static_cast<Key>(~Key(0));
    positions[k] = 0;
    if (at >= valid) continue;
    keys[k] = pass == 0 ? t.how.key_of(t.source[from]) : s.keys[from];
    if (with_positions) positions[k] = pass == 0 ? static_cast<Index>(begin + at) : s.positions[from];
  }
  rank_keys<Key, items>(keys, pass, ranks, rank_counts, totals, total, start);
  if (threadIdx.x == digits - 1) total -= most - valid;  // the keys that fill up the block are its last ones

  volatile Count* const own = found + number * digits + threadIdx.x;
  Count before = 0;
  if (block == 0) {
    const Count of_digit = counts[(row * passes + pass) * digits + threadIdx.x];
    first_place[threadIdx.x] = of_digit;
    for (unsigned int distance = 1; distance < digits; distance *= 2) {
      __syncthreads();
      const Count other = threadIdx.x >= distance ? first_place[threadIdx.x - distance] : Count(0);
      __syncthreads();
      first_place[threadIdx.x] += other;
    }
    before = first_place[threadIdx.x] - of_digit;
  } else {
    *own = progress<Count>::word(pass, 1, static_cast<Count>(total));
    for (volatile Count* other = own - digits;;) {
      const Count word = *other;
      const int state = static_cast<int>(word >> progress<Count>::shift) - 2 * pass;
      if (state < 1) continue;
      before += static_cast<Count>(word & progress<Count>::mask);
      if (state == 2) break;
      other -= digits;
    }
  }
  *own = progress<Count>::word(pass, 2, static_cast<Count>(before + total));
  first_place[threadIdx.x] = static_cast<Count>(before - start);
#pragma unroll
  for (int k = 0; k < items; ++k) {
    shared_keys[ranks[k]] = keys[k];
    if (with_positions) shared_positions[ranks[k]] = positions[k];
  }
  __syncthreads();
  for (unsigned int k = threadIdx.x; k < valid; k += threads) {
    const Key key = shared_keys[k];
    const long long to = static_cast<long long>(static_cast<Count>(first_place[digit_of(key, pass)] + k));
    if (pass == passes - 1) {
      t.finish(row, to, key, with_positions ? static_cast<long long>(shared_positions[k]) : 0);
    } else {
      s.next_keys[row * t.length + to] = key;
      if (with_positions) s.next_positions[row * t.length + to] = shared_positions[k];
    }
  }
}
