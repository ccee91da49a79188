// Scans along columns in tiles of rows: threads next to each other have neighbouring columns, those below take further
// rows, and what stands above a tile is looked up in what other blocks have found ("decoupled look-back", as in
// team.cuh; here each column has a prefix of its own, and 32 columns share a flag).

//@cuda column_memory
// For what the threads of a block have found; one memory for all scans.
template <int bytes>
SINTER_FUNCTION unsigned char* column_memory() {
  __shared__ __align__(16) unsigned char scratch[bytes];
  return scratch;
}

//@cuda column_tiles
// Where the flags and findings are of a tile, one of several below each other, and of its columns.
struct column_tiles {
  unsigned* flags;       // of the warp's columns: of all tiles in order; 0: nothing, 1: the tile's own, 2: all above, too
  void* found;           // of all columns, two for each tile
  long long tile, columns;
};

//@cuda read_flag
SINTER_FUNCTION unsigned read_flag(const unsigned* at) {
  unsigned flag;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(flag) : "l"(at) : "memory");
  return flag;
}

//@cuda publish_columns
// By whole warps: what each column has found, then the flag.
template <class A>
SINTER_FUNCTION void publish_columns(const A& x, const column_tiles& at, int column, unsigned flag) {
  static_assert(sizeof(A) <= 32, "places in the workspace have 32 bytes");
  if (column < at.columns) static_cast<A*>(at.found)[(at.tile * 2 + flag - 1) * at.columns + column] = x;
  __threadfence();
  __syncwarp();
  if (threadIdx.x % 32 == 0)
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(at.flags + at.tile), "r"(flag) : "memory");
}

//@cuda look_up_columns
// What the tiles above this one have found for a column. By whole warps, which look at 32 flags at a time.
template <class A>
SINTER_FUNCTION A look_up_columns(const column_tiles& at, int column) {
  const A* const found = static_cast<const A*>(at.found);
  const int lane = static_cast<int>(threadIdx.x & 31);
  A earlier = A();
  bool more = at.tile > 0;
  for (long long nearest = at.tile - 1; more; nearest -= 32) {
    unsigned flag = 2, whole = 0;  // above the columns there is nothing
    do {
      if (nearest - lane >= 0) flag = read_flag(at.flags + nearest - lane);
      whole = __ballot_sync(0xffffffffu, flag == 2);
      // All tiles down to the first whole one must have found something.
      const unsigned wanted = whole == 0 ? 0xffffffffu : (whole & (0u - whole)) - 1u;
      if ((__ballot_sync(0xffffffffu, flag != 0) & wanted) == wanted) break;
    } while (true);
    __threadfence();
    const int last = whole == 0 ? 31 : __ffs(static_cast<int>(whole)) - 1;
    const unsigned whose = __shfl_sync(0xffffffffu, flag, last);
    A theirs = A();
    if (column < at.columns && nearest - last >= 0) {
      theirs = found[((nearest - last) * 2 + whose - 1) * at.columns + column];
#pragma unroll 8
      for (int k = last - 1; k >= 0; --k) theirs.merge(found[(nearest - k) * 2 * at.columns + column]);
    }
    theirs.merge(earlier);
    earlier = theirs;
    more = whole == 0;
  }
  return earlier;
}

//@cuda scan_down
// `before`: what stands above each of this thread's L columns: in the rows of threads above it, and in other tiles. At
// most 32 threads are next to each other.
// `mine`: what its own rows have found.
template <int threads, int L, class A>
SINTER_FUNCTION void scan_down(const A (&mine)[L], A (&before)[L], const team_of& own, const column_tiles& at) {
  static_assert(sizeof(A) <= 32, "so large are places in the workspace");
  A* const found = reinterpret_cast<A*>(column_memory<(threads + 32) * L * sizeof(A)>());
  const int width = own.nx * L, column = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int l = 0; l < L; ++l) found[own.y * width + own.x * L + l] = mine[l];
  __syncthreads();
  if (column < (width + 31) / 32 * 32) {  // whole warps
    A total = A();
    if (column < width)
      for (int y = 0; y < own.ny; ++y) {
        const A here = found[y * width + column];
        found[y * width + column] = total;
        total.merge(here);
      }
    publish_columns(total, at, column, at.tile == 0 ? 2u : 1u);
    A earlier = look_up_columns<A>(at, column);
    if (column < width) found[own.ny * width + column] = earlier;
    if (at.tile > 0) {
      earlier.merge(total);
      publish_columns(earlier, at, column, 2u);
    }
  }
  __syncthreads();
#pragma unroll
  for (int l = 0; l < L; ++l) {
    before[l] = found[own.ny * width + own.x * L + l];
    before[l].merge(found[own.y * width + own.x * L + l]);
  }
  __syncthreads();  // the next scan may leave its own here
}

//@cuda forget_origin
// The compiler doesn't know what the value is any more: what it has made of it isn't kept in registers, but made again.
template <class T>
SINTER_FUNCTION void forget_origin(T& x) {
  if (sizeof(T) == 4) {
    unsigned word;
    memcpy(&word, &x, sizeof(T) == 4 ? 4 : 0);
    asm volatile("" : "+r"(word));
    memcpy(&x, &word, sizeof(T) == 4 ? 4 : 0);
  } else if (sizeof(T) == 8) {
    unsigned long long word;
    memcpy(&word, &x, sizeof(T) == 8 ? 8 : 0);
    asm volatile("" : "+l"(word));
    memcpy(&x, &word, sizeof(T) == 8 ? 8 : 0);
  }
}
