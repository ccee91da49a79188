// CUDA C++ for a host compiler: what device code finds built in. Followed by the user's text
// (jit/raw/emulated_module.cpp). Threads of a block are fibers of one processor thread; each processor thread runs its
// own block, with its own `__shared__` variables. Nothing of the C and C++ library is included, so names stay free for
// the user, unless the user's text includes more than a few headers of it: then SINTER_WITH_LIBRARY is defined, and
// <cmath> comes first.

#define __global__
#define __device__
#define __host__
//@host __constant__
#define __constant__
//@raw
#define __managed__
#define __grid_constant__
#define __shared__ thread_local
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __align__(...) __attribute__((aligned(__VA_ARGS__)))
#define __builtin_align__(...) __attribute__((aligned(__VA_ARGS__)))
#define SINTER_FUNCTION static inline
#define SINTER_MEMBER inline
#define SINTER_CONSTANT static constexpr
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDA_ARCH__ 900
#define SINTER_EMULATION 1

#define __cluster_dims__(...) \
  _Pragma("GCC error \"thread block clusters (__cluster_dims__) are not supported by the cpu device\"")
#define sinter_inline_ptx _Pragma("GCC error \"inline PTX (asm) is not supported by the cpu device\"") asm
#define sinter_device_launch \
  _Pragma("GCC error \"dynamic parallelism (<<<...>>>) is not supported by the cpu device\"") <
#define cudaTextureObject_t \
  _Pragma("GCC error \"textures (cudaTextureObject_t) are not supported by the cpu device\"") \
  unsigned long long
#define cudaSurfaceObject_t \
  _Pragma("GCC error \"surfaces (cudaSurfaceObject_t) are not supported by the cpu device\"") \
  unsigned long long

#ifndef SINTER_WITH_LIBRARY
using size_t = decltype(sizeof(0));
using ptrdiff_t = decltype(static_cast<char*>(nullptr) - static_cast<char*>(nullptr));
extern "C" {
int printf(const char* format, ...);
void* malloc(size_t bytes) noexcept;
void free(void* memory) noexcept;
void* memcpy(void* to, const void* from, size_t bytes) noexcept;
void* memset(void* to, int value, size_t bytes) noexcept;
}
#endif
// What destructors of variables are registered with; start files, which kernels are linked without, would have it.
extern "C" __attribute__((visibility("hidden"))) void* __dso_handle;
void* __dso_handle = nullptr;

static thread_local uint3 threadIdx, blockIdx;
static thread_local dim3 blockDim, gridDim;
constexpr int warpSize = 32;

namespace sinter_emulation {

static thread_local char* dynamic_memory;
static thread_local word dynamic_bytes;

static thread_variables variables() {
  return {&threadIdx, &blockIdx, &blockDim, &gridDim, &dynamic_memory, &dynamic_bytes};
}

extern "C" __attribute__((visibility("default"))) module_table sinter_module;
module_table sinter_module = {abi_version, nullptr, variables, nullptr};

static inline const services& library() { return *sinter_module.calls; }

[[noreturn]] static inline void stop(const char* what, spot at) {
  library().fault(what, at);
  __builtin_trap();
}

// ---- Parameters ----

template <class T>
constexpr int element_code = -1;
template <> inline constexpr int element_code<bool> = 0;
template <> inline constexpr int element_code<signed char> = 1;
template <> inline constexpr int element_code<char> = char(-1) < 0 ? 1 : 5;
template <> inline constexpr int element_code<short> = 2;
template <> inline constexpr int element_code<int> = 3;
template <> inline constexpr int element_code<long> = sizeof(long) == 8 ? 4 : 3;
template <> inline constexpr int element_code<long long> = 4;
template <> inline constexpr int element_code<unsigned char> = 5;
template <> inline constexpr int element_code<unsigned short> = 6;
template <> inline constexpr int element_code<unsigned int> = 7;
template <> inline constexpr int element_code<unsigned long> = sizeof(long) == 8 ? 8 : 7;
template <> inline constexpr int element_code<unsigned long long> = 8;
template <> inline constexpr int element_code<float> = 11;
template <> inline constexpr int element_code<double> = 12;
template <class T> inline constexpr int element_code<const T> = element_code<T>;
template <class T> inline constexpr int element_code<volatile T> = element_code<T>;
template <class T> inline constexpr int element_code<const volatile T> = element_code<T>;

template <class T> constexpr const char* type_text() { return __PRETTY_FUNCTION__; }

template <class T> struct describe {
  static constexpr parameter value = {type_text<T>(), sizeof(T), false, false, element_code<T>};
};
template <class T> constexpr bool is_const = false;
template <class T> inline constexpr bool is_const<const T> = true;
template <class T> struct describe<T*> {
  static constexpr parameter value = {type_text<T*>(), sizeof(T*), true, is_const<T>, element_code<T>};
};
template <class T> struct describe<T* const> : describe<T*> {};
template <class T> struct describe<const T> : describe<T> {};

template <class T> struct bare { using type = T; };
template <class T> struct bare<const T> { using type = T; };

template <class T>
static inline T& argument(void* at) { return *static_cast<T*>(at); }

template <int... K> struct places {};

/// One fiber's share of a block. The kernel becomes part of the loop, unless the compiler finds it too large.
template <auto kernel, class... P, int... K>
static void run_threads(thread_loop& loop, void* const* arguments, places<K...>) {
  const uint3 extents = blockDim;
  while (loop.next < loop.count) {
    const unsigned int mine = loop.next++;
    threadIdx = loop.index;
    if (++loop.index.x == extents.x) {
      loop.index.x = 0;
      if (++loop.index.y == extents.y) {
        loop.index.y = 0;
        ++loop.index.z;
      }
    }
    kernel(argument<typename bare<P>::type>(arguments[K])...);
    if (loop.tracked) {
      ++loop.exited;
      loop.exited_bits[mine / 32] |= 1u << mine % 32;
    }
  }
}

template <class Type, Type entry> struct registered_as;

#if defined(__clang__)
#define SINTER_COUNT_TO(n) __make_integer_seq<sinter_emulation::sequence, int, n>
template <class, int... K> using sequence = places<K...>;
#else
#define SINTER_COUNT_TO(n) sinter_emulation::places<__integer_pack(n)...>
#endif

template <class... P, void (*kernel)(P...)>
struct registered_as<void (*)(P...), kernel> {
  static constexpr parameter parameters[sizeof...(P) + 1] = {describe<P>::value..., {}};
  static void run(thread_loop& loop, void* const* arguments) {
    run_threads<kernel, P...>(loop, arguments, SINTER_COUNT_TO(sizeof...(P)){});
  }
  static registration make(const char* name) {
    return {name, parameters, static_cast<int>(sizeof...(P)), run, nullptr, 0, nullptr};
  }
};

template <class T, T* variable>
struct registered_as<T*, variable> {
  static registration make(const char* name) {
    void* const address = const_cast<void*>(static_cast<const volatile void*>(variable));
    return {name, nullptr, -1, nullptr, address, sizeof(T), nullptr};
  }
};

template <auto entry> using registered = registered_as<decltype(entry), entry>;

struct enlisted : registration {
  explicit enlisted(const registration& r) : registration(r) {
    previous = sinter_module.last;
    sinter_module.last = this;
  }
};

// ---- Dynamic shared memory ----

/// `type` where U is T but for const and volatile, `other` where not.
template <class U, class T> struct pointer_to { using other = int; };
template <class T> struct pointer_to<T, T> { using type = int; };
template <class T> struct pointer_to<const T, T> { using type = int; };
template <class T> struct pointer_to<volatile T, T> { using type = int; };

/// What `extern __shared__ T s[]` becomes at namespace scope, and in checked builds inside functions, too.
template <class T, bool checked>
struct dynamic_array {
  struct place {
    word index;
    spot at;
    template <class I>
    place(I i, const char* file = __builtin_FILE(), unsigned int line = __builtin_LINE())
        : index(static_cast<word>(i)), at{file, line} {}
  };
  // Templates, since conversions to one type would let indices mean the built-in operator, too.
  template <class U, typename pointer_to<U, T>::type = 0>
  operator U*() const { return reinterpret_cast<T*>(dynamic_memory); }
  template <class U, typename pointer_to<U, T>::other = 0>
  explicit operator U*() const { return (U*)dynamic_memory; }
  T* operator+(long long offset) const { return reinterpret_cast<T*>(dynamic_memory) + offset; }
  T* operator->() const { return reinterpret_cast<T*>(dynamic_memory); }
  T& operator*() const { return *reinterpret_cast<T*>(dynamic_memory); }
  T& operator[](place p) const {
    if constexpr (checked)
      if (p.index >= dynamic_bytes / sizeof(T)) outside(p);
    return reinterpret_cast<T*>(dynamic_memory)[p.index];
  }

 private:
  [[noreturn]] __attribute__((noinline, cold)) static void outside(const place& p);
};

/// Binds `T (&s)[]` to the dynamic shared memory of the block.
struct dynamic_binding {
  template <class T>
  operator T&() const { return *reinterpret_cast<T*>(dynamic_memory); }
};

/// Text put together without a library.
struct message {
  char text[400] = {};
  int used = 0;
  message& operator<<(const char* part) {
    while (*part != 0 && used < 399) text[used++] = *part++;
    return *this;
  }
  message& operator<<(long long number) {
    char digits[24];
    int n = 0;
    word rest = number < 0 ? 0 - static_cast<word>(number) : static_cast<word>(number);
    do digits[n++] = static_cast<char>('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (number < 0) digits[n++] = '-';
    while (n > 0 && used < 399) text[used++] = digits[--n];
    return *this;
  }
};

template <class T, bool checked>
void dynamic_array<T, checked>::outside(const place& p) {
  message m;
  m << "index " << static_cast<long long>(p.index) << " is outside dynamic shared memory: "
    << static_cast<long long>(dynamic_bytes) << " bytes were asked for at launch, room for "
    << static_cast<long long>(dynamic_bytes / sizeof(T)) << " elements of "
    << static_cast<long long>(sizeof(T)) << " bytes";
  stop(m.text, p.at);
}

[[noreturn]] __attribute__((noinline, cold)) static void assertion_failed(const char* condition, const char* file,
                                                                          unsigned int line) {
  message m;
  m << "assertion `" << condition << "` failed";
  stop(m.text, {file, line});
}

}  // namespace sinter_emulation

#ifdef NDEBUG
#define assert(...) static_cast<void>(0)
#else
#define assert(...) \
  (static_cast<bool>(__VA_ARGS__) ? static_cast<void>(0) \
                                  : ::sinter_emulation::assertion_failed(#__VA_ARGS__, __FILE__, __LINE__))
#endif
#define __trap() ::sinter_emulation::stop("__trap() was called", {__FILE__, __LINE__})

#ifdef SINTER_CHECKED
// What code compiled with -fsanitize=bounds calls for an index outside an array whose size is in its type.
namespace sinter_emulation {
struct sanitizer_type {
  unsigned short kind, facts;
  char name[1];
};
struct sanitizer_bounds {
  const char* file;
  unsigned int line, column;
  const sanitizer_type *array, *index;
};
}  // namespace sinter_emulation
extern "C" __attribute__((visibility("hidden"), noinline, cold)) void __ubsan_handle_out_of_bounds_abort(void* data,
                                                                                                       void* index) {
  const auto& found = *static_cast<sinter_emulation::sanitizer_bounds*>(data);
  long long value = reinterpret_cast<long long>(index);
  const int bits = 1 << (found.index->facts >> 1);
  if ((found.index->facts & 1) != 0 && bits < 64)  // kept zero-extended
    value = static_cast<long long>(static_cast<unsigned long long>(value) << (64 - bits)) >> (64 - bits);
  sinter_emulation::message m;
  m << "index " << value << " is outside an array of type " << found.array->name;
  sinter_emulation::stop(m.text, {found.file, found.line});
}
extern "C" __attribute__((visibility("hidden"))) void __ubsan_handle_out_of_bounds(void* data, void* index) {
  __ubsan_handle_out_of_bounds_abort(data, index);
}
#endif
