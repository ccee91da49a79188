// Memory shared with other code, without copies: raw pointers, spans, and the struct of __cuda_array_interface__.
// DLPack is in dlpack.hpp. Opt-in: not part of sinter.hpp.
//
//   std::vector<float> samples(1000);
//   array x = from_span(std::span<const float>(samples));   // nothing is copied
//   array y = x * 2;
//   eval(y);                                                // reads `samples`, which must not change before
//   std::span<const float> out = as_span<float>(y);         // nothing is copied; valid as long as y is as it is
#pragma once

#include "array.hpp"
#include "device.hpp"

#include <cstdint>
#include <span>
#include <type_traits>

namespace sinter {

/// How memory of other code is taken in, and given back.
struct import_options {
  device where = cpu();                     ///< whose kernels can reach it
  std::span<const std::int64_t> strides{};  ///< in elements, one per axis, of any sign; empty: C order
  bool in_place = false;                    ///< writes to the array may go to this memory, where that saves a copy
                                            ///< (store_at() makes sure); else they never do
  bool copy = false;                        ///< copy the values at once, and give the memory back before returning
  std::int64_t stream = -1;                 ///< cuda: wait for the work this stream was given. A CUstream's address;
                                            ///< 1: the legacy stream, 2: the thread's own, -1: none
  void (*release)(void*) = nullptr;         ///< called once, with `context`, from any thread, when no array, copy of
  void* context = nullptr;                  ///< one or pending operation needs the memory any more
};

/// An array over `extents` elements of memory that other code owns; element [0, 0, ..] is at `data`. Copies nothing:
/// C order is an evaluated array, sub-grids of it are views, and strides that overlap are read by a gather, all inside
/// the kernels that use them. The memory must not change while something pending needs it, and must stay until
/// `release` is called (without one: as long as the array and what is made of it). Arrays are values: a write to one
/// copies first, unless in_place allows it and nothing else can tell. When this throws, the memory still is the
/// caller's, and `release` is not called: type_error for a null address (unless there are no elements) or one that is
/// not aligned for the dtype (unless it is copied in C order); shape_error for strides that are not one per axis or go
/// beyond limits, and for in_place with strides; device_error for an address that the device can't reach.
/// Example: samples/particles_struct.cpp.
array from_pointer(void* data, dtype type, const shape& extents, const import_options& how = {},
                   place at = place::here());
/// Of constants: type_error for in_place.
array from_pointer(const void* data, dtype type, const shape& extents, const import_options& how = {},
                   place at = place::here());
template <element T>
array from_pointer(T* data, const shape& extents, const import_options& how = {}, place at = place::here()) {
  using address = std::conditional_t<std::is_const_v<T>, const void*, void*>;
  return from_pointer(static_cast<address>(data), dtype_of<T>, extents, how, at);
}
/// [n], or `extents`, of host memory that stays; copies nothing, unlike the constructors of array. Throws shape_error
/// when the span has fewer elements.
template <element T>
array from_span(std::span<T> values, const import_options& how = {}, place at = place::here()) {
  return from_pointer(values.data(), shape{static_cast<std::int64_t>(values.size())}, how, at);
}
void check_span(std::size_t count, const shape& extents, const place& at);
template <element T>
array from_span(std::span<T> values, const shape& extents, const import_options& how = {}, place at = place::here()) {
  check_span(values.size(), extents, at);
  return from_pointer(values.data(), extents, how, at);
}

/// The address of a's values, in C order on its device; null when it has no elements. Evaluates. Waits, too, so that
/// anybody can read; with a `stream` (see import_options) only work that this is given later is sure to see the values,
/// and with -1 nothing is. Valid as long as `a`, or a copy of it, exists and is not written to. Throws index_error when
/// a kernel met a bad index.
const void* data_pointer(const array& a, place at = place::here());
const void* data_pointer(const array& a, std::int64_t stream, place at = place::here());
/// The same for writing: copies first when anybody else shares the memory, so that nobody else sees the change. Writes
/// must be done before the array is used again.
void* writable_pointer(array& a, place at = place::here());

/// Has a's values, in C order, at `to`: memory that a's device can reach, with room for all of them. Evaluates and
/// waits. Copies them there unless a's own memory is just that, as after from_pointer(to, .., {.in_place = true}) and
/// writes that could be done in place. type_error for a null address, device_error for one that the device can't reach.
void store_at(void* to, const array& a, place at = place::here());

/// All values of an array on the cpu device, in C order: valid as long as `a`, or a copy of it, exists and is not
/// written to. Evaluates. T must be the dtype (type_error; u8 also for bool); device_error for other devices.
template <element T>
std::span<const T> as_span(const array& a, place at = place::here());
const void* host_pointer(const array& a, dtype type, const char* function, const place& at);

template <element T>
std::span<const T> as_span(const array& a, place at) {
  return {static_cast<const T*>(host_pointer(a, dtype_of<T>, "as_span", at)), static_cast<std::size_t>(a.size())};
}

/// The number (see import_options) of the stream in which a device's work runs: for makers of memory who ask which
/// stream will read it, as Python's __dlpack__(stream=..) does. -1 for the cpu device.
std::int64_t stream_number(const device& d);

/// What Python's __cuda_array_interface__ (version 3) has, as a struct.
struct cuda_array_interface {
  shape extents;
  char typestr[8] = "";  ///< "<f4"; bf16 has none
  std::uintptr_t data = 0;
  bool read_only = true;
  std::int64_t strides[max_rank] = {};  ///< in bytes, one per axis
  bool has_strides = false;             ///< false: C order
  int version = 3;
  std::int64_t stream = -1;  ///< on which the values are made; -1: they are there
};

/// A description of a's memory, copying nothing; a pending view of evaluated memory without negative strides is
/// described by strides. Evaluates and waits. Valid as long as `a`, or a copy of it, exists and is not written to.
/// device_error unless it is on a cuda device, type_error for bf16.
cuda_array_interface to_cuda_array_interface(const array& a, place at = place::here());
/// An array over the memory described, as from_pointer: of `how`, release, context, copy and in_place count, and the
/// ordinal of the device; its stream, when it has one, is waited for. type_error for a typestr of no dtype and for
/// in_place with read_only memory.
array from_cuda_array_interface(const cuda_array_interface& x, const import_options& how = {.where = cuda()},
                                place at = place::here());

}  // namespace sinter
