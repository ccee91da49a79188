#include "dsl/libraries.hpp"

#include "jit/engine.hpp"

namespace sinter {

void set_matmul_precision(matmul_precision p) { jit::current_options().tf32 = p == matmul_precision::tf32; }
matmul_precision get_matmul_precision() {
  return jit::current_options().tf32 ? matmul_precision::tf32 : matmul_precision::ieee;
}

void set_use_libraries(bool on) { jit::current_options().use_libraries = on; }
bool get_use_libraries() { return jit::current_options().use_libraries; }

}  // namespace sinter
