// Shapes: up to 16 extents held inline, the broadcast rule, and C-order strides.
#pragma once

#include "error.hpp"
#include "types.hpp"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace sinter {

inline constexpr int max_rank = 16;

/// The extents of an array, outermost first. Extents are >= 0; rank 0 is a single element.
class shape {
 public:
  constexpr shape() { clear(); }
  constexpr shape(const shape& other) : rank_(other.rank_) {
    clear();
    copy(other.extent_);
  }
  constexpr shape& operator=(const shape& other) {
    rank_ = other.rank_;
    copy(other.extent_);
    return *this;
  }
  /// Throws shape_error for a rank above 16 or a negative extent.
  constexpr shape(std::initializer_list<std::int64_t> extents, place at = place::here()) : shape() {
    for (std::int64_t n : extents) append(n, at);
  }
  template <class R>
    requires(!std::is_convertible_v<const R&, shape> && requires(const R& r) { std::span<const std::int64_t>(r); })
  explicit shape(const R& extents, place at = place::here()) : shape() {
    for (std::int64_t n : std::span<const std::int64_t>(extents)) append(n, at);
  }

  constexpr int rank() const { return rank_; }
  constexpr std::int64_t operator[](int axis) const { return extent_[axis]; }
  constexpr std::int64_t& operator[](int axis) { return extent_[axis]; }
  constexpr const std::int64_t* begin() const { return extent_; }
  constexpr const std::int64_t* end() const { return extent_ + rank_; }
  /// The number of elements: the product of the extents, 1 for rank 0.
  constexpr std::int64_t size() const {
    std::uint64_t n = 1;  // unsigned: beside an extent of 0, the others' product may pass 2^63
    for (int k = 0; k < rank_; ++k) n *= static_cast<std::uint64_t>(extent_[k]);
    return static_cast<std::int64_t>(n);
  }
  constexpr void append(std::int64_t extent, const place& at = {}) {
    if (rank_ == max_rank) throw_rank_limit(at);
    if (extent < 0) throw_negative_extent(extent, at);
    extent_[rank_++] = extent;
  }
  friend constexpr bool operator==(const shape& a, const shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int k = 0; k < a.rank_; ++k)
      if (a.extent_[k] != b.extent_[k]) return false;
    return true;
  }

 private:
  [[noreturn]] static void throw_rank_limit(const place& at);
  [[noreturn]] static void throw_negative_extent(std::int64_t extent, const place& at);

  // Recording copies shapes all the time, most of few axes: these copy without a loop, and only their room is cleared.
  static constexpr int always_copied = 2;
  constexpr void copy(const std::int64_t* from) {
    for (int k = 0; k < always_copied; ++k) extent_[k] = from[k];
    if (rank_ > always_copied) copy_rest(from);
  }
  [[gnu::noinline]] constexpr void copy_rest(const std::int64_t* from) {
    for (int k = always_copied; k < rank_; ++k) extent_[k] = from[k];
  }
  constexpr void clear() {
    int count = always_copied;
    if (std::is_constant_evaluated()) count = max_rank;
    for (int k = 0; k < count; ++k) extent_[k] = 0;
  }

  int rank_ = 0;
  std::int64_t extent_[max_rank];
};

/// "[4, 3]"; "[]" for rank 0.
std::string to_string(const shape& s);

/// Whether `a` and `b` broadcast together (NumPy's rule); on success `out` is the common shape.
bool broadcast_into(const shape& a, const shape& b, shape& out);

/// Strides in elements of a C-order array of shape `s`; written to `strides[0 .. rank)`.
void contiguous_strides(const shape& s, std::int64_t* strides);

/// The bytes `s` takes. shape_error, at the line `at`, when they are more than 2^62.
std::int64_t checked_bytes(const shape& s, dtype type, const place& at = {});

}  // namespace sinter
