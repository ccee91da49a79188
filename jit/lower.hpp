// Lowering: a group of nodes over one domain -> kernel IR, and apart from it the numbers of this launch.
// Runs at every evaluation (it is as cheap as hashing the graph would be), so nothing here builds text or allocates
// once its buffers have grown.
#pragma once

#include "jit/engine.hpp"
#include "jit/graph.hpp"
#include "jit/ir.hpp"
#include "jit/linear.hpp"

#include <optional>
#include <span>
#include <vector>

namespace sinter::jit {

/// How deep loops in loops get at most; of reductions' loops alone.
constexpr std::uint32_t deepest_loops = 12, deepest_reductions = 4;

/// A pointer parameter waiting for memory: the values of `source`, `offset` elements in.
struct pending_pointer {
  std::uint32_t parameter;
  node* source;
  std::int64_t offset;
  bool aligned_steps;  ///< every other term of the access is a multiple of the vector length
};

/// A number parameter that an argument of a recorded function stands for, which each replay has another value of.
struct pending_number {
  std::uint32_t parameter;
  const node* source;
};

/// One write of a launch: an expression stored to all of an array's memory, or to some of it.
struct target {
  node* n;                      ///< whose memory
  node* value;                  ///< what is stored, over its own extents; n itself: computed from n's operands
  const node* where = nullptr;  ///< the update, scatter or join that says where; null: everywhere
  const node* giver = nullptr;  ///< the array whose memory n takes over; null: memory of n's own
  std::int64_t start = 0;       ///< join: where along its axis
  std::uint32_t looped = 0;     ///< bit k set: loops inside an element of the domain run along axis k of the value
};

/// A part of a domain: `extents` elements from `first` on, along each axis.
struct box {
  shape first, extents;
};

/// Targets of one domain, computed together from what earlier levels stored. With loops, the domain has the axes that
/// are not looped over, without those of extent 1: [n, m] looped over the second, [n] and [n, 1] all have domain [n].
struct group {
  std::vector<target> outputs;
  std::uint32_t level = 0;
  bool has_loops = false;           ///< reductions or scans are among what is computed
  bool beside_previous = false;     ///< part of one domain with the group before: they share a launch
  bool shares_launch = false;       ///< with others, in whose blocks of 256 threads its loops run
  std::optional<box> part = {};     ///< of the domain; none: all of it
  node* lone = nullptr;             ///< a lone_call, which runs whatever of its results is among the outputs ...
  std::span<node* const> written = {};  ///< ... and the memory of its raw outputs, by output
  runtime::device* owner() const { return outputs[0].n->owner; }
  shape domain() const {
    if (part) return part->extents;
    return has_loops ? domain_around(outputs[0]) : outputs[0].value->extents;
  }
  static shape domain_around(const target& t);
};

/// What is told when a check of a launch fails.
struct check_site {
  place at;                 ///< where the index, or the loop, was written
  bool iterations = false;  ///< the check counts a loop's iterations; else it is an index's
  const user_kernel* kernel = nullptr;  ///< whose text has the index ...
  std::uint32_t parameter = 0;          ///< ... into which of its parameters, outputs after inputs
};

/// Everything about one launch but the compiled function.
struct lowered {
  kernel ir;
  arguments numbers;
  std::vector<pending_pointer> pointers;
  std::vector<pending_number> pending_numbers;  ///< none, but for recorded functions
  std::vector<check_site> check_sites;  ///< by check ordinal
  std::vector<std::uint32_t> conflicts;  ///< targets that overwrite what other elements of the launch read
  const node* oversized = nullptr;       ///< the kernel would be too large: what had better be stored before
};

/// What lowering asks about a node: whether its values are in memory (or will be, from an earlier group).
class stored_values {
 public:
  virtual bool contains(const node* n) const = 0;

 protected:
  ~stored_values() = default;
};

/// Lowers `what` to one kernel. `for_cuda` allows 32-bit indices and whole-vector access. With
/// conflicts, the kernel must not run. `bounded`: gives up where values that are read at many places make the kernel
/// far larger than the plan thought, or its parameters more than a GPU takes, and says what is oversized.
void lower(const group& what, const stored_values& stored, const options& how, bool for_cuda, lowered& out,
           bool bounded = false);

/// A number as a kernel's argument of `type`.
void write_scalar(slot& s, const scalar& x, dtype type);

/// Once memory is known: fills in pointers and which of them may be accessed in whole vectors.
void bind_pointers(lowered& l, void* (*memory_of)(void* context, const node* n), void* context);
/// The same for numbers that are a copy of l.numbers; `addresses`: of each pointer's memory, its offset not added.
void bind_pointers(const lowered& l, arguments& numbers, std::span<void* const> addresses);

}  // namespace sinter::jit
