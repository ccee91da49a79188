#include "jit/flushes.hpp"

#include "runtime/counters.hpp"
#include "runtime/log.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <string>

namespace sinter::jit {

void note_flush(const place& at) {
  constexpr int told_after = 8;  // what a program reads at its end isn't a loop's
  runtime::bump(runtime::count().flushes);
  if (!runtime::wants(runtime::level::info)) return;
  static auto* const mutex = new std::mutex;
  static auto* const flushes = new std::map<std::string, int>;  // by line; never destroyed, as threads may outlive it
  const std::string line = fmt::format("{}:{}", at.file, at.line);
  const std::lock_guard lock(*mutex);
  if (++(*flushes)[line] != told_after) return;
  runtime::log(
      runtime::level::info,
      fmt::format("{}: read {} times before it was computed: each read evaluates what has been recorded so far, "
                  "and nothing folds across it",
                  line, told_after));
}

}  // namespace sinter::jit
