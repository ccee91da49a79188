// Launches of users' kernels. When all it reads is in memory a kernel is launched at once, in the memory that its
// outputs have if nobody else sees that; else the launch is a node of the graph (op::launch), which runs before what
// needs its outputs is planned. Kernels that may do more than their outputs tell (they have none, or their program has
// variables) are always launched at once.
#pragma once

#include "jit/opaque.hpp"
#include "jit/raw/program.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sinter::jit {

/// Blocks and threads as the user asks for them.
struct raw_shape {
  std::int64_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  std::int64_t shared_bytes = 0;
  bool cooperative = false;
  std::int64_t elements = -1;  ///< work there is; -1: not said
  bool is_chosen = false;      ///< grid found from `elements`; block, too, when block[0] is 0
  place at;
};

/// The same, checked and complete.
struct raw_dims {
  raw_extents grid, block;
  std::uint32_t shared_bytes = 0;
  bool cooperative = false;
  bool is_empty = false;  ///< no blocks: nothing to do
};

struct raw_argument {
  enum class access : std::uint8_t { number, bytes, null, read, write, update, read_or_update };
  access how = access::bytes;
  dtype type = dtype::f32;     ///< of a number
  const void* data = nullptr;  ///< of a number or bytes
  std::size_t bytes = 0;
  node* array = nullptr;
  place at;
  node_ref fresh;                      ///< what the variable becomes; null: it stays what it is
  alignas(16) unsigned char room[16];  ///< a number as the parameter's type

  bool is_array() const { return how >= access::read; }
  bool is_output() const { return how == access::write || how == access::update; }
};

/// Where these arguments are: device_error when in several places.
runtime::device& device_of(std::span<const raw_argument> arguments, std::string_view name, const place& at);

/// Checks the arguments against the kernel's parameters, and numbers become of their types. type_error or shape_error
/// with what is wrong.
void check_arguments(const raw_entry& e, std::span<raw_argument> arguments, const place& at);

/// Checks the shape, chooses what is left open, warns once a line of what makes it slow. device_error or shape_error.
raw_dims find_dims(raw_entry& e, const raw_shape& how, std::span<const raw_argument> arguments);

/// All of it. Afterwards `fresh` of outputs says what their variables are.
void launch_raw(raw_entry& e, const raw_shape& how, std::span<raw_argument> arguments);

/// A recorded launch.
class raw_call final : public opaque_call {
 public:
  std::string_view name() const override;
  std::string describe() const override;
  std::vector<reference<runtime::buffer>> run(const node& n) const override;

  struct argument {
    raw_argument::access how;
    std::vector<unsigned char> value;  ///< of a number or bytes
    std::size_t operand = 0;           ///< read, update: of the node
    dtype type = dtype::f32;           ///< write
    shape extents = {};                ///< likewise
  };
  raw_entry* entry = nullptr;
  raw_dims dims;
  std::vector<argument> arguments;
};

}  // namespace sinter::jit
