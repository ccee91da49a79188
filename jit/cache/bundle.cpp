#include "jit/cache/bundle.hpp"

#include "jit/cache/directory.hpp"
#include "runtime/error.hpp"

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sinter::jit {
namespace {

constexpr std::string_view magic = "sinterbn";
constexpr std::uint32_t format = 1;
constexpr std::size_t most_bytes = std::size_t{1} << 32;

std::span<const std::byte> as_bytes(const std::string& s) { return std::as_bytes(std::span(s)); }

struct loaded {
  std::mutex guard;
  std::map<digest, std::vector<std::unique_ptr<const std::string>>> entries;  ///< by task
  std::vector<std::string> names;
  std::atomic<bool> any{false};
};

loaded& all_loaded() {
  static auto* const l = new loaded;  // never destroyed, as the kernels
  return *l;
}

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw io_error(fmt::format("kernels of {}: {}", path, what));
}

/// "sm_90" -> 90; 0 when the name doesn't begin so.
int version_after(const std::string& name, std::string_view start) {
  int v = 0;
  if (name.starts_with(start)) std::from_chars(name.data() + start.size(), name.data() + name.size(), v);
  return v;
}

}  // namespace

int fitness(const std::string& made, const std::string& wanted) {
  constexpr int exact = 1000, binary = 500;
  if (made == wanted) return exact;
  if (const int here = version_after(wanted, "sm_"); here != 0) {
    const int cubin = version_after(made, "sm_"), ptx = version_after(made, "compute_");
    if (cubin != 0 && cubin / 10 == here / 10 && cubin <= here && made == fmt::format("sm_{}", cubin))
      return binary + cubin % 10;
    return ptx != 0 && ptx <= here && made == fmt::format("compute_{}", ptx) ? ptx : 0;
  }
  if (!made.starts_with("x86-64") || wanted != host_target() || !runs_here(made)) return 0;
  return 1 + (made.back() >= '2' && made.back() <= '4' && made.size() == 9 ? made.back() - '0' : 0);
}

std::vector<std::string> read_bundle(const std::string& path) {
  const file f(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat s;
  if (!f || fstat(f.get(), &s) != 0) fail(path, std::strerror(errno));
  if (!S_ISREG(s.st_mode)) fail(path, "this is no file");
  if ((s.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    fail(path,
         fmt::format("others may write to this file (mode {:04o}), and what is in it would run\n  hint: chmod go-w {}",
                     s.st_mode & 07777, path));
  const auto bytes = read_all(f, most_bytes);
  if (!bytes) fail(path, "the file can't be read");
  const std::string_view text(reinterpret_cast<const char*>(bytes->data.get()), bytes->size);
  if (!text.starts_with(magic)) fail(path, "this is no file of kernels (export_kernels writes them)");
  byte_reader r(text.substr(magic.size()));
  if (r.number() != format) fail(path, "another version of the library wrote it; export the kernels again");
  const std::uint32_t count = r.number();
  std::vector<std::string> entries;
  for (std::uint32_t k = 0; k < count && r.good(); ++k) {
    entries.emplace_back(r.text());
    if (r.good() && !read_entry(as_bytes(entries.back())))
      fail(path, fmt::format("kernel {} of {} is damaged", k + 1, count));
  }
  if (!r.at_end()) fail(path, "the file is truncated, or has more in it than it should");
  return entries;
}

void write_bundle(const std::string& path, const std::vector<std::string>& entries) {
  byte_writer w;
  w.number(format);
  w.number(static_cast<std::uint32_t>(entries.size()));
  for (const std::string& e : entries) w.text(e);
  const std::string text = std::string(magic) + w.take(), beside = fmt::format("{}.{}.new", path, getpid());
  const file f(open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!f) fail(beside, std::strerror(errno));
  if (write_all(f, text) && fchmod(f.get(), 0644) == 0 && fsync(f.get()) == 0 &&
      std::rename(beside.c_str(), path.c_str()) == 0)
    return;
  const int why = errno;
  unlink(beside.c_str());
  fail(path, std::strerror(why));
}

void load_bundle(const std::string& path) {
  std::vector<std::string> entries = read_bundle(path);
  loaded& l = all_loaded();
  const std::lock_guard lock(l.guard);
  for (std::string& e : entries) {
    auto kept = std::make_unique<const std::string>(std::move(e));
    const auto view = read_entry(as_bytes(*kept));
    l.entries[digest_of(view->task)].push_back(std::move(kept));
  }
  l.names.push_back(path);
  l.any.store(true, std::memory_order_release);
}

bool has_bundles() { return all_loaded().any.load(std::memory_order_acquire); }

std::string bundle_names() {
  loaded& l = all_loaded();
  const std::lock_guard lock(l.guard);
  return fmt::format("{}", fmt::join(l.names, ", "));
}

bundled find_bundled(const entry_key& wanted) {
  if (!has_bundles()) return {};
  loaded& l = all_loaded();
  const std::lock_guard lock(l.guard);
  bundled best;
  int best_fit = 0;
  const auto at = l.entries.find(digest_of(wanted.task));
  if (at == l.entries.end()) return {};
  for (const auto& bytes : at->second) {
    const auto e = read_entry(as_bytes(*bytes));
    const int fit = e && e->task == wanted.task ? fitness(std::string(e->target), wanted.target) : 0;
    if (fit <= best_fit) continue;
    best = {e->image, e->notes, bytes->size()};
    best_fit = fit;
  }
  return best;
}

}  // namespace sinter::jit
