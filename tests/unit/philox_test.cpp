// Philox4x32-10 as the interpreter and as generated code have it, against the published known answers.
#include "jit/philox.hpp"
#include "tests/unit/native_library.hpp"

#include <array>

using namespace sinter_test;

namespace {

using words = std::array<std::uint32_t, 4>;

struct known_answer {
  words counter;
  std::array<std::uint32_t, 2> key;
  words block;

  std::uint64_t whole_key() const { return key[0] | std::uint64_t{key[1]} << 32; }
  std::uint64_t low() const { return counter[0] | std::uint64_t{counter[1]} << 32; }
  std::uint64_t high() const { return counter[2] | std::uint64_t{counter[3]} << 32; }
};

/// The lines "philox4x32 10" of Random123's kat_vectors: zeros, ones, digits of pi.
constexpr known_answer published[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

TEST(philox, gives_the_published_answers) {
  for (const known_answer& a : published)
    EXPECT_EQ(philox::block(a.whole_key(), a.low(), a.high()), a.block) << a.counter[0];
}

TEST(philox, words_are_those_of_consecutive_blocks_from_the_low_ones_on) {
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{0xffffffff}, std::uint64_t{1} << 61}) {
    const words here = philox::block(7, first, 9), next = philox::block(7, first + 1, 9);
    for (std::uint64_t k = 0; k < 8; ++k)
      EXPECT_EQ(philox::word32(7, 4 * first + k, 9), k < 4 ? here[k] : next[k - 4]) << first << ' ' << k;
    for (std::uint64_t k = 0; k < 4; ++k) {
      const std::uint64_t low = philox::word32(7, 4 * first + 2 * k, 9),
                          high = philox::word32(7, 4 * first + 2 * k + 1, 9);
      EXPECT_EQ(philox::word64(7, 2 * first + k, 9), low | high << 32) << first << ' ' << k;
    }
  }
}

TEST(philox, generated_code_has_the_same) {
  SINTER_NEEDS_COMPILER();
  const library lib(R"(
extern "C" void blocks(unsigned long long key, unsigned long long low, unsigned long long high, unsigned* out) {
  const philox_words x = philox(key, low, high);
  out[0] = x.a, out[1] = x.b, out[2] = x.c, out[3] = x.d;
}
extern "C" void narrow(unsigned long long key, unsigned long long high, unsigned* out, int n) {
  for (int k = 0; k < n; ++k) out[k] = random32(key, k, high);
}
extern "C" void wide(unsigned long long key, unsigned long long high, unsigned long long* out, int n) {
  for (int k = 0; k < n; ++k) out[k] = random64(key, k, high);
}
)");
  const auto blocks = lib.get<void(std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t*)>("blocks");
  for (const known_answer& a : published) {
    words got{};
    blocks(a.whole_key(), a.low(), a.high(), got.data());
    EXPECT_EQ(got, a.block) << a.counter[0];
  }
  constexpr int n = 1003;
  std::vector<std::uint32_t> narrow(n);
  std::vector<std::uint64_t> wide(n);
  lib.get<void(std::uint64_t, std::uint64_t, std::uint32_t*, int)>("narrow")(0x123456789abcdef, 3, narrow.data(), n);
  lib.get<void(std::uint64_t, std::uint64_t, std::uint64_t*, int)>("wide")(0x123456789abcdef, 3, wide.data(), n);
  for (std::size_t k = 0; k < n; ++k) {
    EXPECT_EQ(narrow[k], philox::word32(0x123456789abcdef, k, 3)) << k;
    EXPECT_EQ(wide[k], philox::word64(0x123456789abcdef, k, 3)) << k;
  }
}

}  // namespace
