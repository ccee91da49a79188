// A user's CUDA C++ source and the kernels in it: what the two ways to run them share, CUDA's (jit/raw/program.hpp) and
// the host's emulation (jit/raw/emulated_module.hpp).
#pragma once

#include "runtime/types.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sinter::runtime { struct buffer; }

namespace sinter::jit {

/// A parameter of a __global__ function.
struct raw_parameter {
  std::string type;  ///< as C++ spells it, "const float*"; "" when unknown
  std::size_t bytes = 0;
  bool is_pointer = false;
  bool is_const = false;  ///< of a pointer: what it points to can't be written
  dtype element = dtype::f32;  ///< the value's dtype, or that of what is pointed to
  bool has_element = false;    ///< false: it has none (void, a struct), or isn't known
  std::size_t element_bytes = 0;  ///< of what is pointed to: 16 for "float4*", whose dtype is f32; 0: not known
};

struct raw_function {
  std::string name;  ///< as asked for: a name, or an expression like "k<float, 4>"
  std::vector<raw_parameter> parameters;
};

struct raw_source {
  std::string name;                      ///< for messages
  std::string text;
  std::vector<std::string> options;      ///< for the compiler: "-DN=3", "-I/some/folder"
  std::vector<std::string> expressions;  ///< kernels to compile, as C++ names them: "f", "k<float, 4>", "lib::k<int>"
  place site;                            ///< where the user wrote it
};

/// Blocks of a grid, threads of a block.
struct raw_extents {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

/// A __device__ or __constant__ variable.
struct raw_global {
  void* address = nullptr;
  std::size_t bytes = 0;
  runtime::buffer* order = nullptr;  ///< stands for all variables of the program where streams keep order
};

}  // namespace sinter::jit
