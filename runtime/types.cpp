// Conversions of the 16-bit floats: round to nearest even, NaN payloads kept as far as they fit, subnormals exact.
// Written on bits, so that no compiler flag or rounding mode changes them.
#include "runtime/types.hpp"

#include <bit>

namespace sinter {
namespace {

constexpr std::uint32_t f32_infinity = 0x7f800000;

/// Drops the low `count` (1 to 31) bits of `x`, rounding to nearest, ties to even.
constexpr std::uint32_t round_off(std::uint32_t x, std::uint32_t count) {
  const std::uint32_t odd = x >> count & 1;
  return (x + (1u << (count - 1)) - 1 + odd) >> count;
}

constexpr std::uint32_t to_f16_bits(std::uint32_t magnitude) {
  if (magnitude > f32_infinity) {
    const std::uint32_t payload = magnitude >> 13 & 0x3ff;
    return 0x7c00 | (payload == 0 ? 0x200 : payload);
  }
  if (magnitude >= 0x47800000) return 0x7c00;                                 // 2^16 and above
  if (magnitude >= 0x38800000) return round_off(magnitude - 0x38000000, 13);  // normal; may carry into infinity
  const std::uint32_t exponent = magnitude >> 23, mantissa = (magnitude & 0x7fffff) | 0x800000;
  if (exponent < 102) return 0;  // below half of the least one
  return round_off(mantissa, 126 - exponent);
}

}  // namespace

float16::float16(float x) {
  const auto u = std::bit_cast<std::uint32_t>(x);
  bits = static_cast<std::uint16_t>((u >> 16 & 0x8000) | to_f16_bits(u & 0x7fffffff));
}

float16::operator float() const {
  const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 0x1fu, mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | f32_infinity | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  if (mantissa == 0) return std::bit_cast<float>(sign);
  const auto top = static_cast<std::uint32_t>(std::bit_width(mantissa)) - 1;  // its leading bit becomes the hidden one
  return std::bit_cast<float>(sign | (top + 103) << 23 | (mantissa << (23 - top) & 0x7fffff));
}

bfloat16::bfloat16(float x) {
  const auto u = std::bit_cast<std::uint32_t>(x);
  if ((u & 0x7fffffff) > f32_infinity) {
    const std::uint32_t upper = u >> 16;
    bits = static_cast<std::uint16_t>((upper & 0x7f) == 0 ? upper | 0x40 : upper);
  } else {
    bits = static_cast<std::uint16_t>(round_off(u, 16));
  }
}

bfloat16::operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

}  // namespace sinter
