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

/// Loads a kept image; false when the device doesn't take it (another system's, an older driver).
bool load_kept(std::span<const std::byte> made, std::string_view notes, const compile_task& t,
               const image_loader& load) {
  try {
    load(made, notes_from(notes));
    return true;
  } catch (const device_error& e) {
    runtime::log(runtime::level::info, fmt::format("kernel {}, kept, can't be loaded: {}", t.request.name, e.what()));
    return false;
  }
}

bool load_from_bundle(const compile_task& t, const entry_key& k, const image_loader& load) {
  const bundled b = find_bundled(k);
  if (b.image.empty() || !load_kept(b.image, b.notes, t, load)) return false;
  bump(count().bundle_hits);
  bump(count().cache_bytes_read, b.bytes);
  return true;
}

bool load_from_disk(const disk_cache& disk, const compile_task& t, const entry_key& k, const image_loader& load,
                    miss& why) {
  const auto e = disk.find(k, why);
  if (!e) return false;
  if (!load_kept(e->entry.image, e->entry.notes, t, load)) {
    why = miss::unloadable;
    return false;
  }
  bump(count().disk_hits);
  bump(count().cache_bytes_read, e->bytes.size);
  return true;
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

compiled_program compile(const compile_task& t) {
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
  compiled_program made =
      t.how == target_kind::cuda ? compile_cuda_program(t.request, t.expressions) : compile_host_program(t.request);
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

struct program_list {
  std::mutex guard;
  std::vector<compile_task> tasks;
};

program_list& programs() {
  static auto* const list = new program_list;  // never destroyed, as the kernels
  return *list;
}

}  // namespace

entry_key key_of(const compile_task& t) {
  const bool needed = current_cache_mode() != cache_mode::memory || has_bundles();
  return t.can_be_kept && needed ? full_key_of(t) : entry_key{};
}

entry_key full_key_of(const compile_task& t) {
  const bool cuda = t.how == target_kind::cuda;
  return {task_bytes(t), cuda ? t.request.target : host_target(), cuda ? cuda_maker() : host_compiler_identity()};
}

bool find_kept(const compile_task& t, const entry_key& k, const image_loader& load) {
  if (!t.can_be_kept || current_cache_mode() == cache_mode::off) return false;
  const auto start = steady_clock::now();
  bool found = load_from_bundle(t, k, load);
  if (const auto disk = found ? nullptr : current_disk()) {
    miss why = miss::absent;
    found = load_from_disk(*disk, t, k, load, why);
    if (!found) count_miss(why);
  }
  bump(count().load_microseconds, microseconds_since(start));
  return found;
}

void compile_and_keep(const compile_task& t, const entry_key& k, const image_loader& load) {
  const auto disk = t.can_be_kept ? current_disk() : nullptr;
  file guard;
  if (disk && disk->is_writable() && !k.maker.empty()) {
    guard = disk->lock(k, patience);
    miss why = miss::absent;
    if (guard && load_from_disk(*disk, t, k, load, why)) return;
  }
  const compiled_program made = compile(t);
  load(made.code, made);
  // Kept before the first launch, not behind its back: 40 KB written, brought to the disk and renamed are 0.25 to 0.4
  // ms (ext4 on a virtual disk; 0.02 without fsync) beside compilations of 30 ms and more; whoever waits for the lock
  // gets the kernel that much earlier, and a process that ends without a word has kept what it compiled.
  if (disk && !k.maker.empty() && key_still_holds(t, k))
    bump(count().cache_bytes_written, disk->store(k, made.code, made));
}

void obtain_program(const compile_task& t, const image_loader& load) {
  const entry_key k = key_of(t);
  if (!find_kept(t, k, load)) compile_and_keep(t, k, load);
  program_list& p = programs();
  const std::lock_guard lock(p.guard);
  p.tasks.push_back(t);
}

std::vector<compile_task> used_programs() {
  program_list& p = programs();
  const std::lock_guard lock(p.guard);
  return p.tasks;
}

void note_headers(compile_task& t) {
  header_scan s = scan_headers(t.users_text, t.request.options, runtime::environment().include_path);
  t.headers = std::move(s.headers);
  t.can_be_kept = s.unknown.empty();
  if (!t.can_be_kept)
    runtime::log(runtime::level::info,
                 fmt::format("kernel {} is not kept on disk, since what it includes can't be known: {}", t.request.name,
                             s.unknown));
}

std::string entry_for_export(compile_task t, const entry_key& k) {
  miss why = miss::absent;
  if (const auto disk = current_disk())
    if (const auto e = disk->find(k, why))
      return std::string(reinterpret_cast<const char*>(e->bytes.data.get()), e->bytes.size);
  t.request.target = k.target;
  const compiled_program made = compile(t);
  return entry_bytes(k, made.code, made);
}

}  // namespace sinter::jit
