// Settings from the environment, and the sink of all messages.
#include "runtime/log.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <set>
#include <span>

#include <fmt/format.h>

namespace sinter::runtime {
namespace {

using variable_lookup = const char* (*)(const char* variable);
using complaint_list = std::vector<std::string>;

constexpr std::string_view level_words[] = {"silent", "error", "warning", "info", "debug"};
constexpr std::string_view dump_words[] = {"graph", "groups", "ir", "source", "time"};
constexpr std::string_view device_words[] = {"cpu", "cuda"};
constexpr std::string_view executor_words[] = {"compiler", "interpreter"};
constexpr std::string_view cache_words[] = {"read_write", "read_only", "memory", "off"};
constexpr std::string_view switch_words[] = {"on", "off"};
constexpr std::string_view compile_words[] = {"sync", "async"};
constexpr std::string_view digit_words[] = {"0", "1"};
constexpr int most_threads = 4096;

std::string_view value_of(variable_lookup lookup, const char* variable) {
  const char* value = lookup(variable);
  return value == nullptr ? std::string_view{} : value;
}

/// The place of `word` in `words`; -1, and a complaint, when it isn't there.
int find_word(std::string_view variable, std::string_view word, std::span<const std::string_view> words,
              complaint_list& complaints) {
  for (std::size_t k = 0; k < words.size(); ++k)
    if (words[k] == word) return static_cast<int>(k);
  complaints.push_back(
      fmt::format("{}: \"{}\" is ignored; valid are {}", variable, word, fmt::join(words.begin(), words.end(), ", ")));
  return -1;
}

/// The variable's value when it is one of `words`, else nothing.
std::string one_of(variable_lookup lookup, const char* variable, std::span<const std::string_view> words,
                   complaint_list& complaints) {
  const std::string_view value = value_of(lookup, variable);
  if (value.empty() || find_word(variable, value, words, complaints) < 0) return {};
  return std::string(value);
}

void read_dumps(std::string_view list, settings& s, complaint_list& complaints) {
  if (const std::size_t at = list.find('@'); at != std::string_view::npos) {
    s.dump_glob = list.substr(at + 1);
    list = list.substr(0, at);
  }
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view word = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
    if (word.empty()) continue;
    const int place = find_word("SINTER_DUMP", word, dump_words, complaints);
    if (place >= 0) s.dumps = static_cast<std::uint8_t>(s.dumps | 1u << place);
  }
}

void read_threads(std::string_view value, settings& s, complaint_list& complaints) {
  if (value.empty()) return;
  int threads = 0;
  const auto [stop, fault] = std::from_chars(value.data(), value.data() + value.size(), threads);
  if (fault == std::errc{} && stop == value.data() + value.size() && threads >= 0 && threads <= most_threads)
    s.threads = threads;
  else
    complaints.push_back(fmt::format(
        "SINTER_THREADS: \"{}\" is ignored; valid are numbers from 0 (all processors) to {}", value, most_threads));
}

void write_line(std::string_view message) {
  // One call for the whole line: the stream's lock keeps threads apart.
  const std::string line = fmt::format("sinter: {}\n", message);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

const char* lookup_environment(const char* variable) { return std::getenv(variable); }

settings read_environment() {
  complaint_list complaints;
  settings s = read_settings(lookup_environment, complaints);
  if (s.verbosity >= level::warning)
    for (const std::string& complaint : complaints) write_line(complaint);
  return s;
}

}  // namespace

settings read_settings(variable_lookup lookup, std::vector<std::string>& complaints) {
  settings s;
  if (const std::string_view word = value_of(lookup, "SINTER_LOG"); !word.empty()) {
    const int place = find_word("SINTER_LOG", word, level_words, complaints);
    if (place >= 0) s.verbosity = static_cast<level>(place);
  }
  read_dumps(value_of(lookup, "SINTER_DUMP"), s, complaints);
  s.device = one_of(lookup, "SINTER_DEVICE", device_words, complaints);
  s.executor = one_of(lookup, "SINTER_EXECUTOR", executor_words, complaints);
  read_threads(value_of(lookup, "SINTER_THREADS"), s, complaints);
  s.host_compiler = value_of(lookup, "SINTER_CXX");
  s.host_options = value_of(lookup, "SINTER_HOST_OPTIONS");
  s.checked = one_of(lookup, "SINTER_CHECKED", digit_words, complaints) == "1";
  s.prints_statistics = one_of(lookup, "SINTER_STATS", digit_words, complaints) == "1";
  s.compile_mode = one_of(lookup, "SINTER_COMPILE", compile_words, complaints);
  s.cuda_home = value_of(lookup, "CUDA_HOME");
  if (s.cuda_home.empty()) s.cuda_home = value_of(lookup, "CUDA_PATH");
  s.search_path = value_of(lookup, "PATH");
  s.temporary_directory = value_of(lookup, "TMPDIR");
  if (s.temporary_directory.empty()) s.temporary_directory = "/tmp";
  s.cache_directory = value_of(lookup, "SINTER_CACHE_DIR");
  s.cache_home = value_of(lookup, "XDG_CACHE_HOME");
  s.home = value_of(lookup, "HOME");
  s.cache_mode = one_of(lookup, "SINTER_CACHE", cache_words, complaints);
  s.library_path = value_of(lookup, "LD_LIBRARY_PATH");
  s.use_libraries = one_of(lookup, "SINTER_LIBRARIES", switch_words, complaints) != "off";
  s.blas = value_of(lookup, "SINTER_BLAS");
  s.include_path = fmt::format("{}:{}", value_of(lookup, "CPATH"), value_of(lookup, "CPLUS_INCLUDE_PATH"));
  return s;
}

const settings& environment() {
  static const settings* const s = new settings(read_environment());  // never destroyed: used until the very end
  return *s;
}

bool wants(dump d) { return (environment().dumps & static_cast<std::uint8_t>(d)) != 0; }

bool wants(level l) { return l <= environment().verbosity; }

void log(level l, std::string_view message) {
  if (wants(l)) write_line(message);
}

void log_once(level l, std::string_view key, std::string_view message) {
  if (!wants(l)) return;
  static std::mutex* const guard = new std::mutex;
  static auto* const told = new std::set<std::string, std::less<>>;
  {
    const std::lock_guard lock(*guard);
    if (!told->emplace(key).second) return;
  }
  write_line(message);
}

}  // namespace sinter::runtime
