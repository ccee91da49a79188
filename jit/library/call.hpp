// Functions of libraries as nodes of the graph. A call is an op::launch: what it needs is evaluated before (in as few
// launches as any evaluation), its outputs are memory that later operations fuse around. Views of what is in memory are
// passed with their strides where the function takes those, and stored otherwise.
//
// To add one: derive from library_call, say what it gives (outputs), which layouts it reads in place (takes) and how it
// is started on each kind of device (start); record it with record_library_call. Open libraries with
// runtime/library.hpp, at run time only.
#pragma once

#include "jit/opaque.hpp"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace sinter::runtime {
class memory_use;
}

namespace sinter::jit {

/// Where an array's elements are: element (i, j, ..) is i * strides[0] + j * strides[1] + .. elements from the first.
/// Strides may be negative or 0.
struct memory_layout {
  dtype type = dtype::f32;
  shape extents;
  std::int64_t strides[max_rank] = {};
  bool conjugated = false;  ///< the elements are the conjugates of what is in memory

  bool is_contiguous() const;  ///< in C order, and not conjugated
};

struct library_input {
  memory_layout layout;
  const void* data = nullptr;  ///< of the first element, on the call's device
};

struct library_output {
  dtype type = dtype::f32;
  shape extents;
  void* data = nullptr;  ///< in C order, on the call's device; null without elements
};

/// One run of a call.
class library_run {
 public:
  /// `use`: what the run's memory is noted in; null: nothing is.
  library_run(runtime::device& where_, const place& at_, runtime::memory_use* use = nullptr)
      : where(where_), at(at_), use_(use) {}

  runtime::device& where;
  place at;  ///< the user's line
  std::vector<library_input> inputs;
  std::vector<library_output> outputs;

  /// Memory of the device that is free again once the work started in this run is done. Throws out_of_memory.
  void* scratch(std::size_t bytes);
  /// Throws device_error at the user's line: "what: why".
  [[noreturn]] void fail(std::string_view what, std::string_view why, int code = 0) const;

 private:
  runtime::memory_use* use_;
  std::vector<reference<runtime::buffer>> scratch_;
};

class library_call : public opaque_call {
 public:
  struct output {
    dtype type;
    shape extents;
  };
  /// What it gives, in the order of record_library_call's results.
  virtual std::vector<output> outputs() const = 0;
  /// Whether operand k is read in place when it lies like that; else it is stored in C order first.
  virtual bool takes(std::size_t k, const memory_layout& x) const { return static_cast<void>(k), x.is_contiguous(); }
  /// Starts the work on r.where's stream (on the cpu: does it). Outputs aren't initialised. Not called when no output
  /// has elements. Throws with r.fail; whatever was written is then thrown away.
  virtual void start(library_run& r) const = 0;

  /// How operand k will lie when the call runs.
  memory_layout layout_of(std::size_t k, node* x) const;

  std::vector<node*> needs(const node& n) const final;
  std::vector<reference<runtime::buffer>> run(const node& n) const final;
};

/// Records the call; its outputs. It runs on `where`, to which operands are brought. Launches nothing. Not in the body
/// of a loop inside a kernel (is_recording_body()).
std::vector<node_ref> record_library_call(std::shared_ptr<const library_call> call, std::span<node* const> operands,
                                          runtime::device& where, const place& at);

/// The device that operands are on; without any that is bound to one, the default device. device_error for several.
runtime::device& device_of_operands(std::span<node* const> operands, std::string_view operation, const place& at);

}  // namespace sinter::jit
