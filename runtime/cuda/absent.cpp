// Stands for the CUDA devices in a library built without the CUDA headers.
#include "runtime/backend.hpp"
#include "runtime/error.hpp"

namespace sinter::runtime {

int cuda_count() { return 0; }

std::string cuda_absence() { return "sinter was built without the CUDA headers"; }

device& cuda(int) { throw device_error("there is no CUDA device: " + cuda_absence()); }

}  // namespace sinter::runtime
