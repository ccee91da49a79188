// cooperative_groups for a host compiler: the grid, the block, and tiles of up to a warp.

namespace cooperative_groups {

namespace sinter_detail {
static inline unsigned int block_size() { return blockDim.x * blockDim.y * blockDim.z; }
static inline unsigned int grid_size() { return gridDim.x * gridDim.y * gridDim.z; }
static inline unsigned int block_rank() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }
}  // namespace sinter_detail

class thread_block {
 public:
  static unsigned int size() { return sinter_detail::block_size(); }
  static unsigned int num_threads() { return size(); }
  static unsigned int thread_rank() { return sinter_emulation::thread_rank(); }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
  static void sync(const char* file = __builtin_FILE(), unsigned int line = __builtin_LINE()) {
    (__syncthreads)(file, line, 0);
  }
};

class grid_group {
 public:
  static bool is_valid() { return true; }
  static unsigned long long size() {
    return static_cast<unsigned long long>(sinter_detail::grid_size()) * sinter_detail::block_size();
  }
  static unsigned long long num_threads() { return size(); }
  static unsigned long long num_blocks() { return sinter_detail::grid_size(); }
  static unsigned long long block_rank() { return sinter_detail::block_rank(); }
  static unsigned long long thread_rank() {
    return static_cast<unsigned long long>(sinter_detail::block_rank()) * sinter_detail::block_size() +
           sinter_emulation::thread_rank();
  }
  static dim3 group_dim() { return gridDim; }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 block_index() { return blockIdx; }
  static void sync(const char* file = __builtin_FILE(), unsigned int line = __builtin_LINE()) {
    sinter_emulation::library().grid_barrier({file, line});
  }
};

/// `lanes` neighbouring threads: a power of two, at most 32.
template <unsigned int lanes, class Parent = void>
class thread_block_tile {
  static_assert(lanes > 0 && lanes <= 32 && (lanes & (lanes - 1)) == 0,
                "tiles of 1, 2, 4, 8, 16 or 32 threads are supported by the cpu device");
  static unsigned int mask() {
    const unsigned int first = sinter_emulation::lane() & ~(lanes - 1);
    return (lanes == 32 ? 0xffffffffu : (1u << lanes % 32) - 1) << first;
  }
  static unsigned int first() { return sinter_emulation::lane() & ~(lanes - 1); }

 public:
  static constexpr unsigned int size() { return lanes; }
  static constexpr unsigned int num_threads() { return lanes; }
  static unsigned int thread_rank() { return sinter_emulation::thread_rank() % lanes; }
  static unsigned int meta_group_rank() { return sinter_emulation::thread_rank() / lanes; }
  static unsigned int meta_group_size() { return (sinter_detail::block_size() + lanes - 1) / lanes; }
  static void sync(const char* file = __builtin_FILE(), unsigned int line = __builtin_LINE()) {
    __syncwarp(mask(), file, line);
  }
  template <class T>
  static auto shfl(T x, int source, const char* file = __builtin_FILE(), unsigned int line = __builtin_LINE()) {
    return __shfl_sync(mask(), x, source, lanes, file, line);
  }
  template <class T>
  static auto shfl_up(T x, unsigned int d, const char* file = __builtin_FILE(), unsigned int line = __builtin_LINE()) {
    return __shfl_up_sync(mask(), x, d, lanes, file, line);
  }
  template <class T>
  static auto shfl_down(T x, unsigned int d, const char* file = __builtin_FILE(),
                        unsigned int line = __builtin_LINE()) {
    return __shfl_down_sync(mask(), x, d, lanes, file, line);
  }
  template <class T>
  static auto shfl_xor(T x, unsigned int bits, const char* file = __builtin_FILE(),
                       unsigned int line = __builtin_LINE()) {
    return __shfl_xor_sync(mask(), x, static_cast<int>(bits), lanes, file, line);
  }
  static int any(int p, const char* file = __builtin_FILE(), unsigned int line = __builtin_LINE()) {
    return __any_sync(mask(), p, file, line);
  }
  static int all(int p, const char* file = __builtin_FILE(), unsigned int line = __builtin_LINE()) {
    return __all_sync(mask(), p, file, line);
  }
  static unsigned int ballot(int p, const char* file = __builtin_FILE(), unsigned int line = __builtin_LINE()) {
    return __ballot_sync(mask(), p, file, line) >> first();
  }
};

static inline thread_block this_thread_block() { return {}; }
static inline grid_group this_grid() { return {}; }
template <unsigned int lanes, class Parent>
static inline thread_block_tile<lanes, Parent> tiled_partition(const Parent&) {
  return {};
}
template <class Group>
static inline void sync(const Group& group, const char* file = __builtin_FILE(),
                        unsigned int line = __builtin_LINE()) {
  group.sync(file, line);
}

#define coalesced_threads \
  _Pragma("GCC error \"cooperative_groups::coalesced_threads is not supported by the cpu device\"") coalesced_threads
#define this_cluster \
  _Pragma("GCC error \"thread block clusters (this_cluster) are not supported by the cpu device\"") this_cluster
#define memcpy_async \
  _Pragma("GCC error \"cooperative_groups::memcpy_async is not supported by the cpu device\"") memcpy_async

}  // namespace cooperative_groups
