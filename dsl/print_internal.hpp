// Numbers as text, for print.cpp. Not installed.
#pragma once

#include "runtime/types.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sinter {

/// The words of an array's elements, all of one width, points aligned.
std::vector<std::string> number_words(const std::byte* values, std::int64_t count, dtype type);
/// The text of a 0-d array.
std::string lone_number(const std::byte* value, dtype type);

}  // namespace sinter
