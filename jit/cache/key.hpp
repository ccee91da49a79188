// A kernel's identity: the bytes of its tables, the device it runs on and how. Nothing in it is an address of a user's
// array, a size or a number.
#pragma once

#include "jit/ir.hpp"
#include "runtime/backend.hpp"

#include <cstdint>
#include <span>

namespace sinter::jit {

/// How a kernel becomes something that runs.
enum class target_kind : std::uint8_t { cuda, host, interpreter };

/// What one launch runs: a kernel, or several side by side.
using kernel_list = std::span<const kernel* const>;

struct kernel_key {
  kernel_list parts;
  runtime::device* where;
  target_kind how;
};

std::uint64_t hash(const kernel_key& k);
bool same(const kernel_key& a, const kernel_key& b);

/// A hash that is equal in every process: user kernels count by their text.
std::uint64_t stable_identity(kernel_list parts);

}  // namespace sinter::jit
