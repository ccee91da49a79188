// The system's C++ compiler, run without a shell on files in a fresh folder: C++ source in, shared object out.
#include "jit/compile/compiler.hpp"
#include "jit/compile/file_identity.hpp"
#include "runtime/error.hpp"
#include "runtime/log.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace sinter::jit {
namespace {

using words = std::vector<std::string>;

// ---- Finding the compiler ----

/// The path of an executable: itself when it holds a slash, else the first in PATH; empty when there is none.
std::string find_program(std::string_view name) {
  if (name.empty()) return {};
  const auto runs = [](const std::string& path) { return access(path.c_str(), X_OK) == 0; };
  if (name.find('/') != std::string_view::npos) return runs(std::string(name)) ? std::string(name) : std::string{};
  std::string_view rest = runtime::environment().search_path;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon + 1);
    std::string path = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (runs(path)) return path;
  }
  return {};
}

words split(std::string_view text) {
  words parts;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    if (space != 0) parts.emplace_back(text.substr(0, space));
    text = space == std::string_view::npos ? std::string_view{} : text.substr(space + 1);
  }
  return parts;
}

/// The compiler as the first words of a command line; none when there is no compiler.
words find_compiler() {
  const std::string& wish = runtime::environment().host_compiler;
  if (wish.empty()) {
    for (const char* name : {"c++", "g++", "clang++"})
      if (std::string path = find_program(name); !path.empty()) return {path};
    return {};
  }
  // As one word first: its path may hold spaces. Then as a command with arguments ("ccache g++").
  if (std::string path = find_program(wish); !path.empty()) return {path};
  words parts = split(wish);
  if (!parts.empty()) parts.front() = find_program(parts.front());
  if (!parts.empty() && !parts.front().empty()) return parts;
  runtime::log(runtime::level::warning, fmt::format("SINTER_CXX: \"{}\" is no program that can be run", wish));
  return {};
}

const words& compiler_command() {
  static const words* const command = new words(find_compiler());
  return *command;
}

// ---- Running it ----

struct outcome {
  bool ok = false;
  int signal = 0;  ///< what ended it, if one did
  std::string output;
};

std::string read_file(const std::string& path) {
  std::string text;
  if (std::FILE* f = std::fopen(path.c_str(), "re")) {
    char part[4096];
    for (std::size_t n; (n = std::fread(part, 1, sizeof part, f)) > 0;) text.append(part, n);
    std::fclose(f);
  }
  return text;
}

image read_image(const std::string& path) {
  image bytes;
  if (std::FILE* f = std::fopen(path.c_str(), "re")) {
    std::byte part[1 << 14];
    for (std::size_t n; (n = std::fread(part, 1, sizeof part, f)) > 0;) bytes.insert(bytes.end(), part, part + n);
    std::fclose(f);
  }
  return bytes;
}

[[noreturn]] void throw_system(std::string_view what, int code) {
  throw io_error(fmt::format("{}: {}", what, std::strerror(code)));
}

/// Starts a program with its output going to a file, without a shell and with signals as a fresh program expects them.
pid_t start(const words& command, const std::string& output) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND,
                                   0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);

  // A program that ignores SIGCHLD, or blocks signals on this thread, would pass that on: compilers wait for children.
  posix_spawnattr_t attributes;
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGCHLD);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  pid_t child = -1;
  const int failure = posix_spawn(&child, command.front().c_str(), &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failure != 0) throw_system("can't run " + command.front(), failure);
  return child;
}

/// Runs a program to its end. `made` is the file it is to write: the judge of success when the program's state is gone.
outcome run(const words& command, const std::string& log_path, const std::string& made) {
  const pid_t child = start(command, log_path);
  int status = 0;
  pid_t ended = 0;
  do ended = waitpid(child, &status, 0);
  while (ended < 0 && errno == EINTR);
  outcome o;
  if (ended < 0)
    o.ok = access(made.c_str(), R_OK) == 0;  // ECHILD: this process ignores SIGCHLD; waitpid has waited all the same
  else o.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (ended > 0 && WIFSIGNALED(status)) o.signal = WTERMSIG(status);
  o.output = read_file(log_path);
  unlink(log_path.c_str());
  return o;
}

/// A fresh folder for one compilation; removed, with the files compilations make.
class scratch_folder {
 public:
  scratch_folder() {
    const std::string& parent = runtime::environment().temporary_directory;
    folder_ = parent + "/sinter-XXXXXX";
    if (mkdtemp(folder_.data()) == nullptr)
      throw_system(fmt::format("can't make a temporary folder in {} (TMPDIR names another place)", parent), errno);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  ~scratch_folder() {
    unlink(source().c_str());
    unlink(log().c_str());
    unlink(library().c_str());
    rmdir(folder_.c_str());
  }
  std::string source() const { return folder_ + "/kernel.cpp"; }
  std::string library() const { return folder_ + "/kernel.so"; }
  std::string log() const { return folder_ + "/kernel.log"; }

  void write_source(std::string_view text) const {
    std::FILE* f = std::fopen(source().c_str(), "we");
    bool ok = f != nullptr && std::fwrite(text.data(), 1, text.size(), f) == text.size();
    if (f != nullptr) ok = std::fclose(f) == 0 && ok;
    if (!ok) throw_system("can't write " + source(), errno);
  }

 private:
  std::string folder_;
};

// ---- Flags ----

/// What kernels are compiled with besides optimisation level and math mode. Compilers that don't know one do without.
constexpr const char* wanted_flags[] = {"-march=native",
                                        "-fPIC",
                                        "-fwrapv",
                                        "-fno-strict-aliasing",
                                        "-fno-math-errno",
                                        "-fno-trapping-math",
                                        "-fopenmp-simd",
                                        "-fno-exceptions",
                                        "-fno-rtti",
                                        "-fno-asynchronous-unwind-tables",
                                        "-nostartfiles"};

std::vector<std::string_view> math_flags(math_mode mode) {
  switch (mode) {
    case math_mode::strict:
      return {"-ffp-contract=off"};
    case math_mode::standard:
      return {"-ffp-contract=fast"};
    case math_mode::fast:
      return {"-ffp-contract=fast", "-fassociative-math", "-freciprocal-math", "-fno-signed-zeros"};
  }
  return {};
}

/// Whether a target is a level of processors ("x86-64-v3") and not this one.
bool is_level(const std::string& target) { return target.starts_with("x86-64"); }

/// The whole command line. glibc's libm brings the vector functions (libmvec) along where they are used.
words command_line(const words& flags, const compile_request& r, const scratch_folder& w) {
  words line = compiler_command();
  // Level 1 vectorises loops marked for it, too, and takes 2/3 of the time on long straight-line bodies.
  line.insert(line.end(), {"-x", "c++", "-std=c++17", r.large ? "-O1" : "-O3", "-shared"});
  for (const std::string& flag : flags)
    line.push_back(flag == "-march=native" && is_level(r.target) ? "-march=" + r.target : flag);
  for (const std::string_view flag : math_flags(r.math)) line.emplace_back(flag);
  line.insert(line.end(), r.options.begin(), r.options.end());
  line.insert(line.end(), {"-o", w.library(), w.source(), "-lm"});
  return line;
}

outcome compile_once(const words& flags, const compile_request& r, const scratch_folder& w) {
  return run(command_line(flags, r, w), w.log(), w.library());
}

/// Whether the compiler takes these flags, shown on a source that can't be wrong.
bool accepts(const words& flags) {
  const scratch_folder w;
  compile_request r;
  w.write_source("extern \"C\" double sinter_probe(double x) { return x + 1; }\n");
  return compile_once(flags, r, w).ok;
}

/// The wanted flags, those the compiler doesn't know left out once that was looked into.
class flag_set {
 public:
  words current() {
    const std::lock_guard lock(guard_);
    return flags_;
  }
  /// After a failed compilation: whether the flags were to blame (they are other ones then). Looks once in a process:
  /// a compilation that succeeds proves the flags good at no cost, so only failures come here.
  bool blame(const words& used) {
    const std::lock_guard lock(guard_);
    if (used != flags_) return true;  // another thread has found out meanwhile
    if (std::exchange(known_, true) || accepts(flags_)) return false;
    words good;
    for (const std::string& flag : flags_)
      if (accepts({flag})) good.push_back(flag);
    runtime::log(runtime::level::info,
                 fmt::format("{} takes only these flags: {}", compiler_command().front(), fmt::join(good, " ")));
    return std::exchange(flags_, good) != good;
  }

 private:
  std::mutex guard_;
  bool known_ = false;
  words flags_{std::begin(wanted_flags), std::end(wanted_flags)};
};

flag_set& compiler_flags() {
  static flag_set* const flags = new flag_set;
  return *flags;
}

[[noreturn]] void throw_failure(const compile_request& r, const outcome& o, const std::string& command) {
  std::string what = fmt::format("kernel {} does not compile", r.name);
  if (o.signal != 0) what += fmt::format(" (the compiler was ended by signal {})", o.signal);
  std::string log = o.output;
  log.erase(log.find_last_not_of('\n') + 1);
  throw compile_error(fmt::format("{}\n{}", what, log), r.source, log, command);
}

}  // namespace

image compile_host(const compile_request& r) { return compile_host_program(r).code; }

compiled_program compile_host_program(const compile_request& r) {
  if (compiler_command().empty())
    throw device_error("no C++ compiler for the cpu device: looked for SINTER_CXX, then c++, g++, clang++ in PATH");
  const scratch_folder w;
  w.write_source(r.source);
  words flags = compiler_flags().current();
  outcome o = compile_once(flags, r, w);
  if (!o.ok && o.signal == 0 && compiler_flags().blame(flags)) {
    flags = compiler_flags().current();
    o = compile_once(flags, r, w);
  }
  if (!o.ok) throw_failure(r, o, fmt::format("{}", fmt::join(command_line(flags, r, w), " ")));
  compiled_program made{{std::move(o.output), {}}, read_image(w.library())};
  if (made.code.empty()) throw_system("can't read " + w.library(), errno);
  made.log.erase(made.log.find_last_not_of('\n') + 1);
  return made;
}

std::string host_compiler_identity_now() {
  if (compiler_command().empty()) return {};
  std::string text = fmt::format("host {} |", fmt::join(wanted_flags, " "));
  // Also what a wrapper ("ccache", or a script) is likely to call.
  words programs = compiler_command();
  programs.insert(programs.end(), {"c++", "g++", "clang++"});
  for (const std::string& word : programs) {
    const std::string path = find_program(word);
    text += path.empty() ? " " + word : " " + file_identity(path);
  }
  return text;
}

std::string host_compiler_identity() {
  static const std::string* const identity = new std::string(host_compiler_identity_now());
  return *identity;
}

const std::string& host_compiler() {
  static const std::string* const command = new std::string(fmt::format("{}", fmt::join(compiler_command(), " ")));
  return *command;
}

}  // namespace sinter::jit
