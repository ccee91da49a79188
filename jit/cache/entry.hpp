// One kept kernel as bytes: everything that decides what the compiler makes, and what it made.
//
//   magic "sinterkn" | format version | sizes of task, target, maker, notes | size of image | checksum |
//   task target maker notes image
//
// Notes are what the compiler said besides the image. Task, target and maker are the key. All of it is compared with
// what is wanted; the digests in file names only find it.
#pragma once

#include "jit/cache/bytes.hpp"
#include "jit/cache/headers.hpp"
#include "jit/cache/key.hpp"
#include "jit/compile/compiler.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sinter::jit {

inline constexpr std::uint32_t entry_format = 2;
inline constexpr std::size_t entry_header_bytes = 56;
inline constexpr std::string_view entry_magic = "sinterkn";

/// What there is to compile.
struct compile_task {
  target_kind how = target_kind::host;
  compile_request request;
  std::vector<std::string> expressions;  ///< of a user's own program: its kernels, as C++ names them
  std::vector<included_header> headers;
  std::string users_text;   ///< where the headers were found; no part of the key, since the source has it
  bool can_be_kept = true;  ///< false: it includes something whose contents can't be known
};

/// The task without its target: kind, library version, name, math mode, options, source, kernels and headers.
std::string task_bytes(const compile_task& t);
/// Back again (for showing); nothing when the bytes aren't such.
std::optional<compile_task> task_from(std::string_view bytes);

struct entry_key {
  std::string task;
  std::string target;  ///< "sm_90", "compute_80"; of the host: the processor
  std::string maker;   ///< the compiler's identity; empty in a key that is looked for: any (there is no compiler here)
};

/// The file's name: the digest of what there is to make, a dash, that of who makes it.
std::string file_name(const entry_key& k);
/// The part of it that is equal for all makers, with the dash.
std::string file_name_start(const entry_key& k);

/// Views into an entry's bytes.
struct entry_view {
  std::string_view task, target, maker, notes;
  std::span<const std::byte> image;
};

std::string entry_bytes(const entry_key& k, std::span<const std::byte> made, const program_notes& notes = {});
program_notes notes_from(std::string_view bytes);
/// The bytes as an entry: format, sizes and checksum are right. Nothing otherwise.
std::optional<entry_view> read_entry(std::span<const std::byte> bytes);
/// Whether it is the one looked for.
bool matches(const entry_view& e, const entry_key& wanted);

/// Version of the library, part of every key.
std::string_view library_version();

}  // namespace sinter::jit
