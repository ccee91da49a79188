// Compiled kernels that outlive the process: where they are kept, and files of them to ship with an application.
#pragma once

#include "array.hpp"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace sinter {

/// `read_write`: kernels are looked for in the directory, and new ones are kept there. `read_only`: nothing is written,
/// and a directory given by name may belong to somebody else, whose kernels then run with your rights. `memory`: each
/// process compiles what it needs, once. `off`: each evaluation compiles again (to measure compilers; what is replaced
/// stays in memory).
enum class cache_mode : unsigned char { read_write, read_only, memory, off };

struct cache_options {
  /// Empty: SINTER_CACHE_DIR, else XDG_CACHE_HOME/sinter, else ~/.cache/sinter. It must belong to this user and be
  /// writable by nobody else; otherwise, and where it can't be made or written to, one warning is logged and `memory`
  /// is what happens.
  std::string directory = {};
  std::uint64_t max_bytes = std::uint64_t{1} << 30;  ///< past which what was least recently used is removed
  cache_mode mode = cache_mode::read_write;
};

/// For kernels built from now on, in the whole process; until then SINTER_CACHE_DIR and SINTER_CACHE (a mode's name)
/// decide. Example: set_cache({.directory = "/var/tmp/me", .max_bytes = 100'000'000});
void set_cache(const cache_options& options);
cache_options get_cache();

/// Writes all kernels this process has compiled or loaded, and used, to one file for load_kernels(). `targets`: what
/// for, e.g. {"sm_80", "sm_90", "compute_80", "x86-64-v3"}; "compute_80" is PTX, which the driver compiles for that GPU
/// and all later ones. For kinds of devices without a target: the very GPU or processor that is here. Throws io_error
/// when the file can't be written, compile_error. Launches nothing.
void export_kernels(const std::string& path, std::initializer_list<std::string> targets = {});

/// Serves the kernels of such a file to this process, before the cache directory and without a compiler. A kernel that
/// is in neither, where there is no compiler, is a device_error that names it. Throws io_error when the file can't be
/// read, is damaged, or may be written by others than its owner.
void load_kernels(const std::string& path);

/// Makes ready the kernels that `eval(arrays...)` would launch: loads or compiles them. Launches nothing, but for loops
/// of whole-array operations, as explain(). Throws what eval would throw of compile_error.
template <class... Arrays>
void precompile(const Arrays&... arrays);
void precompile_all(std::span<const array* const> arrays);

/// When kernels are compiled. `sync`: before the launch that needs them. `async`: in the background, as long as
/// something slower can do the launch's work: a kernel in memory that knows less about layout and size, or on the cpu
/// device, for small work, the interpreter. With neither, as in `sync`. Where the compiler fuses a multiplication with
/// an addition, what runs meanwhile may round differently. What fails to compile in the background is told once, on the
/// log, and what was slower stays. At first what SINTER_COMPILE says, else `sync`.
enum class compile_mode : unsigned char { sync, async };
void set_compile_mode(compile_mode m);
compile_mode get_compile_mode();

template <class... Arrays>
void precompile(const Arrays&... arrays) {
  const array* list[] = {addressed(arrays)..., nullptr};
  precompile_all(std::span<const array* const>(list, sizeof...(arrays)));
}

}  // namespace sinter
