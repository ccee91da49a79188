// Shared by tests of CUDA kernels on the host: launches with plain arguments, and what a failure says.
#pragma once

#include "jit/compile/compiler.hpp"
#include "jit/raw/emulated_module.hpp"
#include "runtime/error.hpp"
#include "tests/unit/messages.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace sinter_test {

using namespace sinter;
using jit::emulated_module;
using jit::raw_extents;
using module_ptr = std::shared_ptr<emulated_module>;

inline module_ptr compile(const std::string& text, std::vector<std::string> expressions = {},
                          std::vector<std::string> options = {}) {
  const place here{"model.cpp", "step", 17};
  return emulated_module::load({"user.cu", text, std::move(options), std::move(expressions), here});
}

/// Launches with arguments given as they are: pointers for arrays.
template <class... A>
void run(const module_ptr& m, const std::string& name, raw_extents grid, raw_extents block, std::size_t shared,
         A... arguments) {
  const jit::raw_function* f = m->find(name);
  ASSERT_NE(f, nullptr) << name;
  ASSERT_EQ(f->parameters.size(), sizeof...(A));
  const std::vector<std::size_t> sizes{sizeof(A)...};
  for (std::size_t k = 0; k < sizes.size(); ++k) EXPECT_EQ(f->parameters[k].bytes, sizes[k]);
  void* const list[] = {static_cast<void*>(&arguments)..., nullptr};
  m->launch(*f, grid, block, shared, list, false, {"model.cpp", "step", 21});
}

/// What the device_error of a launch says.
template <class... A>
std::string fault_of(const module_ptr& m, const std::string& name, raw_extents grid, raw_extents block,
                     std::size_t shared, A... arguments) {
  return message_of<device_error>([&] { run(m, name, grid, block, shared, arguments...); });
}

class emulated : public testing::Test {
 protected:
  void SetUp() override {
    if (jit::host_compiler().empty()) GTEST_SKIP() << "no host compiler";
  }
};

}  // namespace sinter_test
