#include "jit/raw/tokens.hpp"

#include <algorithm>

namespace sinter::jit {

namespace {

class tokenizer {
 public:
  tokenizer(std::string_view text, std::map<std::string, std::string>* macros) : text_(text), macros_(macros) {}

  std::vector<std::string_view> run() {
    while (at_ < text_.size()) step();
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void step() {
    const char c = text_[at_];
    if (c == '\n') {
      line_begins_ = true;
      ++at_;
      return;
    }
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at_;
      return;
    }
    if (c == '/' && peek(1) == '/') return skip_line();
    if (c == '/' && peek(1) == '*') return skip_past("*/", 2);
    if (c == '#' && line_begins_) return directive();
    line_begins_ = false;
    if (starts_word(c)) return word();
    if (c == '"') return literal('"');
    if (c == '\'') return literal('\'');
    if (c >= '0' && c <= '9') return number();
    take(c == ':' && peek(1) == ':' ? 2 : 1);
  }

  void take(std::size_t count) {
    tokens_.push_back(text_.substr(at_, count));
    at_ += count;
  }

  void word() {
    std::size_t end = at_;
    while (end < text_.size() && continues_word(text_[end])) ++end;
    const std::string_view w = text_.substr(at_, end - at_);
    const bool raw = end < text_.size() && text_[end] == '"' && !w.empty() && w.back() == 'R' && w.size() <= 3;
    if (!raw) return take(end - at_);
    const std::size_t open = text_.find('(', end);
    if (open == std::string_view::npos) return take(text_.size() - at_);
    const std::string close = ")" + std::string(text_.substr(end + 1, open - end - 1)) + "\"";
    skip_past(close, open - at_);
  }

  /// Digit separators are part of it, and no characters.
  void number() {
    std::size_t end = at_;
    while (end < text_.size() && (continues_word(text_[end]) || text_[end] == '.' || text_[end] == '\'')) ++end;
    take(end - at_);
  }

  void literal(char quote) {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
    take(std::min(end + 1, text_.size()) - at_);
  }

  void skip_past(std::string_view mark, std::size_t from) {
    const std::size_t end = text_.find(mark, at_ + from);
    at_ = end == std::string_view::npos ? text_.size() : end + mark.size();
  }

  void skip_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  /// To the end of its line, or of the last line that it continues on.
  void directive() {
    const std::size_t begin = at_;
    do {
      skip_line();
      if (at_ < text_.size()) ++at_;
    } while (at_ >= 2 && at_ < text_.size() && text_[at_ - 2] == '\\');
    line_begins_ = true;
    if (macros_) note_macro(text_.substr(begin, at_ - begin));
  }

  void note_macro(std::string_view line) {
    std::vector<std::string_view> words = tokenizer(line.substr(1), nullptr).run();
    if (words.size() < 3 || words[0] != "define") return;
    // A "(" right behind the name makes it a function.
    const std::size_t after = static_cast<std::size_t>(words[1].data() + words[1].size() - line.data());
    if (after < line.size() && line[after] == '(') return;
    const std::size_t begin = static_cast<std::size_t>(words[2].data() - line.data());
    const std::size_t end = static_cast<std::size_t>(words.back().data() + words.back().size() - line.data());
    note_alias(*macros_, words[1], line.substr(begin, end - begin));
  }

  std::string_view text_;
  std::map<std::string, std::string>* macros_;
  std::size_t at_ = 0;
  bool line_begins_ = true;
  std::vector<std::string_view> tokens_;
};

}  // namespace

void note_alias(std::map<std::string, std::string>& aliases, std::string_view name, std::string_view text) {
  const auto [known, fresh] = aliases.try_emplace(std::string(name), text);
  if (!fresh && known->second != text) known->second.clear();
}

std::vector<std::string_view> split_tokens(std::string_view text, std::map<std::string, std::string>* macros) {
  return tokenizer(text, macros).run();
}

}  // namespace sinter::jit
