// CUDA C++ for a host compiler, continued: vectors of numbers, aligned as on the device, and complex numbers.

#define SINTER_VECTORS(name, T, align2, align4) \
  struct name##1 { T x; }; \
  struct __attribute__((aligned(align2))) name##2 { T x, y; }; \
  struct name##3 { T x, y, z; }; \
  struct __attribute__((aligned(align4))) name##4 { T x, y, z, w; }; \
  static inline constexpr name##1 make_##name##1(T x) { return {x}; } \
  static inline constexpr name##2 make_##name##2(T x, T y) { return {x, y}; } \
  static inline constexpr name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; } \
  static inline constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
SINTER_VECTORS(char, signed char, 2, 4)
SINTER_VECTORS(uchar, unsigned char, 2, 4)
SINTER_VECTORS(short, short, 4, 8)
SINTER_VECTORS(ushort, unsigned short, 4, 8)
SINTER_VECTORS(int, int, 8, 16)
SINTER_VECTORS(long, long, 16, 16)
SINTER_VECTORS(ulong, unsigned long, 16, 16)
SINTER_VECTORS(longlong, long long, 16, 16)
SINTER_VECTORS(ulonglong, unsigned long long, 16, 16)
SINTER_VECTORS(float, float, 8, 16)
SINTER_VECTORS(double, double, 16, 16)
#undef SINTER_VECTORS

// uint3 is there already: indices are of it.
struct uint1 { unsigned int x; };
struct __attribute__((aligned(8))) uint2 { unsigned int x, y; };
struct __attribute__((aligned(16))) uint4 { unsigned int x, y, z, w; };
static inline constexpr uint1 make_uint1(unsigned int x) { return {x}; }
static inline constexpr uint2 make_uint2(unsigned int x, unsigned int y) { return {x, y}; }
static inline constexpr uint3 make_uint3(unsigned int x, unsigned int y, unsigned int z) { return {x, y, z}; }
static inline constexpr uint4 make_uint4(unsigned int x, unsigned int y, unsigned int z, unsigned int w) {
  return {x, y, z, w};
}
