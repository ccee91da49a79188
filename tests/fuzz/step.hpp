// A random program as data: a list of statements on numbered variables, each one call of the library. Statements hold
// everything literally, so that any part of a program is a program, too.
#pragma once

#include "tests/fuzz/values.hpp"

#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace sinter_test::fuzz {

enum class verb : std::uint8_t {
  // new variables
  make,  // from host data
  full,  // extents of `value`, lazily
  ramp,  // reshape(arange(n), extents).astype(type)
  copy,  // result = from[0]
  swap,  // std::swap(from[0], from[1])
  drop,  // from[0] = array()
  // elements
  unary_call,
  binary_call,
  with_number,  // binary with `value` on the right; on the left where `flag`
  choose,       // where(from[0], from[1], from[2])
  clip,         // between numbers[0] and numbers[1]
  convert,
  string_kernel,  // which: code; 3 is a reduction along numbers
  compound,       // from[0] op= from[1], code of binary
  // other shapes of the same elements
  reshape,
  ravel,
  transpose,
  swapaxes,
  moveaxis,
  broadcast,
  expand_dims,
  squeeze,
  flip,
  diagonal,
  rot90,
  roll,  // along an axis; flat where `flag`
  tile,
  repeat,
  // elements by index
  index,            // result = from[0](picks)
  take,             // picks[0] along numbers[0]; flat where `flag`
  take_along_axis,  // picks[0] along numbers[0]
  assign,           // from[0](picks) op= from[1] or `value`; code: of `writes`
  scatter,          // scatter*(from[0], picks[0], from[1], numbers[0])
  put_along_axis,
  put,
  // several arrays
  concat,
  stack,
  hstack,
  vstack,
  dstack,
  pad,
  split,  // part numbers[2] of numbers[0] along numbers[1]; array_split where `flag`
  // fewer elements
  reduce,       // code of `reduction`, along numbers, or all axes without any
  scan,         // code of `running`, along numbers[0]; flat where `flag`
  difference,   // diff(from[0], amount, numbers[0]), with edges: code & 1: before, code & 2: after
  exponential,  // code of `exponential`, along numbers
  product,      // code of `product`
  nonzero,
  flatnonzero,
  argwhere,
  compress,
  unique,
  bincount,
  // when
  evaluate,
  check,  // read from[0] now
};

// clang-format off
#define SINTER_FUZZ_REDUCTIONS(X)                                                                    \
  X(sum) X(prod) X(min) X(max) X(mean) X(var) X(stddev) X(any_true) X(all_true) X(count_nonzero)     \
  X(argmin) X(argmax) X(ptp) X(nansum) X(nanprod) X(nanmin) X(nanmax) X(nanmean) X(logsumexp) X(norm)
// clang-format on

enum class reduction : std::uint8_t {
#define X(name) name,
  SINTER_FUZZ_REDUCTIONS(X)
#undef X
};
inline constexpr const char* reduction_names[] = {
#define X(name) #name,
    SINTER_FUZZ_REDUCTIONS(X)
#undef X
};
inline constexpr int reduction_count = static_cast<int>(std::size(reduction_names));
/// Which reductions take what by name.
constexpr bool takes_type(reduction r) { return r <= reduction::stddev; }
constexpr bool takes_initial(reduction r) { return r <= reduction::max; }
constexpr bool takes_mask(reduction r) { return r <= reduction::count_nonzero; }
constexpr bool takes_ddof(reduction r) { return r == reduction::var || r == reduction::stddev; }

enum class running : std::uint8_t { cumsum, cumprod, cummin, cummax };
inline constexpr const char* running_names[] = {"cumsum", "cumprod", "cummin", "cummax"};
enum class exponential : std::uint8_t { softmax, log_softmax };
inline constexpr const char* exponential_names[] = {"softmax", "log_softmax"};
/// trace is of numbers: {offset, axis1, axis2}.
enum class product : std::uint8_t { matmul, dot, vdot, outer, trace };
inline constexpr const char* product_names[] = {"matmul", "dot", "vdot", "outer", "trace"};

inline constexpr double norm_orders[] = {2, 1, std::numeric_limits<double>::infinity(),
                                         -std::numeric_limits<double>::infinity(), 0};

/// How assign and scatter combine: the first is `=`, then the operators, then the functions.
enum class write : std::uint8_t {
  set,
  add,
  subtract,
  multiply,
  divide,
  modulo,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  minimum,
  maximum
};
inline constexpr const char* write_names[] = {
    "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "set_minimum", "set_maximum"};
inline constexpr int write_count = 13;

/// One index between the parentheses.
struct pick {
  enum class kind : std::uint8_t { integer, whole, slice, unit, rest, array, variable } what = kind::whole;
  std::int64_t integer = 0;                           ///< or which variable
  std::optional<std::int64_t> first = {}, last = {};  ///< of a slice; empty: begin and end, as the direction wants them
  std::int64_t step = 1;
  host_array values = {};  ///< index array or mask
  bool pending = false;    ///< whether the values are computed by the kernel that uses them
};

struct step {
  verb what = verb::evaluate;
  int code = 0;
  int result = -1;  ///< the variable that becomes the result, if any
  std::vector<int> from;
  std::vector<std::int64_t> numbers;
  sinter::dtype type = sinter::f32;
  sinter::shape extents;
  host_array data;
  std::vector<pick> picks;
  number value;
  std::int64_t amount = 0;    ///< ddof; norm: which `norm_orders`; difference: how often
  bool use_value = false;     ///< `value` instead of the last operand; reduce: as the initial value
  bool flag = false;          ///< of the verb, or keepdims
  bool masked = false;        ///< reduce: where from[1]
  bool typed = false;         ///< reduce, scan: in `type`
  bool as_selection = false;  ///< assign: the right side is written as a selection, v(ellipsis)
};

using program = std::vector<step>;

/// As C++, nearly.
std::string to_text(const step& s);

}  // namespace sinter_test::fuzz
