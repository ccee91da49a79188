#include "jit/cache/entry.hpp"

#include <cstring>

#ifndef SINTER_VERSION
#define SINTER_VERSION "unknown"
#endif

namespace sinter::jit {
namespace {

struct header {
  char magic[8];
  std::uint32_t format;
  std::uint32_t task_bytes, target_bytes, maker_bytes, notes_bytes;
  std::uint32_t reserved;
  std::uint64_t image_bytes;
  std::uint64_t checksum[2];  ///< of everything else
};
static_assert(sizeof(header) == entry_header_bytes);

/// Of a whole entry whose checksum reads as zero.
digest checksum_of(const header& h, std::span<const std::byte> rest) {
  header blank = h;
  blank.checksum[0] = blank.checksum[1] = 0;
  const digest front = digest_of(std::as_bytes(std::span(&blank, 1))), back = digest_of(rest);
  const digest both[] = {front, back};
  return digest_of(std::as_bytes(std::span(both)));
}

/// Nothing for nothing: most kernels have none.
std::string bytes_from(const program_notes& notes) {
  if (notes.log.empty() && notes.symbols.empty()) return {};
  byte_writer w;
  w.text(notes.log);
  w.number(static_cast<std::uint32_t>(notes.symbols.size()));
  for (const auto& [expression, symbol] : notes.symbols) {
    w.text(expression);
    w.text(symbol);
  }
  return w.take();
}

std::string_view as_text(std::span<const std::byte> b) { return {reinterpret_cast<const char*>(b.data()), b.size()}; }

}  // namespace

std::string_view library_version() { return SINTER_VERSION; }

std::string task_bytes(const compile_task& t) {
  byte_writer w;
  w.number(static_cast<std::uint32_t>(t.how));
  w.text(library_version());
  w.text(t.request.name);
  w.number(static_cast<std::uint32_t>(t.request.math));
  w.number(t.request.large);
  w.number(static_cast<std::uint32_t>(t.request.options.size()));
  for (const std::string& o : t.request.options) w.text(o);
  w.text(t.request.source);
  w.number(static_cast<std::uint32_t>(t.expressions.size()));
  for (const std::string& e : t.expressions) w.text(e);
  w.number(static_cast<std::uint32_t>(t.headers.size()));
  for (const included_header& h : t.headers) {
    w.text(h.name);
    w.text(h.contents);
  }
  return w.take();
}

std::optional<compile_task> task_from(std::string_view bytes) {
  byte_reader r(bytes);
  compile_task t;
  t.how = static_cast<target_kind>(r.number());
  r.text();
  t.request.name = r.text();
  t.request.math = static_cast<math_mode>(r.number());
  t.request.large = r.number() != 0;
  for (std::uint32_t n = r.number(); n > 0 && r.good(); --n) t.request.options.emplace_back(r.text());
  t.request.source = r.text();
  for (std::uint32_t n = r.number(); n > 0 && r.good(); --n) t.expressions.emplace_back(r.text());
  for (std::uint32_t n = r.number(); n > 0 && r.good(); --n) {
    std::string name(r.text());
    t.headers.push_back({std::move(name), std::string(r.text())});
  }
  if (!r.at_end()) return std::nullopt;
  return t;
}

std::string file_name_start(const entry_key& k) {
  const digest both[] = {digest_of(k.task), digest_of(k.target)};
  return to_string(digest_of(std::as_bytes(std::span(both)))) + "-";
}

std::string file_name(const entry_key& k) {
  return file_name_start(k) + to_string(digest_of(k.maker)).substr(16) + ".kernel";
}

program_notes notes_from(std::string_view bytes) {
  byte_reader r(bytes);
  program_notes notes;
  notes.log = r.text();
  for (std::uint32_t n = r.number(); n > 0 && r.good(); --n) {
    std::string expression(r.text());
    notes.symbols.emplace_back(std::move(expression), r.text());
  }
  return notes;
}

std::string entry_bytes(const entry_key& k, std::span<const std::byte> made, const program_notes& notes) {
  const std::string said = bytes_from(notes);
  header h{};
  std::memcpy(h.magic, entry_magic.data(), sizeof h.magic);
  h.format = entry_format;
  h.task_bytes = static_cast<std::uint32_t>(k.task.size());
  h.target_bytes = static_cast<std::uint32_t>(k.target.size());
  h.maker_bytes = static_cast<std::uint32_t>(k.maker.size());
  h.notes_bytes = static_cast<std::uint32_t>(said.size());
  h.image_bytes = made.size();
  std::string bytes(sizeof h, '\0');
  for (const std::string_view part :
       {std::string_view(k.task), std::string_view(k.target), std::string_view(k.maker), std::string_view(said),
        as_text(made)})
    bytes += part;
  const digest sum = checksum_of(h, std::as_bytes(std::span(bytes)).subspan(sizeof h));
  h.checksum[0] = sum.low;
  h.checksum[1] = sum.high;
  std::memcpy(bytes.data(), &h, sizeof h);
  return bytes;
}

std::optional<entry_view> read_entry(std::span<const std::byte> bytes) {
  header h;
  if (bytes.size() < sizeof h) return std::nullopt;
  std::memcpy(&h, bytes.data(), sizeof h);
  if (std::memcmp(h.magic, entry_magic.data(), sizeof h.magic) != 0 || h.format != entry_format) return std::nullopt;
  const std::uint64_t keys = std::uint64_t{h.task_bytes} + h.target_bytes + h.maker_bytes + h.notes_bytes;
  if (h.image_bytes > bytes.size() || keys + h.image_bytes + sizeof h != bytes.size()) return std::nullopt;
  std::span<const std::byte> rest = bytes.subspan(sizeof h);
  if (checksum_of(h, rest) != digest{h.checksum[0], h.checksum[1]}) return std::nullopt;
  entry_view e;
  const auto next = [&rest](std::size_t size) {
    const std::string_view part = as_text(rest.first(size));
    rest = rest.subspan(size);
    return part;
  };
  e.task = next(h.task_bytes);
  e.target = next(h.target_bytes);
  e.maker = next(h.maker_bytes);
  e.notes = next(h.notes_bytes);
  e.image = rest;
  return e;
}

bool matches(const entry_view& e, const entry_key& wanted) {
  return e.task == wanted.task && e.target == wanted.target && (wanted.maker.empty() || e.maker == wanted.maker);
}

}  // namespace sinter::jit
