// Kernel IR: what one launch computes for one element of its loop domain.
//
// Semantics, the same on every executor:
//   * Instructions run in table order, once per element of the domain; values are immutable (SSA). `loop` opens
//     sequential loops over some dims, outermost first, and `end` closes them; nothing inside is visible after, but for
//     the reductions in it (reduce_*, whose second operand is the loop), which are visible only then. A scan_* in a
//     loop is what the reduction of its name would give for the iterations up to this one. Loops nest; several loops,
//     one after another, may run over the same dims. Reductions may combine elements in any order.
//   * A loop with an `iterate` is serial: its one dim counts up, one iteration after another. A `carry` in it is one of
//     its states: in the first iteration its operand, then what the iteration before gave `iterate`. `result`s of
//     iterate are the states after the loop. `proceed` takes an element out of the loop when its operand is false: what
//     comes after it in the iteration doesn't run for that element, and its states stay what they were. One that meets
//     `proceed` in the last iteration its dim has leaves, too, and is reported as a bad index is. No reductions or
//     scans belong to a serial loop.
//   * Integers wrap (two's complement). x / 0 and x % 0 are 0. A shift past the width gives 0, or the sign for >> of a
//     signed value. Negative shift counts count as past the width.
//   * Floats are IEEE with subnormals; an operation rounds to its dtype, except that a multiply feeding an add may fuse
//     (math_mode::strict: never). f16 and bf16 operations compute in f32 and round.
//   * minimum / maximum / reduce_min / reduce_max return NaN when an operand is NaN.
//   * float -> integer truncates, saturates, and takes NaN to 0; integer -> narrower integer wraps; anything -> bool is
//     x != 0; complex -> real takes the real part.
//   * A load or bound whose predicate is false, and a bad `bound`, give 0; a store or atomic then does nothing.
//   * A store is seen by no load. An element that one instruction stores twice, in different elements of the domain, is
//     stored with the same value. Atomics combine in any order, in the dtype of the value.
//
// Sizes, strides, scalars and pointers are parameters: numbers live in `arguments`, never in the table, so that the
// table's bytes are the kernel's identity.
#pragma once

#include "jit/ops.hpp"
#include "runtime/types.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sinter::jit {

struct user_kernel;

/// Instructions, times the lanes they are written out for, that a compiler handles in about 0.1 s.
inline constexpr int most_lanes_times_operations = 2000;

/// Of a thread that moves 16 bytes.
inline constexpr int most_lanes = 16;

/// A cuda kernel's argument `aligned`: by access a bit, whether it is at whole vectors; from this bit on
/// arguments::lead.
inline constexpr std::uint32_t first_lead_bit = 60;

enum class value : std::uint32_t { none = 0xffffffffu };
constexpr std::uint32_t raw(value v) { return static_cast<std::uint32_t>(v); }

struct inst {
  op code;
  dtype type;                 ///< of the result; i64 stands for "index type" in index, quotient and bound
  op combine = op::buffer;    ///< atomic: how the value meets the element in memory; memory: view when strides follow
  std::uint8_t reserved = 0;  ///< atomic with a table: 1 when sums of what it adds take 32 bits; store, while lowered:
                              ///< 1 when others read the array
  value arg[3] = {value::none, value::none, value::none};
  std::uint32_t attr = 0;     ///< by code: parameter (scalar, quotient's divisor, inside's size), form (index),
                              ///< access (load, store, atomic, memory), check (bound, proceed), call (call,
                              ///< reduce_call), iteration (iterate), ordinal of an output (result) or state (carry),
                              ///< loop (loop)
};
static_assert(sizeof(inst) == 20);

constexpr inst make_inst(op code, dtype type, std::uint32_t attr, value a = value::none, value b = value::none,
                         value c = value::none) {
  return {code, type, op::buffer, 0, {a, b, c}, attr};
}

/// One summand of a form: a loop counter or a computed index, times 1 or a parameter.
struct term {
  std::uint32_t atom;         ///< dim number; or `computed | value`
  std::uint32_t coefficient;  ///< parameter number, or `unit`
  static constexpr std::uint32_t computed = 0x80000000u, unit = 0xffffffffu;
  constexpr bool is_dim() const { return atom < computed; }
};

/// terms[first .. first + count) summed, plus parameter `offset` (or `no_offset`).
struct form {
  std::uint32_t first, count, offset;
  static constexpr std::uint32_t no_offset = 0xffffffffu;
};

/// Memory read or written at a form: element number relative to a pointer parameter.
struct access {
  std::uint32_t pointer;  ///< parameter
  std::uint32_t form;
  std::uint32_t near = alone;  ///< another access of the same array and form, `shift` elements before this one
  std::int32_t shift = 0;      ///< in whole vectors, most of this one's elements are that one's, too
  std::int32_t column = 0;      ///< staged: where in its row the form begins; memory: the check of indices into it
  std::uint32_t staged = alone; ///< the staged rows that hold what it reads, but for what lies outside the own row;
                                ///< transposed: the tiled dim along which it touches neighbours in memory
  static constexpr std::uint32_t alone = 0xffffffffu;
};

/// distribution::rows, unrolled: an array whose rows of `pitch` elements, one per element of the domain, lie end to
/// end; a block fetches those of its threads together, into shared memory.
struct staged_rows {
  std::uint32_t pointer;  ///< parameter: the first row
  std::uint32_t pitch;
};

/// distribution::transposed: how many neighbours along a dim of the domain a tile has, a power of two.
struct tiled_dim {
  std::uint32_t dim, extent;
};

/// elements, cuda: an array that atomics change, and small enough for each block to have one of its own in shared
/// memory while it runs; what it holds then is put into memory.
struct block_table {
  std::uint32_t pointer;  ///< parameter
  std::uint32_t size;     ///< parameter: how many elements; more about it follows (jit/tables.cpp)
};

/// distribution::steps: what is read or written of a state of the loop, `rows` and `columns` from an element's own
/// place.
struct step_access {
  std::uint32_t access, state;
  std::int32_t rows, columns;
};

/// A user's index checked against an extent: [-size, size).
struct check {
  static constexpr std::uint32_t none = 0xffffffffu;  ///< of a `proceed`: an element may leave at any time
  std::uint32_t size;     ///< parameter
};

/// Counters the kernel runs over: dims [0, domain_rank) make the domain (the last one innermost), the rest belong to
/// loops.
struct dim {
  std::uint32_t extent;   ///< parameter
};

/// The dims a `loop` instruction runs over, outermost first; equal for loops over the same dims. At least one.
struct loop_dims {
  std::uint32_t first, count;
  std::uint32_t serial = 0;  ///< 1: an `iterate` ends each iteration
};

/// A user's kernel called with values, or a user's reduction; `result` instructions pick its outputs. A raw parameter
/// is a `memory`, its extents and, for a view, its strides in elements. Then come positions: i, n, the indices and n of
/// _ind; and what given outputs were before.
struct call {
  const user_kernel* kernel;
  std::uint32_t first, count;  ///< call_operands[first .. first + count)
  std::uint32_t outputs;
};

/// The end of a serial loop's iteration: its carries, what each will be in the next one, then its `proceed` if it has
/// one.
struct iteration {
  std::uint32_t first, count;  ///< call_operands[first .. first + count)
  std::uint32_t states;
};

enum class parameter_kind : std::uint8_t {
  extent,       ///< i64, of a dim
  input,        ///< pointer to read-only elements
  output,       ///< pointer to elements written
  scalar,       ///< a number of `type`
  coefficient,  ///< i64: a stride or step
  offset,       ///< i64: the constant of an index form
  size,         ///< i64: an extent indices are compared with
  divisor,      ///< i64 > 0
  magic,        ///< u32 multiplier and shift for the divisor before it (jit/layout.cpp), used when index_bits is 32
  aligned,      ///< u64: bit k set when parameter-pointer number k may be accessed in whole vectors
  fault,        ///< pointer to runtime::index_fault
  launch,       ///< i64: identity of this launch, for the fault record
  team,         ///< u64: threads of a team, as log2 across | log2 down << 8 (cuda, not with distribution::elements)
  pieces,       ///< i64: that loops are split into; `pieces` of the outer counters, then one for the innermost counter
  workspace,    ///< pointer: what the pieces found
  tickets,      ///< pointer: u32 counters, zero before and after each launch (cuda)
  phase,        ///< i64, host: launch_phase
  steps,        ///< i64: iterations that a launch runs (distribution::steps)
};

/// What a host function does with loops that are split: all of it, one piece (its number comes as the row), or the rest
/// once all pieces are there.
enum class launch_phase : std::int64_t { whole, piece, rest };

/// How a kernel's outermost loops lie over threads.
enum class distribution : std::uint8_t {
  elements,  ///< no loops, or each thread runs those of its element
  rows,      ///< a team of threads takes an element of the domain, and shares the iterations of its loops
  columns,   ///< threads side by side take neighbours along the domain's inner dim, and those below share the
             ///< iterations
  steps,  ///< cuda: blocks take windows of the domain, and run several iterations of a loop around it (jit/steps.hpp)
  tiles,  ///< cuda: a thread takes a tile of the domain, and runs its only loop for all of it (kernel::tile)
  transposed,  ///< no loops: blocks take tiles of the domain; what lies in memory along another dim than the innermost
               ///< goes through shared memory (cuda), or stays in a cache (jit/transposes.cpp)
};

/// distribution::tiles: elements of the domain that a thread takes together, since what its loop reads does not depend
/// on all counters. A block brings `depth` iterations' worth of that to shared memory at a time.
struct result_tile {
  static constexpr std::uint8_t none = 0xff;
  std::uint8_t dim = none;   ///< of the domain, but the inner one: along which a thread has `rows`; none: one row, and
                             ///< threads below each other share the iterations
  std::uint8_t rows = 1, columns = 1;  ///< columns: along the inner dim
  std::uint8_t depth = 0;
};

struct parameter {
  parameter_kind kind;
  dtype type;
  std::uint8_t aliased = 0;  ///< pointers: 1 when another pointer reads or writes elements of this one
  std::uint8_t fixed = 0;    ///< 1: always `number`, for unrolled loops
  std::int32_t number = 0;
};

struct kernel {
  std::vector<inst> body;
  std::vector<term> terms;
  std::vector<form> forms;
  std::vector<access> accesses;
  std::vector<check> checks;
  std::vector<dim> dims;
  std::vector<loop_dims> loops;
  std::vector<staged_rows> staged;
  std::vector<tiled_dim> tiled;  ///< innermost first: the domain's inner dim, then further out
  std::vector<step_access> stepped;
  std::vector<block_table> tables;
  std::vector<call> calls;
  std::vector<iteration> iterations;
  std::vector<value> call_operands;
  std::vector<parameter> parameters;
  std::uint32_t domain_rank = 1;
  std::uint8_t index_bits = 64;
  std::uint8_t math = 0;   ///< math_mode
  /// Neighbours that a thread takes at once, along the inner dim of the domain (elements, columns, tiles) or of each
  /// outermost loop (rows).
  std::uint8_t lanes = 1;
  distribution over = distribution::elements;
  std::uint8_t split = 0;      ///< 1: the outermost loops may be cut in pieces, which several blocks or threads run
  std::uint8_t kept = 0;       ///< rows: most vectors of a loop a thread gets; kept from one loop to the next. 0: any
                               ///< number. steps: vectors of a plane that a thread has, below each other
  std::uint8_t whole = 0;      ///< rows, cuda: 1: the outermost loops' innermost extents are multiples of `lanes`
  std::uint8_t unrolled = 0;   ///< rows, cuda: if not 0, loops are short, and a thread runs those of so many elements
  std::uint8_t steps = 0;      ///< most iterations of a launch
  std::uint8_t stage = 0;      ///< of a launch of several parts: it begins when all parts of lower stages have ended
  std::uint16_t threads = 256; ///< of a cuda block
  result_tile tile;
  /// By instruction, when there are loops: equal numbers are one value, at the same iteration of loops over the same
  /// dims.
  std::vector<std::uint32_t> origins;

  const inst& operator[](value v) const { return body[raw(v)]; }
  void clear();
};

/// Whether a kernel makes random words, four to a block: neighbours have blocks in common.
bool draws_words(const kernel& k);

/// One parameter's value; c128 needs all 16 bytes.
union slot {
  std::int64_t as_i64;
  std::uint64_t as_u64;
  void* as_pointer;
  unsigned char bytes[16];
};

/// How the threads of a block lie over neighbouring elements, when these are distributed.
enum class block_form : std::uint8_t {
  wide,    ///< along the inner dim, as far as there are elements
  square,  ///< a warp: its elements take unequal times, near ones similar times
  tall,    ///< over several rows: near rows read the same elements
};

/// The numbers of one launch, `slots[k]` for `parameters[k]`.
struct arguments {
  std::vector<slot> slots;
  std::int64_t rows = 1, inner = 1;  ///< domain: product of the outer extents, and the innermost extent
  int cost = 1;
  block_form blocks_over = block_form::wide;  ///< elements, cuda
  int lead = 0;  ///< elements of a vector that lie before a row begins: then most pointers are at whole vectors
  // when loops are distributed (transposed: blocks):
  std::int64_t blocks = 1, pieces = 1;                ///< cuda blocks; pieces that each element's loops are cut into
  std::size_t workspace_bytes = 0, ticket_count = 0;  ///< what the pieces need
  std::uint32_t shared_bytes = 0;                     ///< of a cuda block, for staged rows
};

/// Throws internal_error naming the first rule the kernel breaks: operands defined before use and in scope, dtypes as
/// the operation's rule wants, table references in range, loops closed. Run after lowering and after each pass.
void verify(const kernel& k);

/// Text form, one instruction a line; stable, for dumps and golden files.
std::string to_string(const kernel& k, const std::string& name);

}  // namespace sinter::jit
