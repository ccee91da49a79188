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

/// The most inputs, and the most outputs, that a kernel may have.
inline constexpr std::size_t most_parameters = 16;

/// What each placeholder of a kernel stands for in one call.
using letters = std::vector<std::pair<char, dtype>>;

struct user_parameter {
  std::string type;  ///< a dtype's name, or one letter: a placeholder bound at the call; or the name of a struct
  std::string name;
  bool is_raw = false;     ///< an array that the body indexes itself
  bool is_struct = false;  ///< of a type that the preamble declares: a value, the same for all elements
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

/// The most words of 8 bytes that a struct passed by value may have.
inline constexpr std::int64_t most_words_of_struct = 32;

/// The most an accumulator of a user's reduction takes: a value of 16 bytes less, and whether there is one.
inline constexpr std::int64_t most_accumulator_bytes = 256;

/// What a call gives a kernel besides values of some dtypes. Ranks are part of a kernel's types in the generated
/// source.
struct call_form {
  std::vector<std::uint8_t> inputs;   ///< by input: the rank of a raw one, the words of a struct, else 0
  std::vector<std::uint8_t> outputs;  ///< by output: the rank of a raw one, else 0
  std::uint8_t index_rank = 0;        ///< of the loop, for a kernel that asks for `_ind`
  bool given = false;                 ///< outputs begin as what they were before the call
  std::uint32_t numbers = 0;          ///< of a kernel with loop-wide code: bit k set when input k is one number for all
  friend bool operator==(const call_form&, const call_form&) = default;
};

/// Text that a kernel has around the loop over its elements.
struct loop_text {
  std::string before, after;  ///< statements that each worker runs once: before its elements, and after them
  bool is_there() const { return !before.empty() || !after.empty(); }
};

/// Interned: parsed and bound kernels are never freed, so plain pointers to them stay good.
struct user_kernel {
  std::string name, body, preamble;
  loop_text loop;
  reduction_text reduction;
  std::vector<user_parameter> inputs, outputs;
  std::vector<std::string> options;
  place site;
  std::uint64_t identity = 0;  ///< equal text and equal bound dtypes, equal identity, within the process

  // bound at a call (a copy of the kernel per combination of dtypes, interned)
  std::vector<dtype> input_types, output_types;
  letters placeholders;
  call_form form;
  std::vector<bool> whole_operands;  ///< by operand of the call's node: whether it is an array that is read anywhere
  std::optional<dtype> accumulator_type;  ///< none: reduction.accumulator is a C++ type of the preamble's

  /// Of an unbound kernel: what the last call bound, likely to be what the next one needs. Read and written as atomic.
  mutable const user_kernel* last_bound = nullptr;

  // what the text of an elementwise kernel asks for
  bool wants_position = false;  ///< `i`, the element's number in C order
  bool wants_count = false;     ///< `n`, how many elements there are
  bool wants_index = false;     ///< `_ind`, the element's index along each axis

  bool is_reduction() const { return !reduction.map.empty(); }
  bool has_raw_inputs() const;
  /// The number of its k-th raw parameter, outputs after inputs.
  std::uint32_t raw_parameter(std::uint32_t k) const;
  const user_parameter& parameter(std::uint32_t p) const {
    return p < inputs.size() ? inputs[p] : outputs[p - inputs.size()];
  }
  bool has_raw_outputs() const;
  /// Whether calls are launches of their own: what they write isn't known, or code stands around the loop.
  bool runs_alone() const { return loop.is_there() || has_raw_outputs(); }
  /// Why, for explain(): "it writes to raw t".
  std::string reason_to_run_alone() const;
  /// What one of its accumulators takes (codegen/user_code.hpp): the value and whether there is one. 0: only the
  /// device's compiler knows.
  std::int64_t accumulator_bytes() const { return accumulator_type ? 2 * size_of(*accumulator_type) : 0; }
};

/// Parses and checks the strings; throws type_error for unknown dtypes and keywords, error for names that aren't
/// identifiers, are keywords or are used twice, and for #include. Compiles nothing.
std::shared_ptr<const user_kernel> parse_user_kernel(std::string_view name, std::string_view inputs,
                                                     std::string_view outputs, std::string_view body,
                                                     std::string_view preamble, std::vector<std::string> options,
                                                     const place& at, loop_text loop = {});

/// The same for a reduction. Throws error, too, for CuPy's names of positions and raw inputs (`_J`, `_in_ind`, ...).
std::shared_ptr<const user_kernel> parse_user_reduction(std::string_view name, std::string_view inputs,
                                                        std::string_view outputs, reduction_text text,
                                                        std::string_view preamble, std::vector<std::string> options,
                                                        const place& at);

/// The kernel of one combination of dtypes and forms, interned. Every output's letter is bound.
const user_kernel& bind_user_kernel(const user_kernel& k, const std::vector<dtype>& input_types, const letters& bound,
                                    const call_form& form = {});

/// What a call says besides its inputs.
struct call_options {
  std::int64_t size = -1;                ///< elements to run for, when nothing but raw arrays are given; -1: not said
  std::span<const input> outputs = {};   ///< what the outputs were before; none: they begin as zero
};

/// Records a call; result_of() has its outputs. Placeholders bind to the given outputs' dtypes and the arrays', then
/// numbers adopt them; a placeholder that only numbers carry binds to their common C++ dtype (bool, i64, f64, c128).
/// Throws type_error (array of another dtype, unbound placeholder), shape_error, or error (a size too many or missing).
node_ref record_call(const user_kernel& kernel, std::span<const input> operands, const place& at,
                     const call_options& how = {});

/// Which operand of a call is what its output, given or raw, was before.
std::size_t base_operand(const node& call, std::size_t output);
/// Whether a call, or what is computed element by element, needs just the same element of its operand.
bool reads_own_element(const node* user, std::size_t operand);
/// Whether `user` is a call that reads its operand anywhere, from memory.
bool reads_anywhere(const node* user, std::size_t operand);

/// Records a reduction of the operands, broadcast together, over the axes of `axes` (bit set, of their common shape).
/// dtypes as for record_call; shape_error, too, for no elements without an identity.
node_ref record_user_reduction(const user_kernel& kernel, std::span<const input> operands, std::uint32_t axes,
                               bool keep_dims, const place& at);

/// Output k of a recorded call.
node_ref result_of(node_ref call, std::size_t k);

}  // namespace sinter::jit
