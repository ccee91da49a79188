#include "runtime/host/pool.hpp"

#include "runtime/host/machine.hpp"
#include "runtime/log.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <system_error>

namespace sinter::runtime {
namespace {

/// How long a thread looks for news before it sleeps: about what waking it costs.
constexpr std::chrono::microseconds patience{10};

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Looks at `value` until it differs from `old` or patience runs out; the value seen last.
std::uint32_t spin_while(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (true) {
    for (int k = 0; k < 16; ++k) {
      const std::uint32_t now = value.load(std::memory_order_acquire);
      if (now != old) return now;
      relax();
    }
    if (std::chrono::steady_clock::now() >= end) return old;
  }
}

}  // namespace

pool::pool(int threads) {
  // Signals are for the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    workers_.reserve(static_cast<std::size_t>(std::max(threads - 1, 0)));
    for (int k = 1; k < threads; ++k) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    log(level::info, "the system grants no more threads; the cpu device goes on with fewer");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

pool::~pool() {
  stopping_.store(true, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (std::thread& t : workers_) t.join();
}

pool& pool::instance() {
  static pool* const p = [] {
    const int asked = environment().threads;
    return new pool(asked > 0 ? asked : processor_count());
  }();
  return *p;
}

void pool::run(std::int64_t chunks, void* context, task body) {
  if (chunks <= 1 || workers_.empty() || busy_.exchange(true, std::memory_order_acquire)) {
    for (std::int64_t k = 0; k < chunks; ++k) body(context, k);
    return;
  }
  job_ = {chunks, context, body};
  next_.store(0, std::memory_order_relaxed);
  state_.store(open, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_release);
  // Waking one sleeper is a system call each; waking all is a single one, but costs those who find nothing to do.
  constexpr std::int64_t few = 4;
  const std::int64_t helpers = std::min<std::int64_t>(chunks - 1, static_cast<std::int64_t>(workers_.size()));
  if (helpers <= few)
    for (std::int64_t k = 0; k < helpers; ++k) epoch_.notify_one();
  else epoch_.notify_all();
  take_chunks();
  close();
  busy_.store(false, std::memory_order_release);
}

void pool::take_chunks() {
  const job now = job_;
  for (std::int64_t k; (k = next_.fetch_add(1, std::memory_order_relaxed)) < now.chunks;) now.body(now.context, k);
}

bool pool::enter() {
  std::uint32_t state = state_.load(std::memory_order_relaxed);
  while ((state & open) != 0)
    if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire, std::memory_order_relaxed))
      return true;
  return false;
}

void pool::leave() {
  if (state_.fetch_sub(1, std::memory_order_acq_rel) == 1) state_.notify_one();  // closed, and the last one out
}

void pool::close() {
  std::uint32_t inside = state_.fetch_and(~open, std::memory_order_acq_rel) & ~open;
  while (inside != 0) {
    const std::uint32_t now = spin_while(state_, inside);
    if (now == inside) state_.wait(inside, std::memory_order_acquire);
    inside = state_.load(std::memory_order_acquire);
  }
}

std::uint32_t pool::await_job(std::uint32_t seen) const {
  std::uint32_t now = spin_while(epoch_, seen);
  while (now == seen) {
    epoch_.wait(seen, std::memory_order_acquire);
    now = epoch_.load(std::memory_order_acquire);
  }
  return now;
}

void pool::work() {
  for (std::uint32_t seen = 0; !stopping_.load(std::memory_order_relaxed);) {
    seen = await_job(seen);
    if (!enter()) continue;
    take_chunks();
    leave();
  }
}

// ---- parallel_for: how a loop domain is cut ----

namespace {

using range_body = void (*)(void* context, std::int64_t, std::int64_t, std::int64_t, std::int64_t);

/// A loop domain cut into blocks of rows times segments of the inner loop.
struct cut {
  std::int64_t rows, inner, row_step, inner_step, segments;
  void* context;
  range_body body;

  void operator()(std::int64_t chunk) const {
    const std::int64_t r = chunk / segments * row_step, i = chunk % segments * inner_step;
    body(context, r, std::min(r + row_step, rows), i, std::min(i + inner_step, inner));
  }
};

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }
/// Elements of one byte or more, 64 at a time, never share a cache line between chunks.
constexpr std::int64_t line = 64;
constexpr std::int64_t whole_lines(std::int64_t n) { return divide_up(n, line) * line; }

/// Whether the work is worth waking threads for it, which takes as long as some 64 K cheap operations.
bool pays(double elements, int cost) {
  constexpr double cheap_operations = 65536, heavy_operations = 262144;
  return elements * std::clamp(cost, 1, 16) > cheap_operations || elements * cost > heavy_operations;
}

}  // namespace

void parallel_for(const launch_shape& shape, void* context, range_body body) {
  if (shape.rows <= 0 || shape.inner <= 0) return;
  const double elements = static_cast<double>(shape.rows) * static_cast<double>(shape.inner);
  if (!pays(elements, shape.cost)) return body(context, 0, shape.rows, 0, shape.inner);
  pool& workers = pool::instance();
  if (workers.size() == 1) return body(context, 0, shape.rows, 0, shape.inner);

  // Several chunks a thread even out threads that start late; not so many that handing them out shows.
  constexpr double least_operations = 8192;
  const double worth = elements * std::max(shape.cost, 1) / least_operations;
  const auto parts = static_cast<std::int64_t>(std::clamp(worth, 2.0, 4.0 * workers.size()));
  cut c{shape.rows, shape.inner, divide_up(shape.rows, parts), shape.inner, 1, context, body};
  if (c.row_step >= line) c.row_step = whole_lines(c.row_step);
  if (shape.rows < parts)
    c.inner_step = std::min(shape.inner, whole_lines(divide_up(shape.inner, divide_up(parts, shape.rows))));
  c.segments = divide_up(shape.inner, c.inner_step);
  workers.run(divide_up(shape.rows, c.row_step) * c.segments, &c,
              [](void* p, std::int64_t chunk) { (*static_cast<const cut*>(p))(chunk); });
}

}  // namespace sinter::runtime
