#include "jit/compiled_function.hpp"

#include "jit/loops.hpp"
#include "jit/recorder.hpp"
#include "runtime/counters.hpp"
#include "runtime/log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace sinter::jit {

namespace {

// More signatures than a program means to use: one for each of many values or shapes. The least recently used goes.
constexpr std::size_t most_recordings = 64;
constexpr std::uint64_t told_after = 16;

bool is_number(const node* n) { return n->code == op::scalar; }

runtime::device& device_of(const node* n) { return n->owner ? *n->owner : runtime::default_device(); }

/// What tells recordings apart: the switches, `words`, then of each argument its kind and dtype, device and extents.
void write_signature(std::span<const replay_argument> arguments, std::span<const std::uint64_t> words,
                     std::vector<std::uint64_t>& to) {
  const options& how = current_options();
  const std::uint64_t switches = static_cast<std::uint64_t>(how.cpu) | static_cast<std::uint64_t>(how.math) << 8 |
                                 std::uint64_t{how.force_wide_index} << 16 | std::uint64_t{how.deterministic} << 17;
  to.assign({switches, static_cast<std::uint64_t>(how.max_operations), static_cast<std::uint64_t>(how.max_inputs),
             std::bit_cast<std::uintptr_t>(&runtime::default_device())});
  to.insert(to.end(), words.begin(), words.end());
  for (const replay_argument& a : arguments) {
    const node& n = *a.n;
    const auto rank = static_cast<std::uint64_t>(n.extents.rank());
    to.push_back(static_cast<std::uint64_t>(n.type) | rank << 8 | std::uint64_t{is_number(&n)} << 16 |
                 std::uint64_t{a.is_donated} << 17);
    if (is_number(&n)) continue;
    to.push_back(std::bit_cast<std::uintptr_t>(&device_of(&n)));
    for (const std::int64_t e : n.extents) to.push_back(static_cast<std::uint64_t>(e));
  }
}

std::string describe(const replay_argument& a) {
  const node& n = *a.n;
  if (is_number(&n)) return fmt::format("number {}", sinter::to_string(n.type));
  return fmt::format("{}{} on {}{}", sinter::to_string(n.type), sinter::to_string(n.extents), device_of(&n).name(),
                     a.is_donated ? ", donated" : "");
}

std::string describe(std::span<const replay_argument> arguments, std::span<const std::uint64_t> words) {
  std::string text;
  for (const replay_argument& a : arguments) text += (text.empty() ? "" : "; ") + describe(a);
  if (!words.empty()) text += fmt::format("; static {:x}", fmt::join(words, " "));
  return text;
}

}  // namespace

bool is_part_of_recording() noexcept { return recorder::current() != nullptr || is_recording_body(); }

void compiled_function::note_replay() {
  replays_.fetch_add(1, std::memory_order_relaxed);
  runtime::bump(runtime::count().replays);
}

/// The recording with this signature, from now on the first of all; null: there is none.
compiled_function::entry* compiled_function::known(std::span<const std::uint64_t> signature) {
  for (std::size_t k = 0; k < entries_.size(); ++k) {
    if (!std::ranges::equal(entries_[k]->signature, signature)) continue;
    if (k > 0) std::rotate(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(k),
                           entries_.begin() + static_cast<std::ptrdiff_t>(k) + 1);
    return entries_[0].get();
  }
  return nullptr;
}

compiled_function::found compiled_function::find(std::span<const replay_argument> arguments,
                                                 std::span<const std::uint64_t> words, recorded_body& body) {
  static thread_local std::vector<std::uint64_t> signature;
  write_signature(arguments, words, signature);
  const auto look = [&]() -> found {
    const std::lock_guard lock(guard_);
    entry* e = known(signature);
    if (!e) return {};
    e->uses.fetch_add(1, std::memory_order_relaxed);
    return {e->what, e->kept};
  };
  if (found f = look(); f.what) return f;
  const std::lock_guard one_at_a_time(recording_);
  if (found f = look(); f.what) return f;  // another thread has recorded it meanwhile
  return add(signature, arguments, words, body);
}

compiled_function::found compiled_function::add(std::vector<std::uint64_t> signature,
                                                std::span<const replay_argument> arguments,
                                                std::span<const std::uint64_t> words, recorded_body& body) {
  auto e = std::make_unique<entry>();
  e->signature = std::move(signature);
  e->text = describe(arguments, words);
  recorder r(at_);
  {
    const recorder::scope all(&r);
    std::vector<node_ref> placeholders, results;
    for (const replay_argument& a : arguments)
      placeholders.push_back(
          r.add_argument({a.n->type, a.n->extents, &device_of(a.n.get()), is_number(a.n.get()), a.is_donated}));
    std::unique_ptr<kept_with_recording> kept;
    body.run(std::move(placeholders), results, kept);
    e->kept = std::move(kept);
    e->what = r.finish(std::move(results));
  }
  const std::lock_guard lock(guard_);
  const std::uint64_t count = made_.fetch_add(1, std::memory_order_relaxed) + 1;
  e->reason = entries_.empty() ? "first call" : why_again(*e, *entries_[0]);
  runtime::log(
      count == told_after ? runtime::level::warning : runtime::level::info,
      fmt::format("{}:{}: recording number {} of a compiled function: {}", at_.file, at_.line, count, e->reason));
  if (entries_.size() >= most_recordings) entries_.pop_back();
  entries_.insert(entries_.begin(), std::move(e));
  entries_[0]->uses.fetch_add(1, std::memory_order_relaxed);
  return {entries_[0]->what, entries_[0]->kept};
}

/// The first difference to what was used last.
std::string compiled_function::why_again(const entry& now, const entry& before) {
  if (now.text != before.text) return fmt::format("({}) instead of ({})", now.text, before.text);
  return "options or the default device have changed";
}

std::string compiled_function::explain() const {
  const std::lock_guard lock(guard_);
  std::string text = fmt::format("compiled at {}:{}: {} recording{}, {} replays\n", at_.file, at_.line,
                                 entries_.size(), entries_.size() == 1 ? "" : "s", replays());
  for (const std::unique_ptr<entry>& e : entries_)
    text += fmt::format("  ({}): {}; used {} times; {}\n", e->text, e->reason, e->uses.load(std::memory_order_relaxed),
                        e->what->describe());
  return text;
}

}  // namespace sinter::jit
