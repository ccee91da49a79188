// The error types users catch, and the out-of-line throwers the library uses.
#pragma once

#include "types.hpp"

#include <exception>
#include <string>
#include <string_view>

namespace sinter {

/// Base of everything sinter throws. `what()` is laid out as: what, values, then `  at file:line in function()`, hint.
class error : public std::exception {
 public:
  explicit error(std::string message) : message_(static_cast<std::string&&>(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

/// Shapes that do not fit, bad axes, bad ranks.
class shape_error : public error { using error::error; };
/// dtypes that do not fit: no common dtype, a scalar out of range, a bit operation on floats.
class type_error : public error { using error::error; };
/// An index outside its axis, known when recording or found on the device.
class index_error : public error { using error::error; };
/// A loop inside a kernel that has not ended after as many iterations as it may have.
class loop_error : public error { using error::error; };
/// A file that can't be read or written, or isn't what it claims to be.
class io_error : public error { using error::error; };
/// A fault of the library itself; please report it.
class internal_error : public error { using error::error; };
/// The allocator of a device has no room left.
class out_of_memory : public error { using error::error; };

/// A driver or device failure, or a device that isn't there. `code()` is the driver's number, 0 when it has none.
class device_error : public error {
 public:
  explicit device_error(std::string message, int code = 0) : error(static_cast<std::string&&>(message)), code_(code) {}
  int code() const noexcept { return code_; }

 private:
  int code_;
};

/// A kernel that did not compile: the message shows the user's own text with its own line numbers.
class compile_error : public error {
 public:
  compile_error(std::string message, std::string source, std::string log, std::string options)
      : error(static_cast<std::string&&>(message)), source_(static_cast<std::string&&>(source)),
        log_(static_cast<std::string&&>(log)), options_(static_cast<std::string&&>(options)) {}
  const std::string& source() const noexcept { return source_; }    ///< everything the compiler was given
  const std::string& log() const noexcept { return log_; }          ///< what the compiler said
  const std::string& options() const noexcept { return options_; }  ///< how it was called

 private:
  std::string source_, log_, options_;
};

/// Lays out a message: `what`, then "  at file:line in function()", then "  hint: ..." when there is one.
std::string error_text(std::string_view what, const place& at, std::string_view hint = {});
[[noreturn]] void throw_shape_error(std::string_view what, const place& at, std::string_view hint = {});
[[noreturn]] void throw_type_error(std::string_view what, const place& at, std::string_view hint = {});
[[noreturn]] void throw_index_error(std::string_view what, const place& at, std::string_view hint = {});
[[noreturn]] void throw_io_error(std::string_view what, const place& at, std::string_view hint = {});
[[noreturn]] void throw_internal_error(std::string_view what, const place& at = place::here());

}  // namespace sinter

/// Internal consistency, checked in every build.
#define SINTER_CHECK(condition) \
  do { if (!(condition)) ::sinter::throw_internal_error("check failed: " #condition); } while (0)
