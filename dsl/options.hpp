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

/// `on`: writes at repeated indices (`a(i) += x`) combine floats in a fixed order, so that every run gives the same
/// bits; it costs time that grows with the product of written and available places. Applies to what is recorded later.
/// Scans of floats evaluated meanwhile have a fixed order, too (dsl/scan.hpp); reductions always do.
void set_deterministic(bool on);
bool get_deterministic();

/// Limits of what may be pending: recording past one evaluates the operands first (logged at level info).
struct recording_limits {
  std::int64_t operations = 8192;           ///< the longest chain of pending operations
  std::int64_t bytes = std::int64_t{4} << 30;  ///< of evaluated arrays that only pending work still needs
};
void set_recording_limits(const recording_limits& limits);
recording_limits get_recording_limits();

/// Limits of one launch; a group that would pass one is cut, and `explain` says so.
struct fusion_limits {
  int operations = 512;  ///< instructions a kernel may have
  int inputs = 128;      ///< distinct arrays a kernel may read
};
void set_fusion_limits(const fusion_limits& limits);
fusion_limits get_fusion_limits();

}  // namespace sinter
