#include "tests/fuzz/places.hpp"
#include "tests/fuzz/run.hpp"

#include <algorithm>
#include <chrono>

namespace sinter_test::fuzz {

namespace {

using predicate = std::function<bool(const program&)>;
using clock = std::chrono::steady_clock;

class shrinker {
 public:
  shrinker(program p, const predicate& fails, double seconds)
      : program_(std::move(p)),
        fails_(fails),
        end_(clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds))) {}

  program run() {
    bool smaller = true;
    while (smaller && !late()) {
      smaller = false;
      for (std::size_t length = std::max<std::size_t>(program_.size() / 2, 1); length > 0; length /= 2)
        smaller |= drop_runs_of(length);
      for (std::size_t k = 0; k < program_.size(); ++k) smaller |= simplify(k);
    }
    return std::move(program_);
  }

 private:
  bool late() const { return clock::now() > end_; }

  bool keep_if_failing(program candidate) {
    if (late() || !fails_(candidate)) return false;
    program_ = std::move(candidate);
    return true;
  }

  bool drop_runs_of(std::size_t length) {
    bool smaller = false;
    for (std::size_t k = program_.size(); k > 0 && !late();) {
      k = k > length ? k - length : 0;
      if (k >= program_.size()) continue;
      program candidate = program_;
      const auto first = candidate.begin() + static_cast<std::ptrdiff_t>(k);
      candidate.erase(first, first + static_cast<std::ptrdiff_t>(std::min(length, candidate.size() - k)));
      smaller |= keep_if_failing(std::move(candidate));
    }
    return smaller;
  }

  template <class F>
  bool change(std::size_t k, F f) {
    program candidate = program_;
    f(candidate[k]);
    return keep_if_failing(std::move(candidate));
  }

  /// One statement less complicated.
  bool simplify(std::size_t k) {
    bool smaller = false;
    const step before = program_[k];
    for (std::size_t m = 0; m < before.from.size(); ++m)
      for (int v = 0; v < program_[k].from[m]; ++v)
        if (change(k, [&](step& s) { s.from[m] = v; })) {
          smaller = true;
          break;
        }
    for (std::size_t m = program_[k].picks.size(); m-- > 0;) {
      if (change(k, [&](step& s) { s.picks.erase(s.picks.begin() + static_cast<std::ptrdiff_t>(m)); })) {
        smaller = true;
        continue;
      }
      const pick::kind what = program_[k].picks[m].what;
      if (what != pick::kind::whole && change(k, [&](step& s) { s.picks[m] = pick{}; })) smaller = true;
      else if (program_[k].picks[m].pending && change(k, [&](step& s) { s.picks[m].pending = false; })) smaller = true;
    }
    smaller |= drop_options(k);
    if (program_[k].as_selection) smaller |= change(k, [](step& s) { s.as_selection = false; });
    if (program_[k].what == verb::make) smaller |= cut_data(k);
    return smaller;
  }

  /// What a reduction or scan is told besides its operand, one by one.
  bool drop_options(std::size_t k) {
    bool smaller = false;
    const step before = program_[k];
    if (before.masked) smaller |= change(k, [](step& s) { s.masked = false, s.from.resize(1); });
    if (before.typed) smaller |= change(k, [](step& s) { s.typed = false; });
    if (before.what != verb::reduce) return smaller;
    if (before.use_value) smaller |= change(k, [](step& s) { s.use_value = false; });
    if (before.amount != 0) smaller |= change(k, [](step& s) { s.amount = 0; });
    if (before.flag) smaller |= change(k, [](step& s) { s.flag = false; });
    for (std::size_t m = program_[k].numbers.size(); m-- > 1;)
      smaller |= change(k, [&](step& s) { s.numbers.erase(s.numbers.begin() + static_cast<std::ptrdiff_t>(m)); });
    return smaller;
  }

  /// Host data with an axis cut to one element, or to half.
  bool cut_data(std::size_t k) {
    bool smaller = false;
    for (int axis = 0; axis < program_[k].data.extents.rank(); ++axis) {
      for (const std::int64_t parts : {std::int64_t{1} << 30, std::int64_t{2}}) {
        const sinter::shape from = program_[k].data.extents;
        sinter::shape to = from;
        to[axis] = std::max<std::int64_t>(from[axis] / parts, 1);
        if (to[axis] >= from[axis]) continue;
        const places first = mapped(from, to, [](const std::vector<std::int64_t>& at) { return at; });
        smaller |= change(k, [&](step& s) { s.data = read(s.data, first).h; });
      }
    }
    return smaller;
  }

  program program_;
  const predicate& fails_;
  clock::time_point end_;
};

}  // namespace

program shrunk(program p, const predicate& fails, double seconds) {
  return shrinker(std::move(p), fails, seconds).run();
}

}  // namespace sinter_test::fuzz
