#include "jit/cache/headers.hpp"

#include <cctype>
#include <cstdio>
#include <set>

#include <fmt/format.h>
#include <sys/stat.h>

namespace sinter::jit {
namespace {

constexpr std::string_view blanks = " \t\v\f\r";

std::string_view after_blanks(std::string_view s) {
  const std::size_t at = s.find_first_not_of(blanks);
  return at == std::string_view::npos ? std::string_view{} : s.substr(at);
}

/// Joins continued lines and blanks out comments. Strings are left alone, since "//" in one begins no comment; a raw
/// string may confuse that, which at worst finds a header too many or makes the kernel one that isn't kept.
std::string plain_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  char quote = 0;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k], next = k + 1 < text.size() ? text[k + 1] : '\0';
    if (c == '\\' && (next == '\n' || (next == '\r' && k + 2 < text.size() && text[k + 2] == '\n'))) {
      k += next == '\n' ? 1 : 2;
    } else if (quote != 0) {
      out += c;
      if (c == '\\' && next != '\0') out += text[++k];
      else if (c == quote || c == '\n') quote = 0;
    } else if (c == '/' && next == '*') {
      const std::size_t end = text.find("*/", k + 2);
      out += ' ';
      if (end == std::string_view::npos) return out;
      k = end + 1;
    } else if (c == '/' && next == '/') {
      const std::size_t end = text.find('\n', k);
      if (end == std::string_view::npos) return out;
      k = end - 1;
    } else {
      const bool in_number = !out.empty() && std::isalnum(static_cast<unsigned char>(out.back())) != 0;
      if (c == '"' || (c == '\'' && !in_number)) quote = c;
      out += c;
    }
  }
  return out;
}

bool is_file(const std::string& path) {
  struct stat s;
  return stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode);
}

std::string contents_of(const std::string& path) {
  std::string text;
  if (std::FILE* f = std::fopen(path.c_str(), "re")) {
    char part[1 << 14];
    for (std::size_t n; (n = std::fread(part, 1, sizeof part, f)) > 0;) text.append(part, n);
    std::fclose(f);
  }
  return text;
}

class scanner {
 public:
  scanner(const std::vector<std::string>& options, std::string_view include_path) {
    std::vector<std::string> forced;
    for (std::size_t k = 0; k < options.size(); ++k) read_option(options, k, forced);
    while (!include_path.empty()) {
      const std::size_t colon = include_path.find(':');
      if (colon != 0) folders_.emplace_back(include_path.substr(0, colon));
      include_path = colon == std::string_view::npos ? std::string_view{} : include_path.substr(colon + 1);
    }
    for (const std::string& name : forced) include(name, ".");
  }

  void scan(std::string_view text, const std::string& folder) {
    if (text.find(".incbin") != std::string_view::npos) found.unknown = ".incbin";
    if (text.find("#") == std::string_view::npos && text.find("%:") == std::string_view::npos) return;
    const std::string plain = plain_text(text);
    std::string_view rest = plain;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      scan_line(rest.substr(0, end), folder);
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
  }

  header_scan found;

 private:
  void read_option(const std::vector<std::string>& options, std::size_t& k, std::vector<std::string>& forced) {
    const std::string& o = options[k];
    if (o.starts_with("@")) found.unknown = o;  // a file with more options
    for (const std::string_view flag :
         {"--include-path", "-include-path", "--pre-include", "-pre-include", "-include", "-imacros", "-isystem",
          "-iquote", "-idirafter", "-I"}) {
      if (!o.starts_with(flag)) continue;
      std::string_view value = std::string_view(o).substr(flag.size());
      if (value.empty() && k + 1 < options.size()) value = options[++k];
      else if (value.starts_with('=')) value.remove_prefix(1);
      const bool names_file = flag == "-include" || flag == "-imacros" || flag.ends_with("-pre-include");
      if (names_file) forced.emplace_back(value);
      else folders_.emplace_back(value);
      return;
    }
  }

  void scan_line(std::string_view line, const std::string& folder) {
    line = after_blanks(line);
    if (line.starts_with("%:")) line.remove_prefix(1);
    else if (!line.starts_with('#')) return;
    line = after_blanks(line.substr(1));
    std::size_t asks = 0;  // a condition may ask for a header: whether it is there then counts as what it holds
    while ((asks = line.find("__has_include", asks)) != std::string_view::npos) {
      asks += std::string_view("__has_include").size();
      const std::string_view argument = after_blanks(line.substr(asks));
      if (argument.starts_with('(')) include_written(after_blanks(argument.substr(1)), folder);
    }
    for (const std::string_view word : {"include_next", "include", "import", "embed"})
      if (line.starts_with(word)) return include_written(after_blanks(line.substr(word.size())), folder);
  }

  void include_written(std::string_view argument, const std::string& folder) {
    const char close = argument.starts_with('<') ? '>' : '"';
    const std::size_t end = argument.empty() ? std::string_view::npos : argument.find(close, 1);
    if (end == std::string_view::npos || (argument[0] != '<' && argument[0] != '"')) {
      found.unknown = fmt::format("#include {}", argument);
      return;
    }
    include(std::string(argument.substr(1, end - 1)), close == '"' ? folder : "");
  }

  /// Every file that may be meant counts, the first as well as those that #include_next would find.
  void include(const std::string& name, const std::string& folder) {
    if (name.starts_with('/')) return add(name, name);
    if (!folder.empty()) add(folder + "/" + name, name);
    for (const std::string& f : folders_) add(f + "/" + name, name);
  }

  void add(const std::string& path, const std::string& name) {
    if (!seen_.insert(path).second || !is_file(path)) return;
    std::string contents = contents_of(path);
    found.headers.push_back({name, contents});
    scan(contents, path.substr(0, path.rfind('/')));
  }

  std::vector<std::string> folders_;
  std::set<std::string> seen_;
};

}  // namespace

header_scan scan_headers(std::string_view text, const std::vector<std::string>& options,
                         std::string_view include_path) {
  scanner s(options, include_path);
  s.scan(text, ".");
  return std::move(s.found);
}

}  // namespace sinter::jit
