// Memory that isn't there: what the arrays of a function have while compile() records it (jit/recorder.hpp). Its
// addresses, which no real memory has, say which argument or result of the recording they stand for.
#pragma once

#include "runtime/memory.hpp"
#include "runtime/types.hpp"

#include <cstdint>

namespace sinter::jit {

struct node;

/// From the first on, all addresses are of recorded memory; from the second on, of arguments that are C++ numbers,
/// which kernels get as such.
inline constexpr std::uintptr_t first_recorded_address = std::uintptr_t{1} << 62;
inline constexpr std::uintptr_t first_recorded_number = std::uintptr_t{3} << 61;

inline bool is_recorded(const runtime::buffer* b) {
  return b != nullptr && reinterpret_cast<std::uintptr_t>(b->data) >= first_recorded_address;
}
inline bool is_recorded_number(const runtime::buffer* b) {
  return b != nullptr && reinterpret_cast<std::uintptr_t>(b->data) >= first_recorded_number;
}

/// type_error when the values of `n` are wanted by the host, or by a kernel that runs at once, but it has recorded
/// memory. `what`: "item", ...
void refuse_recorded(const node* n, const place& at);

}  // namespace sinter::jit
