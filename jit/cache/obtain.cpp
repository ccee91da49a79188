#include "jit/cache/obtain.hpp"

#include "jit/cache/bundle.hpp"
#include "jit/cache/settings.hpp"
#include "runtime/error.hpp"
#include "runtime/log.hpp"

#include <atomic>
#include <chrono>
#include <mutex>

#include <fmt/format.h>
#include <unistd.h>

namespace sinter::jit {
namespace {

using runtime::bump;
using runtime::count;
using std::chrono::steady_clock;

constexpr std::chrono::seconds patience(60);  // with another process that compiles the same kernel
constexpr std::chrono::milliseconds long_compilation(1000);

std::uint64_t microseconds_since(steady_clock::time_point start) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now() - start).count());
}

/// NVRTC's, asked for once; the memo lies in the cache directory.
std::string cuda_maker() {
  static auto* const guard = new std::mutex;
  static auto* const known = new std::string;
  const std::lock_guard lock(*guard);
  if (!known->empty()) return *known;
  const auto disk = current_disk();
  const std::string before = disk ? disk->read_note("nvrtc") : std::string();
  std::string memo = before;
  *known = nvrtc_identity(memo);
  if (disk && memo != before) disk->write_note("nvrtc", memo);
  return *known;
}

void count_miss(miss why) {
  switch (why) {
    case miss::none:
      return;
    case miss::absent:
      return bump(count().misses_absent);
    case miss::damaged:
      return bump(count().misses_damaged);
    case miss::foreign:
      return bump(count().misses_foreign);
    case miss::refused:
      return bump(count().misses_refused);
    case miss::unloadable:
      return bump(count().misses_unloadable);
  }
}

/// Loads a kept image; null when the device doesn't take it (another system's, an older driver).
std::unique_ptr<runtime::function> load_kept(std::span<const std::byte> made, const compile_task& t,
                                             runtime::device& where) {
  try {
    return where.load(made, t.request.name);
  } catch (const device_error& e) {
    runtime::log(runtime::level::info, fmt::format("kernel {}, kept, can't be loaded: {}", t.request.name, e.what()));
    return nullptr;
  }
}

std::unique_ptr<runtime::function> load_from_bundle(const compile_task& t, const entry_key& k, runtime::device& where) {
  const bundled b = find_bundled(k);
  if (b.image.empty()) return nullptr;
  auto f = load_kept(b.image, t, where);
  if (!f) return nullptr;
  bump(count().bundle_hits);
  bump(count().cache_bytes_read, b.bytes);
  return f;
}

std::unique_ptr<runtime::function> load_from_disk(const disk_cache& disk, const compile_task& t, const entry_key& k,
                                                  runtime::device& where, miss& why) {
  const auto e = disk.find(k, why);
  if (!e) return nullptr;
  auto f = load_kept(e->entry.image, t, where);
  if (!f) {
    why = miss::unloadable;
    return nullptr;
  }
  bump(count().disk_hits);
  bump(count().cache_bytes_read, e->bytes.size);
  return f;
}

bool has_compiler(target_kind how) {
  return how == target_kind::cuda ? !nvrtc_version().empty() : !host_compiler().empty();
}

/// Where a kernel was looked for in vain.
std::string places_searched() {
  std::string text;
  if (has_bundles()) text = "the kernels of " + bundle_names();
  if (const auto disk = current_disk()) text += (text.empty() ? "" : " and ") + disk->where().path();
  return text;
}

void tell_of_long_compilation(const std::string& name, steady_clock::duration took) {
  static std::atomic<bool> first{true};
  if (!first.exchange(false) || took < long_compilation || isatty(STDERR_FILENO) == 0) return;
  const auto disk = current_disk();
  runtime::log(
      runtime::level::warning,
      fmt::format("compiling the first kernel, {}, took {:.1f} s{}", name, std::chrono::duration<double>(took).count(),
                  disk && disk->is_writable() ? "; it is kept in " + disk->where().path() : ""));
}

image compile(const compile_task& t) {
  if (!has_compiler(t.how)) {
    const std::string places = places_searched();
    if (!places.empty())
      throw device_error(
          fmt::format("kernel {} is not among {}, and there is no compiler here to make it\n  hint: "
                      "export_kernels, called where there is one after a run that uses the kernel, writes it "
                      "to a file for load_kernels",
                      t.request.name, places));
  }
  bump(count().compiles);
  const auto start = steady_clock::now();
  image made = t.how == target_kind::cuda ? compile_cuda(t.request) : compile_host(t.request);
  bump(count().compile_microseconds, microseconds_since(start));
  tell_of_long_compilation(t.request.name, steady_clock::now() - start);
  return made;
}

/// Whether what was just compiled is what the key says: another library may have opened another NVRTC before, the
/// compiler may have been updated while this process ran, a header edited while it was compiled.
bool key_still_holds(const compile_task& t, const entry_key& k) {
  const std::string maker = t.how == target_kind::cuda ? opened_nvrtc_identity() : host_compiler_identity_now();
  if (maker != k.maker) return false;
  return t.headers.empty() ||
         scan_headers(t.users_text, t.request.options, runtime::environment().include_path).headers == t.headers;
}

}  // namespace

entry_key key_of(const compile_task& t) {
  if (!t.can_be_kept) return {};
  const bool cuda = t.how == target_kind::cuda;
  return {task_bytes(t), cuda ? t.request.target : host_target(), cuda ? cuda_maker() : host_compiler_identity()};
}

std::unique_ptr<runtime::function> find_kept(const compile_task& t, const entry_key& k, runtime::device& where) {
  if (!t.can_be_kept || current_cache_mode() == cache_mode::off) return nullptr;
  const auto start = steady_clock::now();
  auto f = load_from_bundle(t, k, where);
  if (!f)
    if (const auto disk = current_disk()) {
      miss why = miss::absent;
      f = load_from_disk(*disk, t, k, where, why);
      if (!f) count_miss(why);
    }
  bump(count().load_microseconds, microseconds_since(start));
  return f;
}

std::unique_ptr<runtime::function> compile_and_keep(const compile_task& t, const entry_key& k, runtime::device& where) {
  const auto disk = t.can_be_kept ? current_disk() : nullptr;
  file guard;
  if (disk && disk->is_writable() && !k.maker.empty()) {
    guard = disk->lock(k, patience);
    miss why = miss::absent;
    if (guard)
      if (auto f = load_from_disk(*disk, t, k, where, why)) return f;
  }
  const image made = compile(t);
  auto f = where.load(made, t.request.name);
  if (disk && !k.maker.empty() && key_still_holds(t, k)) bump(count().cache_bytes_written, disk->store(k, made));
  return f;
}

std::string entry_for_export(compile_task t, const entry_key& k) {
  miss why = miss::absent;
  if (const auto disk = current_disk())
    if (const auto e = disk->find(k, why))
      return std::string(reinterpret_cast<const char*>(e->bytes.data.get()), e->bytes.size);
  t.request.target = k.target;
  return entry_bytes(k, compile(t));
}

}  // namespace sinter::jit
