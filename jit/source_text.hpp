// Text of kernels, as written by users and by us.
#pragma once

#include <algorithm>
#include <string_view>

namespace sinter::jit {

/// The end of the comment or literal that starts at text[k]; k when there is none.
inline std::size_t skip_opaque(std::string_view text, std::size_t k) {
  const auto after = [&](std::string_view closing) {
    const std::size_t end = text.find(closing, k + 2);
    return end == text.npos ? text.size() : end + closing.size();
  };
  if (text.substr(k, 2) == "//") return after("\n");
  if (text.substr(k, 2) == "/*") return after("*/");
  if (text[k] != '"' && text[k] != '\'') return k;
  std::size_t end = k + 1;
  while (end < text.size() && text[end] != text[k]) end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

}  // namespace sinter::jit
