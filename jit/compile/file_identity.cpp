#include "jit/compile/file_identity.hpp"

#include <cstdlib>

#include <fmt/format.h>
#include <sys/stat.h>

namespace sinter::jit {

std::string file_identity(const std::string& path) {
  struct stat s;
  if (path.empty() || stat(path.c_str(), &s) != 0) return {};
  std::string real = path;
  if (char* resolved = realpath(path.c_str(), nullptr)) {
    real = resolved;
    std::free(resolved);
  }
  return fmt::format("{} {} {}.{}", real.substr(real.rfind('/') + 1), s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
}

}  // namespace sinter::jit
