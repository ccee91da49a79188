// What the tests of dsl/ share: values through the interpreter, and errors that name the line they were written on.
#pragma once

#include "dsl/sinter.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sinter_test {

/// Arrays on the host and no compiler, whatever the machine has.
class dsl_test : public testing::Test {
 protected:
  void SetUp() override {
    sinter::set_default_device(sinter::cpu());
    sinter::set_cpu_executor(sinter::cpu_executor::interpreter);
  }
  void TearDown() override { sinter::set_cpu_executor(sinter::cpu_executor::automatic); }
};

/// All elements as f64, C order.
inline std::vector<double> values(const sinter::array& a) { return a.astype(sinter::f64).to_vector<double>(); }

using list = std::vector<double>;

/// `f`, written on the caller's line, throws an E that says `text` and names that line.
template <class E, class F>
void expect_error(F&& f, const std::string& text, sinter::place at = sinter::place::here()) {
  try {
    f();
  } catch (const E& e) {
    const std::string what = e.what();
    EXPECT_NE(what.find(text), std::string::npos) << at.line << ": " << what;
    const std::string site = std::string(at.file) + ":" + std::to_string(at.line);
    EXPECT_NE(what.find(site), std::string::npos) << "not at " << site << ": " << what;
    return;
  } catch (const std::exception& e) {
    ADD_FAILURE_AT(at.file, static_cast<int>(at.line)) << "another exception: " << e.what();
    return;
  }
  ADD_FAILURE_AT(at.file, static_cast<int>(at.line)) << "no exception; expected: " << text;
}

}  // namespace sinter_test
