#include "runtime/library.hpp"

#include "runtime/log.hpp"

#include <algorithm>

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

namespace sinter::runtime {

namespace {

constexpr const char* folders_below[] = {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"};

std::string path_of(void* handle, const std::string& name) {
  link_map* loaded = nullptr;
  const bool known = dlinfo(handle, RTLD_DI_LINKMAP, &loaded) == 0 && loaded != nullptr && *loaded->l_name != '\0';
  return known ? loaded->l_name : name;
}

}  // namespace

library::library(std::string_view what, const std::vector<std::string>& names, std::string_view package,
                 const std::vector<std::string>& symbols) {
  std::string lacking;
  if (!environment().use_libraries) {
    absence_ = fmt::format("{} isn't used: SINTER_LIBRARIES is off", what);
    return;
  }
  for (const std::string& name : names) {
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) continue;
    const auto missing = std::ranges::find_if(symbols, [&](const std::string& s) { return !dlsym(handle, s.c_str()); });
    if (missing == symbols.end()) {
      handle_ = handle;
      path_ = path_of(handle, name);
      log(level::debug, fmt::format("{} from {}", what, path_));
      return;
    }
    lacking += fmt::format("; {} has no {}", path_of(handle, name), *missing);
    dlclose(handle);
  }
  absence_ = fmt::format("{} was not found; looked for {}{}\n  hint: install {}", what, fmt::join(names, ", "), lacking,
                         package);
}

void* library::find(const std::string& symbol) const { return handle_ ? dlsym(handle_, symbol.c_str()) : nullptr; }

std::vector<std::string> cuda_library_names(std::string_view stem, const std::vector<int>& versions) {
  std::vector<std::string> names{fmt::format("lib{}.so", stem)}, all;
  for (const int v : versions) names.push_back(fmt::format("lib{}.so.{}", stem, v));
  const auto add_folder = [&](const std::string& folder) {
    for (const char* below : folders_below)
      for (const std::string& name : names) all.push_back(fmt::format("{}/{}/{}", folder, below, name));
  };
  if (const std::string& home = environment().cuda_home; !home.empty()) add_folder(home);
  all.insert(all.end(), names.begin(), names.end());
  add_folder("/usr/local/cuda");
  return all;
}

}  // namespace sinter::runtime
