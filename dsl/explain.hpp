// What an evaluation would do, in words.
#pragma once

#include "array.hpp"

#include <span>
#include <string>

namespace sinter {

/// What `eval(arrays...)` would do: groups, operations and launches, why it cuts, IR and source. Launches nothing.
template <class... Arrays>
std::string explain(const Arrays&... arrays);
std::string explain_all(std::span<const array* const> arrays);

template <class... Arrays>
std::string explain(const Arrays&... arrays) {
  const array* list[] = {addressed(arrays)..., nullptr};
  return explain_all(std::span<const array* const>(list, sizeof...(arrays)));
}

}  // namespace sinter
