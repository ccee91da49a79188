// Arguments of users' kernels against what is known of their parameters.
#include "jit/raw/call.hpp"
#include "runtime/error.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

namespace sinter::jit {

namespace {

using access = raw_argument::access;
__extension__ typedef __int128 wide;  // holds every integer there is

std::string list_of(const std::vector<raw_parameter>& parameters) {
  std::vector<std::string> types;
  for (const raw_parameter& p : parameters) types.push_back(p.type.empty() ? fmt::format("{} bytes", p.bytes) : p.type);
  return fmt::format("{}", fmt::join(types, ", "));
}

/// Says what is wrong with argument k.
class checker {
 public:
  checker(const raw_entry& e, const place& at) : e_(e), at_(at) {}

  void count(std::size_t given) const {
    if (!e_.knows_parameters || given == e_.parameters.size()) return;
    throw_type_error(fmt::format("{}: takes {} argument(s) ({}), {} given", e_.name, e_.parameters.size(),
                                 list_of(e_.parameters), given),
                     at_);
  }

  void one(std::size_t k, raw_argument& a) const {
    if (!e_.knows_parameters) {
      if (a.how == access::read_or_update) a.how = access::update;
      return;
    }
    const raw_parameter& p = e_.parameters[k];
    if (a.how == access::null) return null(k, p, a);
    if (a.is_array()) return array(k, p, a);
    if (p.is_pointer)
      fail(k, p, a, "is a value, but its parameter is a pointer",
           "pass an array, or nullptr; to read one value, put it in an array: array{x}");
    if (a.how == access::number && p.has_element && p.bytes == static_cast<std::size_t>(size_of(p.element)))
      return number(k, p, a);
    if (p.bytes != 0 && a.bytes != p.bytes)
      fail(k, p, a, fmt::format("has {} bytes, but its parameter has {}", a.bytes, p.bytes),
           "structs must be laid out alike on both sides");
  }

 private:
  [[noreturn]] void fail(std::size_t k, const raw_parameter& p, const raw_argument& a, std::string_view what,
                         std::string_view hint) const {
    throw_type_error(
        fmt::format("{}: argument {}{} {}", e_.name, k, p.type.empty() ? "" : fmt::format(" ({})", p.type), what),
        a.at.line != 0 ? a.at : at_, hint);
  }

  void null(std::size_t k, const raw_parameter& p, const raw_argument& a) const {
    const bool may_be = p.is_pointer || (p.type.empty() && p.bytes == sizeof(void*));
    if (!may_be) fail(k, p, a, "is nullptr, but its parameter is no pointer", "");
  }

  void array(std::size_t k, const raw_parameter& p, raw_argument& a) const {
    if (!p.is_pointer && (p.has_element || (p.bytes != 0 && p.bytes != sizeof(void*))))
      fail(k, p, a, fmt::format("is an array of {}, but its parameter is no pointer", to_string(a.array->type)),
           "pass the number: x.item<float>() reads it");
    if (p.is_pointer) access_of(k, p, a);
    if (a.how == access::read_or_update) a.how = access::update;
    if (!p.has_element) return;
    const dtype given = a.array->type;
    if (!fits(p, given))
      fail(k, p, a, fmt::format("is an array of {}", to_string(given)),
           fmt::format("convert it: x.astype({})", to_string(p.element)));
    const std::int64_t bytes = a.array->extents.size() * size_of(given);
    if (p.element_bytes != 0 && bytes % static_cast<std::int64_t>(p.element_bytes) != 0)
      throw_shape_error(fmt::format("{}: argument {} ({}) has shape {}: {} bytes are not a multiple of {}", e_.name, k,
                                    p.type, sinter::to_string(a.array->extents), bytes, p.element_bytes),
                        a.at.line != 0 ? a.at : at_);
  }

  /// What only reads may be given to pointers to const alone, where that is known: values of arrays don't change behind
  /// those who hold them.
  void access_of(std::size_t k, const raw_parameter& p, raw_argument& a) const {
    if (a.how == access::read_or_update) a.how = p.is_const ? access::read : access::update;
    if (a.how == access::read && !p.is_const && !p.type.empty())
      fail(k, p, a, "is only read, but its parameter may be written",
           "declare the parameter const, or pass a variable that the kernel may change");
    if (a.is_output() && p.is_const)
      fail(k, p, a, "is to be written, but its parameter is a pointer to const", "pass it as in(x)");
  }

  static bool fits(const raw_parameter& p, dtype given) {
    if (given == p.element) return true;
    if (p.element == dtype::i8 && p.type.find("char") != std::string::npos &&
        p.type.find("signed") == std::string::npos)
      return given == dtype::u8;  // plain char
    const dtype part = given == dtype::c64 ? dtype::f32 : dtype::f64;
    return is_complex(given) && p.element == part && p.element_bytes == static_cast<std::size_t>(size_of(given));
  }

  void number(std::size_t k, const raw_parameter& p, raw_argument& a) const {
    if (a.type == p.element) return;
    if (is_real(p.element) && is_real(a.type) && size_of(a.type) > size_of(p.element))
      fail(k, p, a, fmt::format("is {}", to_string(a.type)),
           fmt::format("write float(x){}", a.type == dtype::f64 ? ", or 2.0f for 2.0" : ""));
    if (!stores(p.element, a))
      fail(k, p, a, fmt::format("is {} {}", to_string(a.type), text_of(a)), "convert it, if that is what is meant");
    a.data = a.room;
    a.bytes = p.bytes;
  }

  template <class T>
  static T read(const raw_argument& a) {
    T x;
    std::memcpy(&x, a.data, sizeof x);
    return x;
  }

  static wide integer_of(const raw_argument& a) {
    switch (a.type) {
      case dtype::i8:
        return read<std::int8_t>(a);
      case dtype::i16:
        return read<std::int16_t>(a);
      case dtype::i32:
        return read<std::int32_t>(a);
      case dtype::i64:
        return read<std::int64_t>(a);
      case dtype::u8:
        return read<std::uint8_t>(a);
      case dtype::u16:
        return read<std::uint16_t>(a);
      case dtype::u32:
        return read<std::uint32_t>(a);
      case dtype::u64:
        return read<std::uint64_t>(a);
      default:
        return read<bool>(a);
    }
  }

  static std::string text_of(const raw_argument& a) {
    if (a.type == dtype::u64) return fmt::format("{}", read<std::uint64_t>(a));
    if (is_integer_or_bool(a.type)) return fmt::format("{}", static_cast<std::int64_t>(integer_of(a)));
    return "";
  }

  /// The same number as a `type`, in a.room; false when there is none.
  static bool stores(dtype type, raw_argument& a) {
    if (type == dtype::boolean || is_complex(type) || is_complex(a.type)) return false;
    if (is_real(a.type)) {
      if (type != dtype::f64 || a.type != dtype::f32) return false;
      const double x = read<float>(a);
      std::memcpy(a.room, &x, sizeof x);
      return true;
    }
    const wide x = integer_of(a);
    if (type == dtype::f64 || type == dtype::f32) return stores_real(type, x, a);
    if (!is_integer(type)) return false;
    const int bits = static_cast<int>(size_of(type)) * 8;
    const bool has_sign = kind_of(type) == kind::signed_integer;
    const wide high = (wide{1} << (bits - has_sign)) - 1, low = has_sign ? -high - 1 : 0;
    if (x < low || x > high) return false;
    std::memcpy(a.room, &x, static_cast<std::size_t>(size_of(type)));  // little-endian, as all that run CUDA
    return true;
  }

  static bool stores_real(dtype type, wide x, raw_argument& a) {
    const auto f = static_cast<float>(x);
    const auto d = static_cast<double>(x);
    if (type == dtype::f32 ? static_cast<wide>(f) != x : static_cast<wide>(d) != x) return false;
    if (type == dtype::f32) std::memcpy(a.room, &f, sizeof f);
    else std::memcpy(a.room, &d, sizeof d);
    return true;
  }

  const raw_entry& e_;
  const place& at_;
};

}  // namespace

void check_arguments(const raw_entry& e, std::span<raw_argument> arguments, const place& at) {
  const checker c(e, at);
  c.count(arguments.size());
  for (std::size_t k = 0; k < arguments.size(); ++k) c.one(k, arguments[k]);
}

}  // namespace sinter::jit
