// A user's kernel given as strings, elementwise or a reduction: parsed (user_kernel.cpp), and its use in the graph
// (user_call.cpp).
#pragma once

#include "jit/typing.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sinter::jit {

/// What each placeholder of a kernel stands for in one call.
using letters = std::vector<std::pair<char, dtype>>;

struct user_parameter {
  std::string type;  ///< a dtype's name, or one letter: a placeholder bound at the call
  std::string name;
  bool is_placeholder() const { return type.size() == 1; }
  /// Its dtype, once `bound` has its letter.
  std::optional<dtype> type_in(const letters& bound) const;
};

/// What a reduction has instead of a body. Not in them: loops and sizes, which the library finds.
struct reduction_text {
  std::string map;          ///< expression of the inputs
  std::string reduce;       ///< expression of `a` and `b`
  std::string post_map;     ///< statements from `a` to the outputs; empty: the first output is a
  std::string identity;     ///< expression; empty: none
  std::string accumulator;  ///< of what type a and b are; empty: the first output's
};

/// The most an accumulator of a user's reduction takes: a value of 16 bytes less, and whether there is one.
inline constexpr std::int64_t most_accumulator_bytes = 256;

/// Interned: parsed and bound kernels are never freed, so plain pointers to them stay good.
struct user_kernel : std::enable_shared_from_this<user_kernel> {
  std::string name, body, preamble;
  reduction_text reduction;
  std::vector<user_parameter> inputs, outputs;
  std::vector<std::string> options;
  place site;
  std::uint64_t identity = 0;  ///< equal text and equal bound dtypes, equal identity, within the process

  // bound at a call (a copy of the kernel per combination of dtypes, interned)
  std::vector<dtype> input_types, output_types;
  letters placeholders;
  std::optional<dtype> accumulator_type;  ///< none: reduction.accumulator is a C++ type of the preamble's

  bool is_reduction() const { return !reduction.map.empty(); }
  /// What one of its accumulators takes (codegen/user_code.hpp): the value and whether there is one. 0: only the
  /// device's compiler knows.
  std::int64_t accumulator_bytes() const { return accumulator_type ? 2 * size_of(*accumulator_type) : 0; }
};

/// Parses and checks the strings; throws type_error for unknown dtypes and keywords, error for names that aren't
/// identifiers, are keywords or are used twice. Compiles nothing.
std::shared_ptr<const user_kernel> parse_user_kernel(std::string_view name, std::string_view inputs,
                                                     std::string_view outputs, std::string_view body,
                                                     std::string_view preamble, std::vector<std::string> options,
                                                     const place& at);

/// The same for a reduction. Throws error, too, for CuPy's names of positions and raw inputs (`_J`, `_in_ind`, ...).
std::shared_ptr<const user_kernel> parse_user_reduction(std::string_view name, std::string_view inputs,
                                                        std::string_view outputs, reduction_text text,
                                                        std::string_view preamble, std::vector<std::string> options,
                                                        const place& at);

/// The kernel of one combination of dtypes, interned. Every output's letter is bound.
std::shared_ptr<const user_kernel> bind_user_kernel(const user_kernel& k, const std::vector<dtype>& input_types,
                                                    const letters& bound);

/// Records a call; one node per output. Placeholders bind to the arrays' dtypes, then numbers adopt them; a placeholder
/// that only numbers carry binds to their common C++ dtype (bool, i64, f64, c128).
/// Throws type_error (array of another dtype, unbound placeholder) or shape_error.
std::vector<node_ref> record_call(const std::shared_ptr<const user_kernel>& kernel, std::span<const input> operands,
                                  const place& at);

/// Records a reduction of the operands, broadcast together, over the axes of `axes` (bit set, of their common shape);
/// one node per output. dtypes as for record_call; shape_error, too, for no elements without an identity.
std::vector<node_ref> record_user_reduction(const std::shared_ptr<const user_kernel>& kernel,
                                            std::span<const input> operands, std::uint32_t axes, bool keep_dims,
                                            const place& at);

}  // namespace sinter::jit
