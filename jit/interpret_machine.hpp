// The interpreter's machine: each instruction's values lie in an array of lanes. Lanes are neighbours along one dim:
// the domain's inner one, or, where the domain has few elements, the innermost one of a loop.
#pragma once

#include "jit/interpret_internal.hpp"
#include "runtime/backend.hpp"

#include <vector>

namespace sinter::jit::interpreter {

/// A form at the current counters, along the lanes: base + step * lane, or one index a lane.
struct lane_indices {
  std::int64_t base = 0, step = 0;
  const std::int64_t* each = nullptr;
  std::int64_t operator[](int l) const { return each != nullptr ? each[l] : base + step * l; }
};

class machine {
 public:
  void run(const kernel& k, void* const* arguments, std::int64_t row_begin, std::int64_t row_end, std::int64_t begin,
           std::int64_t end);

 private:
  /// A form with this launch's numbers.
  struct bound_form {
    std::int64_t offset = 0;
    std::uint32_t first = 0, count = 0;  ///< terms_
    bool computed = false;
  };
  struct bound_term {
    std::uint32_t atom;
    std::int64_t coefficient;
  };

  /// What running a loop needs to know.
  struct loop_plan {
    std::uint32_t begin = 0, end = 0;  ///< the loop's instruction, and the one that closes it
    std::int64_t longest_inside = 0;   ///< most iterations of a loop in it, along that one's innermost dim
    std::vector<value> outside;        ///< what comes from before it and is used in it
    std::vector<value> accumulating;   ///< its reductions and scans
    bool serial = false;
    std::vector<value> carries;        ///< serial: its states
  };

  struct alignas(64) line {
    unsigned char bytes[64];
  };

  // ---- before the first block ----
  void prepare(std::int64_t lanes);
  void bind_forms();
  void lay_out_registers();
  void plan_loops();
  void use(value v);
  void use_operands(const inst& i);
  void fill_scalar(const inst& i, void* out, int lanes);
  std::int64_t extent_of_innermost(const loop_plan& p) const;

  // ---- access to launch and registers ----
  template <class T>
  const T& argument(std::uint32_t p) const { return *static_cast<const T*>(arguments_[p]); }
  std::int64_t number(std::uint32_t p) const { return argument<std::int64_t>(p); }

  void* at(value v) { return &memory_[places_[raw(v)]]; }
  void* extra(value v) { return &memory_[extras_[raw(v)]]; }
  template <class T>
  T* lanes(value v) { return static_cast<T*>(at(v)); }
  /// The lanes of a predicate, or null for none.
  const bool* predicate(value v) { return v == value::none ? nullptr : lanes<bool>(v); }
  dtype type_of(value v) const { return (*kernel_)[v].type; }

  // ---- execution ----
  void find_row();
  void execute(std::size_t first, std::size_t last);
  void step(const inst& i, value v);
  void compute(const inst& i, value v);
  void take_in(const inst& i, value v);
  void run_loop(const loop_plan& p);
  void iterate(const loop_plan& p, bool along);
  void run_serial(const loop_plan& p);
  void proceed(const inst& i);
  void take_next(const inst& i);
  bool turn_outer(const loop_dims& dims);
  void spread(value v, int count);

  // ---- indices and memory: interpret_memory.cpp ----
  lane_indices resolve(std::uint32_t number_of_form);
  void index(const inst& i, value v);
  void quotient(const inst& i, value v);
  void inside(const inst& i, value v);
  void bound(const inst& i, value v);
  void report(std::uint32_t ordinal, std::int64_t wanted, std::int64_t size, int lane);
  void in_range(const inst& i, value v);
  void load(const inst& i, value v);
  void store(const inst& i);
  void combine(const inst& i);

  const kernel* kernel_ = nullptr;
  void* const* arguments_ = nullptr;
  runtime::index_fault* fault_ = nullptr;
  std::int64_t launch_ = 0, row_ = 0;
  std::uint32_t lane_dim_ = 0;  ///< the dim that lanes lie along; its counter is the first lane's
  int count_ = 0;               ///< lanes at work
  std::vector<std::uint8_t> active_;  ///< by lane: whether it is still in the serial loops around; empty: all are
  bool in_turn_ = false;        ///< whether lanes are iterations of the innermost open loop, not elements
  std::int64_t position_ = 0;   ///< iterations of that loop before this one (before the first lane's)
  std::vector<std::int64_t> counters_, extents_;
  std::vector<bound_form> forms_;
  std::vector<bound_term> terms_;
  std::vector<std::size_t> places_, extras_;  ///< by instruction, in lines
  std::vector<loop_plan> plans_;              ///< in order; only the first ones are this kernel's
  std::vector<std::uint32_t> plan_of_;        ///< by instruction: of a loop
  std::vector<std::uint32_t> open_;           ///< plans, while making them
  std::int64_t longest_ = 0;                  ///< as longest_inside, for the domain
  std::vector<line> memory_;
  std::int64_t indices_[block] = {};
};

}  // namespace sinter::jit::interpreter
