#include "dsl/options.hpp"

#include "jit/engine.hpp"

#include <algorithm>

namespace sinter {

namespace {

// The library's own enumerations are not in public headers; these keep both spelt alike.
static_assert(static_cast<int>(math_mode::standard) == static_cast<int>(jit::math_mode::standard));
static_assert(static_cast<int>(math_mode::strict) == static_cast<int>(jit::math_mode::strict));
static_assert(static_cast<int>(math_mode::fast) == static_cast<int>(jit::math_mode::fast));
static_assert(static_cast<int>(cpu_executor::automatic) == static_cast<int>(jit::executor::automatic));
static_assert(static_cast<int>(cpu_executor::compiler) == static_cast<int>(jit::executor::compiler));
static_assert(static_cast<int>(cpu_executor::interpreter) == static_cast<int>(jit::executor::interpreter));

}  // namespace

void set_math_mode(math_mode m) { jit::current_options().math = static_cast<jit::math_mode>(m); }
math_mode get_math_mode() { return static_cast<math_mode>(jit::current_options().math); }

void set_cpu_executor(cpu_executor e) { jit::current_options().cpu = static_cast<jit::executor>(e); }
cpu_executor get_cpu_executor() { return static_cast<cpu_executor>(jit::current_options().cpu); }

void set_wide_index(bool on) { jit::current_options().force_wide_index = on; }

void set_deterministic(bool on) { jit::current_options().deterministic = on; }
bool get_deterministic() { return jit::current_options().deterministic; }

void set_recording_limits(const recording_limits& limits) {
  jit::current_options().max_pending_operations = std::max(limits.operations, std::int64_t{1});
  jit::current_options().max_pending_bytes = std::max(limits.bytes, std::int64_t{0});
}

recording_limits get_recording_limits() {
  return {jit::current_options().max_pending_operations, jit::current_options().max_pending_bytes};
}

void set_fusion_limits(const fusion_limits& limits) {
  jit::current_options().max_operations = std::max(limits.operations, 1);
  jit::current_options().max_inputs = std::max(limits.inputs, 1);
}

fusion_limits get_fusion_limits() { return {jit::current_options().max_operations, jit::current_options().max_inputs}; }

}  // namespace sinter
