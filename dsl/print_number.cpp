// Numbers as NumPy prints them: the shortest digits that read back as the same number of that dtype, at most 8 of them
// after the point, one format for all the numbers of an array.
#include "dsl/print_internal.hpp"

#include "dsl/number_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <span>

namespace sinter {

namespace {

constexpr int most_digits = 8;  // after the point

/// "d.ddd" without exponent, or mantissa and exponent.
struct decimal {
  std::string digits;  ///< without point, no trailing zeros but for "0"
  int exponent = 0;    ///< of ten, of the first digit
};

decimal parse_scientific(std::string_view text) {
  decimal d;
  const std::size_t e = text.find('e');
  for (char c : text.substr(0, e))
    if (c >= '0' && c <= '9') d.digits += c;
  while (d.digits.size() > 1 && d.digits.back() == '0') d.digits.pop_back();
  d.exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  return d;
}

template <class Small>
bool same_small(double x, double y) {
  return Small(static_cast<float>(x)) == Small(static_cast<float>(y));
}

/// The shortest digits that read back as |x| in dtype `type`.
decimal shortest(double x, dtype type) {
  x = std::fabs(x);
  char text[64];
  if (type == f16 || type == bf16) {
    for (int digits = 0;; ++digits) {
      const std::string s = fmt::format("{:.{}e}", x, digits);
      const double y = std::strtod(s.c_str(), nullptr);
      if (digits >= 9 || (type == f16 ? same_small<float16>(x, y) : same_small<bfloat16>(x, y)))
        return parse_scientific(s);
    }
  }
  const bool single = type == f32 || type == c64;
  const auto end = single
                       ? std::to_chars(text, text + sizeof text, static_cast<float>(x), std::chars_format::scientific)
                       : std::to_chars(text, text + sizeof text, x, std::chars_format::scientific);
  return parse_scientific({text, static_cast<std::size_t>(end.ptr - text)});
}

struct parts {
  std::string whole, fraction;  ///< either side of the point; whole has the sign
  int exponent = 0;
};

std::string sign_of(double x, bool plus) { return std::signbit(x) ? "-" : plus ? "+" : ""; }

void trim_zeros(std::string& digits) {
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
}

parts positional(double x, dtype type, int most, bool plus) {
  const decimal d = shortest(x, type);
  const int count = static_cast<int>(d.digits.size());
  parts p;
  if (count - 1 - d.exponent > most) {
    const std::string s = fmt::format("{:.{}f}", std::fabs(x), most);
    const std::size_t point = std::min(s.find('.'), s.size());
    p.whole = s.substr(0, point);
    p.fraction = point < s.size() ? s.substr(point + 1) : "";
  } else if (d.exponent < 0) {
    p.whole = "0";
    p.fraction = std::string(static_cast<std::size_t>(-d.exponent - 1), '0') + d.digits;
  } else {
    const int whole = d.exponent + 1;
    p.whole = d.digits.substr(0, static_cast<std::size_t>(whole)) +
              std::string(static_cast<std::size_t>(std::max(whole - count, 0)), '0');
    p.fraction = count > whole ? d.digits.substr(static_cast<std::size_t>(whole)) : "";
  }
  trim_zeros(p.fraction);
  p.whole = sign_of(x, plus) + p.whole;
  return p;
}

parts scientific(double x, dtype type, int most, bool plus) {
  decimal d = shortest(x, type);
  if (static_cast<int>(d.digits.size()) - 1 > most) d = parse_scientific(fmt::format("{:.{}e}", std::fabs(x), most));
  parts p{sign_of(x, plus) + d.digits.substr(0, 1), d.digits.substr(1), d.exponent};
  trim_zeros(p.fraction);
  return p;
}

/// "e+07", at least `width` digits.
std::string exponent_text(int exponent, std::size_t width) {
  std::string digits = std::to_string(std::abs(exponent));
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return (exponent < 0 ? "e-" : "e+") + digits;
}

/// One format for a column of reals: widths, and whether with exponents.
class real_format {
 public:
  real_format(std::span<const double> all, dtype type, bool plus) : type_(type), plus_(plus) {
    double low = INFINITY, high = 0;
    for (double x : all) {
      if (!std::isfinite(x) || x == 0) continue;
      low = std::min(low, std::fabs(x));
      high = std::max(high, std::fabs(x));
    }
    exponents_ = high > 0 && (high >= 1e8 || low < 1e-4 || high / low > 1000);
    std::size_t left_of_special = 0;
    for (double x : all) {
      if (!std::isfinite(x)) {
        left_of_special = std::max(left_of_special, special(x).size());
        continue;
      }
      const parts p = split(x);
      left_ = std::max(left_, p.whole.size());
      fraction_ = std::max(fraction_, p.fraction.size());
      exponent_width_ = std::max(exponent_width_, std::to_string(std::abs(p.exponent)).size());
    }
    const std::size_t right = right_width() + 1;
    if (left_of_special > left_ + right) left_ = left_of_special - right;
  }

  std::string operator()(double x) const {
    const std::size_t width = left_ + 1 + right_width();
    if (!std::isfinite(x)) return fmt::format("{:>{}}", special(x), width);
    const parts p = split(x);
    if (exponents_)
      return fmt::format("{:>{}}.{:0<{}}{}", p.whole, left_, p.fraction, fraction_,
                         exponent_text(p.exponent, exponent_width_));
    return fmt::format("{:>{}}.{:<{}}", p.whole, left_, p.fraction, fraction_);
  }

 private:
  parts split(double x) const {
    return exponents_ ? scientific(x, type_, most_digits, plus_) : positional(x, type_, most_digits, plus_);
  }
  std::string special(double x) const { return std::isnan(x) ? (plus_ ? "+nan" : "nan") : sign_of(x, plus_) + "inf"; }
  std::size_t right_width() const { return fraction_ + (exponents_ ? exponent_width_ + 2 : 0); }

  dtype type_;
  bool plus_, exponents_ = false;
  std::size_t left_ = 0, fraction_ = 0, exponent_width_ = 2;
};

std::string lone_real(double x, dtype type, bool plus, bool point_zero) {
  if (std::isnan(x)) return plus ? "+nan" : "nan";
  if (std::isinf(x)) return sign_of(x, plus) + "inf";
  constexpr int all_digits = 400;
  const double size = std::fabs(x);
  if (size != 0 && (size < 1e-4 || size >= 1e16)) {
    const parts p = scientific(x, type, all_digits, plus);
    return p.whole + (p.fraction.empty() ? "" : "." + p.fraction) + exponent_text(p.exponent, 2);
  }
  const parts p = positional(x, type, all_digits, plus);
  if (p.fraction.empty()) return p.whole + (point_zero ? ".0" : "");
  return p.whole + "." + p.fraction;
}

std::string whole_text(const wide_number& x) {
  return x.type == u64 ? fmt::to_string(x.unsigned_value) : fmt::to_string(x.signed_value);
}

std::vector<std::string> aligned(std::vector<std::string> words) {
  std::size_t width = 0;
  for (const std::string& w : words) width = std::max(width, w.size());
  for (std::string& w : words) w.insert(0, width - w.size(), ' ');
  return words;
}

/// 'j' goes after the digits, before the padding that aligns the points.
std::string imaginary(std::string text) {
  const std::size_t last = text.find_last_not_of(' ');
  return text.insert(last + 1, "j");
}

}  // namespace

std::vector<std::string> number_words(const std::byte* values, std::int64_t count, dtype type) {
  std::vector<std::string> words;
  std::vector<double> re, im;
  for (std::int64_t k = 0; k < count; ++k) {
    const wide_number x = load_number(values + k * size_of(type), type);
    if (type == boolean) words.push_back(x.signed_value ? "True" : "False");
    else if (is_integer(type)) words.push_back(whole_text(x));
    re.push_back(x.value.re);
    im.push_back(x.value.im);
  }
  if (is_integer_or_bool(type)) {
    if (type == boolean)
      for (std::string& w : words) w.insert(0, 5 - w.size(), ' ');
    return aligned(std::move(words));
  }
  const real_format format(re, type, false);
  if (!is_complex(type)) {
    for (double x : re) words.push_back(format(x));
    return words;
  }
  const real_format imaginary_format(im, type, true);
  for (std::size_t k = 0; k < re.size(); ++k) words.push_back(format(re[k]) + imaginary(imaginary_format(im[k])));
  return words;
}

std::string lone_number(const std::byte* value, dtype type) {
  const wide_number x = load_number(value, type);
  if (type == boolean) return x.signed_value ? "True" : "False";
  if (is_integer(type)) return whole_text(x);
  if (!is_complex(type)) return lone_real(x.value.re, type, false, true);
  const std::string im = lone_real(x.value.im, type, false, false) + "j";
  if (x.value.re == 0 && !std::signbit(x.value.re)) return im;
  return "(" + lone_real(x.value.re, type, false, false) + lone_real(x.value.im, type, true, false) + "j)";
}

}  // namespace sinter
