// C++ source as words, for the readers of declarations.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::jit {

/// Identifiers and numbers whole, "::" as one, string literals as "\"...", anything else a character each. Comments are
/// left out, and so are directives, of which `macros` gets those like "#define real float".
/// A name that is defined in different ways has an empty text there.
std::vector<std::string_view> split_tokens(std::string_view text, std::map<std::string, std::string>* macros = nullptr);

inline bool starts_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool continues_word(char c) { return starts_word(c) || (c >= '0' && c <= '9'); }

/// Notes that `name` stands for `text`; what it stands for in different ways is not known.
void note_alias(std::map<std::string, std::string>& aliases, std::string_view name, std::string_view text);

}  // namespace sinter::jit
