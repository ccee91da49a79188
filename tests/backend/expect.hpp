// What the backend tests share: checks of arrays against references, and the runner of cases as GoogleTest failures.
#pragma once

#include "dsl/sinter.hpp"
#include "tests/support/executor.hpp"
#include "tests/support/host_array.hpp"
#include "tests/support/lcg.hpp"
#include "tests/support/matrix.hpp"
#include "tests/support/reference.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace sinter_test {

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// The reference of that name, equal element by element.
inline expectation exactly(const std::string& name, sinter::dtype type) { return {reference(name), type, {}}; }
inline expectation exactly(host_array want) {
  const sinter::dtype type = want.type;
  return {std::move(want), type, {}};
}
inline expectation close_to(const std::string& name, sinter::dtype type, double rtol, double atol) {
  return {reference(name), type, {rtol, atol, false}};
}

/// Row k of a reference as an array of its own.
inline host_array row(const host_array& x, std::int64_t k) {
  const host_array one = picked(x, 0, {k});
  sinter::shape extents;
  for (int axis = 1; axis < x.extents.rank(); ++axis) extents.append(x.extents[axis]);
  return reshaped(one, extents);
}

inline void run_matrix(const matrix_case& c, sinter::place at = sinter::place::here()) {
  for (const std::string& failure : failures_of(c)) ADD_FAILURE_AT(at.file, static_cast<int>(at.line)) << failure;
}

/// Whether a, once evaluated, has the values (and, where the dtypes are equal, the bits) of `want`.
inline testing::AssertionResult equals(const sinter::array& a, const host_array& want, const tolerance& how = {}) {
  const std::string d = difference(from_device(a), want, how);
  return d.empty() ? testing::AssertionSuccess() : testing::AssertionFailure() << d;
}
template <class T>
testing::AssertionResult equals(const sinter::array& a, const std::vector<T>& want, const tolerance& how = {}) {
  return equals(a, host_array(want), how);
}

/// 64-bit index arithmetic while it lives.
class wide_indices {
 public:
  wide_indices() { sinter::set_wide_index(true); }
  ~wide_indices() { sinter::set_wide_index(false); }
  wide_indices(const wide_indices&) = delete;
  wide_indices& operator=(const wide_indices&) = delete;
};

/// Sets limits of what may be pending while it lives.
class recording {
 public:
  explicit recording(const sinter::recording_limits& l) : before_(sinter::get_recording_limits()) {
    sinter::set_recording_limits(l);
  }
  ~recording() { sinter::set_recording_limits(before_); }
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;

 private:
  sinter::recording_limits before_;
};

/// f() must throw E with all of these words in its message.
template <class E, class F>
testing::AssertionResult throws(F&& f, std::initializer_list<std::string> words = {}) {
  try {
    f();
  } catch (const E& e) {
    const std::string message = e.what();
    for (const std::string& word : words)
      if (message.find(word) == std::string::npos)
        return testing::AssertionFailure() << "the message lacks \"" << word << "\":\n" << message;
    return testing::AssertionSuccess();
  } catch (const std::exception& e) { return testing::AssertionFailure() << "another exception: " << e.what(); }
  return testing::AssertionFailure() << "nothing was thrown";
}

}  // namespace sinter_test
