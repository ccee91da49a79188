#include "tests/backend/cache_process.hpp"

#include "jit/background.hpp"
#include "tests/backend/expect.hpp"

#include <sinter/cache.hpp>
#include <sinter/raw_kernel.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

extern char** environ;

namespace sinter_test {

namespace {

using namespace sinter;

// ---- In the other process ----

std::string asked(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int number_asked(const char* name, int otherwise) {
  const std::string value = asked(name);
  return value.empty() ? otherwise : std::atoi(value.c_str());
}

template <class T>
void tell(const std::string& name, const T& value) {
  std::ostringstream text;
  text << "RESULT " << name << "=" << value << "\n";
  std::fputs(text.str().c_str(), stdout);
  std::fflush(stdout);
}

/// Kernel k is a chain of k + 1 steps: no two are alike.
array chain(array x, int k) {
  for (int j = 0; j <= k; ++j) x = sqrt(x * x + 3) - x / 2;
  return x;
}

double plain_chain(double x, int k) {
  for (int j = 0; j <= k; ++j) x = std::sqrt(x * x + 3) - x / 2;
  return x;
}

bool is_right(const array& y, int k) {
  const std::vector<double> got = y.to_vector<double>();
  for (std::size_t i = 0; i < got.size(); ++i)
    if (std::abs(got[i] - plain_chain(static_cast<double>(i), k)) > 1e-12) return false;
  return got.size() == 100;
}

void run_chains() {
  const int count = number_asked("TEST_KERNELS", 0);
  const array x = counting(f64, {100}).to_device();
  std::vector<array> results;
  for (int k = 0; k < count; ++k) results.push_back(chain(x, k));
  if (!asked("TEST_PRECOMPILE").empty()) {
    const statistics s = counted([&] {
      for (const array& y : results) precompile(y);
    });
    tell("launches_of_precompile", s.launches);
    tell("compiles_of_precompile", s.compiles);
  }
  bool right = true;
  for (int k = 0; k < count; ++k) right = right && is_right(results[static_cast<std::size_t>(k)], k);
  tell("right", right);
}

/// The chains compiled in the background: while that goes on, once it is done, and (told to leave) without waiting.
void run_in_background() {
  if (asked("TEST_ASYNC").empty()) return;
  set_compile_mode(compile_mode::async);
  run_chains();
  tell("substitutes_at_first", stats().substitutes);
  if (!asked("TEST_LEAVE").empty()) return;
  jit::wait_for_background();
  run_chains();
  tell("substitutes", stats().substitutes);
}

/// One evaluation that takes several kernels.
void run_together() {
  if (asked("TEST_TOGETHER").empty()) return;
  const array x = counting(f64, {1000}).to_device();
  const array centred = x - sum(x) / 1000, scaled = centred / sqrt(sum(centred * centred));
  const auto start = std::chrono::steady_clock::now();
  precompile(scaled);
  const auto took = std::chrono::steady_clock::now() - start;
  tell("together_microseconds", std::chrono::duration_cast<std::chrono::microseconds>(took).count());
  // The sum of (k - 499.5)^2 over k < 1000 is n (n^2 - 1) / 12.
  tell("together", std::abs(scaled(0).item<double>() + 499.5 / std::sqrt(1000 * 999999.0 / 12)) < 1e-12);
}

void run_user_kernels() {
  if (const std::string folder = asked("TEST_INCLUDE"); !folder.empty()) {
    std::vector<std::string> options = {"-I" + folder, "-include", "value.h"};
    if (default_device().is_cuda()) options = {"-I" + folder, "--pre-include=value.h"};
    const elementwise k("included", "T x", "T y", "y = x + VALUE", {.options = options});
    tell("included", k(counting(f32, {4}).to_device())(1).item<float>());
  }
  if (!asked("TEST_WARNING").empty()) {
    const elementwise k("careless", "T x", "T y", "float twice = x * 2;\nint unused;\ny = twice");
    tell("careless", k(counting(f32, {4}).to_device())(1).item<float>());
  }
  if (asked("TEST_SAME_NAME").empty()) return;
  const elementwise f("same", "T x", "T y", "y = x + 10"), g("same", "T x", "T y", "y = x + 20");
  const array x = counting(f32, {4}).to_device();
  tell("first", f(x)(1).item<float>());
  tell("second", g(x)(1).item<float>());
  for (const char* value : {"30", "40"}) {
    const raw_kernel r{"same", std::string("__global__ void same(float* y) { *y = ") + value + "; }"};
    array y = zeros({1}, f32);
    r({.grid = {1}, .block = {1}}, y);
    tell(std::string("raw_") + value, y.item<float>());
  }
}

constexpr const char* program = R"(
#include "value.h"
#include <cstdint>
using std::size_t;
namespace lib { enum class tag { a, b }; template <tag T> __global__ void e(int* y) { *y = static_cast<int>(T); } }
template <class A, class B> __global__ void k(int* y) { *y = 10 * sizeof(A) + sizeof(B); }
template <class T> __global__ void p(int* y) { *y = sizeof(T); }
__global__ void plain(int* y) { int unused; *y = VALUE; }
)";

/// A user's own program: instances of templates in the spelling and order asked for, and what the compiler warned of.
void run_programs() {
  const std::string folder = asked("TEST_PROGRAM");
  if (folder.empty()) return;
  const bool other = asked("TEST_SPELLING") == "other";
  std::vector<std::string> names{"k<float,double>", "p<size_t>", "lib::e<lib::tag::b>", "plain"};
  if (other) names = {"lib::e< lib :: tag::b >", "plain", "p< size_t>", "k<float, double>"};
  const raw_module m{"program", program, {.include_paths = {folder}}, names};
  for (const std::string& name : names) {
    array y = zeros({1}, i32);
    m.get_function(name)({.grid = {1}, .block = {1}}, y);
    std::vector<std::int32_t> got(1);
    y.copy_to(std::span<std::int32_t>(got));
    tell(std::string("program_") + name.substr(0, name.find('<')), got[0]);
  }
  const std::string log = raw_kernel("plain", program, {.include_paths = {folder}}).compile_log();
  tell("warns", log.find("unused") != std::string::npos);
}

void tell_counters() {
  const statistics s = stats();
  tell("compiles", s.compiles);
  tell("disk_hits", s.disk_hits);
  tell("bundle_hits", s.bundle_hits);
  tell("absent", s.misses_absent);
  tell("damaged", s.misses_damaged);
  tell("foreign", s.misses_foreign);
  tell("refused", s.misses_refused);
  tell("unloadable", s.misses_unloadable);
  tell("compile_microseconds", s.compile_microseconds);
  tell("load_microseconds", s.load_microseconds);
  tell("bytes_read", s.cache_bytes_read);
  tell("bytes_written", s.cache_bytes_written);
}

TEST(cache_process, DISABLED_kernels) {
  if (asked("TEST_CHILD").empty()) GTEST_SKIP() << "only in the processes that other tests start";
  if (const std::string bytes = asked("TEST_MAX_BYTES"); !bytes.empty())
    set_cache({.max_bytes = static_cast<std::uint64_t>(std::atoll(bytes.c_str()))});
  if (const std::string file = asked("TEST_LOAD"); !file.empty()) load_kernels(file);
  if (!asked("TEST_BEFORE").empty()) {
    std::vector<array> kept;  // other addresses, other numbers of everything
    for (int k = 0; k < 7; ++k) kept.push_back(exp(counting(f32, {3 + k}).to_device() * k));
    eval(kept[5]);
  }
  const std::uint64_t before = stats().compiles;
  try {
    if (asked("TEST_ASYNC").empty()) run_chains();
    run_in_background();
    run_together();
    run_user_kernels();
    run_programs();
  } catch (const device_error& e) {
    tell("device_error", std::string(e.what()).substr(0, std::string(e.what()).find('\n')));
  }
  tell("new_compiles", stats().compiles - before);
  tell_counters();
  if (const std::string file = asked("TEST_EXPORT"); !file.empty()) {
    const std::string targets = asked("TEST_TARGETS");
    if (targets == "several") export_kernels(file, {"sm_80", "sm_90", "compute_80", "x86-64-v2", "x86-64-v3"});
    else if (targets == "oldest") export_kernels(file, {"compute_75", "x86-64"});
    else export_kernels(file);
  }
  if (!asked("TEST_MAPS").empty()) {
    std::ifstream maps("/proc/self/maps");
    const std::string text{std::istreambuf_iterator<char>(maps), {}};
    tell("has_nvrtc", text.find("libnvrtc") != text.npos);
  }
  tell("done", 1);
}

// ---- In this one ----

/// This process's environment with changes; keeps the strings.
class changed_environment {
 public:
  explicit changed_environment(const environment& changes) {
    environment all;
    for (char** e = environ; *e != nullptr; ++e) {
      const std::string line = *e;
      all[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
    }
    // Its one test must not be in another process's share.
    for (const char* name : {"SINTER_CACHE", "SINTER_CACHE_DIR", "SINTER_CXX", "SINTER_LOG", "GTEST_TOTAL_SHARDS",
                             "GTEST_SHARD_INDEX"})
      all.erase(name);
    all["TEST_CHILD"] = "1";
    for (const auto& [name, value] : changes) all[name] = value;
    for (const auto& [name, value] : all)
      if (!value.empty()) lines_.push_back(name + "=" + value);
    for (std::string& line : lines_) pointers_.push_back(line.data());
    pointers_.push_back(nullptr);
  }
  char* const* get() { return pointers_.data(); }

 private:
  std::vector<std::string> lines_;
  std::vector<char*> pointers_;
};

}  // namespace

std::string process_result::operator[](const std::string& name) const {
  const auto at = results.find(name);
  return at == results.end() ? "" : at->second;
}

std::uint64_t process_result::number(const std::string& name) const {
  const auto at = results.find(name);
  return at == results.end() ? ~std::uint64_t{0} : std::strtoull(at->second.c_str(), nullptr, 10);
}

int process_result::count(const std::string& text) const {
  int n = 0;
  for (std::size_t k = 0; (k = output.find(text, k)) != output.npos; k += text.size()) ++n;
  return n;
}

cache_process::cache_process(const environment& e, const std::string& before) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe"), log = folder_.path() + "/log";
  const std::string script = before + " exec \"$0\" \"$@\"";
  std::vector<std::string> words{"/bin/sh", "-c", script, self, "--gtest_filter=cache_process.DISABLED_kernels",
                                 "--gtest_also_run_disabled_tests"};
  if (!executor.empty() && !e.contains("TEST_AUTOMATIC")) words.push_back("--executor=" + executor);
  std::vector<char*> arguments;
  for (std::string& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  changed_environment changed(e);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  if (posix_spawn(&id_, "/bin/sh", &files, nullptr, arguments.data(), changed.get()) != 0) id_ = -1;
  posix_spawn_file_actions_destroy(&files);
}

cache_process::~cache_process() {
  if (id_ <= 0) return;
  kill();
  waitpid(id_, nullptr, 0);
}

void cache_process::kill() { ::kill(id_, SIGKILL); }

process_result cache_process::wait() {
  process_result r;
  if (id_ <= 0) return r;
  waitpid(id_, &r.status, 0);
  id_ = -1;
  r.output = read_file(folder_.path() + "/log");
  std::istringstream lines(r.output);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("RESULT ")) {
      const std::size_t equal = line.find('=');
      r.results[line.substr(7, equal - 7)] = line.substr(equal + 1);
    }
  return r;
}

std::string read_file(const std::string& path) {
  std::ifstream f(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}

void write_file(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

process_result run_process(const environment& e, const std::string& before) { return cache_process(e, before).wait(); }

std::vector<std::string> kernel_files(const std::string& folder) {
  std::vector<std::string> all;
  if (!std::filesystem::exists(folder)) return all;
  for (const auto& e : std::filesystem::recursive_directory_iterator(folder))
    if (e.path().extension() == ".kernel") all.push_back(e.path());
  std::ranges::sort(all);
  return all;
}

std::string why_no_mounts() {
  const int status = std::system("unshare -m mount -t tmpfs none /mnt > /dev/null 2>&1");
  return status == 0 ? "" : "mounting a small file system needs rights that this process hasn't";
}

}  // namespace sinter_test
