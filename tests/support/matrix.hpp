// One program, run many ways: with its inputs computed, pending, and as views of larger arrays; each way twice, then on
// another shape, then in another dtype; evaluated at its end, after every statement, and now and then. The results must
// never differ, kernels must be reused, and the inputs must stay what they were.
#pragma once

#include "dsl/device.hpp"
#include "dsl/index.hpp"
#include "tests/support/host_array.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sinter_test {

/// What one output must be.
struct expectation {
  host_array want;
  sinter::dtype type;  ///< of the library's result; the reference may be kept in a wider one
  tolerance how;
};

using program = std::function<std::vector<sinter::array>(const std::vector<sinter::array>&)>;

/// How an input reaches a program.
enum class layout {
  evaluated,
  times_one,
  flipped_twice,
  flipped_pending,
  strided,
  offset,
  transposed,
  reversed,
  mixed
};
inline constexpr layout all_layouts[] = {layout::evaluated,       layout::times_one, layout::flipped_twice,
                                         layout::flipped_pending, layout::strided,   layout::offset,
                                         layout::transposed,      layout::reversed,  layout::mixed};
/// For programs that take long.
inline const std::vector<layout> few_layouts{layout::evaluated, layout::mixed};

/// For programs that are a sequence of statements, after each of them, with the arrays that live on: a run may evaluate
/// some of them there. A program that calls it is run with other schedules, too. Outside a run it does nothing.
void statement(std::span<const sinter::array* const> living);
template <class... Arrays>
void statement(const Arrays&... living) {
  const sinter::array* const list[] = {&living...};
  statement(std::span<const sinter::array* const>(list));
}

struct matrix_case {
  std::vector<host_array> inputs;
  program body;
  std::vector<expectation> outputs = {};
  /// How many launches every run takes; 0: not checked.
  int launches = 0;
  /// Whether that holds for pending inputs, too: one that many views read may be worth a launch of its own.
  bool launches_when_pending = true;
  /// The axis (negative: from the end) along which every output element needs only the same position of the inputs:
  /// then any choice of positions is another shape with a known answer. Inputs of extent 1 there stay.
  std::optional<int> independent_axis = std::nullopt;
  /// Inputs that are not indexed by position along that axis.
  std::vector<std::size_t> tables = {};
  /// Inputs of the first dtype are given in the second, and outputs of the first are then of the second, too.
  std::optional<std::pair<sinter::dtype, sinter::dtype>> retype = std::nullopt;
  /// Another shape, for programs without such an axis.
  std::vector<host_array> other_inputs = {};
  std::vector<expectation> other_outputs = {};
  /// Empty: all_layouts.
  std::vector<layout> layouts = {};
};

/// Runs all of it; a sentence for each failure.
std::vector<std::string> failures_of(const matrix_case& c);

const char* to_string(layout way);
/// `x` on the default device, laid out in that way; `number` is which input it is (for `mixed`).
sinter::array laid_out(const host_array& x, layout way, std::size_t number);

/// A pending copy of the same bits, for any dtype.
sinter::array pending(const sinter::array& x);
/// a(list[0], list[1], ...).
sinter::array read_through(const sinter::array& a, const std::vector<sinter::index>& list);

/// What f() added to the library's counters.
template <class F>
sinter::statistics counted(F&& f) {
  const sinter::statistics before = sinter::stats();
  f();
  sinter::statistics after = sinter::stats();
  after.recorded -= before.recorded;
  after.evaluations -= before.evaluations;
  after.launches -= before.launches;
  after.compiles -= before.compiles;
  after.substitutes -= before.substitutes;
  after.replays -= before.replays;
  after.cache_hits -= before.cache_hits;
  after.copies_to_device -= before.copies_to_device;
  after.bytes_to_device -= before.bytes_to_device;
  after.copies_to_host -= before.copies_to_host;
  after.bytes_to_host -= before.bytes_to_host;
  after.synchronizations -= before.synchronizations;
  after.flushes -= before.flushes;
  after.disk_hits -= before.disk_hits;
  after.bundle_hits -= before.bundle_hits;
  after.misses_absent -= before.misses_absent;
  after.misses_damaged -= before.misses_damaged;
  after.misses_foreign -= before.misses_foreign;
  after.misses_refused -= before.misses_refused;
  after.misses_unloadable -= before.misses_unloadable;
  after.compile_microseconds -= before.compile_microseconds;
  after.load_microseconds -= before.load_microseconds;
  after.cache_bytes_read -= before.cache_bytes_read;
  after.cache_bytes_written -= before.cache_bytes_written;
  return after;
}

}  // namespace sinter_test
