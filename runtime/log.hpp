// Logging, dumps and every environment variable of the library: the only getenv in the tree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::runtime {

enum class level : std::uint8_t { silent, error, warning, info, debug };

/// What SINTER_DUMP (a comma-separated list) asks to see on standard error; `@glob` restricts to kernels by name.
enum class dump : std::uint8_t { graph = 1, groups = 2, ir = 4, source = 8, time = 16 };

struct settings {
  level verbosity = level::warning;  ///< SINTER_LOG = silent | error | warning | info | debug
  std::uint8_t dumps = 0;            ///< SINTER_DUMP, or-ed `dump` bits
  std::string dump_glob = "*";       ///< the part of SINTER_DUMP after '@'
  std::string device;                ///< SINTER_DEVICE = cpu | cuda, empty: the best present
  std::string executor;              ///< SINTER_EXECUTOR = compiler | interpreter, of the cpu device; empty: the best
  std::string host_compiler;         ///< SINTER_CXX: the cpu device's; empty: c++, g++, clang++ searched in PATH
  std::string host_options;          ///< SINTER_HOST_OPTIONS: more options for it, for raw kernels
  bool checked = false;              ///< SINTER_CHECKED = 1: raw kernels of the cpu device check indices
  std::string cuda_home;             ///< CUDA_HOME or CUDA_PATH: where NVRTC is looked for besides the system's places
  int threads = 0;                   ///< SINTER_THREADS: size of the cpu device's pool, 0: all processors
  std::string search_path;           ///< PATH
  std::string temporary_directory;   ///< TMPDIR, or /tmp
  std::string cache_directory;       ///< SINTER_CACHE_DIR: where compiled kernels are kept
  std::string cache_home, home;      ///< XDG_CACHE_HOME, HOME: where they are kept otherwise
  std::string cache_mode;            ///< SINTER_CACHE = read_write | read_only | memory | off; empty: read_write
  std::string compile_mode;          ///< SINTER_COMPILE = sync | async; empty: sync
  bool prints_statistics = false;    ///< SINTER_STATS = 1: what `statistics` counts, when the program ends
  std::string library_path;          ///< LD_LIBRARY_PATH
  bool use_libraries = true;         ///< SINTER_LIBRARIES = on | off: whether BLAS and the like are looked for
  std::string blas;                  ///< SINTER_BLAS: name or path of the cpu device's BLAS; empty: any that is there
  std::string include_path;          ///< CPATH and CPLUS_INCLUDE_PATH, which the host compiler searches for headers
};

/// The process's settings, read from the environment at first use. Unknown words warn and list the valid ones.
const settings& environment();
/// Reads settings through `lookup` (null: not set). What can't be understood is left at its default, and told in
/// `complaints`, one sentence each.
settings read_settings(const char* (*lookup)(const char* variable), std::vector<std::string>& complaints);

bool wants(dump d);
/// Whether `verbosity` lets `l` through; always for `silent`, the level of what was asked for by SINTER_DUMP.
bool wants(level l);

/// Writes one line "sinter: ..." to standard error (through one sink, whole lines, any thread).
void log(level l, std::string_view message);
/// Like `log`, once for each distinct `key` in the process.
void log_once(level l, std::string_view key, std::string_view message);

}  // namespace sinter::runtime
