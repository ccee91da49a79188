// Large objects that each thread has for itself.
#pragma once

#include <memory>

namespace sinter::runtime {

/// This thread's only T, made when first asked for. Its memory is the heap's: of a thread's static storage, a library
/// that is opened while a program runs (a plugin, a module of Python) gets less than two kilobytes in all.
template <class T>
T& own_of_thread() {
  static thread_local const std::unique_ptr<T> own = std::make_unique<T>();
  return *own;
}

}  // namespace sinter::runtime
