// Which axes an operation works on.
#pragma once

#include "runtime/shape.hpp"

#include <initializer_list>
#include <span>

namespace sinter {

/// Some axes, negative ones from the end; by default all of them. Made implicitly: `sum(x, 1)`, `sum(x, {0, 2})`.
class axes {
 public:
  constexpr axes() = default;
  constexpr axes(int axis) : list_{axis}, count_(1) {}
  constexpr axes(std::initializer_list<int> list) : axes(std::span<const int>(list.begin(), list.size())) {}
  /// Throws shape_error for more than 16.
  constexpr explicit axes(std::span<const int> list) : count_(0) {
    for (int axis : list) {
      if (count_ == max_rank) throw_too_many();
      list_[count_++] = axis;
    }
  }

  constexpr bool all() const { return count_ < 0; }
  constexpr std::span<const int> list() const { return {list_, static_cast<std::size_t>(count_ < 0 ? 0 : count_)}; }

 private:
  [[noreturn]] static void throw_too_many();

  int list_[max_rank] = {};
  int count_ = -1;
};

}  // namespace sinter
