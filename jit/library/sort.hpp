// Sorting rows of numbers, as a call beside the graph: the cpu device's own code, or kernels of radix_sort.cuh.
//
// Numbers are sorted as unsigned keys in the same order: signed numbers with the sign bit flipped, negative floating
// point numbers with all bits flipped; NaN, whatever its sign, comes after all others; for descending order, the bits
// of all that. So every dtype is one of four kinds of keys, and sorted by its digits. All sorts are stable.
#pragma once

#include "jit/library/call.hpp"

#include <cstdint>
#include <limits>
#include <type_traits>

namespace sinter::jit {

/// Rows in C order, and what is wanted of each: the first `kept` of its values in order, where those are in the row, or
/// both. With positions, -0 and 0 are equal; without, -0 comes before 0 in ascending order.
struct sort_task {
  dtype type = dtype::f32;  ///< any real one
  bool descending = false;
  std::int64_t rows = 0, length = 0, kept = 0;
  const void* source = nullptr;
  void* values = nullptr;             ///< null: not wanted
  std::int64_t* positions = nullptr;  ///< likewise
};

/// The cpu device's way, on its threads. Throws out_of_memory.
void sort_on_host(const sort_task& t, library_run& r);
/// The same where few elements of each row are kept, which takes no sort of the others; false: they are too many.
bool select_on_host(const sort_task& t, library_run& r);
/// With kernels: on a CUDA device, or emulated on the cpu device. `wide`: counts and positions of long rows are 64 bit
/// numbers, as those of rows of billions of elements are anyway. Throws what compiling them does, and out_of_memory.
void sort_by_kernels(const sort_task& t, library_run& r, bool wide = false);

/// How numbers become keys; laid out as radix_sort.cuh has it.
template <class Key>
struct key_order {
  Key sign, infinity, flip, zero;

  static key_order of(dtype type, bool descending, bool zeros_are_equal) {
    key_order o{};
    const kind k = kind_of(type);
    if (k == kind::real || k == kind::signed_integer) o.sign = static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1));
    if (k == kind::real) {
      const int fraction_bits = type == dtype::f16 ? 10 : type == dtype::bf16 ? 7 : type == dtype::f32 ? 23 : 52;
      o.infinity = static_cast<Key>(static_cast<Key>(~o.sign) >> fraction_bits << fraction_bits);
      if (zeros_are_equal) o.zero = o.sign;
    }
    if (descending) o.flip = std::numeric_limits<Key>::max();
    return o;
  }

  Key key_of(Key bits) const {
    if (infinity == 0) return static_cast<Key>(bits ^ sign ^ flip);
    if (static_cast<Key>(bits & ~sign) > infinity) return static_cast<Key>(~flip);
    if (bits == zero) bits = 0;
    return static_cast<Key>(((bits & sign) != 0 ? ~bits : bits | sign) ^ flip);
  }
  Key bits_of(Key key) const {
    key = static_cast<Key>(key ^ flip);
    if (infinity == 0) return static_cast<Key>(key ^ sign);
    return static_cast<Key>((key & sign) != 0 ? key ^ sign : ~key);
  }
};

/// Calls f(std::type_identity<Key>{}) with the unsigned type of that many bytes.
template <class F>
void with_key(std::int64_t bytes, F&& f) {
  if (bytes == 1) f(std::type_identity<std::uint8_t>{});
  else if (bytes == 2) f(std::type_identity<std::uint16_t>{});
  else if (bytes == 4) f(std::type_identity<std::uint32_t>{});
  else f(std::type_identity<std::uint64_t>{});
}

/// What a recorded sort gives.
struct sort_request {
  bool descending = false, values = false, positions = false;
  std::int64_t kept = 0;  ///< of each row
};

/// Rows are the last axis of x: [.., n] -> [.., kept], values first, then i64 positions. x is on one device and has a
/// real dtype and at least one axis.
std::vector<node_ref> record_sort(node* x, const sort_request& how, const place& at);

}  // namespace sinter::jit
