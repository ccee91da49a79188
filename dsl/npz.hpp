// NumPy's .npz files: several arrays, each with a name, in one archive. Opt-in: not part of sinter.hpp.
//
//   save_npz("model.npz", {{"weights", w}, {"bias", b}});   // numpy.load("model.npz")["weights"]
//   array w = load_npz("model.npz", "weights");
#pragma once

#include "array.hpp"

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace sinter {

struct named_array {
  std::string name;
  array values;
};

/// All arrays of a file, on the default device, in its order; members that are none are an io_error. Stored and
/// deflated members are read (the latter by zlib, opened when first needed), of any size. Throws io_error when the file
/// can't be read, is malformed, truncated or damaged (checksums are compared), names two arrays alike, or one of them
/// is refused by load_npy, and when zlib is needed but can't be opened.
std::vector<named_array> load_npz(const std::string& path, place at = place::here());
/// The one of that name; others aren't looked at. io_error when there is none.
array load_npz(const std::string& path, const std::string& name, place at = place::here());
/// The names of a file's arrays. Reads its directory only.
std::vector<std::string> npz_names(const std::string& path, place at = place::here());

/// Writes a file that NumPy reads, uncompressed as numpy.savez does; it appears whole or not at all, and is the same
/// for the same arrays. Evaluates all arrays together, and waits. Throws io_error when it can't be written or names are
/// empty or not different, type_error for bf16, which NumPy doesn't know.
void save_npz(const std::string& path, std::initializer_list<named_array> arrays, place at = place::here());
void save_npz(const std::string& path, std::span<const named_array> arrays, place at = place::here());

}  // namespace sinter
