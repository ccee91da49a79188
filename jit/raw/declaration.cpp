#include "jit/raw/declaration.hpp"

#include "jit/raw/tokens.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>

#include <cxxabi.h>

namespace sinter::jit {

namespace {

using token_list = std::span<const std::string_view>;
using alias_map = std::map<std::string, std::string>;

bool opens(std::string_view t) { return t == "(" || t == "[" || t == "{"; }
bool closes(std::string_view t) { return t == ")" || t == "]" || t == "}"; }

/// One past the bracket that closes the one at `k`.
std::size_t past_brackets(token_list tokens, std::size_t k) {
  int depth = 0;
  for (; k < tokens.size(); ++k) {
    depth += opens(tokens[k]) - closes(tokens[k]);
    if (depth == 0) return k + 1;
  }
  return tokens.size();
}

/// One past the '>' that closes the '<' at `k`.
std::size_t past_angles(token_list tokens, std::size_t k) {
  int depth = 0;
  for (; k < tokens.size(); ++k) {
    if (opens(tokens[k])) k = past_brackets(tokens, k) - 1;
    else depth += (tokens[k] == "<") - (tokens[k] == ">");
    if (depth == 0) return k + 1;
  }
  return tokens.size();
}

bool is_word(std::string_view t) { return !t.empty() && starts_word(t[0]); }

std::string joined(token_list tokens) {
  std::string text;
  for (const std::string_view t : tokens) {
    if (!text.empty() && continues_word(text.back()) && is_word(t)) text += ' ';
    text += t;
  }
  return text;
}

/// Whether a word can only be part of a type.
bool is_of_type(std::string_view w) {
  constexpr std::string_view words[] = {"const", "volatile", "unsigned", "signed",       "long",
                                        "short", "int",      "char",     "float",        "double",
                                        "bool",  "void",     "auto",     "__restrict__", "__restrict"};
  return std::ranges::find(words, w) != std::end(words);
}

/// A parameter's tokens without its name and default.
std::vector<std::string_view> type_tokens(token_list p) {
  std::vector<std::string_view> type;
  bool is_array = false;
  for (std::size_t k = 0; k < p.size(); ++k) {
    if (p[k] == "=") break;
    if (p[k] == "[") {
      is_array = true;
      k = past_brackets(p, k) - 1;
      continue;
    }
    type.push_back(p[k]);
  }
  if (type.size() > 1 && is_word(type.back()) && !is_of_type(type.back()) && type[type.size() - 2] != "::") {
    const auto before = std::span(type).first(type.size() - 1);
    const bool names = std::ranges::any_of(before, [](std::string_view t) { return t != "const" && t != "volatile"; });
    if (names) type.pop_back();
  }
  if (is_array) type.push_back("*");
  return type;
}

/// Words that stand for others, replaced; to no end only if they stand for each other.
std::string resolved(token_list tokens, const alias_map& aliases) {
  std::string text = joined(tokens);
  for (int depth = 0; depth < 8; ++depth) {
    const std::vector<std::string_view> now = split_tokens(text);
    std::vector<std::string_view> next;
    bool changed = false;
    for (const std::string_view t : now) {
      const auto known = aliases.find(std::string(t));
      changed |= known != aliases.end();
      next.push_back(known == aliases.end() ? t : known->second.empty() ? std::string_view("?") : known->second);
    }
    if (!changed) break;
    text = joined(next);
  }
  return text;
}

std::vector<raw_parameter> read_parameters(token_list list, const alias_map& aliases) {
  std::vector<raw_parameter> out;
  std::size_t begin = 0;
  int angles = 0;
  for (std::size_t k = 0; k <= list.size(); ++k) {
    if (k < list.size() && opens(list[k])) k = past_brackets(list, k) - 1;
    if (k < list.size()) angles += (list[k] == "<") - (list[k] == ">");
    if (k < list.size() && (list[k] != "," || angles > 0)) continue;
    const std::vector<std::string_view> type = type_tokens(list.subspan(begin, k - begin));
    begin = k + 1;
    if (type.empty() || (type.size() == 1 && type[0] == "void")) continue;
    raw_parameter p = describe_type(resolved(type, aliases));
    p.type = joined(type);
    out.push_back(std::move(p));
  }
  return out;
}

/// Reads a source, statement by statement of its namespaces.
class reader {
 public:
  reader(std::string_view text, const std::vector<std::string>& options) {
    for (const std::string& o : options)
      if (const std::size_t equals = o.find('='); o.starts_with("-D") && equals != std::string::npos)
        note_alias(aliases_, std::string_view(o).substr(2, equals - 2), std::string_view(o).substr(equals + 1));
    tokens_ = split_tokens(text, &aliases_);
  }

  raw_declarations run() {
    std::vector<std::string> scopes;  // "": extern "C" {
    std::size_t begin = 0;
    for (std::size_t k = 0; k < tokens_.size(); ++k) {
      const std::string_view t = tokens_[k];
      if (t == "(" || t == "[") k = past_brackets(tokens_, k) - 1;
      if (t == "}" && !scopes.empty()) scopes.pop_back();
      if (t != ";" && t != "{" && t != "}") continue;
      const token_list statement = token_list(tokens_).subspan(begin, k - begin);
      begin = k + 1;
      if (t == "{" && enters(statement, scopes)) continue;
      read(statement, scopes);
      if (t != "{") continue;
      k = past_brackets(tokens_, k) - 1;
      // What follows a body up to the next statement: nothing, or variables of the struct just defined.
      begin = k + 1;
    }
    for (found& f : found_) out_.kernels.push_back({f.name, f.is_template, read_parameters(f.parameters, aliases_)});
    return std::move(out_);
  }

 private:
  struct found {
    std::string name;
    bool is_template;
    token_list parameters;
  };

  static bool enters(token_list s, std::vector<std::string>& scopes) {
    std::size_t k = 0;
    if (k < s.size() && s[k] == "inline") ++k;
    if (k < s.size() && s[k] == "namespace") {
      scopes.push_back(joined(s.subspan(k + 1)));
      return true;
    }
    if (s.size() == 2 && s[0] == "extern" && s[1].starts_with('"')) {
      scopes.emplace_back();
      return true;
    }
    return false;
  }

  static std::string qualified(std::string_view name, const std::vector<std::string>& scopes) {
    std::string text;
    for (const std::string& s : scopes)
      if (!s.empty()) text += s + "::";
    return text.append(name);
  }

  void read(token_list s, const std::vector<std::string>& scopes) {
    if (s.size() == 4 && s[0] == "using" && s[2] == "=") note_alias(aliases_, s[1], s[3]);
    else if (s.size() > 4 && s[0] == "using" && s[2] == "=") note_alias(aliases_, s[1], joined(s.subspan(3)));
    if (s.size() >= 3 && s[0] == "typedef") note_alias(aliases_, s.back(), joined(s.subspan(1, s.size() - 2)));
    const bool is_kernel = std::ranges::find(s, "__global__") != s.end();
    const bool is_template = !s.empty() && s[0] == "template";
    const bool on_device = std::ranges::find(s, "__device__") != s.end() ||
                           std::ranges::find(s, "__constant__") != s.end() ||
                           std::ranges::find(s, "__managed__") != s.end();
    std::size_t k = is_template ? past_angles(s, 1) : 0;
    if (is_kernel) read_kernel(s, k, is_template, scopes);
    else if (on_device && !is_template) read_variable(s, scopes);
  }

  void read_kernel(token_list s, std::size_t k, bool is_template, const std::vector<std::string>& scopes) {
    for (; k + 1 < s.size(); ++k) {
      if (s[k] == "[") k = past_brackets(s, k) - 1;
      if (!is_word(s[k]) || s[k + 1] != "(") continue;
      const std::size_t end = past_brackets(s, k + 1);
      if (s[k].starts_with("__") && end < s.size()) {  // __launch_bounds__(256)
        k = end - 1;
        continue;
      }
      found_.push_back({qualified(s[k], scopes), is_template, s.subspan(k + 2, end - k - 3)});
      return;
    }
  }

  /// `__constant__ float table[100] = ...`: no function, whose name a parenthesis follows.
  void read_variable(token_list s, const std::vector<std::string>& scopes) {
    for (std::size_t k = 0; k < s.size(); ++k) {
      if (s[k] == "(") return;
      const bool ends = k + 1 == s.size() || s[k + 1] == "[" || s[k + 1] == "=";
      if (ends && is_word(s[k])) {
        out_.variables.push_back(qualified(s[k], scopes));
        return;
      }
    }
  }

  std::vector<std::string_view> tokens_;
  alias_map aliases_;
  std::vector<found> found_;
  raw_declarations out_;
};

bool same_parameters(const raw_declaration& a, const raw_declaration& b) {
  return std::ranges::equal(a.parameters, b.parameters, {}, &raw_parameter::type, &raw_parameter::type);
}

}  // namespace

raw_declarations read_declarations(std::string_view text, const std::vector<std::string>& options) {
  return reader(text, options).run();
}

const raw_declaration* raw_declarations::find(std::string_view name) const {
  const raw_declaration* only = nullptr;
  for (const raw_declaration& k : kernels) {
    if (k.name != name) continue;
    if (only && !same_parameters(*only, k)) return nullptr;
    only = &k;
  }
  return only;
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !continues_word(text[at - 1]);
    const std::size_t end = at + word.size();
    if (begins && (end == text.size() || !continues_word(text[end]))) return true;
  }
  return false;
}

std::optional<raw_declaration> read_symbol(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return std::nullopt;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  if (!text) return std::nullopt;
  const std::string_view whole = text.get();
  const std::vector<std::string_view> tokens = split_tokens(whole);
  // The last parenthesis at the end of which the text ends opens the list of parameters.
  std::size_t open = tokens.size();
  for (std::size_t k = 0; k < tokens.size(); ++k) {
    if (tokens[k] == "<") k = past_angles(tokens, k) - 1;
    else if (tokens[k] == "(") {
      open = k;
      break;
    }
  }
  if (open == tokens.size() || open == 0) return std::nullopt;
  const std::size_t first = tokens[0] == "void" ? 1 : 0;  // templates' symbols tell what they return
  raw_declaration d;
  d.name = joined(token_list(tokens).subspan(first, open - first));
  d.is_template = tokens[open - 1] == ">";
  d.parameters = read_parameters(token_list(tokens).subspan(open + 1, past_brackets(tokens, open) - open - 2), {});
  return d;
}

bool same_name(std::string_view a, std::string_view b) {
  const auto squeezed = [](std::string_view text) { return joined(split_tokens(text)); };
  return squeezed(a) == squeezed(b);
}

}  // namespace sinter::jit
