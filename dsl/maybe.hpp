// A value that may be left out of options.
#pragma once

#include <type_traits>

namespace sinter {

/// A T, or nothing. (<optional> would cost every file that includes sinter as much as a twentieth of all it reads.)
template <class T>
class maybe {
 public:
  constexpr maybe() = default;
  template <class U>
    requires(std::is_convertible_v<const U&, T>)
  constexpr maybe(const U& value) : value_(value), given_(true) {}

  constexpr explicit operator bool() const { return given_; }
  constexpr const T& operator*() const { return value_; }  ///< a T() when there is none

 private:
  T value_ = T();
  bool given_ = false;
};

}  // namespace sinter
