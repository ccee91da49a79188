// The user's own headers that a kernel's text includes: their contents are part of its key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sinter::jit {

struct included_header {
  std::string name;  ///< as written, or with the folder of the header that includes it
  std::string contents;
  friend bool operator==(const included_header&, const included_header&) = default;
};

struct header_scan {
  std::vector<included_header> headers;  ///< in the order they are met
  std::string unknown;  ///< what stands in the way of knowing them all (a computed include); empty: nothing
};

/// Follows #include lines of `text` (whatever #if they stand under), and -include options, through the folders that -I
/// and its relatives in `options` name, then those of `include_path` (colons between them). Headers found nowhere there
/// are the compiler's and the system's own, known by the compiler's identity.
header_scan scan_headers(std::string_view text, const std::vector<std::string>& options, std::string_view include_path);

}  // namespace sinter::jit
