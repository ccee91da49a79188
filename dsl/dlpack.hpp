// DLPack: arrays to and from other libraries (PyTorch, CuPy, NumPy, JAX) without copies, on the host and on GPUs.
// The structs below are laid out as DLPack's C interface asks (both of version 1.x, and the one before versions), with
// its names for the members, so that pointers to those of <dlpack/dlpack.h> may be passed as well. Opt-in: not part of
// sinter.hpp.
//
//   array x = from_dlpack(tensor);                             // takes the tensor over: `tensor` is null afterwards
//   dlpack::managed_tensor_versioned* t = to_dlpack(x * 2);    // whoever takes it calls t->deleter(t), once
//
// Python hands such pointers around in capsules: one named "dltensor" or "dltensor_versioned" may be taken once, and
// whoever takes it renames it "used_.."; samples/torch_interop.py shows that. In C++, a pointer that is null was taken.
#pragma once

#include "array.hpp"
#include "interchange.hpp"

#include <cstdint>
#include <type_traits>

namespace sinter {

namespace dlpack {

/// Versions with the same major number are laid out alike.
struct pack_version {
  std::uint32_t major, minor;
};

/// Where memory is: numbers of DLPack. Others exist, and aren't taken.
enum device_type : std::int32_t { on_cpu = 1, on_cuda = 2, on_cuda_host = 3, on_cuda_managed = 13 };
struct device {
  std::int32_t device_type;
  std::int32_t device_id;
};

/// What an element is; of a vector of `lanes`, which is 1 for arrays.
enum type_code : std::uint8_t {
  code_int = 0,
  code_uint = 1,
  code_float = 2,
  code_bfloat = 4,
  code_complex = 5,
  code_bool = 6
};
struct data_type {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

/// Elements in memory: [0, 0, ..] is `byte_offset` bytes after `data`.
struct tensor {
  void* data;
  dlpack::device device;
  std::int32_t ndim;
  data_type dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null: C order
  std::uint64_t byte_offset;
};

/// A tensor and how to give it back, before versions.
struct managed_tensor {
  tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(managed_tensor* self);
};

/// The same since version 1.0.
struct managed_tensor_versioned {
  pack_version version;
  void* manager_ctx;
  void (*deleter)(managed_tensor_versioned* self);
  std::uint64_t flags;
  tensor dl_tensor;
};

inline constexpr pack_version current_version{1, 1};
/// Bits of `flags`: mustn't be written to; nobody else uses the memory.
inline constexpr std::uint64_t read_only_flag = 1, copied_flag = 2;

/// A managed tensor of either kind, whoever declared it.
template <class T>
concept managed = std::is_standard_layout_v<T> && requires(T& t) {
  t.deleter(&t);
  t.manager_ctx;
  t.dl_tensor.byte_offset;
};
template <class T>
concept managed_versioned = managed<T> && requires(T& t) {
  t.version.major;
  t.flags;
};

array take(managed_tensor* t, const import_options& how, const place& at);
array take(managed_tensor_versioned* t, const import_options& how, const place& at);

}  // namespace dlpack

/// An array over the memory of a tensor, which it takes over: `t` is null afterwards, and the tensor's deleter is
/// called once, when no array, copy of one or pending operation needs the memory any more. Copies nothing, whatever the
/// strides; see from_pointer(). Host memory that is pinned becomes an array on cpu. Of `how`, in_place, copy and stream
/// count. When this throws, the tensor still is the caller's: type_error for a null pointer (it was taken already), an
/// unknown version, a dtype that arrays can't have, several lanes, null or misaligned memory, in_place with read-only
/// memory; shape_error for more than 16 axes or negative extents; device_error for other devices than cpu and cuda.
template <dlpack::managed T>
array from_dlpack(T*& t, const import_options& how = {}, place at = place::here()) {
  using known =
      std::conditional_t<dlpack::managed_versioned<T>, dlpack::managed_tensor_versioned, dlpack::managed_tensor>;
  static_assert(sizeof(T) == sizeof(known), "a managed tensor as DLPack lays it out");
  array a = dlpack::take(reinterpret_cast<known*>(t), how, at);
  t = nullptr;
  return a;
}
template <dlpack::managed T>
array from_dlpack(T*&& t, const import_options& how = {}, place at = place::here()) {
  return from_dlpack(t, how, at);
}

/// How arrays are given to other libraries.
struct export_options {
  bool copy = false;        ///< of memory that the taker has for itself
  std::int64_t stream = 1;  ///< cuda: where the taker will use the memory, numbered as in import_options. 1, the legacy
                            ///< stream, also stands for "not said"; -1: the two libraries' order is the caller's care
};

/// The memory of an array as a tensor, copying nothing: a pending view of evaluated memory without negative strides is
/// described by strides, else `a` is evaluated. The memory lives until the taker calls the deleter, and is not written
/// to by anybody here until then. Since arrays are values, the tensor is flagged read-only unless it is copied, or `a`
/// is a temporary that nobody else shares memory with. Waits for the values, but for `stream` -1. Throws index_error
/// when a kernel met a bad index.
dlpack::managed_tensor_versioned* to_dlpack(const array& a, const export_options& how = {}, place at = place::here());
dlpack::managed_tensor_versioned* to_dlpack(array&& a, const export_options& how = {}, place at = place::here());
/// For takers that don't know versions. Nothing tells them that memory is read-only: copy, or give temporaries, to
/// those that may write.
dlpack::managed_tensor* to_dlpack_unversioned(const array& a, const export_options& how = {}, place at = place::here());

/// Where a tensor made of `a` will be: what Python's __dlpack_device__() returns.
dlpack::device dlpack_device(const array& a);

}  // namespace sinter
