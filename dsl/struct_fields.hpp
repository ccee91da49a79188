// Arrays of structs by tables of their members: what struct_array.hpp makes of types.
#pragma once

#include "interchange.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sinter {

/// A member of a struct: its name, its dtype and where it is.
struct struct_field {
  const char* name;
  dtype type;
  std::size_t offset;  ///< in bytes
};

namespace structs {

/// n structs in memory.
struct layout {
  std::span<const struct_field> fields;
  std::size_t bytes;  ///< of a struct
};

/// See struct_view, from_structs, from_columns, to_columns and to_structs in struct_array.hpp.
std::vector<array> borrowed(void* records, std::int64_t count, const layout& s, const import_options& how,
                            const place& at);
std::vector<array> copied(const void* records, std::int64_t count, const layout& s, const place& at);
std::vector<array> columns(const array& x, std::size_t count, const place& at);
array packed(std::span<const array> fields, const layout& s, const place& at);
void interleave(std::span<const array> fields, const layout& s, void* records, const place& at);
std::int64_t common_length(std::span<const array> fields, const layout& s, const place& at);

}  // namespace structs

}  // namespace sinter
