// Shared objects that are bytes in memory: what was checked is what runs, and no folder has to allow programs.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace sinter::runtime {

/// The loader's handle of a shared object with these bytes; dlclose() it. `name` is for messages and profilers. Throws
/// device_error.
void* open_shared_object(std::span<const std::byte> image, const std::string& name);

}  // namespace sinter::runtime
