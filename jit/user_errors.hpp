// What compilers say of users' kernels, in one form for all of them.
#pragma once

#include "jit/cache/key.hpp"

#include <string>
#include <string_view>

namespace sinter::jit {

/// The diagnostics of a log that are about the users' own text, each as
///   squares, line 2: error: 'w' was not declared in this scope
///     y = t + w;
///             ^
/// Empty when there are none.
std::string readable_log(std::string_view log, kernel_list parts);

}  // namespace sinter::jit
