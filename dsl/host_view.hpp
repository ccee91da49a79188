// Element access from C++ to an evaluated array on the host, without copies: view(i, j). Opt-in: not part of
// sinter.hpp.
//
//   host_view<float, 2> v(x(all, range(0, 3)));
//   float largest = 0;
//   for (std::int64_t i = 0; i < v.extent(0); ++i) largest = std::max(largest, v(i, 2));
#pragma once

#include "array.hpp"

#include <array>
#include <cstdint>
#include <utility>
#include <version>
#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

namespace sinter {

/// Where the elements of a host array are. Strides count elements; `held` is what they belong to.
struct host_elements {
  array held;
  const void* data = nullptr;
  std::int64_t strides[max_rank] = {};
};
/// Evaluates; a pending view of evaluated memory without negative strides stays one. type_error unless `type` is the
/// array's dtype (u8 also for bool), shape_error for another rank, device_error unless it is on cpu.
host_elements locate_on_host(const array& a, dtype type, int rank, const place& at);

/// Reads elements of an array of `Rank` axes on the cpu device. Evaluates when made; then costs what indexing costs.
/// Holds on to the values: they stay what they are, whatever is written to the array later. Indices aren't checked.
template <element T, int Rank>
requires(Rank >= 0 && Rank <= max_rank) class host_view {
 public:
  using element_type = const T;
  using value_type = T;
  using index_type = std::int64_t;

  explicit host_view(const array& a, place at = place::here())
      : elements_(locate_on_host(a, dtype_of<T>, Rank, at)), extents_(a.extents()) {}

  static constexpr int rank() { return Rank; }
  std::int64_t extent(int axis) const { return extents_[axis]; }
  const shape& extents() const { return extents_; }
  /// In elements.
  std::int64_t stride(int axis) const { return elements_.strides[axis]; }
  std::int64_t size() const { return extents_.size(); }
  const T* data() const { return static_cast<const T*>(elements_.data); }

  template <class... Index>
  requires(sizeof...(Index) == Rank && (std::is_convertible_v<Index, std::int64_t> && ...)) const T& operator()(
      Index... index) const {
    std::int64_t offset = 0, axis = 0;
    ((offset += static_cast<std::int64_t>(index) * elements_.strides[axis++]), ...);
    return data()[offset];
  }

#ifdef __cpp_lib_mdspan
  using mdspan_type = std::mdspan<const T, std::dextents<std::int64_t, Rank>, std::layout_stride>;
  /// The same elements as a std::mdspan, which holds on to nothing: valid as long as this view.
  operator mdspan_type() const {
    std::array<std::int64_t, Rank> extents{}, strides{};
    for (int k = 0; k < Rank; ++k) {
      extents[static_cast<std::size_t>(k)] = extents_[k];
      strides[static_cast<std::size_t>(k)] = elements_.strides[k];
    }
    const std::dextents<std::int64_t, Rank> all(extents);
    return mdspan_type(data(), std::layout_stride::mapping(all, strides));
  }
#endif

 private:
  host_elements elements_;
  shape extents_;
};

}  // namespace sinter
