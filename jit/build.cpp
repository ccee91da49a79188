#include "jit/build.hpp"

#include "jit/codegen/emit.hpp"
#include "jit/user_kernel.hpp"
#include "runtime/log.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

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
compile_error with_places(const compile_error& e, const kernel& k) {
  std::string text = e.what();
  while (text.ends_with('\n')) text.pop_back();
  for (const call& c : k.calls)
    text = error_text(fmt::format("{}\n  string kernel {}, defined", text, c.kernel->name), c.kernel->site);
  return compile_error(text, e.source(), e.log(), e.options());
}

void build(cached_kernel& c, math_mode math) {
  const auto start = std::chrono::steady_clock::now();
  verify(c.ir);
  c.name = kernel_name(c.ir, stable_identity(c.ir));
  runtime::bump(runtime::count().compiles);
  if (dumps_kernel(dump::ir, c.name)) runtime::log(level::silent, "\n" + to_string(c.ir, c.name));
  if (c.key.how == target_kind::interpreter) return;
  compile_request r;
  r.name = c.name;
  r.source = source_of(c.ir, c.name, c.key.how, c.key.lanes);
  r.target = c.key.where->target();
  r.math = math;
  r.large = c.ir.body.size() > large_kernel;
  if (!c.ir.calls.empty() && c.key.how == target_kind::host)  // preambles say __device__, as CUDA wants it
    r.options = {"-D__device__=", "-D__host__=", "-D__forceinline__=inline"};
  for (const call& k : c.ir.calls) r.options.insert(r.options.end(), k.kernel->options.begin(), k.kernel->options.end());
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

std::string source_of(const kernel& k, const std::string& name, target_kind how, int lanes) {
  return emit(k, name, how == target_kind::cuda ? dialect::cuda : dialect::host, lanes);
}

cached_kernel& ready_kernel(const lowered& l, runtime::device& d, const options& how) {
  const target_kind target = choose_target(d, how, !l.ir.calls.empty());
  cached_kernel& c = find_or_add({&l.ir, &d, target, static_cast<std::uint8_t>(l.lanes)});
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
    c.failure = std::make_exception_ptr(with_places(e, c.ir));
    std::rethrow_exception(c.failure);
  }
  c.ready.store(true, std::memory_order_release);
  return c;
}

}  // namespace sinter::jit
