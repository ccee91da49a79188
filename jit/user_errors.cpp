#include "jit/user_errors.hpp"

#include "jit/user_kernel.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <vector>

namespace sinter::jit {

namespace {

/// One of a kernel's texts, as #line calls it (codegen/user_code.cpp).
struct users_text {
  std::string label;
  std::string_view text;
};

std::vector<users_text> texts_of(kernel_list parts) {
  std::vector<users_text> all;
  for (const kernel* k : parts)
    for (const call& c : k->calls) {
      const user_kernel& u = *c.kernel;
      const auto add = [&](std::string_view role, std::string_view text) {
        all.push_back({role.empty() ? u.name : fmt::format("{} ({})", u.name, role), text});
      };
      add("", u.body);
      add("preamble", u.preamble);
      add("loop_prep", u.loop.before);
      add("after_loop", u.loop.after);
      add("map", u.reduction.map);
      add("reduce", u.reduction.reduce);
      add("identity", u.reduction.identity);
      add("post-map", u.reduction.post_map);
    }
  return all;
}

/// "squares:2:9: error: ..." or "squares(2): error: ...".
struct diagnostic {
  const users_text* where;
  int line, column;  ///< column 0: the compiler shows the line itself
  std::string_view message;
};

bool take_number(std::string_view& text, int& number) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

std::optional<diagnostic> parsed(std::string_view line, const std::vector<users_text>& texts) {
  for (const users_text& t : texts) {
    diagnostic d{&t, 0, 0, {}};
    if (!line.starts_with(t.label)) continue;
    std::string_view rest = line.substr(t.label.size());
    const bool brackets = rest.starts_with('(');
    if (!brackets && !rest.starts_with(':')) continue;
    rest.remove_prefix(1);
    if (!take_number(rest, d.line)) continue;
    if (!brackets && rest.starts_with(':')) {
      rest.remove_prefix(1);
      take_number(rest, d.column);
    }
    const std::size_t message = rest.find(": ");
    if (message == rest.npos) continue;
    d.message = rest.substr(message + 2);
    for (const std::string_view kind : {"error", "fatal error", "warning", "note"})
      if (d.message.starts_with(kind)) return d;
  }
  return std::nullopt;
}

std::string_view line_of(std::string_view text, int number) {
  for (; number > 1; --number) {
    const std::size_t end = text.find('\n');
    if (end == text.npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

/// The user's line, and a caret below the column.
std::string shown(const diagnostic& d) {
  const std::string_view line = line_of(d.where->text, d.line);
  if (line.empty()) return {};
  std::string below;
  for (int k = 1; k < d.column && k <= static_cast<int>(line.size()); ++k)
    below += line[static_cast<std::size_t>(k - 1)] == '\t' ? '\t' : ' ';
  return fmt::format("  {}\n  {}^\n", line, below);
}

}  // namespace

std::string readable_log(std::string_view log, kernel_list parts) {
  const std::vector<users_text> texts = texts_of(parts);
  std::string out;
  bool follows = false;  // what a compiler shows itself, after a diagnostic
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(line.size() + 1, log.size()));
    if (const std::optional<diagnostic> d = parsed(line, texts)) {
      out += fmt::format("{}, line {}: {}\n", d->where->label, d->line, d->message);
      if (d->column > 0) out += shown(*d);
      follows = d->column == 0;
    } else if (follows && (line.starts_with(' ') || line.starts_with('\t'))) {
      out.append(line).append("\n");
    } else {
      follows = false;
    }
  }
  return out;
}

}  // namespace sinter::jit
