// The user's own CUDA C++: __global__ functions, called on arrays. On CUDA devices they are compiled by NVRTC, on the
// cpu device by the host's compiler, where threads of a block take turns at barriers.
#pragma once

#include "array.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sinter::jit {
class raw_program;
}

namespace sinter {

// ---- How a kernel is launched ----

/// Blocks of a grid, or threads of a block: `{4}`, `{16, 16}`, `{8, 8, 4}`; of any integers.
struct launch_extents {
  std::int64_t x = 1, y = 1, z = 1;
  constexpr launch_extents() = default;
  template <class X, class Y = int, class Z = int>
  requires(std::is_integral_v<X>&& std::is_integral_v<Y>&& std::is_integral_v<Z>) constexpr launch_extents(X x_,
                                                                                                           Y y_ = 1,
                                                                                                           Z z_ = 1)
      : x(static_cast<std::int64_t>(x_)), y(static_cast<std::int64_t>(y_)), z(static_cast<std::int64_t>(z_)) {}
};

/// The shape of a launch: `{.grid = {n / 256}, .block = {256}}`. A grid without blocks does nothing.
struct launch_shape {
  launch_extents grid = {}, block = {};
  std::int64_t shared_bytes = 0;  ///< of dynamic shared memory; past 48 KiB, too, as far as the device has it
  bool cooperative = false;       ///< all blocks run at once and may wait for each other
  std::int64_t elements = -1;     ///< how much work there is, if said: a grid that is too small for it is warned about
  bool is_chosen = false;         ///< by for_each(): grid.x, and block.x unless it is given, are found from `elements`
  place at = place::here();
};

/// A thread for each of n elements: as many threads a block, a multiple of 32, as keep the device busiest, and enough
/// blocks. The kernel compares its index with n. Or with blocks of so many threads.
inline launch_shape for_each(std::int64_t n, place at = place::here()) {
  return {.grid = {}, .block = {0}, .elements = n, .is_chosen = true, .at = at};
}
inline launch_shape for_each(std::int64_t n, launch_extents block, place at = place::here()) {
  return {.grid = {}, .block = block, .elements = n, .is_chosen = true, .at = at};
}

// ---- What a kernel is given ----

/// An argument, made implicitly.
class raw_operand {
 public:
  enum class access : unsigned char { number, bytes, null, read, write, update, read_or_update };

  access how() const { return how_; }
  dtype type() const { return type_; }
  std::size_t bytes() const { return bytes_; }
  const void* data() const { return data_; }  ///< of a value; else the array
  const array& values() const { return *static_cast<const array*>(data_); }
  array& variable() const { return *static_cast<array*>(const_cast<void*>(data_)); }
  const place& at() const { return at_; }

 protected:
  constexpr raw_operand(access how, const void* data, std::size_t bytes, dtype type, const place& at)
      : how_(how), type_(type), data_(data), bytes_(bytes), at_(at) {}
  /// Throws type_error when the array has another dtype.
  void check_type(dtype wanted) const;
  /// shape_error unless the array's bytes are a multiple of that.
  void check_bytes(std::size_t element_bytes) const;

 private:
  access how_;
  dtype type_;
  const void* data_;
  std::size_t bytes_;
  place at_;
};

/// What T says about an array's elements: T itself if it is an element type; of others (float4, structs) only the size.
template <class T>
class typed_raw_operand : public raw_operand {
 protected:
  typed_raw_operand(access how, const array& a, const place& at) : raw_operand(how, &a, 0, f32, at) {
    if constexpr (element<T>) check_type(dtype_of<T>);
    else if constexpr (!std::is_void_v<T>) check_bytes(sizeof(T));
  }
  explicit typed_raw_operand(const place& at) : raw_operand(access::null, nullptr, sizeof(void*), f32, at) {}
};

/// Arrays that a kernel reads (through a pointer to const), of elements T; `in(x)` of any. Expressions are computed
/// first, selections are copied: the kernel sees values in C order. nullptr is passed on.
template <class T = void>
class in : public typed_raw_operand<T> {
 public:
  in(const array& a, place at = place::here()) : typed_raw_operand<T>(raw_operand::access::read, a, at) {}
  in(const selection& s, place at = place::here()) : in(*addressed(s), at) {}
  in(std::nullptr_t, place at = place::here()) : typed_raw_operand<T>(at) {}
};
/// A variable that a kernel reads and writes. It gets a new version: copies made of it before keep what they have. In
/// place when there are none.
template <class T = void>
class inout : public typed_raw_operand<T> {
 public:
  inout(array& a, place at = place::here()) : typed_raw_operand<T>(raw_operand::access::update, a, at) {}
  inout(std::nullptr_t, place at = place::here()) : typed_raw_operand<T>(at) {}
  inout(const selection& s, place at = place::here()) = delete;  // write to a variable, then to its elements
};
/// A variable whose values don't matter before: only its shape and dtype do. Elements that the kernel doesn't write are
/// unspecified.
template <class T = void>
class out : public typed_raw_operand<T> {
 public:
  out(array& a, place at = place::here()) : typed_raw_operand<T>(raw_operand::access::write, a, at) {}
  out(std::nullptr_t, place at = place::here()) : typed_raw_operand<T>(at) {}
  out(const selection& s, place at = place::here()) = delete;  // write to a variable, then to its elements
};

/// What untyped kernels take: in(x), inout(x), out(x); a variable (read when the parameter is a pointer to const, else
/// read and written), other arrays (read), numbers, nullptr, and structs by value.
class any_raw_operand : public raw_operand {
 public:
  any_raw_operand(const raw_operand& o, const place& = {}) : raw_operand(o) {}
  any_raw_operand(array& a, place at = place::here()) : raw_operand(access::read_or_update, &a, 0, f32, at) {}
  any_raw_operand(const array& a, place at = place::here()) : raw_operand(access::read, &a, 0, f32, at) {}
  any_raw_operand(const selection& s, place at = place::here()) : any_raw_operand(*addressed(s), at) {}
  any_raw_operand(std::nullptr_t, place at = place::here())
      : raw_operand(access::null, nullptr, sizeof(void*), f32, at) {}
  template <class T>
  requires(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_array_v<T> &&
           !std::is_base_of_v<raw_operand, T> && !std::is_same_v<T, std::nullptr_t>)
      any_raw_operand(const T& value, place at = place::here())
      : raw_operand(element<T> ? access::number : access::bytes, &value, sizeof(T), type_of<T>(), at) {}

 private:
  template <class T>
  static constexpr dtype type_of() {
    if constexpr (element<T>) return dtype_of<T>;
    else return f32;
  }
};

// ---- Kernels ----

/// What a compiled kernel takes of a device; -1: not known there (the cpu device knows few).
struct kernel_attributes {
  int registers = -1;                         ///< a thread
  std::int64_t shared_bytes = -1;             ///< a block, declared in the kernel
  std::int64_t constant_bytes = -1;           ///< of its module
  std::int64_t local_bytes = -1;              ///< a thread
  int max_threads = -1;                       ///< a block
  std::int64_t max_dynamic_bytes = -1;        ///< of shared memory that a launch may ask for besides
  int ptx_version = -1, binary_version = -1;  ///< 90: 9.0
};

struct raw_options {
  std::vector<std::string> options = {};        ///< for the compiler, as written: "-DN=3"
  std::vector<std::string> include_paths = {};  ///< folders of what the source includes
};

/// What typed and untyped kernels share. Cheap to copy.
class raw_kernel_base {
 public:
  const std::string& name() const;
  /// Compiles for the device, unless that is done; throws compile_error.
  kernel_attributes attributes() const;
  kernel_attributes attributes(const sinter::device& d) const;
  /// What the compiler said, warnings say, also if that was when another process compiled the kernel; compiles, unless
  /// that is done.
  std::string compile_log() const;

 protected:
  raw_kernel_base(std::string_view name, std::string_view source, const raw_options& how, const place& at);
  raw_kernel_base(jit::raw_program& program, std::string_view name);
  void launch(const launch_shape& how, std::span<const raw_operand* const> arguments) const;

 private:
  friend class raw_module;
  struct named;  // interned: lives as long as the process
  const named* kernel_;
};

/// A __global__ function, called on arrays:
///   const raw_kernel<void(inout<float>, std::int32_t)> advance{"advance", source};
///   advance(for_each(n), b, n);                                   // or {.grid = {blocks}, .block = {256}}
/// Parameters are in<T>, inout<T> and out<T> for pointers, and C++ types by value; the C++ compiler checks calls
/// against them. `raw_kernel` alone takes any arguments, checked when called. The name may be one of a template's
/// instances, "k<float, 4>"; the source needs no extern "C".
/// Compiled at first use; the same source and options, in any number of objects, once. A call records: it is launched
/// at once if all that it reads is computed, else when its outputs are needed, in the order of other work on its
/// arrays. Calls throw type_error or shape_error for arguments that don't fit the kernel's parameters (count, size,
/// element type, null, device) and for shapes that the device can't run; nothing is launched then. A warning is
/// logged, once a line, for shapes that waste most of the device. While a fault of the kernel itself is reported, what
/// it wrote stays written.
template <class Signature = void>
class raw_kernel;

template <>
class raw_kernel<void> : public raw_kernel_base {
 public:
  raw_kernel(std::string_view name, std::string_view source, const raw_options& how = {}, place at = place::here())
      : raw_kernel_base(name, source, how, at) {}

  template <class... Arguments>
  void operator()(const launch_shape& how, Arguments&&... arguments) const {
    call(how, any_raw_operand(static_cast<Arguments&&>(arguments), how.at)...);
  }

 private:
  friend class raw_module;
  raw_kernel(jit::raw_program& program, std::string_view name) : raw_kernel_base(program, name) {}
  template <class... Operands>
  void call(const launch_shape& how, const Operands&... operands) const {
    const raw_operand* const list[] = {&operands..., nullptr};
    launch(how, std::span(list, sizeof...(operands)));
  }
};

template <class... Parameters>
class raw_kernel<void(Parameters...)> : public raw_kernel_base {
  static_assert((!std::is_pointer_v<Parameters> && ...), "a kernel's pointers are in<T>, inout<T> or out<T> here");

 public:
  raw_kernel(std::string_view name, std::string_view source, const raw_options& how = {}, place at = place::here())
      : raw_kernel_base(name, source, how, at) {}

  void operator()(const launch_shape& how, const std::type_identity_t<Parameters>&... arguments) const {
    call(how, passed(arguments, how.at)...);
  }

 private:
  friend class raw_module;
  raw_kernel(jit::raw_program& program, std::string_view name) : raw_kernel_base(program, name) {}
  template <class T>
  static decltype(auto) passed(const T& argument, const place& at) {
    if constexpr (std::is_base_of_v<raw_operand, T>) return (argument);
    else return any_raw_operand(argument, at);
  }
  template <class... Operands>
  void call(const launch_shape& how, const Operands&... operands) const {
    const raw_operand* const list[] = {&operands..., nullptr};
    launch(how, std::span(list, sizeof...(operands)));
  }
};

raw_kernel(std::string_view, std::string_view)->raw_kernel<>;
raw_kernel(std::string_view, std::string_view, const raw_options&)->raw_kernel<>;

// ---- Modules ----

/// A program of several kernels and variables:
///   const raw_module m{"filters", source, {.options = {"-DWIDTH=5"}}};
///   m.set("weights", array{0.1f, 0.2f, 0.4f, 0.2f, 0.1f});        // a __constant__ float weights[5]
///   m.get_function("smooth<float>")(for_each(n), in(x), out(y), n);
/// Instances of templates are compiled when they are asked for, several at once when they are named before. Modules of
/// the same source and options are one, with the same variables. Cheap to copy.
class raw_module {
 public:
  /// Compiles nothing yet. `kernels`: what will be asked for.
  raw_module(std::string_view name, std::string_view source, const raw_options& how = {},
             const std::vector<std::string>& kernels = {}, place at = place::here());
  /// A cubin, PTX or fatbin file; its kernels by their names in C++, or by their symbols. Throws io_error.
  static raw_module from_file(const std::string& path, place at = place::here());

  const std::string& name() const;
  /// Throws compile_error; error, with those there are, when there is no such kernel.
  raw_kernel<> get_function(std::string_view name) const;
  template <class Signature>
  raw_kernel<Signature> get_function(std::string_view name) const {
    return raw_kernel<Signature>(checked(name), name);
  }

  /// Bytes of a __device__ or __constant__ variable. Throws error, with those there are, when there is none of that
  /// name.
  std::size_t size_of_global(std::string_view name, place at = place::here()) const;
  /// Copies all of an array's or span's values to it. They must have just its size (shape_error).
  void set_global(std::string_view name, const array& values, place at = place::here()) const;
  template <class T>
  requires(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>) void set_global(std::string_view name,
                                                                                     std::span<const T> values,
                                                                                     place at = place::here()) const {
    write_global(name, values.data(), values.size_bytes(), at);
  }
  template <class T>
  requires(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>) void set_global(std::string_view name,
                                                                                     const T& value,
                                                                                     place at = place::here()) const {
    write_global(name, &value, sizeof(T), at);
  }
  /// Its values as elements T; T's size must divide its size (shape_error). Waits.
  template <class T>
  requires(std::is_trivially_copyable_v<T>) std::vector<T> get_global(std::string_view name, place at = place::here())
  const {
    std::vector<T> values(count_in_global(name, sizeof(T), at));
    read_global(name, values.data(), at);
    return values;
  }

 private:
  explicit raw_module(jit::raw_program& program) : program_(&program) {}
  jit::raw_program& checked(std::string_view name) const;
  std::size_t count_in_global(std::string_view name, std::size_t element_bytes, const place& at) const;
  void write_global(std::string_view name, const void* values, std::size_t bytes, const place& at) const;
  void read_global(std::string_view name, void* values, const place& at) const;

  jit::raw_program* program_;  // interned: lives as long as the process
};

}  // namespace sinter
