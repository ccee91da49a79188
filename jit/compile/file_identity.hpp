// Which file something is, without reading it.
#pragma once

#include <string>

namespace sinter::jit {

/// Name (links followed), size and time of the last change: "libnvrtc.so.13.0.88 102400 1700000000.5". Not the folder,
/// so that a moved installation stays the same. Empty when there is no such file.
std::string file_identity(const std::string& path);

}  // namespace sinter::jit
