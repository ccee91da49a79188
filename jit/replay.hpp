// Recordings of functions of arrays: the launches that a call comes down to, with places for the memory of arguments
// and results. Made by a recorder (jit/recorder.hpp); replaying one plans nothing and records nothing.
#pragma once

#include "jit/cache/memory.hpp"
#include "jit/graph.hpp"
#include "jit/lower.hpp"
#include "jit/opaque.hpp"
#include "runtime/backend.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace sinter::jit {

/// Some of a recording's memory: `offset` bytes into the one numbered `memory`.
struct memory_ref {
  static constexpr std::uint32_t none = 0xffffffffu;
  std::uint32_t memory = none;
  std::size_t offset = 0;
};

/// What a recording reads or writes.
struct recorded_memory {
  enum class origin : std::uint8_t {
    argument,  ///< the values of argument number `argument`
    number,    ///< likewise, of a C++ number: only when something wants it in memory
    constant,  ///< an array that the function has captured: held
    made,      ///< new at each replay, by the step that first writes to it
    given,     ///< the result of a call
  };
  origin how;
  runtime::device* where;
  std::size_t bytes;
  std::uint32_t argument = 0;
  bool is_used = false;  ///< some step or result refers to it
  reference<runtime::buffer> constant = {};
  runtime::buffer_use use = {};  ///< made: whose values
};

/// A number parameter of a launch that is an argument of the function.
struct recorded_number {
  std::uint32_t parameter, argument;
};

struct recorded_part {
  lowered code;                          ///< its nodes are gone
  std::vector<memory_ref> pointers;      ///< by code.pointers
  std::vector<recorded_number> numbers;
  std::int64_t faults = 0;               ///< the launch's number for the fault record; 0: it checks nothing
};

/// A node that runs by itself (jit/opaque.hpp).
struct recorded_call {
  /// A view or reshape of an operand that libraries look through.
  struct view {
    op code;
    dtype type;
    shape extents;
    std::shared_ptr<const attribute> facts;
  };
  struct operand {
    node_ref original;  ///< of a loop's body, which refers to it; or a constant, which is the operand itself
    memory_ref from;    ///< of what the function computes
    dtype type = dtype::f32;
    shape extents = {};
    std::vector<view> views = {};  ///< of that, the innermost first
  };
  struct output {
    std::size_t number;    ///< of the node
    std::uint32_t memory;
  };
  node_ref like;  ///< what was recorded; each replay makes a node like it
  std::vector<operand> operands;
  std::vector<output> outputs;
  mutable std::unique_ptr<kept_run> kept = {};  ///< of a loop, which is planned once
};

/// A launch or a call.
struct recorded_step {
  runtime::device* where = nullptr;
  cached_kernel* kernel = nullptr;
  std::vector<recorded_part> parts;
  std::unique_ptr<recorded_call> call;
  std::vector<std::uint32_t> makes, drops;  ///< memory that is new with this step, and that nobody needs after it
};

struct recorded_result {
  memory_ref from;
  dtype type;
  shape extents;
  place site;
};

class replay_state;

/// An argument of a call: an array in memory, or a number.
struct replay_argument {
  node_ref n;
  bool is_donated = false;  ///< nobody else sees its memory
};

/// Never changes, but for what replays on cuda keep: several threads may replay it.
class recording {
 public:
  recording() = default;
  ~recording();
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;

  /// Launches it all on the values of `arguments`, and appends the results; donated arguments are let go of first.
  /// Throws out_of_memory, device_error, and what its calls throw.
  void replay(std::span<replay_argument> arguments, std::vector<node_ref>& fresh) const;

  /// "2 launches, 1 call: name, name, name".
  std::string describe() const;

  std::vector<recorded_memory> memory;
  std::vector<recorded_step> steps;
  std::vector<std::uint32_t> made_last;  ///< memory without elements that no step writes
  std::vector<recorded_result> results;

 private:
  bool starts_together() const;
  void start_together(replay_state& s) const;

  /// Its launches as one graph, with the arguments of the last replay.
  struct together {
    std::atomic<std::uint32_t> replays{0};
    std::mutex guard;
    std::unique_ptr<runtime::launch_list> list;
    std::vector<std::vector<slot>> slots;  ///< what its launches have been given, by part
  };
  mutable together graph_;
};

}  // namespace sinter::jit
