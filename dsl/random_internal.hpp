// What the .cpp files of random numbers share. Not installed.
#pragma once

#include "dsl/random.hpp"
#include "dsl/record_internal.hpp"

#include <cstdint>
#include <string_view>

namespace sinter::random {

/// High halves of Philox counters: what words are for. Those of orders go on, by rounds.
enum class purpose : std::uint64_t { drawing = 0, folding = 1, splitting = 2, ordering = 3 };

/// Throws type_error unless these are keys.
void check_keys(const array& keys, std::string_view function, const place& at);
/// One key, or shape_error.
void check_key(const array& key, std::string_view function, const place& at);

/// u64 positions 0, 1, .. in C order; shape_error for bad extents, naming `function`.
array positions(const shape& extents, dtype type, std::string_view function, const place& at);
/// Keys [k..] as [k.., 1..] with `rank` axes more.
array with_axes(const array& keys, int rank, const place& at);
/// random32 or random64 of keys that broadcast with the numbers, u64.
array words(jit::op code, const array& keys, const array& numbers, const jit::input& high, const place& at);

}  // namespace sinter::random
