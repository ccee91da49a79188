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

/// A linear congruential generator (Knuth's MMIX constants).
struct generator {
  std::uint64_t state;
  double operator()() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return 0x1p-53 * static_cast<double>(state >> 11);
  }
};

template <class T, class Make>
array filled(const shape& extents, Make make) {
  std::vector<T> values(static_cast<std::size_t>(extents.size()));
  for (T& x : values) x = make();
  return array(values, extents);
}

array make_random(dtype type, const shape& extents, std::uint64_t seed) {
  generator next{seed};
  if (type == f64) return filled<double>(extents, [&] { return 0.5 + next(); });
  if (type == f32) return filled<float>(extents, [&] { return static_cast<float>(0.5 + next()); });
  array small = filled<std::uint8_t>(extents, [&] { return static_cast<std::uint8_t>(100 * next()); });
  array converted = is_integer(type) ? small.astype(type) : (small.astype(f32) / 100 + 0.5f).astype(type);
  eval(converted);
  return converted;
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
    generator next{7};
    const auto below = static_cast<double>(limit);
    return filled<std::int32_t>({count}, [&] { return static_cast<std::int32_t>(below * next()); });
  });
}

double copy_bandwidth() {
  static const double bandwidth = measure_copy();
  return bandwidth;
}

void sizes(benchmark::internal::Benchmark* b) {
  for (const int power : {10, 13, 16, 20, 24, 28})
    if (power <= 24 || on_cuda()) b->Arg(std::int64_t{1} << power);
}

}  // namespace bench
