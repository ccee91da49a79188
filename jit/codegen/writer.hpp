// Lines, blocks and indentation of generated text.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace sinter::jit {

class writer {
 public:
  /// Appends one line at the current depth.
  template <class... Args>
  void line(fmt::format_string<Args...> text, Args&&... args) {
    indent();
    fmt::format_to(std::back_inserter(text_), text, std::forward<Args>(args)...);
    text_ += '\n';
  }
  /// Appends text as it is.
  void raw(std::string_view text) { text_ += text; }

  /// Closes its brace when it goes out of scope.
  class scope {
   public:
    explicit scope(writer& w, std::string_view closing = "}") : w_(w), closing_(closing) {}
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
    ~scope() {
      --w_.depth_;
      w_.line("{}", closing_);
    }

   private:
    writer& w_;
    std::string_view closing_;
  };
  /// Appends "text {" and indents until the result goes away.
  template <class... Args>
  [[nodiscard]] scope block(fmt::format_string<Args...> text, Args&&... args) {
    indent();
    fmt::format_to(std::back_inserter(text_), text, std::forward<Args>(args)...);
    open_brace();
    return scope(*this);
  }
  /// Likewise, for a struct or a function object: ends with "};".
  template <class... Args>
  [[nodiscard]] scope definition(fmt::format_string<Args...> text, Args&&... args) {
    indent();
    fmt::format_to(std::back_inserter(text_), text, std::forward<Args>(args)...);
    open_brace();
    return scope(*this, "};");
  }

  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  void open_brace() {
    const bool alone = text_.empty() || text_.back() == ' ' || text_.back() == '\n';
    text_ += alone ? "{\n" : " {\n";
    ++depth_;
  }
  void indent() { text_.append(static_cast<std::size_t>(2 * depth_), ' '); }
  std::string text_;
  int depth_ = 0;
};

}  // namespace sinter::jit
