// Views of host memory, as the layers below take them.
#pragma once

#include "dsl/transfer.hpp"
#include "runtime/transfer.hpp"

namespace sinter {

runtime::host_region region_of(const const_host_memory& v);

}  // namespace sinter
