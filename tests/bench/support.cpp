#include "tests/bench/support.hpp"

#include "runtime/backend.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include <dlfcn.h>

namespace bench {
namespace {

using namespace sinter;

/// 32 random bits an element: a hash of its number and the seed (the finaliser of MurmurHash3, public domain).
array hashed(std::int64_t count, std::uint64_t seed) {
  array h = arange(count, u32) + static_cast<std::uint32_t>(seed * 0x9e3779b9u);
  h = (h ^ (h >> 16)) * 0x85ebca6bu;
  h = (h ^ (h >> 13)) * 0xc2b2ae35u;
  return h ^ (h >> 16);
}

array make_random(dtype type, const shape& extents, std::uint64_t seed) {
  const array bits = reshape(hashed(extents.size(), seed), extents);
  array made = is_integer(type) ? (bits % 100u).astype(type) : ((bits >> 8).astype(f64) * 0x1p-24 + 0.5).astype(type);
  eval(made);
  return made;
}

/// Seconds that one copy of `bytes` takes: the best of several.
template <class Copy>
double best_seconds(Copy copy) {
  double best = 1e9;
  for (int k = 0; k < 7; ++k) {
    const auto start = std::chrono::steady_clock::now();
    copy();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

double host_copy_seconds(void* to, const void* from, std::size_t bytes) {
  runtime::launch_shape domain;
  domain.inner = static_cast<std::int64_t>(bytes);
  return best_seconds([&] {
    runtime::parallel_for(domain, [&](std::int64_t, std::int64_t, std::int64_t begin, std::int64_t end) {
      std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                  static_cast<std::size_t>(end - begin));
    });
  });
}

/// By the driver, which the library has started and whose context is current on this thread.
double cuda_copy_seconds(void* to, const void* from, std::size_t bytes) {
  using copy_function = int (*)(unsigned long long to, unsigned long long from, std::size_t bytes);
  using wait_function = int (*)();
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto copy = driver ? reinterpret_cast<copy_function>(dlsym(driver, "cuMemcpyDtoD_v2")) : nullptr;
  const auto wait = driver ? reinterpret_cast<wait_function>(dlsym(driver, "cuCtxSynchronize")) : nullptr;
  const auto run = [&](int times) {
    int failed = copy == nullptr || wait == nullptr;
    for (int k = 0; k < times && !failed; ++k)
      failed = copy(reinterpret_cast<unsigned long long>(to), reinterpret_cast<unsigned long long>(from), bytes);
    if (failed || wait()) {
      std::fprintf(stderr, "bench: the driver's copy failed\n");
      std::exit(1);
    }
  };
  return best_seconds([&] { run(8); }) / 8;
}

double measure_copy() {
  runtime::device& d = runtime::default_device();
  const std::size_t bytes = std::size_t{1} << (on_cuda() ? 31 : 27);
  void* const from = d.allocate(bytes);
  void* const to = d.allocate(bytes);
  const std::vector<char> block(std::size_t{1} << 20, 'x');  // pages never written to would be read from the cache
  for (std::size_t at = 0; at < bytes; at += block.size()) {
    d.copy_from_host(static_cast<char*>(from) + at, block.data(), block.size());
    d.copy_from_host(static_cast<char*>(to) + at, block.data(), block.size());
  }
  d.synchronize();
  const double seconds = on_cuda() ? cuda_copy_seconds(to, from, bytes) : host_copy_seconds(to, from, bytes);
  d.release(from, bytes);
  d.release(to, bytes);
  const double bandwidth = 2 * static_cast<double>(bytes) / seconds;
  std::fprintf(stderr, "%s copies %.1f GB/s (read + written)\n", d.name().c_str(), bandwidth / 1e9);
  return bandwidth;
}

/// What `make` gives for `key`, made once. Never freed: the device may be gone when statics are destroyed.
template <class Key, class Make>
array kept(const Key& key, Make make) {
  static std::mutex guard;
  static auto& all_of_them = *new std::map<Key, array>;
  const std::lock_guard lock(guard);
  const auto found = all_of_them.find(key);
  return found != all_of_them.end() ? found->second : all_of_them.emplace(key, make()).first->second;
}

}  // namespace

bool on_cuda() {
  static const bool yes = [] {
    try {
      return default_device().is_cuda();
    } catch (const error& e) {
      std::fprintf(stderr, "bench: %s\n", e.what());
      std::exit(1);
    }
  }();
  return yes;
}

array random_array(dtype type, const shape& extents, std::uint64_t seed) {
  const std::vector<std::int64_t> list(extents.begin(), extents.end());
  return kept(std::tuple(type, list, seed), [&] { return make_random(type, extents, seed); });
}

array random_indices(std::int64_t count, std::int64_t limit) {
  return kept(std::pair(count, limit), [&] {
    array made = (hashed(count, 7) % static_cast<std::uint32_t>(limit)).astype(i32);
    eval(made);
    return made;
  });
}

array own(const array& a) {
  array copy = a + 0;
  eval(copy);
  return copy;
}

double bytes_of(const array& a) { return static_cast<double>(a.size()) * static_cast<double>(size_of(a.type())); }

double copy_bandwidth() {
  static const double bandwidth = measure_copy();
  return bandwidth;
}

double multiply_add_rate() {
  static const double rate = [] {
    constexpr int links = 256;
    const array x = random_array(f32, {std::int64_t{1} << (on_cuda() ? 26 : 18)});
    const auto run = [&] {
      array y = x;
      for (int k = 0; k < links; ++k) y = y * 0.999f + 0.001f;
      eval(y);
      synchronize();
    };
    run();
    const double adds = links * static_cast<double>(x.size()), per_second = adds / best_seconds(run);
    std::fprintf(stderr, "%.2f T multiply-adds of f32 a second\n", per_second / 1e12);
    return per_second;
  }();
  return rate;
}

void timed(benchmark::internal::Benchmark* b) { b->Iterations(1)->UseManualTime()->Unit(benchmark::kMicrosecond); }

int repetitions() { return std::getenv("SINTER_BENCH_QUICK") ? 3 : 9; }

namespace detail {

void tell_samples(benchmark::State& state, const array& result) {
  constexpr std::int64_t samples = 8;
  if (result.size() == 0) return;
  std::vector<std::int64_t> places;
  for (std::int64_t k = 0; k < samples; ++k) places.push_back((result.size() - 1) / (samples - 1) * k);
  const array flat = reshape(result, {result.size()});
  const std::vector<double> values = flat(array(places)).astype(f64).to_vector<double>();
  for (std::size_t k = 0; k < values.size(); ++k) state.counters["check" + std::to_string(k)] = values[k];
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace detail

void sizes(benchmark::internal::Benchmark* b) {
  for (const int power : {10, 13, 16, 20, 24, 28})
    if (power <= 24 || on_cuda()) b->Arg(std::int64_t{1} << power);
}

}  // namespace bench
