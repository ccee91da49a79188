#include "jit/build.hpp"

#include "jit/background.hpp"
#include "jit/cache/bundle.hpp"
#include "jit/cache/obtain.hpp"
#include "jit/cache/settings.hpp"
#include "jit/codegen/emit.hpp"
#include "jit/user_errors.hpp"
#include "jit/user_kernel.hpp"
#include "runtime/host/machine.hpp"
#include "runtime/log.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <system_error>
#include <thread>

namespace sinter::jit {

namespace {

using runtime::dump;
using runtime::level;

constexpr std::size_t large_kernel = 200;  // instructions from where compile time outweighs the last percent

bool dumps_kernel(dump what, const std::string& name) {
  return runtime::wants(what) && fnmatch(runtime::environment().dump_glob.c_str(), name.c_str(), 0) == 0;
}

/// The same error in the users' terms: what is about their text, and the lines that defined the string kernels
/// involved.
compile_error with_places(const compile_error& e, kernel_list parts, const std::string& name) {
  std::string text = e.what();
  if (const std::string own = readable_log(e.log(), parts); !own.empty())
    text = fmt::format("kernel {} does not compile\n{}", name, own);
  while (text.ends_with('\n')) text.pop_back();
  for (const kernel* k : parts)
    for (const call& c : k->calls)
      text = error_text(fmt::format("{}\n  string kernel {}, defined", text, c.kernel->name), c.kernel->site);
  return compile_error(text, e.source(), e.log(), e.options());
}

/// The text of the users' own that a kernel has in it.
std::string users_text(kernel_list parts) {
  std::string text;
  for (const kernel* k : parts)
    for (const call& c : k->calls) {
      const user_kernel& u = *c.kernel;
      const reduction_text& r = u.reduction;
      for (const std::string* s : {&u.preamble, &u.loop.before, &u.body, &u.loop.after, &r.map, &r.reduce, &r.post_map,
                                   &r.identity, &r.accumulator})
        text += *s + "\n";
    }
  return text;
}

compile_task task_of(kernel_list parts, const std::string& name, target_kind how, runtime::device& where) {
  compile_task t;
  t.how = how;
  compile_request& r = t.request;
  r.name = name;
  r.source = source_of(parts, name, how);
  r.target = where.target();
  r.math = static_cast<math_mode>(parts[0]->math);
  std::size_t instructions = 0;
  for (const kernel* k : parts) instructions += k->body.size();
  r.large = instructions > large_kernel;
  if (!has_calls(parts)) return t;
  if (how == target_kind::host)  // preambles say __device__, as CUDA wants it; warnings are kept as NVRTC's are
    r.options = {"-D__device__=", "-D__host__=", "-D__forceinline__=inline", "-Wall", "-Wno-unknown-pragmas"};
  for (const kernel* k : parts)
    for (const call& u : k->calls)
      r.options.insert(r.options.end(), u.kernel->options.begin(), u.kernel->options.end());
  t.users_text = users_text(parts);
  note_headers(t);
  return t;
}

/// A kernel on its way to being ready.
struct construction {
  cached_kernel* kernel;
  compile_task task;
  entry_key key;
  std::exception_ptr failure;
};

/// Under `building`: whether there is anything left to do.
bool is_settled(const cached_kernel& c) {
  if (c.failure) std::rethrow_exception(c.failure);
  return c.ready.load(std::memory_order_relaxed);
}

/// Puts a kernel's code where it belongs. What the compiler said of the users' text goes to the log.
image_loader loader_of(cached_kernel& k) {
  return [&k](std::span<const std::byte> code, const program_notes& notes) {
    k.function = k.key.where->load(code, k.name);
    if (const std::string own = readable_log(notes.log, k.list); !own.empty())
      runtime::log(level::info, fmt::format("compiling kernel {}:\n{}", k.name, own));
  };
}

void finish(construction& c, std::chrono::steady_clock::time_point start) {
  c.kernel->ready.store(true, std::memory_order_release);
  const auto ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (dumps_kernel(dump::time, c.kernel->name))
    runtime::log(level::silent, fmt::format("{}: built in {:.1f} ms", c.kernel->name, ms));
}

/// All that needs no compiler; true: ready.
bool begin(construction& c) {
  const auto start = std::chrono::steady_clock::now();
  cached_kernel& k = *c.kernel;
  const std::lock_guard lock(k.building);
  if (is_settled(k)) {
    runtime::bump(runtime::count().cache_hits);
    return true;
  }
  for (const kernel& part : k.parts) verify(part);
  k.name = kernel_name(k.list, stable_identity(k.list));
  if (dumps_kernel(dump::ir, k.name))
    for (const kernel& part : k.parts) runtime::log(level::silent, "\n" + to_string(part, k.name));
  if (k.key.how == target_kind::interpreter) {
    runtime::bump(runtime::count().compiles);
    k.ready.store(true, std::memory_order_release);
    return true;
  }
  c.task = task_of(k.list, k.name, k.key.how, *k.key.where);
  if (dumps_kernel(dump::source, k.name)) runtime::log(level::silent, "\n" + c.task.request.source);
  c.key = key_of(c.task);
  if (!find_kept(c.task, c.key, loader_of(k))) return false;
  finish(c, start);
  return true;
}

/// With a compiler. What goes wrong is kept, since this may run on a thread of its own.
void complete(construction& c) noexcept {
  const auto start = std::chrono::steady_clock::now();
  cached_kernel& k = *c.kernel;
  const std::lock_guard lock(k.building);
  try {
    if (is_settled(k)) return;
    compile_and_keep(c.task, c.key, loader_of(k));
    finish(c, start);
  } catch (const compile_error& e) {
    if (!k.failure) k.failure = std::make_exception_ptr(with_places(e, k.list, k.name));
    c.failure = k.failure;
  } catch (...) { c.failure = std::current_exception(); }
}

/// The same in the background, where nobody waits for it.
void complete_later(construction& c) noexcept {
  if (c.kernel->key.how == target_kind::cuda && !nvrtc_version().empty()) wait_for_task_at_exit();
  complete(c);
  if (!c.failure) return;
  try {
    std::rethrow_exception(c.failure);
  } catch (const std::exception& e) {
    runtime::log(level::warning, fmt::format("compiling in the background: {}\n  something slower runs instead",
                                             e.what()));
  } catch (...) {
  }
}

/// Compilers run beside each other: the host's are processes, NVRTC takes several threads.
void complete_all(std::vector<construction>& all) {
  const std::size_t most = static_cast<std::size_t>(runtime::processor_count()), threads = std::min(all.size(), most);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t k; (k = next.fetch_add(1)) < all.size();) complete(all[k]);
  };
  std::vector<std::thread> others;
  try {
    while (others.size() + 1 < threads) others.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads: those that there are do it.
  }
  work();
  for (std::thread& t : others) t.join();
}

/// The targets of one kind of device among those asked for; its own without any.
std::vector<std::string> targets_for(target_kind how, const std::string& own, const std::vector<std::string>& all) {
  std::vector<std::string> fitting;
  for (const std::string& t : all)
    if (t.starts_with("x86-64") == (how == target_kind::host)) fitting.push_back(t);
  if (fitting.empty()) fitting.push_back(own);
  return fitting;
}

}  // namespace

target_kind choose_target(runtime::device& d, const options& how, bool needs_compiler) {
  if (d.kind() == runtime::device_kind::cuda) return target_kind::cuda;
  executor e = how.cpu;
  if (e == executor::automatic) {
    const std::string& wanted = runtime::environment().executor;
    if (wanted == "interpreter") e = executor::interpreter;
    else if (wanted == "compiler" || !host_compiler().empty()) e = executor::compiler;
    else if (has_bundles() || current_cache_mode() == cache_mode::read_only) e = executor::compiler;  // made elsewhere
    else {
      e = executor::interpreter;
      runtime::log_once(
          level::warning, "no host compiler",
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

cached_kernel& find_kernel(kernel_list parts, runtime::device& d, const options& how) {
  const kernel_key key{parts, &d, choose_target(d, how, has_calls(parts))};
  return current_cache_mode() == cache_mode::off ? add_unshared(key) : find_or_add(key);
}

cached_kernel* find_ready_kernel(kernel_list parts, runtime::device& d, const options& how) {
  return find_ready({parts, &d, choose_target(d, how, has_calls(parts))});
}

cached_kernel& interpreted_kernel(kernel_list parts, runtime::device& d) {
  cached_kernel& c = find_or_add({parts, &d, target_kind::interpreter});
  const std::lock_guard lock(c.building);
  if (c.ready.load(std::memory_order_relaxed)) return c;
  for (const kernel& part : c.parts) verify(part);
  c.name = kernel_name(c.list, stable_identity(c.list));
  c.ready.store(true, std::memory_order_release);
  return c;
}

bool ready_or_asked(cached_kernel& c) {
  if (c.ready.load(std::memory_order_acquire)) return true;
  if (c.asked.load(std::memory_order_relaxed)) return false;  // `building` may be taken for as long as that takes
  const auto work = std::make_shared<construction>(construction{&c, {}, {}, nullptr});
  if (begin(*work)) return true;
  if (c.asked.exchange(true)) return false;
  if (!run_in_background([work] { complete_later(*work); })) complete_later(*work);
  return c.ready.load(std::memory_order_acquire);
}

void build_all(std::span<cached_kernel* const> kernels) {
  std::vector<construction> all;
  for (cached_kernel* k : kernels) {
    construction c{k, {}, {}, nullptr};
    if (!begin(c)) all.push_back(std::move(c));
  }
  if (all.empty()) return;
  complete_all(all);
  for (const construction& c : all)
    if (c.failure) std::rethrow_exception(c.failure);
}

cached_kernel& ready_kernel(kernel_list parts, runtime::device& d, const options& how) {
  cached_kernel& c = find_kernel(parts, d, how);
  cached_kernel* const one[] = {&c};
  build_all(one);
  return c;
}

void export_kernels(const std::string& path, const std::vector<std::string>& targets) {
  for (const std::string& t : targets)
    if (!t.starts_with("sm_") && !t.starts_with("compute_") && !t.starts_with("x86-64"))
      throw error(
          fmt::format("export_kernels: \"{}\" is no target\n  hint: targets are \"sm_90\" (GPUs of that kind), "
                      "\"compute_80\" (PTX for that kind and all later ones) and \"x86-64-v3\"",
                      t));
  std::vector<compile_task> tasks = used_programs();
  for (cached_kernel* c : all_kernels())
    if (c->ready.load(std::memory_order_acquire) && c->function)
      tasks.push_back(task_of(c->list, c->name, c->key.how, *c->key.where));
  std::map<std::string, std::string> entries;  // by file name: an order that doesn't depend on addresses; each once
  for (const compile_task& t : tasks) {
    if (!t.can_be_kept) continue;
    entry_key k = full_key_of(t);
    for (const std::string& target : targets_for(t.how, k.target, targets)) {
      k.target = target;
      std::string& bytes = entries[file_name(k)];
      if (bytes.empty()) bytes = entry_for_export(t, k);
    }
  }
  std::vector<std::string> list;
  for (auto& [name, bytes] : entries) list.push_back(std::move(bytes));
  write_bundle(path, list);
}

}  // namespace sinter::jit
