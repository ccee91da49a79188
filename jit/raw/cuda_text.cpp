#include "jit/raw/cuda_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

namespace sinter::jit {
namespace {

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

enum class token_kind : std::uint8_t { word, literal, mark, directive };

struct token {
  token_kind kind;
  std::size_t begin;
  std::string_view text;
};

/// Cuts text into tokens; comments and spaces are left out, a directive is one token.
class token_reader {
 public:
  explicit token_reader(std::string_view text) : text_(text) {}

  std::vector<token> all() {
    std::vector<token> out;
    while (skip_blanks(), at_ < text_.size()) {
      const std::size_t begin = at_;
      const token_kind kind = one();
      out.push_back({kind, begin, text_.substr(begin, at_ - begin)});
      fresh_line_ = false;
    }
    return out;
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void skip_blanks() {
    for (;;) {
      if (is_space(peek())) {
        fresh_line_ = fresh_line_ || peek() == '\n';
        ++at_;
      } else if (peek() == '/' && peek(1) == '/') {
        skip_line();
      } else if (peek() == '/' && peek(1) == '*') {
        at_ = std::min(text_.find("*/", at_ + 2), text_.size() - 2) + 2;
      } else if (peek() == '\\' && (peek(1) == '\n' || peek(1) == '\r')) {
        at_ += 2;
      } else {
        return;
      }
    }
  }

  /// To the end of the line, those that it is continued on included.
  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') {
      if (text_[at_] == '\\' && peek(1) == '\r' && peek(2) == '\n') at_ += 2;
      else if (text_[at_] == '\\' && peek(1) == '\n') ++at_;
      else if (text_[at_] == '/' && peek(1) == '*') at_ = std::min(text_.find("*/", at_ + 2), text_.size() - 2) + 1;
      ++at_;
    }
    at_ = std::min(at_, text_.size());
  }

  token_kind one() {
    const char c = peek();
    if (c == '#' && fresh_line_) {
      skip_line();
      return token_kind::directive;
    }
    if (c == '"' || c == '\'') {
      quoted(c);
      return token_kind::literal;
    }
    if (is_letter(c)) {
      const std::size_t begin = at_;
      while (is_letter(peek()) || is_digit(peek())) ++at_;
      const std::string_view word = text_.substr(begin, at_ - begin);
      constexpr std::string_view prefixes[] = {"R", "LR", "uR", "UR", "u8R"};
      if (peek() == '"' && std::ranges::find(prefixes, word) != std::end(prefixes)) {
        raw_literal();
        return token_kind::literal;
      }
      return token_kind::word;
    }
    if (is_digit(c)) {  // digits, suffixes, separators
      const auto part = [](char x) { return is_letter(x) || is_digit(x); };
      while (part(peek()) || peek() == '.' || (peek() == '\'' && part(peek(1)))) ++at_;
      return token_kind::literal;
    }
    at_ += text_.substr(at_, 3) == "<<<" || text_.substr(at_, 3) == ">>>" ? 3 : text_.substr(at_, 2) == "::" ? 2 : 1;
    return token_kind::mark;
  }

  void quoted(char quote) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, text_.size());
  }

  void raw_literal() {
    const std::size_t open = text_.find('(', at_);
    if (open == text_.npos) {
      at_ = text_.size();
      return;
    }
    const std::string closing = fmt::format("){}\"", text_.substr(at_ + 1, open - at_ - 1));
    const std::size_t close = text_.find(closing, open);
    at_ = close == text_.npos ? text_.size() : close + closing.size();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool fresh_line_ = true;
};

// ---- Headers ----

enum class header_kind : std::uint8_t { plain, built_in, groups, half, library, unsupported };

struct known_header {
  std::string_view name;
  header_kind kind;
  std::string_view what = {};
};

constexpr known_header known_headers[] = {
    {"stdint.h", header_kind::plain},
    {"cstdint", header_kind::plain},
    {"stddef.h", header_kind::plain},
    {"cstddef", header_kind::plain},
    {"stdio.h", header_kind::plain},
    {"cstdio", header_kind::plain},
    {"limits.h", header_kind::plain},
    {"climits", header_kind::plain},
    {"float.h", header_kind::plain},
    {"cfloat", header_kind::plain},
    {"limits", header_kind::plain},
    {"type_traits", header_kind::plain},
    {"assert.h", header_kind::built_in},
    {"cassert", header_kind::built_in},
    {"cuda.h", header_kind::built_in},
    {"cuda_runtime.h", header_kind::built_in},
    {"cuda_runtime_api.h", header_kind::built_in},
    {"device_launch_parameters.h", header_kind::built_in},
    {"device_functions.h", header_kind::built_in},
    {"sm_20_atomic_functions.h", header_kind::built_in},
    {"math_functions.h", header_kind::built_in},
    {"vector_types.h", header_kind::built_in},
    {"vector_functions.h", header_kind::built_in},
    {"builtin_types.h", header_kind::built_in},
    {"cooperative_groups.h", header_kind::groups},
    {"cuda_fp16.h", header_kind::half},
    {"cuda_bf16.h", header_kind::half},
    {"mma.h", header_kind::unsupported, "tensor cores (mma.h)"},
    {"curand_kernel.h", header_kind::unsupported, "cuRAND's device functions (curand_kernel.h)"},
    {"cuda_pipeline.h", header_kind::unsupported, "asynchronous copies (cuda_pipeline.h)"},
    {"cuda_fp8.h", header_kind::unsupported, "8-bit floating point (cuda_fp8.h)"},
    {"cuda_fp4.h", header_kind::unsupported, "4-bit floating point (cuda_fp4.h)"},
    {"math_constants.h", header_kind::built_in},
};

struct found_header {
  std::string_view name;
  header_kind kind = header_kind::library;
  std::string_view what;
};

/// What a directive includes; an empty name when it is another one.
found_header included_by(std::string_view directive) {
  std::size_t at = 1;
  const auto skip = [&] {
    while (at < directive.size() && is_space(directive[at])) ++at;
  };
  skip();
  if (!directive.substr(at).starts_with("include")) return {};
  at += 7;
  skip();
  if (at >= directive.size() || (directive[at] != '<' && directive[at] != '"')) return {};
  const std::size_t end = directive.find(directive[at] == '<' ? '>' : '"', at + 1);
  if (end == directive.npos) return {};
  const std::string_view name = directive.substr(at + 1, end - at - 1);
  for (const known_header& h : known_headers)
    if (h.name == name) return {name, h.kind, h.what};
  for (const std::string_view prefix : {"cub/", "thrust/", "cuda/", "cute/", "cutlass/"})
    if (name.starts_with(prefix)) return {name, header_kind::unsupported, name};
  return {name, header_kind::library, {}};
}

// ---- The rewriter ----

enum class scope_kind : std::uint8_t { space, kernel, other };  ///< space: of a namespace, or extern "C"

struct scope {
  scope_kind kind;
  std::string name;  ///< of the namespace or kernel
};

class rewriter {
 public:
  rewriter(std::string_view text, bool checked) : text_(text), checked_(checked), tokens_(token_reader(text).all()) {}

  host_ready_text run() {
    for (now_ = 0; now_ < tokens_.size(); ++now_) {
      const token& t = tokens_[now_];
      if (t.kind == token_kind::directive) directive(t);
      else if (t.kind == token_kind::word) word(t);
      else if (t.kind == token_kind::mark) mark(t);
      if (t.kind != token_kind::directive && !boundary_) statement_.push_back(now_);
      boundary_ = false;
    }
    out_.text = edited();
    return std::move(out_);
  }

 private:
  struct edit {
    std::size_t begin, length;
    std::string with;
  };

  void replace(const token& t, std::string with) { edits_.push_back({t.begin, t.text.size(), std::move(with)}); }
  void insert_after(const token& t, std::string what) {
    edits_.push_back({t.begin + t.text.size(), 0, std::move(what)});
  }

  std::string edited() {
    std::ranges::stable_sort(edits_, {}, &edit::begin);
    std::string result;
    std::size_t done = 0;
    for (const edit& e : edits_) {
      if (e.begin < done) continue;
      result.append(text_.substr(done, e.begin - done)).append(e.with);
      done = e.begin + e.length;
    }
    return result.append(text_.substr(done)).append("\n");
  }

  bool is(std::size_t k, std::string_view what) const { return k < tokens_.size() && tokens_[k].text == what; }

  void directive(const token& t) {
    if (const found_header h = included_by(t.text); !h.name.empty()) {
      out_.with_groups |= h.kind == header_kind::groups;
      out_.with_half |= h.kind == header_kind::half;
      out_.with_library |= h.kind == header_kind::library;
      out_.with_std_complex |= h.name == "complex";
      const auto lines = std::string(static_cast<std::size_t>(std::ranges::count(t.text, '\n')), '\n');
      if (h.kind == header_kind::unsupported)
        replace(t, fmt::format("#error \"{} is not supported by the cpu device\"{}", h.what, lines));
      else if (h.kind != header_kind::plain && h.kind != header_kind::library) replace(t, lines);
      return;
    }
    // Branches that leave braces open each begin with those that were open before the first of them.
    std::string_view rest = t.text.substr(1);
    while (!rest.empty() && is_space(rest.front())) rest.remove_prefix(1);
    if (rest.starts_with("if")) {
      branches_.push_back({scopes_, statement_});
    } else if ((rest.starts_with("el")) && !branches_.empty()) {
      scopes_ = branches_.back().scopes;
      statement_ = branches_.back().statement;
    } else if (rest.starts_with("endif") && !branches_.empty()) {
      branches_.pop_back();
    }
  }

  void word(const token& t) {
    if (t.text == "complex") out_.says_complex = true;
    if (t.text == "asm" || t.text == "__asm__" || t.text == "__asm") replace(t, "sinter_inline_ptx");
    // In the attribute's own parentheses the name means itself.
    if (t.text == "__noinline__" && !(now_ > 0 && is(now_ - 1, "("))) replace(t, "__attribute__((noinline))");
    if (t.text == "__shared__") shared(t);
  }

  void mark(const token& t) {
    if (t.text == "<<<") replace(t, " sinter_device_launch ");
    if (t.text == "{") open();
    else if (t.text == "}") close(t);
    else if (t.text == ";") end_statement();
  }

  void end_statement() {
    statement_.clear();
    boundary_ = true;
  }

  bool in_space() const {
    return std::ranges::all_of(scopes_, [](const scope& s) { return s.kind == scope_kind::space; });
  }

  void open() {
    scope s{scope_kind::other, {}};
    if (in_space()) {
      s = classify();
    }
    scopes_.push_back(std::move(s));
    end_statement();
  }

  void close(const token& t) {
    end_statement();
    if (scopes_.empty()) return;
    const scope s = scopes_.back();
    scopes_.pop_back();
    if (s.kind != scope_kind::kernel) return;
    std::string full;
    for (const scope& outer : scopes_)
      if (!outer.name.empty()) full += outer.name + "::";
    full += s.name;
    insert_after(t, registration(full, s.name, out_.kernels.size()));
    out_.kernels.push_back(full);
  }

 public:
  static std::string registration(std::string_view shown, std::string_view expression, std::size_t number) {
    return fmt::format(" static ::sinter_emulation::enlisted sinter_kernel_{}{{::sinter_emulation::registered<&{}>::"
                       "make(\"{}\")}};",
                       number, expression, shown);
  }

 private:
  /// What a brace at the scope of a namespace begins, from the tokens before it.
  scope classify() const {
    const auto has = [&](std::string_view w) {
      return std::ranges::any_of(statement_, [&](std::size_t k) { return tokens_[k].text == w; });
    };
    if (has("namespace")) {
      scope s{scope_kind::space, {}};
      for (const std::size_t k : statement_)
        if (tokens_[k].text == "::") s.name += "::";
        else if (tokens_[k].kind == token_kind::word && tokens_[k].text != "namespace" && tokens_[k].text != "inline")
          s.name += tokens_[k].text;
      return s;
    }
    if (statement_.size() == 2 && has("extern") && tokens_[statement_[1]].text == "\"C\"")
      return {scope_kind::space, {}};
    if (has("__global__") && !(is(statement_.front(), "template"))) {
      std::string name = declared_name();
      if (!name.empty()) return {scope_kind::kernel, std::move(name)};
    }
    return {scope_kind::other, {}};
  }

  /// The word before the last parentheses that aren't an attribute's.
  std::string declared_name() const {
    constexpr std::string_view attributes[] = {"__launch_bounds__", "__attribute__", "__align__",        "alignas",
                                               "__maxnreg__",       "noexcept",      "__cluster_dims__", "decltype"};
    std::string name;
    int depth = 0;
    for (std::size_t k = 0; k < statement_.size(); ++k) {
      const token& t = tokens_[statement_[k]];
      if (t.text == "(" && depth++ == 0 && k > 0) {
        const token& before = tokens_[statement_[k - 1]];
        if (before.kind == token_kind::word && std::ranges::find(attributes, before.text) == std::end(attributes))
          name = before.text;
      }
      if (t.text == ")") --depth;
    }
    return name;
  }

  // ---- extern __shared__ ----

  void shared(const token& t) {
    const auto outer = std::ranges::find_if(statement_, [&](std::size_t k) { return tokens_[k].text == "extern"; });
    std::size_t before = tokens_.size();
    if (outer != statement_.end()) before = *outer;
    else if (is(now_ + 1, "extern")) before = now_ + 1;
    std::size_t end = now_, bracket = 0;
    while (end < tokens_.size() && !is(end, ";") && !is(end, "{")) {
      if (bracket == 0 && is(end, "[")) bracket = end;
      ++end;
    }
    if (before == tokens_.size()) return;
    if (bracket == 0 || !is(end, ";") || tokens_[bracket - 1].kind != token_kind::word) return;
    replace(tokens_[before], "");
    replace(t, "");
    const token& name = tokens_[bracket - 1];
    const bool plain = is(bracket + 1, "]") && bracket + 2 == end;
    if (plain && (in_space() || (checked_ && is_only_indexed(name.text)))) as_object(t, before, bracket, end);
    else as_reference(name, tokens_[end]);
  }

  void as_reference(const token& name, const token& semicolon) {
    replace(name, fmt::format("(&{})", name.text));
    edits_.push_back({semicolon.begin, 0, " = ::sinter_emulation::dynamic_binding{}"});
  }

  /// `T s[]` as an object of a class that compares indices with the size. The type's words lie between the keywords and
  /// the name; attributes say how it is aligned, which the memory is anyhow.
  void as_object(const token& keyword, std::size_t before, std::size_t bracket, std::size_t end) {
    const std::size_t keyword_place = now_;
    bool first = true;
    std::size_t last = bracket - 1;
    for (std::size_t k = std::min(before, keyword_place); k < bracket - 1; ++k) {
      if (&tokens_[k] == &keyword || k == before) continue;
      if ((is(k, "__align__") || is(k, "alignas") || is(k, "__attribute__")) && is(k + 1, "(")) {
        int depth = 0;
        do {
          ++k;
          if (is(k, "(")) ++depth;
          if (is(k, ")")) --depth;
        } while (depth != 0 && k < bracket);
        continue;
      }
      if (first) edits_.push_back({tokens_[k].begin, 0, "::sinter_emulation::dynamic_array<"});
      first = false;
      last = k;
    }
    if (first) return;
    remove_attributes(std::min(before, keyword_place), bracket - 1);
    insert_after(tokens_[last], fmt::format(", {}>", checked_ ? "true" : "false"));
    for (std::size_t k = bracket; k < end; ++k) replace(tokens_[k], "");
  }

  void remove_attributes(std::size_t from, std::size_t to) {
    for (std::size_t k = from; k < to; ++k) {
      if (!((is(k, "__align__") || is(k, "alignas") || is(k, "__attribute__")) && is(k + 1, "("))) continue;
      int depth = 0;
      replace(tokens_[k], "");
      do {
        ++k;
        if (is(k, "(")) ++depth;
        if (is(k, ")")) --depth;
        replace(tokens_[k], "");
      } while (depth != 0 && k + 1 < to);
    }
  }

  /// Whether all that the text does with the name is s[i].
  bool is_only_indexed(std::string_view name) const {
    for (std::size_t k = 0; k + 1 < tokens_.size(); ++k)
      if (tokens_[k].text == name && !is(k + 1, "[")) return false;
    return true;
  }

  struct branch {
    std::vector<scope> scopes;
    std::vector<std::size_t> statement;
  };

  std::string_view text_;
  bool checked_;
  std::vector<token> tokens_;
  std::size_t now_ = 0;
  std::vector<std::size_t> statement_;  ///< tokens since the last end of a statement
  bool boundary_ = false;
  std::vector<scope> scopes_;
  std::vector<branch> branches_;
  std::vector<edit> edits_;
  host_ready_text out_;
};

}  // namespace

host_ready_text make_host_ready(std::string_view text, bool checked) { return rewriter(text, checked).run(); }

std::string without_spaces(std::string_view expression) {
  std::string out;
  for (std::size_t k = 0; k < expression.size(); ++k) {
    const char c = expression[k];
    if (!is_space(c)) {
      out += c;
      continue;
    }
    const std::size_t next = expression.find_first_not_of(" \t\n\r\f\v", k);
    const auto part = [](char x) { return is_letter(x) || is_digit(x); };
    if (next != expression.npos && !out.empty() && part(out.back()) && part(expression[next])) out += ' ';
    if (next == expression.npos) break;
    k = next - 1;
  }
  return out;
}

}  // namespace sinter::jit
