#include "jit/transfers.hpp"

#include "jit/engine.hpp"
#include "jit/faults.hpp"
#include "jit/flushes.hpp"
#include "jit/recorded_memory.hpp"
#include "runtime/counters.hpp"
#include "runtime/error.hpp"
#include "runtime/log.hpp"
#include "runtime/stream.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace sinter::jit {

void note_copy_in(const runtime::device& where, std::size_t bytes, const place& at) {
  constexpr int told_after = 8;
  constexpr std::size_t least_bytes = 4096;  // few numbers are parameters, which do change
  if (bytes < least_bytes || !runtime::wants(runtime::level::info)) return;
  static auto* const mutex = new std::mutex;  // never destroyed, as threads may outlive it
  static auto* const copies = new std::map<std::pair<std::string, std::size_t>, int>;  // by line and size
  const std::string line = fmt::format("{}:{}", at.file, at.line);
  const std::lock_guard lock(*mutex);
  if (++(*copies)[{line, bytes}] != told_after) return;
  runtime::log(runtime::level::info,
               fmt::format("{}: {} bytes copied {} times from this line to {}: what doesn't change is copied once when "
                           "the array is kept on the device",
                           line, bytes, told_after, where.name()));
}

node_ref start_copy_in(runtime::device& where, const runtime::host_region& from, dtype type, const shape& extents,
                       const place& at, started_copy& copy) {
  const auto bytes = static_cast<std::size_t>(checked_bytes(extents, type));
  SINTER_CHECK(from.bytes() == bytes);
  copy.memory = reference<runtime::buffer>(runtime::make_buffer(where, bytes, {type, extents, at}));
  if (bytes > 0) {
    runtime::memory_use use(where);
    use.writes(*copy.memory);
    copy.copy = where.start_copy_in(copy.memory->data, from);
    use.started();
    runtime::count_copy_in(bytes);
  }
  return make_buffer_node(copy.memory, type, extents, at);
}

node_ref copy_in(runtime::device& where, const runtime::host_region& from, dtype type, const shape& extents,
                 const place& at) {
  started_copy started;
  node_ref n = start_copy_in(where, from, type, extents, at, started);
  note_copy_in(where, started.memory->bytes, at);
  if (started.copy) {
    started.copy->join();
    started.copy->wait();
  }
  return n;
}

started_copy start_copy_out(node* n, const runtime::host_region& to, const place& at) {
  if (!n->values()) note_flush(at);
  evaluate({&n, 1}, at);
  refuse_recorded(n, at);
  started_copy started;
  const std::size_t bytes = to.bytes();
  if (bytes == 0) return started;
  started.memory = reference<runtime::buffer>::share(n->values());
  SINTER_CHECK(started.memory && started.memory->bytes >= bytes);
  runtime::count_copy_out(bytes);
  runtime::memory_use use(*started.memory->owner);
  use.reads(*started.memory);
  started.copy = started.memory->owner->start_copy_out(to, started.memory->data);
  use.started();
  return started;
}

void copy_out(node* n, const runtime::host_region& to, const place& at) {
  const started_copy started = start_copy_out(n, to, at);
  if (!started.memory) return;
  runtime::bump(runtime::count().synchronizations);
  if (started.copy) started.copy->wait();
  throw_on_fault(*started.memory->owner);
}

}  // namespace sinter::jit
