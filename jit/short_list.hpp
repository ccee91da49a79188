// Lists without memory of their own, for what every recorded operation has a few of.
#pragma once

#include "runtime/error.hpp"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>

namespace sinter::jit {

/// At most `most` plain values, held in place. Costs what there is in it: no room is cleared or copied.
template <class T, std::size_t most>
  requires(std::is_trivially_copyable_v<T>)
class short_list {
 public:
  short_list() noexcept {}
  explicit short_list(std::size_t count) { resize(count); }
  explicit short_list(std::span<const T> values) { append(values); }
  short_list(std::initializer_list<T> values) { append({values.begin(), values.size()}); }
  short_list(const short_list& other) noexcept : size_(other.size_) { std::copy_n(other.values_, size_, values_); }
  short_list& operator=(const short_list& other) noexcept {
    size_ = other.size_;
    if (this != &other) std::copy_n(other.values_, size_, values_);
    return *this;
  }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* begin() noexcept { return values_; }
  T* end() noexcept { return values_ + size_; }
  const T* begin() const noexcept { return values_; }
  const T* end() const noexcept { return values_ + size_; }
  T* data() noexcept { return values_; }
  const T* data() const noexcept { return values_; }
  T& operator[](std::size_t k) noexcept { return values_[k]; }
  const T& operator[](std::size_t k) const noexcept { return values_[k]; }

  void clear() noexcept { size_ = 0; }
  void push_back(const T& value) {
    SINTER_CHECK(size_ < most);
    std::construct_at(values_ + size_++, value);
  }
  void append(std::span<const T> values) {
    SINTER_CHECK(values.size() <= most - size_);
    std::uninitialized_copy_n(values.data(), values.size(), values_ + size_);
    size_ += values.size();
  }
  /// What is added is T().
  void resize(std::size_t count) {
    SINTER_CHECK(count <= most);
    while (size_ < count) std::construct_at(values_ + size_++);
    size_ = count;
  }

  friend bool operator==(const short_list& a, const short_list& b) { return std::ranges::equal(a, b); }
  friend bool operator==(const short_list& a, std::span<const T> b) { return std::ranges::equal(a, b); }

 private:
  std::size_t size_ = 0;
  union {
    T values_[most];
  };
};

}  // namespace sinter::jit
