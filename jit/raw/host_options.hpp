// NVRTC's options in the host compiler's words.
#pragma once

#include "jit/compile/compiler.hpp"

#include <string>
#include <vector>

namespace sinter::jit {

struct host_options {
  std::vector<std::string> words;
  math_mode math = math_mode::standard;
  bool checked = false;  ///< -DSINTER_CHECKED is among them
  std::string unknown;   ///< the first that NVRTC doesn't know either; empty: none
};

/// Definitions and include folders are kept; what concerns the GPU only is left out.
host_options translate_options(const std::vector<std::string>& options);

}  // namespace sinter::jit
