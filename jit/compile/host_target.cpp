// Which processor this is: kernels for "this machine" must not run on another that shares the cache.
#include "jit/cache/bytes.hpp"
#include "jit/compile/compiler.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include <fmt/format.h>
#include <sys/utsname.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif

namespace sinter::jit {
namespace {

struct processor {
  std::string name;
  std::array<std::uint32_t, 16> features{};
  int level = 0;  ///< of x86-64; 0: none of them
};

#if defined(__x86_64__) || defined(__i386__)

constexpr bool has(std::uint32_t word, int bit) { return (word >> bit & 1) != 0; }

/// Which registers the system keeps: bits of XCR0; 0 when it doesn't say.
std::uint32_t kept_registers(std::uint32_t ecx_of_1) {
  if (!has(ecx_of_1, 27)) return 0;
  std::uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

/// The levels of the x86-64 psABI, from the bits of CPUID.
int level_of(std::uint32_t c1, std::uint32_t d1, std::uint32_t b7, std::uint32_t c80000001, std::uint32_t registers) {
  const auto all = [](std::uint32_t word, std::initializer_list<int> bits) {
    for (const int b : bits)
      if (!has(word, b)) return false;
    return true;
  };
  if (!all(d1, {0, 8, 15, 23, 24, 25, 26})) return 0;                    // fpu cx8 cmov mmx fxsr sse sse2
  if (!all(c1, {0, 9, 13, 19, 20, 23}) || !has(c80000001, 0)) return 1;  // sse3 ssse3 cx16 sse4.1 sse4.2 popcnt, lahf
  const bool v3 = all(c1, {12, 22, 28, 29}) && all(b7, {3, 5, 8}) && has(c80000001, 5) &&
                  (registers & 6) == 6;  // fma movbe avx f16c, bmi1 avx2 bmi2, lzcnt
  if (!v3) return 2;
  return all(b7, {16, 17, 28, 30, 31}) && (registers & 0xe6) == 0xe6 ? 4 : 3;  // avx512 f dq cd bw vl
}

processor look() {
  processor p;
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
  char vendor[13] = "";
  if (__get_cpuid(0, &a, &b, &c, &d) != 0) {
    std::memcpy(vendor, &b, 4);
    std::memcpy(vendor + 4, &d, 4);
    std::memcpy(vendor + 8, &c, 4);
  }
  std::uint32_t c1 = 0, d1 = 0, b7 = 0, c8 = 0, d8 = 0;
  __get_cpuid(1, &a, &b, &c1, &d1);
  const std::uint32_t family = (a >> 8 & 15) + (a >> 20 & 255), model = (a >> 4 & 15) | (a >> 12 & 0xf0);
  const std::uint32_t registers = kept_registers(c1);
  // Not EBX of leaf 1: it tells which core asks.
  p.features = {c1, d1, registers};
  if (__get_cpuid_count(7, 0, &a, &b7, &c, &d) != 0) {
    p.features[3] = b7;
    p.features[4] = c;
    p.features[5] = d;
  }
  if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) {
    p.features[6] = a;
    p.features[7] = b;
    p.features[8] = c;
    p.features[9] = d;
  }
  if (__get_cpuid(0x80000001, &a, &b, &c8, &d8) != 0) {
    p.features[10] = c8;
    p.features[11] = d8;
  }
  p.name = fmt::format("{} {}.{}", vendor, family, model);
  p.level = level_of(c1, d1, b7, c8, registers);
  return p;
}

#else

processor look() {
  processor p;
  const std::uint64_t capabilities[] = {getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
  std::memcpy(p.features.data(), capabilities, sizeof capabilities);
  const auto* platform = reinterpret_cast<const char*>(getauxval(AT_PLATFORM));
  p.name = platform == nullptr ? "unknown" : platform;
  return p;
}

#endif

const processor& this_processor() {
  static const processor* const p = new processor(look());
  return *p;
}

}  // namespace

const std::string& host_target() {
  static const std::string* const target = [] {
    utsname u{};
    uname(&u);
    const processor& p = this_processor();
    const digest features = digest_of(std::as_bytes(std::span(p.features)));
    return new std::string(fmt::format("{} {} {}", u.machine, p.name, to_string(features).substr(16)));
  }();
  return *target;
}

bool runs_here(const std::string& target) {
  if (target == host_target()) return true;
  if (!target.starts_with("x86-64")) return false;
  const std::string level = target.substr(6);
  const int needed = level.empty() ? 1 : level.size() == 3 && level.starts_with("-v") ? level[2] - '0' : 99;
  return needed <= this_processor().level;
}

}  // namespace sinter::jit
