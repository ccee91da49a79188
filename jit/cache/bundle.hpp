// Files of kernels that an application brings along: "sinterbn", format version, number of entries, then each entry's
// length and bytes (entry.hpp). Served whoever compiled them, to every target that runs them.
#pragma once

#include "jit/cache/entry.hpp"

#include <memory>
#include <string>
#include <vector>

namespace sinter::jit {

/// Adds the kernels of a bundle to those that are looked for. Throws io_error when it can't be read, when others than
/// its owner may write to it, or when anything in it is damaged.
void load_bundle(const std::string& path);
bool has_bundles();
/// Of those loaded, for messages: "app.sinter, more.sinter".
std::string bundle_names();

/// What fits a task best: made for the very target, or for one that it is compatible with.
struct bundled {
  std::span<const std::byte> image;  ///< lives as long as the process, as the notes do
  std::string_view notes;
  std::size_t bytes = 0;             ///< of the entry
};
bundled find_bundled(const entry_key& wanted);

/// Whether code for `made` runs on `wanted`: equal; a cubin of the same major version and no higher minor one; PTX of
/// no higher version; a level of x86-64 that this processor has. 0: no; the larger, the better it fits.
int fitness(const std::string& made, const std::string& wanted);

/// Writes a bundle, whole or not at all. Throws io_error.
void write_bundle(const std::string& path, const std::vector<std::string>& entries);
/// The entries of a bundle, checked. Throws io_error.
std::vector<std::string> read_bundle(const std::string& path);

}  // namespace sinter::jit
