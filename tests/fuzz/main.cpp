// Random programs, each run on every executor in several ways and compared with a naive interpreter:
//   fuzz_tests [--seconds N] [--seed S] [--programs N] [--executor=interpreter|host|cuda|all] [--loops|--batches]
//              [--verbose]
// Program k of a run has the seed S + k and depends on nothing else, so that `--seed S --programs 1` repeats one alone.
// Each is loops of statements (nests.hpp), joins of many operands (batches.hpp), and a sequence of other statements;
// --loops and --batches leave out the others.
#include "dsl/device.hpp"
#include "dsl/options.hpp"
#include "tests/fuzz/batches.hpp"
#include "tests/fuzz/generate.hpp"
#include "tests/fuzz/nests.hpp"
#include "tests/fuzz/run.hpp"
#include "tests/support/executor.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using namespace sinter_test::fuzz;

constexpr int data_sets = 3;
constexpr int statements = 45;
constexpr double default_seconds = 15;
constexpr double shrinking_seconds = 120;

struct settings {
  double seconds = 0;
  std::uint64_t seed = 1;
  std::int64_t programs = 0;
  std::vector<std::string> executors;
  bool loops = false, batches = false, verbose = false;
};

char running[200] = "";  // told when the process dies

extern "C" void die(int number) {
  static constexpr char how[] = "\nFAIL: the process died in ";
  if (::write(1, how, sizeof how - 1) < 0 || ::write(1, running, std::strlen(running)) < 0) _exit(2);
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void now_running(std::uint64_t seed, const std::string& executor, int set, const mode& how) {
  std::snprintf(running, sizeof running, "seed %llu, %s, data %d, %s\n", static_cast<unsigned long long>(seed),
                executor.c_str(), set, how.name);
}

/// Kernels of compilers take long: there, one more way than as recorded, and only for the first data.
bool is_wanted(const std::string& executor, std::uint64_t seed, int set, int way) {
  if (way == 0) return true;
  if (executor == "interpreter") return set == 0 || static_cast<int>(seed % (mode_count - 1)) == way - 1;
  return set == 0 && static_cast<int>(seed % (mode_count - 1)) == way - 1;
}

void report(std::uint64_t seed, const std::string& executor, int set, const mode& how, const program& p,
            const std::string& found) {
  std::printf("FAIL seed %llu on %s, data %d, %s\n  %s\n", static_cast<unsigned long long>(seed), executor.c_str(), set,
              how.name, found.c_str());
  std::fflush(stdout);
  const program small = shrunk(
      p, [&](const program& candidate) { return failure_of(candidate, how).has_value(); }, shrinking_seconds);
  const std::optional<std::string> again = failure_of(small, how);
  std::printf("made smaller (every variable is array() at first):\n%s  %s\n", to_text(small).c_str(),
              again ? again->c_str() : "it failed once, and not again");
  std::printf("repeat: fuzz_tests --seed %llu --programs 1 --executor=%s\n", static_cast<unsigned long long>(seed),
              executor.c_str());
}

/// Whether program `seed` is right everywhere.
bool passes(std::uint64_t seed, const settings& s) {
  for (int set = 0; set < data_sets; ++set) {
    const program p = generate(seed, set, statements);
    if (s.verbose)
      std::printf("seed %llu, data %d:\n%s", static_cast<unsigned long long>(seed), set, to_text(p).c_str());
    for (const std::string& executor : s.executors) {
      use_executor(executor);
      for (int way = 0; way < mode_count; ++way) {
        if (!is_wanted(executor, seed, set, way)) continue;
        now_running(seed, executor, set, modes[way]);
        if (s.verbose) std::printf("  runs: %s", running), std::fflush(stdout);
        if (const std::optional<std::string> found = failure_of(p, modes[way])) {
          report(seed, executor, set, modes[way], p, *found);
          return false;
        }
      }
    }
  }
  return true;
}

/// Whether a program of the kind that --`name` asks for is right everywhere.
template <class Program>
bool kind_passes(const Program& p, const char* name, std::uint64_t seed, const settings& s) {
  if (s.verbose) std::printf("seed %llu, %s:\n%s", static_cast<unsigned long long>(seed), name, to_text(p).c_str());
  for (const std::string& executor : s.executors) {
    use_executor(executor);
    std::snprintf(running, sizeof running, "seed %llu, %s, --%s\n", static_cast<unsigned long long>(seed),
                  executor.c_str(), name);
    const std::optional<std::string> found = failure_of(p);
    if (!found) continue;
    std::printf("FAIL seed %llu on %s, %s\n  %s\n", static_cast<unsigned long long>(seed), executor.c_str(), name,
                found->c_str());
    std::fflush(stdout);
    const Program small = shrunk(p, shrinking_seconds);
    const std::optional<std::string> again = failure_of(small);
    std::printf("made smaller:\n%s  %s\n", to_text(small).c_str(),
                again ? again->c_str() : "it failed once, and not again");
    std::printf("repeat: fuzz_tests --%s --seed %llu --programs 1 --executor=%s\n", name,
                static_cast<unsigned long long>(seed), executor.c_str());
    return false;
  }
  return true;
}

[[noreturn]] void usage(const char* argument) {
  std::fprintf(stderr,
               "%s: not understood\nusage: fuzz_tests [--seconds N] [--seed S] [--programs N] "
               "[--executor=interpreter|host|cuda|all] [--loops|--batches] [--verbose]\n",
               argument);
  std::exit(2);
}

settings parsed(int argc, char** argv) {
  settings s;
  std::string executor = "all";
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    const auto next = [&]() -> const char* {
      if (k + 1 >= argc) usage(argv[k]);
      return argv[++k];
    };
    if (word == "--seconds") s.seconds = std::atof(next());
    else if (word == "--seed") s.seed = std::strtoull(next(), nullptr, 10);
    else if (word == "--programs") s.programs = std::atoll(next());
    else if (word.starts_with("--executor=")) executor = word.substr(std::strlen("--executor="));
    else if (word == "--loops") s.loops = true;
    else if (word == "--batches") s.batches = true;
    else if (word == "--verbose") s.verbose = true;
    else usage(argv[k]);
  }
  if (s.seconds == 0 && s.programs == 0) s.seconds = default_seconds;
  if (executor != "all") {
    sinter_test::select_executor(executor);
    s.executors = {executor};
  } else {
    s.executors = {"interpreter", "host"};
    if (sinter::cuda_count() > 0) s.executors.push_back("cuda");
  }
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  const settings s = parsed(argc, argv);
  for (int number : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL}) std::signal(number, die);
  sinter::set_math_mode(sinter::math_mode::strict);  // so that the reference knows every bit of + - * / and sqrt
  const auto started = std::chrono::steady_clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count(); };
  int passed = 0, failed = 0;
  for (std::uint64_t k = 0; failed == 0 && (s.programs == 0 || k < static_cast<std::uint64_t>(s.programs)); ++k) {
    if (s.seconds > 0 && spent() > s.seconds) break;
    const std::uint64_t seed = s.seed + k;
    const bool only_one = s.loops || s.batches;
    if ((s.batches || kind_passes(random_loops(seed), "loops", seed, s)) &&
        (s.loops || kind_passes(random_batch(seed), "batches", seed, s)) && (only_one || passes(seed, s)))
      ++passed;
    else ++failed;
  }
  std::printf("programs: %d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
