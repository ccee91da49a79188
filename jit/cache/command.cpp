// sinter-cache: looks at, checks and empties the directory of compiled kernels.
#include "jit/cache/bundle.hpp"
#include "jit/cache/settings.hpp"
#include "runtime/error.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace {

using namespace sinter;
using namespace sinter::jit;

constexpr const char* usage =
    "usage: sinter-cache [--dir DIR] COMMAND\n"
    "  ls                     a line for each kernel: key, bytes, last use, target, name; the last used last\n"
    "  stat                   how many there are, and how many bytes they take\n"
    "  show KEY               one kernel's name, compiler, options, headers and source; the first digits do\n"
    "  verify [--remove]      reads and checks every kernel; removes those that are damaged\n"
    "  clear                  removes all of them\n"
    "  prune --max-bytes N    removes those least recently used until at most N bytes are left\n"
    "  bundle FILE [KEY...]   writes all, or those, to a file for load_kernels()\n"
    "DIR: else SINTER_CACHE_DIR, XDG_CACHE_HOME/sinter, ~/.cache/sinter\n";

/// What goes wrong for the caller's reasons.
struct failure {
  std::string what;
};

struct command_line {
  std::string folder, command;
  std::vector<std::string> words;
  bool remove = false;
  std::uint64_t max_bytes = 0;
  bool has_max_bytes = false;
};

command_line read_arguments(int argc, char** argv) {
  command_line a;
  const auto value = [&](int& k) {
    if (k + 1 >= argc) throw failure{fmt::format("{} needs a value", argv[k])};
    return std::string(argv[++k]);
  };
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "--dir") a.folder = value(k);
    else if (word == "--remove") a.remove = true;
    else if (word == "--max-bytes") {
      const std::string n = value(k);
      const auto [stop, fault] = std::from_chars(n.data(), n.data() + n.size(), a.max_bytes);
      if (fault != std::errc{} || stop != n.data() + n.size())
        throw failure{fmt::format("--max-bytes {}: no number", n)};
      a.has_max_bytes = true;
    } else if (word.starts_with("--")) throw failure{fmt::format("unknown option {}", word)};
    else if (a.command.empty()) a.command = word;
    else a.words.push_back(word);
  }
  return a;
}

std::string key_in(const std::string& name) {
  return name.substr(4, name.size() - 4 - std::string_view(".kernel").size());
}

std::string shown_time(const timespec& t) {
  char text[32] = "";
  tm parts{};
  localtime_r(&t.tv_sec, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

/// The files, the last used last.
std::vector<kept_file> by_use(const disk_cache& d) {
  std::vector<kept_file> all = d.list();
  std::ranges::sort(all, [](const kept_file& a, const kept_file& b) {
    return std::pair(a.last_use.tv_sec, a.last_use.tv_nsec) < std::pair(b.last_use.tv_sec, b.last_use.tv_nsec);
  });
  return all;
}

struct opened {
  file_bytes bytes;
  std::optional<entry_view> entry;
  std::string problem;  ///< empty: a good entry
};

opened open_entry(const disk_cache& d, const std::string& name) {
  opened o;
  auto bytes = d.read_file(name, o.problem);
  if (bytes) {
    o.bytes = std::move(*bytes);
    o.entry = read_entry(o.bytes.span());
  }
  if (!o.entry && o.problem.empty()) o.problem = bytes ? "damaged, or of another version" : "can't be read";
  return o;
}

int list(const disk_cache& d) {
  for (const kept_file& f : by_use(d)) {
    const opened o = open_entry(d, f.name);
    const auto task = o.entry ? task_from(o.entry->task) : std::nullopt;
    fmt::print("{}  {:>8}  {}  {}\n", key_in(f.name), f.bytes, shown_time(f.last_use),
               task ? fmt::format("{}  {}", o.entry->target, task->request.name) : o.problem);
  }
  return 0;
}

int print_totals(const disk_cache& d) {
  const std::vector<kept_file> all = d.list();
  std::uint64_t total = 0;
  for (const kept_file& f : all) total += f.bytes;
  fmt::print("directory  {}\nkernels    {}\nbytes      {}\n", d.where().path(), all.size(), total);
  return 0;
}

/// The files whose key begins so.
std::vector<kept_file> matching(const disk_cache& d, const std::string& start) {
  std::vector<kept_file> some;
  for (const kept_file& f : by_use(d))
    if (key_in(f.name).starts_with(start)) some.push_back(f);
  if (some.empty())
    throw failure{fmt::format("no kernel in {} has a key that begins with {}", d.where().path(), start)};
  return some;
}

int show(const disk_cache& d, const std::string& key) {
  for (const kept_file& f : matching(d, key)) {
    const opened o = open_entry(d, f.name);
    fmt::print("key        {}\nbytes      {}\nlast use   {}\n", key_in(f.name), f.bytes, shown_time(f.last_use));
    const auto task = o.entry ? task_from(o.entry->task) : std::nullopt;
    if (!task) {
      fmt::print("problem    {}\n", o.problem.empty() ? "its key can't be read" : o.problem);
      continue;
    }
    constexpr std::string_view modes[] = {"standard", "strict", "fast"};
    const auto mode = static_cast<std::size_t>(task->request.math);
    fmt::print("name       {}\ntarget     {}\ncompiler   {}\nmath mode  {}\noptions    {}\nimage      {} bytes\n",
               task->request.name, o.entry->target, o.entry->maker, mode < 3 ? modes[mode] : "unknown",
               fmt::join(task->request.options, " "), o.entry->image.size());
    for (const std::string& e : task->expressions) fmt::print("kernel     {}\n", e);
    if (const std::string log = notes_from(o.entry->notes).log; !log.empty()) fmt::print("messages\n{}\n", log);
    for (const included_header& h : task->headers) fmt::print("header     {} ({} bytes)\n", h.name, h.contents.size());
    fmt::print("source\n{}\n", task->request.source);
  }
  return 0;
}

int verify_all(const disk_cache& d, bool remove) {
  std::size_t bad = 0, good = 0;
  for (const kept_file& f : d.list()) {
    const opened o = open_entry(d, f.name);
    std::string problem = o.problem;
    if (problem.empty()) {
      const entry_key k{std::string(o.entry->task), std::string(o.entry->target), std::string(o.entry->maker)};
      if (!f.name.ends_with("/" + file_name(k))) problem = "another kernel's, under this one's name";
    }
    if (problem.empty()) {
      ++good;
      continue;
    }
    ++bad;
    fmt::print("{}: {}{}\n", f.name, problem, remove && d.remove(f.name) ? "; removed" : "");
  }
  fmt::print("{} good, {} bad\n", good, bad);
  return bad == 0 ? 0 : 1;
}

int clear_all(const disk_cache& d) {
  fmt::print("{} kernels removed\n", d.sweep(0));
  d.remove("nvrtc");
  return 0;
}

int write_bundle_of(const disk_cache& d, const std::vector<std::string>& words) {
  std::vector<kept_file> files;
  if (words.size() == 1) files = d.list();
  for (std::size_t k = 1; k < words.size(); ++k)
    for (kept_file& f : matching(d, words[k])) files.push_back(std::move(f));
  std::vector<std::string> entries;
  for (const kept_file& f : files) {
    const opened o = open_entry(d, f.name);
    if (o.problem.empty()) entries.emplace_back(reinterpret_cast<const char*>(o.bytes.data.get()), o.bytes.size);
    else fmt::print(stderr, "left out: {}: {}\n", f.name, o.problem);
  }
  write_bundle(words[0], entries);
  fmt::print("{} kernels written to {}\n", entries.size(), words[0]);
  return 0;
}

int run(const command_line& a) {
  const auto needs = [&](std::size_t least, std::size_t most, const char* what) {
    if (a.words.size() < least || a.words.size() > most) throw failure{fmt::format("{} needs {}", a.command, what)};
  };
  const std::string path = a.folder.empty() ? usual_cache_directory() : a.folder;
  if (path.empty()) throw failure{"SINTER_CACHE_DIR, XDG_CACHE_HOME and HOME are all unset; --dir names the directory"};
  const bool changes = a.command == "clear" || a.command == "prune" || a.remove;
  directory where(path, false, !changes);
  if (!where.good()) throw failure{where.complaint()};
  const disk_cache d(std::move(where), changes, 0);
  if (a.command == "show") {
    needs(1, 1, "a key");
    return show(d, a.words[0]);
  }
  if (a.command == "bundle") {
    needs(1, ~std::size_t{0}, "the name of a file");
    return write_bundle_of(d, a.words);
  }
  needs(0, 0, "nothing more");
  if (a.command == "ls") return list(d);
  if (a.command == "stat") return print_totals(d);
  if (a.command == "verify") return verify_all(d, a.remove);
  if (a.command == "clear") return clear_all(d);
  if (a.command != "prune") throw failure{fmt::format("unknown command {}\n{}", a.command, usage)};
  if (!a.has_max_bytes) throw failure{"prune needs --max-bytes N"};
  fmt::print("{} kernels removed\n", d.sweep(a.max_bytes));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const command_line a = read_arguments(argc, argv);
    if (a.command.empty()) {
      std::fputs(usage, stderr);
      return 2;
    }
    return run(a);
  } catch (const failure& f) { fmt::print(stderr, "sinter-cache: {}\n", f.what); } catch (const std::exception& e) {
    fmt::print(stderr, "sinter-cache: {}\n", e.what());
  }
  return 2;
}
