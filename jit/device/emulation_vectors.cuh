// CUDA C++ for a host compiler, continued: vectors of numbers, aligned as on the device, and complex numbers.

//@host sinter_vectors
#define sinter_vectors(name, T, align2, align4) \
  struct name##1 { T x; }; \
  struct __attribute__((aligned(align2))) name##2 { T x, y; }; \
  struct name##3 { T x, y, z; }; \
  struct __attribute__((aligned(align4))) name##4 { T x, y, z, w; }; \
  static inline constexpr name##1 make_##name##1(T x) { return {x}; } \
  static inline constexpr name##2 make_##name##2(T x, T y) { return {x, y}; } \
  static inline constexpr name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; } \
  static inline constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
//@host char1 char2 char3 char4 make_char1 make_char2 make_char3 make_char4
sinter_vectors(char, signed char, 2, 4)
//@host uchar1 uchar2 uchar3 uchar4 make_uchar1 make_uchar2 make_uchar3 make_uchar4
sinter_vectors(uchar, unsigned char, 2, 4)
//@host short1 short2 short3 short4 make_short1 make_short2 make_short3 make_short4
sinter_vectors(short, short, 4, 8)
//@host ushort1 ushort2 ushort3 ushort4 make_ushort1 make_ushort2 make_ushort3 make_ushort4
sinter_vectors(ushort, unsigned short, 4, 8)
//@host int1 int2 int3 int4 make_int1 make_int2 make_int3 make_int4
sinter_vectors(int, int, 8, 16)
//@host long1 long2 long3 long4 make_long1 make_long2 make_long3 make_long4
sinter_vectors(long, long, 16, 16)
//@host ulong1 ulong2 ulong3 ulong4 make_ulong1 make_ulong2 make_ulong3 make_ulong4
sinter_vectors(ulong, unsigned long, 16, 16)
//@host longlong1 longlong2 longlong3 longlong4 make_longlong1 make_longlong2 make_longlong3 make_longlong4
sinter_vectors(longlong, long long, 16, 16)
//@host ulonglong1 ulonglong2 ulonglong3 ulonglong4 make_ulonglong1 make_ulonglong2 make_ulonglong3 make_ulonglong4
sinter_vectors(ulonglong, unsigned long long, 16, 16)
//@host float1 float2 float3 float4 make_float1 make_float2 make_float3 make_float4
sinter_vectors(float, float, 8, 16)
//@host double1 double2 double3 double4 make_double1 make_double2 make_double3 make_double4
sinter_vectors(double, double, 16, 16)
//@raw
#undef sinter_vectors

// uint3 is there already: indices are of it.
//@host uint1 uint2 uint4 make_uint1 make_uint2 make_uint3 make_uint4
struct uint1 { unsigned int x; };
struct __attribute__((aligned(8))) uint2 { unsigned int x, y; };
struct __attribute__((aligned(16))) uint4 { unsigned int x, y, z, w; };
static inline constexpr uint1 make_uint1(unsigned int x) { return {x}; }
static inline constexpr uint2 make_uint2(unsigned int x, unsigned int y) { return {x, y}; }
static inline constexpr uint3 make_uint3(unsigned int x, unsigned int y, unsigned int z) { return {x, y, z}; }
static inline constexpr uint4 make_uint4(unsigned int x, unsigned int y, unsigned int z, unsigned int w) {
  return {x, y, z, w};
}
