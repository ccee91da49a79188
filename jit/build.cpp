#include "jit/build.hpp"

#include "jit/codegen/emit.hpp"
#include "jit/user_kernel.hpp"
#include "runtime/log.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <chrono>

namespace sinter::jit {

namespace {

using runtime::dump;
using runtime::level;

constexpr std::size_t large_kernel = 200;  // instructions from where compile time outweighs the last percent

bool dumps_kernel(dump what, const std::string& name) {
  return runtime::wants(what) && fnmatch(runtime::environment().dump_glob.c_str(), name.c_str(), 0) == 0;
}

/// The same error, with the lines that defined the string kernels involved.
compile_error with_places(const compile_error& e, kernel_list parts) {
  std::string text = e.what();
  while (text.ends_with('\n')) text.pop_back();
  for (const kernel* k : parts)
    for (const call& c : k->calls)
      text = error_text(fmt::format("{}\n  string kernel {}, defined", text, c.kernel->name), c.kernel->site);
  return compile_error(text, e.source(), e.log(), e.options());
}

void build(cached_kernel& c, math_mode math) {
  const auto start = std::chrono::steady_clock::now();
  std::size_t instructions = 0;
  for (const kernel& k : c.parts) {
    verify(k);
    instructions += k.body.size();
  }
  c.name = kernel_name(c.list, stable_identity(c.list));
  runtime::bump(runtime::count().compiles);
  if (dumps_kernel(dump::ir, c.name))
    for (const kernel& k : c.parts) runtime::log(level::silent, "\n" + to_string(k, c.name));
  if (c.key.how == target_kind::interpreter) return;
  compile_request r;
  r.name = c.name;
  r.source = source_of(c.list, c.name, c.key.how);
  r.target = c.key.where->target();
  r.math = math;
  r.large = instructions > large_kernel;
  if (has_calls(c.list) && c.key.how == target_kind::host)  // preambles say __device__, as CUDA wants it
    r.options = {"-D__device__=", "-D__host__=", "-D__forceinline__=inline"};
  for (const kernel& k : c.parts)
    for (const call& u : k.calls) r.options.insert(r.options.end(), u.kernel->options.begin(), u.kernel->options.end());
  if (dumps_kernel(dump::source, c.name)) runtime::log(level::silent, "\n" + r.source);
  const image i = c.key.how == target_kind::cuda ? compile_cuda(r) : compile_host(r);
  c.function = c.key.where->load(i, c.name);
  const auto ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (dumps_kernel(dump::time, c.name)) runtime::log(level::silent, fmt::format("{}: built in {:.1f} ms", c.name, ms));
}

}  // namespace

target_kind choose_target(runtime::device& d, const options& how, bool needs_compiler) {
  if (d.kind() == runtime::device_kind::cuda) return target_kind::cuda;
  executor e = how.cpu;
  if (e == executor::automatic) {
    const std::string& wanted = runtime::environment().executor;
    if (wanted == "interpreter") e = executor::interpreter;
    else if (wanted == "compiler" || !host_compiler().empty()) e = executor::compiler;
    else {
      e = executor::interpreter;
      runtime::log_once(level::warning, "no host compiler",
                        "no C++ compiler found (c++, g++, clang++ or SINTER_CXX): kernels are interpreted, which is slow");
    }
  }
  return e == executor::compiler || needs_compiler ? target_kind::host : target_kind::interpreter;
}

bool has_calls(kernel_list parts) {
  return std::ranges::any_of(parts, [](const kernel* k) { return !k->calls.empty(); });
}

std::string source_of(kernel_list parts, const std::string& name, target_kind how) {
  return emit(parts, name, how == target_kind::cuda ? dialect::cuda : dialect::host);
}

cached_kernel& ready_kernel(kernel_list parts, runtime::device& d, const options& how) {
  const target_kind target = choose_target(d, how, has_calls(parts));
  cached_kernel& c = find_or_add({parts, &d, target});
  if (c.ready.load(std::memory_order_acquire)) {
    runtime::bump(runtime::count().cache_hits);
    return c;
  }
  const std::lock_guard lock(c.building);
  if (c.failure) std::rethrow_exception(c.failure);
  if (c.ready.load(std::memory_order_relaxed)) {
    runtime::bump(runtime::count().cache_hits);
    return c;
  }
  try {
    build(c, how.math);
  } catch (const compile_error& e) {
    c.failure = std::make_exception_ptr(with_places(e, c.list));
    std::rethrow_exception(c.failure);
  }
  c.ready.store(true, std::memory_order_release);
  return c;
}

}  // namespace sinter::jit
