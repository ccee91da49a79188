#include "tests/support/matrix.hpp"

#include "dsl/math.hpp"
#include "dsl/ops.hpp"
#include "dsl/shape_ops.hpp"
#include "tests/support/executor.hpp"
#include "tests/support/lcg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>

namespace sinter_test {

namespace {

using sinter::array;

/// Where element k of an axis stands in a larger one: offset + step * k.
struct placement {
  std::int64_t offset = 0, step = 1;
};

/// Room behind the elements, so that a view ends before its buffer does.
constexpr std::int64_t room = 3;

placement backwards(std::int64_t extent, std::int64_t pace) {
  return {extent == 0 ? 0 : pace * (extent - 1) + 1, -pace};
}

/// A view of x's elements in a larger buffer, whose other elements no one should read.
array embedded(const host_array& x, const std::vector<placement>& axes) {
  sinter::shape extents;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::int64_t n = x.extents[static_cast<int>(k)];
    const std::int64_t last =
        n == 0 ? axes[k].offset : std::max(axes[k].offset, axes[k].offset + axes[k].step * (n - 1));
    extents.append(last + room);
  }
  host_array larger(x.type, extents);
  const std::byte garbage = x.type == sinter::boolean ? std::byte{1} : std::byte{0xa5};
  std::fill(larger.bytes.begin(), larger.bytes.end(), garbage);
  for (std::int64_t k = 0; k < x.size(); ++k) {
    std::int64_t rest = k, to = 0, pace = 1;
    for (auto axis = axes.size(); axis-- > 0;) {
      const std::int64_t n = x.extents[static_cast<int>(axis)];
      to += (axes[axis].offset + axes[axis].step * (rest % n)) * pace;
      pace *= extents[static_cast<int>(axis)];
      rest /= n;
    }
    std::memcpy(larger.at(to), x.at(k), static_cast<std::size_t>(sinter::size_of(x.type)));
  }
  std::vector<sinter::index> list;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const auto [offset, step] = axes[k];
    const std::int64_t last = step < 0 ? 0 : offset + step * x.extents[static_cast<int>(k)];
    list.emplace_back(sinter::range(offset, last, step));
  }
  return read_through(larger.to_device(), list);
}

std::vector<placement> everywhere(const host_array& x, placement p) {
  return std::vector<placement>(static_cast<std::size_t>(x.extents.rank()), p);
}

array strided(const host_array& x) {
  std::vector<placement> axes = everywhere(x, {});
  if (!axes.empty()) axes.back() = {1, 2};
  return embedded(x, axes);
}

array reversed(const host_array& x, std::int64_t pace) {
  std::vector<placement> axes;
  for (std::int64_t n : x.extents) axes.push_back(backwards(n, 1));
  if (!axes.empty()) axes.back() = backwards(x.extents[x.extents.rank() - 1], pace);
  return embedded(x, axes);
}

/// A transposed view; of vectors and single elements, a column of a wider array.
array transposed(const host_array& x) {
  if (x.extents.rank() < 2) {
    host_array column = x;
    column.extents.append(1);
    return sinter::squeeze(embedded(column, everywhere(column, {1, 1})), x.extents.rank());
  }
  sinter::shape extents;
  for (int k = x.extents.rank(); k-- > 0;) extents.append(x.extents[k]);
  host_array stored(x.type, extents);
  for (std::int64_t k = 0; k < x.size(); ++k) {
    std::int64_t rest = k, to = 0;
    // The last axis of x is the first, and slowest, of the transposed one.
    std::int64_t pace = x.size();
    for (int axis = x.extents.rank(); axis-- > 0;) {
      pace /= x.extents[axis];
      to += rest % x.extents[axis] * pace;
      rest /= x.extents[axis];
    }
    std::memcpy(stored.at(to), x.at(k), static_cast<std::size_t>(sinter::size_of(x.type)));
  }
  return sinter::transpose(stored.to_device());
}

std::vector<array> lay_out(const std::vector<host_array>& inputs, layout way) {
  std::vector<array> out;
  for (std::size_t k = 0; k < inputs.size(); ++k) out.push_back(laid_out(inputs[k], way, k));
  return out;
}

/// When a run evaluates.
enum class schedule { at_the_end, after_every_statement, now_and_then };

const char* to_string(schedule when) {
  switch (when) {
    case schedule::at_the_end:
      return "at the end";
    case schedule::after_every_statement:
      return "evaluated after every statement";
    case schedule::now_and_then:
      break;
  }
  return "evaluated now and then";
}

/// The statements of one run of a program; the latest one made is what `statement` tells.
class statements {
 public:
  statements(schedule when, std::uint32_t seed) : when_(when), numbers_(seed), outer_(current) { current = this; }
  ~statements() { current = outer_; }
  statements(const statements&) = delete;
  statements& operator=(const statements&) = delete;

  static thread_local statements* current;
  int count() const { return count_; }

  void next(std::span<const array* const> living) {
    ++count_;
    if (when_ == schedule::after_every_statement) return sinter::eval_all(living);
    if (when_ == schedule::at_the_end || numbers_.below(3) != 0) return;
    std::vector<const array*> some;
    for (const array* a : living)
      if (numbers_.below(2) == 0) some.push_back(a);
    sinter::eval_all(some);
    // Evaluated arrays, and buffers that are free again, are other things once the device is done with them.
    if (numbers_.below(2) == 0) sinter::synchronize();
  }

 private:
  schedule when_;
  lcg numbers_;
  statements* outer_;
  int count_ = 0;
};
thread_local statements* statements::current = nullptr;

class runner {
 public:
  explicit runner(const matrix_case& c) : c_(c) {}

  std::vector<std::string> run() {
    const std::vector<layout> ways =
        c_.layouts.empty() ? std::vector<layout>(std::begin(all_layouts), std::end(all_layouts)) : c_.layouts;
    for (const layout way : ways) {
      const std::string name = to_string(way);
      run_once(name, c_.inputs, way, c_.outputs, false);
      run_once(name + ", again", c_.inputs, way, c_.outputs, true);
    }
    if (is_sequence_) run_scheduled(ways);
    if (c_.independent_axis) run_resized();
    if (!c_.other_inputs.empty()) run_once("another shape", c_.other_inputs, layout::evaluated, c_.other_outputs, true);
    if (c_.retype) run_retyped();
    return std::move(failures_);
  }

 private:
  void run_once(const std::string& name, const std::vector<host_array>& inputs, layout way,
                const std::vector<expectation>& outputs, bool is_warm, schedule when = schedule::at_the_end,
                std::uint32_t seed = 0) {
    try {
      const std::vector<array> in = lay_out(inputs, way);
      std::vector<array> out;
      const sinter::statistics added = counted([&] {
        statements run(when, seed);
        out = c_.body(in);
        sinter::eval_all(out);
        is_sequence_ = is_sequence_ || run.count() > 0;
      });
      if (is_warm && added.compiles != 0) note(name, fmt::format("{} kernels compiled, not 0", added.compiles));
      const bool has_pending = way == layout::times_one || way == layout::flipped_pending || way == layout::mixed;
      const bool is_counted =
          c_.launches > 0 && when == schedule::at_the_end && (c_.launches_when_pending || !has_pending);
      if (is_counted && added.launches != static_cast<std::uint64_t>(c_.launches))
        note(name, fmt::format("{} launches, not {}", added.launches, c_.launches));
      compare(name, out, outputs);
      if (is_sequence_) compare_inputs(name, in, inputs);
    } catch (const std::exception& e) { note(name, fmt::format("threw: {}", e.what())); }
  }

  void compare(const std::string& name, const std::vector<array>& out, const std::vector<expectation>& outputs) {
    if (out.size() != outputs.size()) return note(name, fmt::format("{} outputs, not {}", out.size(), outputs.size()));
    for (std::size_t k = 0; k < out.size(); ++k) {
      if (out[k].type() != outputs[k].type)
        note(name, fmt::format("output {} is {}, not {}", k, to_string(out[k].type()), to_string(outputs[k].type)));
      if (const std::string d = difference(from_device(out[k]), outputs[k].want, outputs[k].how); !d.empty())
        note(name, fmt::format("output {}: {}", k, d));
    }
  }

  /// What a program writes to are its own copies.
  void compare_inputs(const std::string& name, const std::vector<array>& in, const std::vector<host_array>& inputs) {
    for (std::size_t k = 0; k < in.size(); ++k)
      if (const std::string d = difference(from_device(in[k]), inputs[k], {0, 0, true}); !d.empty())
        note(name, fmt::format("input {} was written to: {}", k, d));
  }

  void run_scheduled(const std::vector<layout>& ways) {
    std::uint32_t seed = 1;
    for (const layout way : ways) {
      // Each cut makes other kernels, which cost the compilers time.
      const bool is_wanted = executor == "interpreter" || way == layout::evaluated || way == layout::mixed;
      if (!is_wanted) continue;
      for (const schedule when : {schedule::after_every_statement, schedule::now_and_then}) {
        const std::string name = fmt::format("{}, {} (seed {})", to_string(way), to_string(when), ++seed);
        run_once(name, c_.inputs, way, c_.outputs, false, when, seed);
        if (way == layout::evaluated) run_once(name + ", again", c_.inputs, way, c_.outputs, true, when, seed);
      }
    }
  }

  void run_resized() {
    const int axis = *c_.independent_axis;
    const auto axis_of = [&](const host_array& x) { return axis < 0 ? x.extents.rank() + axis : axis; };
    std::int64_t length = 1;
    for (std::size_t k = 0; k < c_.inputs.size(); ++k)
      if (!is_table(k)) length = std::max(length, c_.inputs[k].extents[axis_of(c_.inputs[k])]);
    // Longer than before by no round number, and in another order.
    std::vector<std::int64_t> positions;
    for (std::int64_t k = 0; k < length + length / 2 + 3; ++k) positions.push_back((k * 7 + 3) % length);

    std::vector<host_array> inputs;
    for (std::size_t k = 0; k < c_.inputs.size(); ++k) {
      const host_array& x = c_.inputs[k];
      const bool stays = is_table(k) || x.extents[axis_of(x)] == 1;
      inputs.push_back(stays ? x : picked(x, axis_of(x), positions));
    }
    std::vector<expectation> outputs = c_.outputs;
    for (expectation& e : outputs) e.want = picked(e.want, axis_of(e.want), positions);
    run_once("another shape", inputs, layout::evaluated, outputs, true);
    for (const layout way : {layout::strided, layout::reversed})
      run_once(std::string("another shape, ") + to_string(way), inputs, way, outputs, true);
  }

  void run_retyped() {
    const auto [from, to] = *c_.retype;
    std::vector<host_array> inputs = c_.inputs;
    for (host_array& x : inputs)
      if (x.type == from) x = converted(x, to);
    std::vector<expectation> outputs = c_.outputs;
    for (expectation& e : outputs)
      if (e.type == from) e.type = to;
    const std::string name = std::string("as ") + to_string(to);
    run_once(name, inputs, layout::evaluated, outputs, false);
    run_once(name + ", again", inputs, layout::evaluated, outputs, true);
    run_once(name + ", mixed", inputs, layout::mixed, outputs, false);
  }

  bool is_table(std::size_t k) const { return std::find(c_.tables.begin(), c_.tables.end(), k) != c_.tables.end(); }
  void note(const std::string& name, const std::string& what) { failures_.push_back(name + ": " + what); }

  const matrix_case& c_;
  std::vector<std::string> failures_;
  bool is_sequence_ = false;  // whether the program told of its statements
};

}  // namespace

std::vector<std::string> failures_of(const matrix_case& c) { return runner(c).run(); }

void statement(std::span<const array* const> living) {
  if (statements::current != nullptr) statements::current->next(living);
}

const char* to_string(layout way) {
  switch (way) {
    case layout::evaluated:
      return "evaluated";
    case layout::times_one:
      return "pending";
    case layout::flipped_twice:
      return "flipped twice";
    case layout::flipped_pending:
      return "pending between two flips";
    case layout::strided:
      return "strided";
    case layout::offset:
      return "offset";
    case layout::transposed:
      return "transposed";
    case layout::reversed:
      return "reversed";
    case layout::mixed:
      return "mixed";
  }
  return "";
}

array pending(const array& x) {
  if (x.type() == sinter::boolean) return x & true;
  // A complex number times one isn't always itself: infinities and zeros of its parts mix.
  if (sinter::is_complex(x.type())) return sinter::conj(sinter::conj(x));
  return x * 1;
}

array read_through(const array& a, const std::vector<sinter::index>& list) {
  sinter::index p[sinter::max_rank];
  std::copy(list.begin(), list.end(), p);
  return a(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15]);
}

array laid_out(const host_array& x, layout way, std::size_t number) {
  switch (way) {
    case layout::evaluated:
      return x.to_device();
    case layout::times_one:
      return pending(x.to_device());
    case layout::flipped_twice:
      return sinter::flip(sinter::flip(x.to_device()));
    case layout::flipped_pending:
      return sinter::flip(pending(sinter::flip(x.to_device())));
    case layout::strided:
      return strided(x);
    case layout::offset:
      return embedded(x, everywhere(x, {2, 1}));
    case layout::transposed:
      return transposed(x);
    case layout::reversed:
      return reversed(x, 1);
    case layout::mixed:
      break;
  }
  switch (number % 5) {
    case 0:
      return reversed(x, 2);
    case 1:
      return x.to_device();
    case 2:
      return transposed(x);
    case 3:
      return pending(strided(x));
    default:
      return embedded(x, everywhere(x, {1, 1}));
  }
}

}  // namespace sinter_test
