// NVRTC, opened at run time: CUDA C++ source in, cubin out (PTX for a GPU newer than the library knows).
#include "jit/compile/compiler.hpp"
#include "jit/compile/file_identity.hpp"
#include "runtime/error.hpp"
#include "runtime/library.hpp"
#include "runtime/log.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <nvrtc.h>
#include <unistd.h>

namespace sinter::jit {

namespace device { extern const std::string_view standard; }

namespace {

// Every entry point the library calls.
#define SINTER_NVRTC_ENTRIES(ENTRY) \
  ENTRY(nvrtcVersion)               \
  ENTRY(nvrtcGetErrorString)        \
  ENTRY(nvrtcGetNumSupportedArchs)  \
  ENTRY(nvrtcGetSupportedArchs)     \
  ENTRY(nvrtcCreateProgram)         \
  ENTRY(nvrtcDestroyProgram)        \
  ENTRY(nvrtcCompileProgram)        \
  ENTRY(nvrtcGetProgramLogSize)     \
  ENTRY(nvrtcGetProgramLog)         \
  ENTRY(nvrtcGetCUBINSize)          \
  ENTRY(nvrtcGetCUBIN)              \
  ENTRY(nvrtcGetPTXSize)            \
  ENTRY(nvrtcAddNameExpression)     \
  ENTRY(nvrtcGetLoweredName)        \
  ENTRY(nvrtcGetPTX)

struct nvrtc {
#define SINTER_ENTRY(name) decltype(&::name) name = nullptr;
  SINTER_NVRTC_ENTRIES(SINTER_ENTRY)
#undef SINTER_ENTRY
  std::string version;             ///< empty: not there
  std::string path;                ///< where the loader found it
  std::string absence;             ///< why, with the places looked at
  std::vector<std::string> include_options;  ///< -I of the toolkit's headers, none when they aren't installed
  std::vector<int> architectures;  ///< in ascending order: 75, 80, ...
};

void check(const nvrtc& api, nvrtcResult result, const char* what) {
  if (result == NVRTC_SUCCESS) [[likely]]
    return;
  throw device_error(fmt::format("NVRTC: {}: {} ({})", what, api.nvrtcGetErrorString(result), static_cast<int>(result)),
                     static_cast<int>(result));
}

std::vector<std::string> toolkit_folders() {
  std::vector<std::string> folders;
  if (const std::string& home = runtime::environment().cuda_home; !home.empty()) folders.push_back(home);
  folders.emplace_back("/usr/local/cuda");
  return folders;
}

std::vector<std::string> find_include_options() {
  for (const std::string& folder : toolkit_folders())
    for (const char* below : {"include", "targets/x86_64-linux/include", "targets/sbsa-linux/include"}) {
      const std::string path = fmt::format("{}/{}", folder, below);
      if (access((path + "/cuda_fp16.h").c_str(), R_OK) != 0) continue;
      // What some of them need is kept apart from them since CUDA 13.
      if (access((path + "/cccl/cuda/std/cstdint").c_str(), R_OK) == 0) return {"-I" + path, "-I" + path + "/cccl"};
      return {"-I" + path};
    }
  return {};
}

/// Fills the table; false when a symbol is missing.
bool find_entries(void* library, nvrtc& api) {
  struct entry_point {
    const char* symbol;
    void** to;
  };
#define SINTER_ENTRY(name) {#name, reinterpret_cast<void**>(&api.name)},
  const entry_point entries[] = {SINTER_NVRTC_ENTRIES(SINTER_ENTRY)};
#undef SINTER_ENTRY
  return std::ranges::all_of(entries, [&](const entry_point& e) {
    *e.to = dlsym(library, e.symbol);
    return *e.to != nullptr;
  });
}

void read_facts(nvrtc& api) {
  int major = 0, minor = 0, count = 0;
  check(api, api.nvrtcVersion(&major, &minor), "asking for the version");
  check(api, api.nvrtcGetNumSupportedArchs(&count), "asking for the supported GPUs");
  api.architectures.resize(static_cast<std::size_t>(count));
  check(api, api.nvrtcGetSupportedArchs(api.architectures.data()), "asking for the supported GPUs");
  std::ranges::sort(api.architectures);
  api.include_options = find_include_options();
  api.version = fmt::format("{}.{}", major, minor);
}

nvrtc open_library() {
  nvrtc api;
  const std::vector<std::string> paths = runtime::cuda_library_names("nvrtc", {13, 12});
  for (const std::string& path : paths) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    if (find_entries(library, api)) {
      read_facts(api);
      link_map* loaded = nullptr;
      if (dlinfo(library, RTLD_DI_LINKMAP, &loaded) == 0 && loaded != nullptr) api.path = loaded->l_name;
      runtime::log(runtime::level::debug, fmt::format("NVRTC {} from {}", api.version, path));
      return api;
    }
    dlclose(library);
  }
  api.absence = fmt::format(
      "NVRTC (libnvrtc.so) was not found; looked for {}\n  hint: set CUDA_HOME to the folder of "
      "the CUDA toolkit",
      fmt::join(paths, ", "));
  return api;
}

const nvrtc& library() {
  static const nvrtc* const api = new nvrtc(open_library());  // never destroyed: used until the very end
  return *api;
}

/// What to compile for: the GPU itself, or the newest architecture known when the GPU is newer than that.
struct architecture {
  std::string option;
  bool is_binary = true;
};

architecture choose_architecture(const nvrtc& api, const std::string& target) {
  if (target.starts_with("compute_")) return {"--gpu-architecture=" + target, false};
  int number = 0;
  const std::string_view digits = std::string_view(target).substr(std::min<std::size_t>(3, target.size()));
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const std::vector<int>& known = api.architectures;
  if (known.empty() || number == 0 || std::ranges::binary_search(known, number))
    return {"--gpu-architecture=" + target, true};
  if (number < known.front())
    throw device_error(
        fmt::format("NVRTC {} doesn't compile for {}: its oldest GPU is sm_{}\n  hint: set CUDA_HOME to an "
                    "older CUDA toolkit",
                    api.version, target, known.front()));
  const int newest = *std::prev(std::ranges::upper_bound(known, number));
  return {fmt::format("--gpu-architecture=compute_{}", newest), false};
}

std::vector<std::string> collect_options(const nvrtc& api, const compile_request& r, const architecture& a) {
  // Users' functions need no __device__, as in CuPy; nor do lambdas in kernels, which can't have it everywhere.
  std::vector<std::string> options{a.option, "--device-as-default-execution-space"};
  // NVRTC refuses to be told twice.
  const bool has_standard = std::ranges::any_of(
      r.options, [](const std::string& o) { return o.starts_with("-std") || o.starts_with("--std"); });
  if (!has_standard) options.emplace_back("--std=c++17");
  if (r.math == math_mode::strict) options.emplace_back("--fmad=false");
  if (r.math == math_mode::fast) options.emplace_back("--use_fast_math");
  options.insert(options.end(), api.include_options.begin(), api.include_options.end());
  options.insert(options.end(), r.options.begin(), r.options.end());
  return options;
}

/// Headers of C++ that NVRTC doesn't have, or has built in: all are jit/device/standard.cuh.
constexpr const char* standard_headers[] = {"cstdint",  "stdint.h", "cstddef",  "stddef.h", "climits",
                                            "limits.h", "cfloat",   "float.h",  "cmath",    "math.h",
                                            "cassert",  "assert.h", "cstdio",   "stdio.h",  "cstring"};

/// A program of NVRTC, destroyed with it.
class program {
 public:
  program(const nvrtc& api, const compile_request& r) : api_(api) {
    const std::string own(device::standard);
    std::vector<const char*> texts(std::size(standard_headers), own.c_str());
    check(api_,
          api_.nvrtcCreateProgram(&handle_, r.source.c_str(), (r.name + ".cu").c_str(), static_cast<int>(texts.size()),
                                  texts.data(), standard_headers),
          "making a program");
  }
  program(const program&) = delete;
  program& operator=(const program&) = delete;
  ~program() { api_.nvrtcDestroyProgram(&handle_); }

  void name(const std::string& expression) {
    check(api_, api_.nvrtcAddNameExpression(handle_, expression.c_str()), "naming a kernel");
  }
  std::string symbol(const std::string& expression) const {
    const char* lowered = nullptr;
    check(api_, api_.nvrtcGetLoweredName(handle_, expression.c_str(), &lowered), "asking for a kernel's symbol");
    return lowered;
  }

  nvrtcResult compile(const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    for (const std::string& o : options) pointers.push_back(o.c_str());
    return api_.nvrtcCompileProgram(handle_, static_cast<int>(pointers.size()), pointers.data());
  }
  std::string log() const {
    std::size_t size = 0;
    if (api_.nvrtcGetProgramLogSize(handle_, &size) != NVRTC_SUCCESS || size == 0) return {};
    std::string text(size, '\0');
    if (api_.nvrtcGetProgramLog(handle_, text.data()) != NVRTC_SUCCESS) return {};
    text.erase(text.find_last_not_of(std::string_view("\0\n", 2)) + 1);
    return text;
  }
  image result(bool binary) const {
    std::size_t size = 0;
    check(api_, (binary ? api_.nvrtcGetCUBINSize : api_.nvrtcGetPTXSize)(handle_, &size), "asking for the result");
    image bytes(size);
    check(api_, (binary ? api_.nvrtcGetCUBIN : api_.nvrtcGetPTX)(handle_, reinterpret_cast<char*>(bytes.data())),
          "asking for the result");
    return bytes;
  }

 private:
  const nvrtc& api_;
  nvrtcProgram handle_ = nullptr;
};

/// What decides which library the loader finds.
std::string search_facts() {
  return fmt::format("{}|{}|{}", runtime::environment().cuda_home, runtime::environment().library_path,
                     file_identity("/etc/ld.so.cache"));
}

std::string identity_of(const std::string& path) {
  if (path.empty()) return {};
  const std::vector<std::string> includes = find_include_options();
  return fmt::format("nvrtc {} {}", file_identity(path),
                     includes.empty() ? "no headers" : file_identity(includes[0].substr(2) + "/cuda_fp16.h"));
}

}  // namespace

image compile_cuda(const compile_request& r) { return compile_cuda_program(r, {}).code; }

compiled_program compile_cuda_program(const compile_request& r, std::span<const std::string> expressions) {
  const nvrtc& api = library();
  if (api.version.empty()) throw device_error(api.absence);
  const architecture a = choose_architecture(api, r.target);
  const std::vector<std::string> options = collect_options(api, r, a);
  program p(api, r);
  for (const std::string& e : expressions) p.name(e);
  const nvrtcResult result = p.compile(options);
  const std::string log = p.log();
  if (result == NVRTC_ERROR_COMPILATION || result == NVRTC_ERROR_INVALID_OPTION)
    throw compile_error(fmt::format("kernel {} does not compile\n{}", r.name, log), r.source, log,
                        fmt::format("{}", fmt::join(options, " ")));
  check(api, result, fmt::format("compiling kernel {}", r.name).c_str());
  compiled_program out{{log, {}}, p.result(a.is_binary)};
  for (const std::string& e : expressions) out.symbols.emplace_back(e, p.symbol(e));
  return out;
}

std::string nvrtc_version(std::string* why) {
  const nvrtc& api = library();
  if (why != nullptr) *why = api.absence;
  return api.version;
}

std::string opened_nvrtc_identity() { return identity_of(library().path); }

std::string nvrtc_identity(std::string& memo) {
  const std::string facts = search_facts();
  // memo: facts, path of the library, what the path's file was; a line each
  std::string path;
  if (memo.starts_with(facts + "\n")) {
    const std::string_view rest = std::string_view(memo).substr(facts.size() + 1);
    const std::size_t line = rest.find('\n');
    const std::string candidate(rest.substr(0, line));
    if (line != std::string_view::npos && rest.substr(line + 1) == file_identity(candidate) + "\n") path = candidate;
  }
  if (path.empty()) {
    path = library().path;
    if (path.empty()) return {};
    memo = fmt::format("{}\n{}\n{}\n", facts, path, file_identity(path));
  }
  return identity_of(path);
}

}  // namespace sinter::jit
