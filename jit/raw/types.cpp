// What the spelling of a type tells about a parameter.
#include "jit/raw/declaration.hpp"
#include "jit/raw/tokens.hpp"

#include <algorithm>
#include <span>

namespace sinter::jit {

namespace {

using words = std::vector<std::string_view>;

/// Of a value: its dtype, how many of it a vector type has.
struct known_type {
  std::string_view name;
  dtype type;
  int lanes = 1;
};

constexpr known_type known_types[] = {
    {"bool", dtype::boolean},
    {"char", dtype::i8},
    {"float", dtype::f32},
    {"double", dtype::f64},
    {"int", dtype::i32},
    {"int8_t", dtype::i8},
    {"int16_t", dtype::i16},
    {"int32_t", dtype::i32},
    {"int64_t", dtype::i64},
    {"uint8_t", dtype::u8},
    {"uint16_t", dtype::u16},
    {"uint32_t", dtype::u32},
    {"uint64_t", dtype::u64},
    {"size_t", dtype::u64},
    {"ptrdiff_t", dtype::i64},
    {"intptr_t", dtype::i64},
    {"uintptr_t", dtype::u64},
    {"half", dtype::f16},
    {"__half", dtype::f16},
    {"half2", dtype::f16, 2},
    {"__half2", dtype::f16, 2},
    {"__nv_bfloat16", dtype::bf16},
    {"nv_bfloat16", dtype::bf16},
    {"__nv_bfloat162", dtype::bf16, 2},
    {"cuComplex", dtype::c64},
    {"cuFloatComplex", dtype::c64},
    {"cuDoubleComplex", dtype::c128},
    {"complex<float>", dtype::c64},
    {"complex<double>", dtype::c128},
};

constexpr known_type vector_types[] = {{"char", dtype::i8},       {"uchar", dtype::u8},  {"short", dtype::i16},
                                       {"ushort", dtype::u16},    {"int", dtype::i32},   {"uint", dtype::u32},
                                       {"long", dtype::i64},      {"ulong", dtype::u64}, {"longlong", dtype::i64},
                                       {"ulonglong", dtype::u64}, {"float", dtype::f32}, {"double", dtype::f64}};

bool is_ignored(std::string_view w) {
  constexpr std::string_view ignored[] = {"__restrict__", "__restrict", "restrict", "volatile", "struct",
                                          "typename",     "class",      "register", "enum",     "__grid_constant__"};
  return std::ranges::find(ignored, w) != std::end(ignored);
}

/// "unsigned", "long", "long", "int" in any order; false when a word is none of them.
bool find_integer(std::span<const std::string_view> base, known_type& out) {
  int longs = 0;
  bool is_unsigned = false, is_short = false, is_char = false;
  for (const std::string_view w : base) {
    longs += w == "long";
    is_unsigned |= w == "unsigned";
    is_short |= w == "short";
    is_char |= w == "char";
    if (w != "long" && w != "unsigned" && w != "short" && w != "char" && w != "int" && w != "signed") return false;
  }
  const int bytes = is_char ? 1 : is_short ? 2 : longs > 0 ? static_cast<int>(sizeof(long)) : 4;
  const int step = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
  out.type = static_cast<dtype>(static_cast<int>(is_unsigned ? dtype::u8 : dtype::i8) + (longs > 1 ? 3 : step));
  out.lanes = 1;
  return true;
}

bool find_vector(std::string_view name, known_type& out) {
  if (name.empty() || name.back() < '1' || name.back() > '4') return false;
  const auto lanes = name.back() - '0';
  name.remove_suffix(1);
  for (const known_type& v : vector_types)
    if (v.name == name) {
      out = {name, v.type, lanes};
      return true;
    }
  return false;
}

/// `base`: the words of a type without const, * and namespaces of the standard library.
bool find_type(std::span<const std::string_view> base, known_type& out) {
  if (base.empty()) return false;
  if (find_integer(base, out)) return true;
  std::string name;
  for (const std::string_view w : base) name += w;
  for (const known_type& k : known_types)
    if (k.name == name) {
      out = k;
      return true;
    }
  return base.size() == 1 && find_vector(base[0], out);
}

}  // namespace

raw_parameter describe_type(std::string_view spelled) {
  raw_parameter p;
  p.type = std::string(spelled);
  words base;
  int stars = 0;
  bool is_reference = false, is_const = false;
  for (const std::string_view w : split_tokens(spelled)) {
    if (w == "*") ++stars;
    else if (w == "&") is_reference = true;
    else if (w == "const") is_const |= stars == 0;
    else if (w == "::" && !base.empty() && (base.back() == "std" || base.back() == "cuda" || base.back() == "thrust"))
      base.pop_back();
    else if (!is_ignored(w) && !(w == "::" && base.empty())) base.push_back(w);
  }
  known_type known{};
  const bool found = !is_reference && find_type(base, known);
  const auto size = found ? static_cast<std::size_t>(size_of(known.type) * known.lanes) : 0;
  p.is_pointer = stars > 0;
  p.is_const = is_const && stars == 1;
  p.bytes = is_reference ? 0 : p.is_pointer ? sizeof(void*) : size;
  p.has_element = found && stars <= 1;
  if (p.has_element) p.element = known.type;
  if (stars == 1) p.element_bytes = size;
  return p;
}

}  // namespace sinter::jit
