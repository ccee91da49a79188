// Copies between host and device in many small pieces.
#pragma once

#include "runtime/transfer.hpp"

#include <cstddef>

namespace sinter_test {

/// Copies are staged in pieces of so many bytes while it lives: what takes many of them needn't be large.
class piece_size {
 public:
  explicit piece_size(std::size_t bytes) : before_(sinter::runtime::staging().piece_bytes.exchange(bytes)) {}
  ~piece_size() { sinter::runtime::staging().piece_bytes = before_; }
  piece_size(const piece_size&) = delete;
  piece_size& operator=(const piece_size&) = delete;

 private:
  std::size_t before_;
};

}  // namespace sinter_test
