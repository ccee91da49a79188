// Memory that is not the library's, on whatever device the tests run on.
#pragma once

#include "dsl/device.hpp"
#include "runtime/backend.hpp"

#include <cstddef>
#include <vector>

namespace sinter_test {

/// Bytes on the default device that the library knows nothing of.
class lent {
 public:
  explicit lent(const std::vector<std::byte>& values)
      : device_(sinter::default_device().impl()), size_(values.size()), memory_(device_.allocate(values.size())) {
    write(values.data(), values.size());
  }
  lent(const lent&) = delete;
  lent& operator=(const lent&) = delete;
  ~lent() { device_.release(memory_, size_); }

  void* at(std::int64_t byte) const { return static_cast<std::byte*>(memory_) + byte; }
  void write(const void* from, std::size_t bytes) const { device_.copy_from_host(memory_, from, bytes); }
  std::vector<std::byte> read() const {
    std::vector<std::byte> values(size_);
    device_.copy_to_host(values.data(), memory_, size_);
    return values;
  }

 private:
  sinter::runtime::device& device_;
  std::size_t size_;
  void* memory_;
};

/// For `release` hooks: counts the calls.
inline void count_up(void* counter) { ++*static_cast<int*>(counter); }

}  // namespace sinter_test
