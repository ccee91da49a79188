// How the threads of a block share loops, and put together what each of them found. Threads go by their number along
// the block's only axis; functions that synchronize are called by all threads
// of the block.

//@ load_some
// The first `left` of N neighbours; zeros after them.
template <class T, int N>
SINTER_FUNCTION pack<T, N> load_some(const T* from, int left, bool aligned) {
  if (left >= N) return load_pack<T, N>(from, aligned);
  pack<T, N> result = {};
  for (int k = 0; k < N; ++k)
    if (k < left) result.at[k] = from[k];
  return result;
}

//@ store_some
template <class T, int N>
SINTER_FUNCTION void store_some(T* to, const pack<T, N>& v, int left, bool aligned) {
  if (left >= N) return store_pack(to, v, aligned);
  for (int k = 0; k < N; ++k)
    if (k < left) to[k] = v.at[k];
}

//@cuda team_of
// Threads that share loops: nx next to each other along the innermost counter, times ny along the others.
struct team_of {
  int nx, ny, size;
  int x, y, thread;  // this one's place in the team
  int number;        // its team's among those of the block
  SINTER_MEMBER explicit team_of(unsigned long long shape) {
    const int across = static_cast<int>(shape & 255), down = static_cast<int>(shape >> 8 & 255);
    nx = 1 << across;
    ny = 1 << down;
    size = nx * ny;
    thread = static_cast<int>(threadIdx.x) & (size - 1);
    x = thread & (nx - 1);
    y = thread >> across;
    number = static_cast<int>(threadIdx.x) >> (across + down);
  }
};

//@cuda each_vector
// Runs step(first, left, loads) on L neighbours at a time; what `fetch` loads for U of them is on its way before the
// first is needed. Whole: the count is a multiple of L.
template <int L, int U, bool Whole, class I, class Fetch, class Step>
SINTER_FUNCTION void each_vector(I first, I stride, I count, const Fetch& fetch, const Step& step) {
  const I last = count - L - (U - 1) * stride;
  for (; first <= last; first += U * stride) {
    decltype(fetch(first, L)) ahead[U];
#pragma unroll
    for (int u = 0; u < U; ++u) ahead[u] = fetch(first + u * stride, L);
#pragma unroll
    for (int u = 0; u < U; ++u) step(first + u * stride, L, ahead[u]);
  }
  for (; first < count; first += stride) {
    const int left = Whole || count - first >= L ? L : static_cast<int>(count - first);
    step(first, left, fetch(first, left));
  }
}

//@cuda each_kept
// Likewise for at most K vectors, whose numbers `fetch` and `step` are told, too: places in arrays that stay in
// registers.
template <int L, int K, bool Whole, class I, class Fetch, class Step>
SINTER_FUNCTION void each_kept(I first, I stride, I count, const Fetch& fetch, const Step& step) {
  decltype(fetch(first, L, 0)) ahead[K];
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const I at = first + k * stride;
    const int left = Whole || count - at >= L ? L : static_cast<int>(count - at);
    if (at < count) ahead[k] = fetch(at, left, k);
  }
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const I at = first + k * stride;
    const int left = Whole || count - at >= L ? L : static_cast<int>(count - at);
    if (at < count) step(at, left, ahead[k], k);
  }
}

//@cuda each_late
// Likewise, where loads are short ways: what many threads read stays near, and would only take registers early.
template <int L, int K, bool Whole, class I, class Fetch, class Step>
SINTER_FUNCTION void each_late(I first, I stride, I count, const Fetch& fetch, const Step& step) {
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const I at = first + k * stride;
    const int left = Whole || count - at >= L ? L : static_cast<int>(count - at);
    if (at < count) step(at, left, fetch(at, left, k), k);
  }
}

//@cuda shuffled
// What thread `source` of the warp holds; anything that may be copied as bytes.
template <class A>
SINTER_FUNCTION A shuffled(const A& mine, int source) {
  constexpr int words = (sizeof(A) + 3) / 4;
  unsigned word[words] = {};
  memcpy(word, &mine, sizeof(A));
#pragma unroll
  for (int k = 0; k < words; ++k) word[k] = __shfl_sync(0xffffffffu, word[k], source);
  A other;
  memcpy(&other, word, sizeof(A));
  return other;
}

//@cuda merge_warp
// Each thread gets what the first of its size neighbours makes of what all of them have found, so that all have the
// same bits. Size: a power of two up to 32.
template <class A>
SINTER_FUNCTION void merge_warp(A& mine, int size) {
  const int lane = static_cast<int>(threadIdx.x & 31);
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2)
    if (distance < size) mine.merge(shuffled(mine, lane ^ distance));
  mine = shuffled(mine, lane & ~(size - 1));
}

//@cuda size_class
// Accumulators of about the same size use the same shared memory, however many a kernel has.
template <int bytes>
SINTER_FUNCTION constexpr int size_class() {
  return bytes <= 32 ? 32 : bytes <= 96 ? 96 : 256;
}

//@cuda unqualified
template <class T>
struct unqualified {
  using type = T;
};
template <class T>
struct unqualified<T&> {
  using type = T;
};

//@cuda merge_memory
template <int bytes>
SINTER_FUNCTION unsigned char* merge_memory() {
  __shared__ __align__(16) unsigned char scratch[bytes];
  return scratch;
}

//@cuda merge_team
// Each thread gets what all of its team have found, merged in the same order at each launch.
template <int threads, class A>
SINTER_FUNCTION void merge_team(A& mine, const team_of& own) {
  if (own.size == 1) return;
  merge_warp(mine, own.size < 32 ? own.size : 32);
  if (own.size <= 32) return;
  const int warps = own.size / 32;
  A* const found = reinterpret_cast<A*>(merge_memory<threads / 32 * size_class<sizeof(A)>()>()) + own.number * warps;
  __syncthreads();  // others may still read what the last merge left
  if (own.thread % 32 == 0) found[own.thread / 32] = mine;
  __syncthreads();
  mine = found[own.thread & (warps - 1)];
  merge_warp(mine, warps);
}

//@cuda merge_down
// Each thread gets what those with its x have found, for each of its L lanes: `part(mine[lane])` is what is merged.
// Half of the threads leave theirs for the other half, again and again; several lanes at a time where memory allows it,
// since it is waiting for each other that takes time.
template <int threads, int L, class T, class Part>
SINTER_FUNCTION void merge_down(T (&mine)[L], const Part& part, const team_of& own) {
  if (own.ny == 1) return;
  using A = typename unqualified<decltype(part(mine[0]))>::type;
  constexpr int of_lane = threads / 2 * size_class<sizeof(A)>(), fit = 16384 / of_lane;
  constexpr int together = fit < 1 ? 1 : fit < L ? fit : L;
  A* const found = reinterpret_cast<A*>(merge_memory<together * of_lane>());
  const auto leave = [&](int begin, bool mine_too, int place) {
#pragma unroll
    for (int l = 0; l < together; ++l)
      if (mine_too && begin + l < L) found[l * (threads / 2) + place] = part(mine[begin + l]);
  };
#pragma unroll
  for (int begin = 0; begin < L; begin += together) {
    for (int half = own.ny / 2; half > 0; half /= 2) {
      __syncthreads();
      leave(begin, own.y >= half && own.y < 2 * half, own.thread - half * own.nx);
      __syncthreads();
#pragma unroll
      for (int l = 0; l < together; ++l)
        if (own.y < half && begin + l < L) part(mine[begin + l]).merge(found[l * (threads / 2) + own.thread]);
    }
    __syncthreads();
    leave(begin, own.y == 0, own.x);
    __syncthreads();
#pragma unroll
    for (int l = 0; l < together; ++l)
      if (begin + l < L) part(mine[begin + l]) = found[l * (threads / 2) + own.x];
  }
}

//@cuda last_to_arrive
// Whether this block is the last of `count` that come here; it sees what the others wrote before. The ticket is 0 again
// then.
SINTER_FUNCTION bool last_to_arrive(unsigned* ticket, unsigned count) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(ticket, 1u) == count - 1;
    if (last) *ticket = 0;
  }
  __syncthreads();
  __threadfence();
  return last;
}

//@cuda wait_for_grid
// All blocks of the grid, which run at the same time, wait here for each other, and then see what any of them wrote
// before. The counter's highest bit turns once all have arrived; the others are 0 again then.
SINTER_FUNCTION void wait_for_grid(unsigned* arrivals) {
  __syncthreads();
  if (threadIdx.x == 0 && gridDim.x > 1) {
    __threadfence();
    const unsigned own = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1u, before = atomicAdd(arrivals, own);
    while (((*(volatile unsigned*)arrivals ^ before) & 0x80000000u) == 0) {}
    __threadfence();
  }
  __syncthreads();
}

//@cuda scan_warp
// What the thread and those before it among its size neighbours have found, in their order.
template <class A>
SINTER_FUNCTION A scan_warp(A mine, int thread, int size) {
  const int lane = static_cast<int>(threadIdx.x & 31);
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    if (distance >= size) break;
    A before = shuffled(mine, lane - distance);
    if ((thread & (size - 1)) < distance) continue;
    before.merge(mine);
    mine = before;
  }
  return mine;
}

//@cuda scan_team
// What the threads before this one in its team have found, behind `carry`, which then gets what the whole team has
// found.
template <int threads, class A>
SINTER_FUNCTION A scan_team(const A& mine, A& carry, const team_of& own) {
  const int lane = static_cast<int>(threadIdx.x & 31), width = own.size < 32 ? own.size : 32;
  const int begin = lane & ~(width - 1);  // of the team, or of the warp
  const A upto = scan_warp(mine, own.thread, width);
  A total = shuffled(upto, begin + width - 1), before = shuffled(upto, lane - 1), result = carry;
  if (own.size > 32) {
    __shared__ __align__(16) unsigned char scratch[threads / 32 * sizeof(A)];
    const int warps = own.size / 32, warp = own.thread / 32;
    A* const found = reinterpret_cast<A*>(scratch) + own.number * warps;
    __syncthreads();  // others may still read what the last scan left
    if (lane == 0) found[warp] = total;
    __syncthreads();
    const A upto_warp = scan_warp(found[lane & (warps - 1)], lane, warps);
    total = shuffled(upto_warp, warps - 1);
    const A before_warp = shuffled(upto_warp, warp - 1);
    if (warp > 0) result.merge(before_warp);
  }
  if (lane > begin) result.merge(before);
  carry.merge(total);
  return result;
}

//@cuda pack_of
template <class T, int L>
SINTER_FUNCTION pack<T, L> pack_of(const T (&x)[L]) {
  pack<T, L> p;
#pragma unroll
  for (int l = 0; l < L; ++l) p.at[l] = x[l];
  return p;
}

//@cuda unpack
template <class T, int L>
SINTER_FUNCTION void unpack(const pack<T, L>& p, T (&x)[L]) {
#pragma unroll
  for (int l = 0; l < L; ++l) x[l] = p.at[l];
}

//@cuda exchange_place
// Where the bytes of a warp's values stand in shared memory while they change hands: 16 in 144 are left out, so that
// neither order of reading meets a bank twice.
SINTER_FUNCTION constexpr int exchange_place(int byte) { return byte + byte / 128 * 16; }

//@cuda exchange_memory
// The same for all that are of one size.
template <int bytes>
SINTER_FUNCTION unsigned char* exchange_memory() {
  __shared__ __align__(16) unsigned char scratch[bytes];
  return scratch;
}

//@cuda exchange_of_warp
// The warp's part of it, of so many bytes a thread.
template <int threads, int bytes_of_thread>
SINTER_FUNCTION unsigned char* exchange_of_warp() {
  constexpr int size = exchange_place(32 * bytes_of_thread);
  return exchange_memory<threads / 32 * size>() + static_cast<int>(threadIdx.x) / 32 * size;
}

//@cuda to_blocked
// K vectors a thread, those of the warp's threads next to each other, become K * L neighbours a thread. The memory has
// room for values of `bytes` bytes.
template <int threads, int bytes, int K, int L, class T>
SINTER_FUNCTION void to_blocked(T (&x)[K][L]) {
  unsigned char* const scratch = exchange_of_warp<threads, K * L * bytes>();
  const int lane = static_cast<int>(threadIdx.x & 31), size = static_cast<int>(sizeof(pack<T, L>));
  __syncwarp();  // others may still read what was here
#pragma unroll
  for (int k = 0; k < K; ++k)
    *reinterpret_cast<pack<T, L>*>(scratch + exchange_place((k * 32 + lane) * size)) = pack_of(x[k]);
  __syncwarp();
#pragma unroll
  for (int k = 0; k < K; ++k)
    unpack(*reinterpret_cast<const pack<T, L>*>(scratch + exchange_place((lane * K + k) * size)), x[k]);
}

//@cuda to_striped
// And back.
template <int threads, int bytes, int K, int L, class T>
SINTER_FUNCTION void to_striped(T (&x)[K][L]) {
  unsigned char* const scratch = exchange_of_warp<threads, K * L * bytes>();
  const int lane = static_cast<int>(threadIdx.x & 31), size = static_cast<int>(sizeof(pack<T, L>));
  __syncwarp();
#pragma unroll
  for (int k = 0; k < K; ++k)
    *reinterpret_cast<pack<T, L>*>(scratch + exchange_place((lane * K + k) * size)) = pack_of(x[k]);
  __syncwarp();
#pragma unroll
  for (int k = 0; k < K; ++k)
    unpack(*reinterpret_cast<const pack<T, L>*>(scratch + exchange_place((k * 32 + lane) * size)), x[k]);
}

/// Tiles of rows that several blocks scan (Merrill and Garland 2016, "Single-pass parallel prefix scan with decoupled
/// look-back"). Tickets: the next tile, blocks that are done, two unused, then four words for each scan and tile: the
/// bytes of what was found, if they fit into two, and a flag, 1: what the tile itself has found, 2: all up to its end.
/// Larger ones are in the workspace.
//@cuda next_tile
// Tiles are handed out in order, so that whoever is waited for has begun. Between two calls the block's threads must
// have waited for each other.
SINTER_FUNCTION unsigned next_tile(unsigned* tickets) {
  __shared__ unsigned tile;
  if (threadIdx.x == 0) tile = atomicAdd(tickets, 1u);
  __syncthreads();
  return tile;
}

//@cuda bring_near
// Elements that somebody will read soon are fetched into the device's cache, so that who waits for a tile's total
// doesn't wait for memory, too. One thread in eight asks, for 128 bytes.
template <class T>
SINTER_FUNCTION void bring_near(const T* at, bool there) {
  if (threadIdx.x % 8 == 0 && there) asm volatile("prefetch.global.L2 [%0];" : : "l"(at));
}

//@cuda tile_state
// Four words that are read and written at once.
struct alignas(16) tile_state {
  unsigned bytes[2], flag, unused;
};

//@cuda load_state
// With `ordered`, what the writer had written before is there, too.
SINTER_FUNCTION tile_state load_state(const tile_state* at, bool ordered) {
  tile_state s;
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(s.bytes[0]), "=r"(s.bytes[1]), "=r"(s.flag), "=r"(s.unused)
               : "l"(at)
               : "memory");
  if (ordered) __threadfence();
  return s;
}

//@cuda store_state
SINTER_FUNCTION void store_state(tile_state* at, const tile_state& s, bool ordered) {
  if (ordered) __threadfence();
  asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(at), "r"(s.bytes[0]), "r"(s.bytes[1]), "r"(s.flag), "r"(s.unused)
               : "memory");
}

//@cuda finish_tiles
// Called when the block has looked back for the last time: the last one leaves the tickets as they were.
SINTER_FUNCTION void finish_tiles(unsigned* tickets, unsigned blocks, unsigned tiles, unsigned scans) {
  if (!last_to_arrive(tickets + 1, blocks)) return;
  tile_state* const states = reinterpret_cast<tile_state*>(tickets + 4);
  for (unsigned k = threadIdx.x; k < tiles * scans; k += blockDim.x) states[k] = tile_state{};
  if (threadIdx.x == 0) *tickets = 0;
}

//@cuda look_back
// What the tiles before this one in its row have found. The first warp looks at 32 of them at a time, its first thread
// at the nearest; the others wait.
template <class A>
SINTER_FUNCTION A look_back(const A& mine, unsigned* tickets, void* workspace, unsigned scan, long long row,
                            long long tile, long long tiles) {
  constexpr bool fits = sizeof(A) <= 8;
  static_assert(sizeof(A) <= 32, "places in the workspace have 32 bytes");
  __shared__ __align__(16) unsigned char found[sizeof(A)];
  tile_state* const states = reinterpret_cast<tile_state*>(tickets + 4) + scan * tiles + row;
  unsigned char* const places = static_cast<unsigned char*>(workspace) + (scan * tiles + row) * 64;
  const int lane = static_cast<int>(threadIdx.x);
  const auto publish = [&](const A& x, unsigned flag) {
    if (lane != 0) return;
    tile_state s = {{0, 0}, flag, 0};
    if (fits) memcpy(s.bytes, &x, fits ? sizeof(A) : 0);
    else memcpy(places + tile * 64 + (flag - 1) * 32, &x, sizeof(A));
    store_state(states + tile, s, !fits);
  };
  if (lane < 32) {
    publish(mine, tile == 0 ? 2 : 1);
    A earlier = A();
    bool more = tile > 0;
    for (long long nearest = tile - 1; more; nearest -= 32) {
      const long long at = nearest - lane;
      tile_state s = {{0, 0}, 2, 0};  // before the row there is nothing
      if (at >= 0) {
        do s = load_state(states + at, !fits);
        while (s.flag == 0);
      }
      const unsigned whole = __ballot_sync(0xffffffffu, s.flag == 2);
      const int last = whole == 0 ? 31 : __ffs(static_cast<int>(whole)) - 1;
      A theirs = A();
      if (at >= 0 && lane <= last) {
        if (fits) memcpy(&theirs, s.bytes, fits ? sizeof(A) : 0);
        else memcpy(&theirs, places + at * 64 + (s.flag - 1) * 32, sizeof(A));
      }
#pragma unroll
      for (int distance = 1; distance < 32; distance *= 2) {  // those further back come first
        A further = shuffled(theirs, lane + distance);
        if (lane + distance >= 32) continue;
        further.merge(theirs);
        theirs = further;
      }
      theirs.merge(earlier);  // right in the first thread
      earlier = theirs;
      more = whole == 0;
    }
    if (lane == 0) {
      memcpy(found, &earlier, sizeof(A));
      earlier.merge(mine);
      if (tile > 0) publish(earlier, 2);
    }
  }
  __syncthreads();
  A earlier;
  memcpy(&earlier, found, sizeof(A));
  return earlier;
}
