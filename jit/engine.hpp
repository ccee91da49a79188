// Evaluation: from pending nodes to launches.
#pragma once

#include "jit/compile/compiler.hpp"
#include "jit/graph.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace sinter::jit {

/// How the cpu device runs kernels. `automatic`: compiler when one is installed, else interpreter with one warning.
enum class executor : std::uint8_t { automatic, compiler, interpreter };

/// When kernels are compiled. `automatic`: as SINTER_COMPILE says. `async`: beside the program, where something slower
/// can do a launch's work meanwhile (jit/substitute.hpp).
enum class compile_mode : std::uint8_t { automatic, sync, async };

/// How much of an access's layout its kernel knows.
enum class layout_knowledge : std::uint8_t {
  all,      ///< strides that are 0 or 1; dims that every access agrees on are one
  unmerged, ///< strides that are 0 or 1
  none,     ///< every stride is a parameter
};

/// Knobs of the evaluation; changing one never changes results beyond what its line says.
struct options {
  executor cpu = executor::automatic;
  math_mode math = math_mode::standard;  ///< strict: no fused multiply-add; fast: approximations allowed
  bool force_wide_index = false;         ///< 64-bit index arithmetic even where 32 bits do
  bool single_lane = false;              ///< a thread takes one element at a time, never a vector
  layout_knowledge layout = layout_knowledge::all;
  compile_mode compiling = compile_mode::automatic;
  int max_operations = 512;              ///< instructions a kernel may have before a group is cut
  bool deterministic = false;            ///< writes at repeated indices, and scans, combine floats in a fixed order
  std::int64_t max_pending_operations = 8192;           ///< the longest chain of pending nodes
  std::int64_t max_pending_bytes = std::int64_t{4} << 30;  ///< of evaluated arrays that only pending nodes still need
  int max_inputs = 128;                  ///< distinct arrays a kernel may read before a group is cut
  bool use_libraries = true;             ///< false: as if no library of routines (BLAS, ...) were installed
  bool tf32 = false;  ///< products of f32 matrices may round factors to 11 bits, where that is faster
};
extern options shared_options;
inline options& current_options() { return shared_options; }

/// Whether launches are to go on with something slower while their kernels are compiled.
bool compiles_later(const options& how);

/// Runs what `roots` need and fusion can't look into (opaque.hpp), operands first; what it needs is evaluated before.
void run_opaque(std::span<node* const> roots, const options& how, const place& at);

/// Computes all of `roots` together. Roots already computed cost nothing. On an error every node is as it was.
void evaluate(std::span<node* const> roots, const place& at);

/// Makes ready the kernels that evaluate(roots) would launch. Launches nothing, but for loops of whole-array
/// operations.
void precompile(std::span<node* const> roots, const place& at);

/// Waits for the device's work, then throws index_error if a kernel met a bad index.
void synchronize(runtime::device& d);

/// Copies the C-order values of `n`, evaluated first, to host memory; waits.
void read(node* n, void* to, std::size_t bytes, const place& at);

/// What evaluate(roots) would do: groups, operations, launches, reasons for cuts, IR and source. Launches nothing.
std::string explain(std::span<node* const> roots);

}  // namespace sinter::jit
