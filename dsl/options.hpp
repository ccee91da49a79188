// Switches of the evaluation, for the whole process; set them before recording work that should use them.
#pragma once

#include "runtime/types.hpp"

namespace sinter {

/// `standard`: IEEE, a multiply feeding an add may fuse. `strict`: never, so that cpu and cuda agree bit for bit on
/// + - * / and sqrt. `fast`: approximate division, square roots and functions allowed.
enum class math_mode : unsigned char { standard, strict, fast };
void set_math_mode(math_mode m);
math_mode get_math_mode();

/// How the cpu device runs kernels. `automatic`: compiled when a C++ compiler is installed, else interpreted with one
/// warning. String kernels always need the compiler.
enum class cpu_executor : unsigned char { automatic, compiler, interpreter };
void set_cpu_executor(cpu_executor e);
cpu_executor get_cpu_executor();

/// Uses 64-bit index arithmetic even where 32 bits suffice (for tests).
void set_wide_index(bool on);

/// Limits of one launch; a group that would pass one is cut, and `explain` says so.
struct fusion_limits {
  int operations = 512;  ///< instructions a kernel may have
  int inputs = 128;      ///< distinct arrays a kernel may read
};
void set_fusion_limits(const fusion_limits& limits);
fusion_limits get_fusion_limits();

}  // namespace sinter
