// What a new process waits for until it has its first result, beyond the start of its device: with a kernel that an
// earlier process kept on disk, and (for comparison) with one that has to be compiled. Each iteration is a process of
// its own, which runs the benchmark below and tells how long it took through a file.
#include "dsl/sinter.hpp"

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

using namespace sinter;

namespace {

constexpr const char* report = "SINTER_BENCH_REPORT";  ///< the file a child writes to

double seconds_to_first_result() {
  const array x{1.f, 2.f, 3.f, 4.f};
  synchronize();  // the device is up, and x is there
  const auto start = std::chrono::steady_clock::now();
  const float got = sqrt(x * 3 + 1).to_vector<float>()[0];
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return got == 2.f && stats().launches == 1 ? took : -1;
}

void child(benchmark::State& state) {
  for (auto _ : state) {
    const double seconds = seconds_to_first_result();
    std::ofstream(std::getenv(report)) << seconds << " " << stats().compiles << "\n";
  }
}

struct told {
  double seconds = -1;
  int compiles = -1;
};

told run_child(const std::string& folder) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe"), file = folder + "/report";
  const std::string command = "SINTER_CACHE=read_write SINTER_CACHE_DIR='" + folder + "/cache' " + report + "='" +
                              file + "' '" + self + "' --benchmark_filter=^child/ > /dev/null 2>&1";
  told t;
  if (std::system(command.c_str()) == 0) std::ifstream(file) >> t.seconds >> t.compiles;
  return t;
}

void first_result(benchmark::State& state, bool warm) {
  std::string folder = std::filesystem::temp_directory_path() / "sinter-bench-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return state.SkipWithError("no temporary folder");
  if (warm) run_child(folder);
  for (auto _ : state) {
    if (!warm) std::filesystem::remove_all(folder + "/cache");
    const told t = run_child(folder);
    if (t.seconds < 0 || t.compiles != (warm ? 0 : 1)) state.SkipWithError("the process failed, or compiled too often");
    state.SetIterationTime(t.seconds);
  }
  std::filesystem::remove_all(folder);
}

[[maybe_unused]] const bool registered = [] {
  if (std::getenv(report) != nullptr) {
    benchmark::RegisterBenchmark("child", child)->Iterations(1);
    return true;
  }
  const auto add = [](const char* name, bool warm) {
    benchmark::RegisterBenchmark(name, first_result, warm)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond)
        ->Iterations(1)
        ->Repetitions(20)
        ->ReportAggregatesOnly();
  };
  add("first_result_of_a_process/kernel_on_disk", true);
  add("first_result_of_a_process/kernel_compiled", false);
  return true;
}();

}  // namespace
