// Stands for the CUDA devices in a library built without the CUDA headers.
#include "runtime/backend.hpp"
#include "runtime/error.hpp"
#include "runtime/foreign.hpp"

namespace sinter::runtime {

int cuda_count() { return 0; }

std::string cuda_absence() { return "sinter was built without the CUDA headers"; }

void follow_stream(device&, foreign_stream) {}
void lead_stream(device& d, foreign_stream s) {
  if (s != no_stream) d.synchronize();
}
void finish(device& d) noexcept { d.synchronize(); }
foreign_stream stream_number(device&) { return no_stream; }
std::string unreachable_reason(device&, const void*) { return ""; }

device& cuda(int) { throw device_error("there is no CUDA device: " + cuda_absence()); }

}  // namespace sinter::runtime
