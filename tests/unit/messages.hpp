// What an error said.
#pragma once

#include <string>
#include <string_view>

/// The message of the Error that f throws; other exceptions pass through.
template <class Error, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing thrown";
}

inline bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
