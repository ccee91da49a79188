#include "jit/raw/emulated_module.hpp"

#include "jit/cache/obtain.hpp"
#include "jit/codegen/prelude.hpp"
#include "jit/raw/block_runner.hpp"
#include "jit/raw/cuda_text.hpp"
#include "jit/raw/declaration.hpp"
#include "jit/raw/host_options.hpp"
#include "runtime/error.hpp"
#include "runtime/host/pool.hpp"
#include "runtime/host/shared_object.hpp"
#include "runtime/log.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <future>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

namespace sinter::jit {

namespace device {  // the files of jit/device, embedded when the library is built
extern const std::string_view emulation_abi, emulation, emulation_threads, emulation_math, emulation_vectors,
    emulation_groups, emulation_half, emulation_complex, emulation_intrinsics, constants, standard_names;
}  // namespace device

namespace {

constexpr std::uint64_t most_threads = 1024;
constexpr std::size_t most_static_bytes = std::size_t{48} << 10, most_shared_bytes = std::size_t{227} << 10;
/// About what the emulation's own thread-local variables take.
constexpr std::size_t own_bytes = 96;

// ---- Compiling ----

/// As it stands between quotes in C++.
std::string quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string_view without_ampersand(std::string_view expression) {
  while (!expression.empty() && (expression.front() == '&' || expression.front() == ' ')) expression.remove_prefix(1);
  return expression;
}

/// Numbers that headers name, but for names of the user's own.
std::string constants_beside(std::string_view text) {
  const std::unordered_set<std::string_view> own = defined_names(text);
  std::string out;
  for (std::string_view rest = device::constants; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n') + 1);
    rest.remove_prefix(line.size());
    const std::string_view before = line.substr(0, line.find(" = "));
    const bool defines = before.starts_with("SINTER_CONSTANT ");
    if (!defines || !own.contains(before.substr(before.rfind(' ') + 1))) out += line;
  }
  return out;
}

std::string whole_source(const raw_source& s, const host_ready_text& user) {
  // 3: as a header of the system's, which nobody wants to be warned of. Macros of it count as such, too.
  std::string out = "# 1 \"sinter emulation\" 3\n";
  if (user.with_library) {
    out += "#define SINTER_WITH_LIBRARY 1\n";
    for (const char* header : {"math.h", "stdlib.h", "string.h", "stdio.h", "stdint.h", "limits.h", "float.h"})
      out += fmt::format("#include <{}>\n", header);
  }
  for (const std::string_view part : {device::emulation_abi, device::emulation, device::emulation_threads,
                                      device::emulation_math, device::emulation_intrinsics, device::emulation_vectors})
    out += part;
  out += constants_beside(s.text);
  if (has_word(s.text, "std") && s.text.find("#include") == s.text.npos) out += device::standard_names;
  if (user.with_groups) out += device::emulation_groups;
  if (user.with_half) out += device::emulation_half;
  const bool asks =
      std::ranges::any_of(s.expressions, [](const std::string& e) { return e.find("complex<") != e.npos; });
  if ((user.says_complex || asks) && !user.with_std_complex) out += device::emulation_complex;
  out += fmt::format("# 1 \"{}\"\n", quoted(s.name));
  out += user.text;
  std::size_t number = 0;
  for (const std::string& e : s.expressions) {
    const std::string_view bare = without_ampersand(e);
    out += fmt::format("# 1 \"name expression {}\"\n", quoted(e));
    out += fmt::format("static ::sinter_emulation::enlisted sinter_expression_{}{{::sinter_emulation::registered<&{}>::"
                       "make(\"{}\")}};\n",
                       number++, bare, quoted(bare));
  }
  return out;
}

std::string_view line_of(std::string_view text, std::size_t number) {
  while (--number > 0) {
    const std::size_t end = text.find('\n');
    if (end == text.npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

/// "name:3:5: ..." -> 3 and 5; zeros when the line is none such.
std::pair<std::size_t, std::size_t> position_in(std::string_view message, std::string_view name) {
  if (!message.starts_with(name)) return {};
  message.remove_prefix(name.size());
  std::size_t place[2] = {};
  for (std::size_t& n : place) {
    if (!message.starts_with(":")) return {};
    message.remove_prefix(1);
    const auto [stop, fault] = std::from_chars(message.data(), message.data() + message.size(), n);
    if (fault != std::errc{}) return {};
    message.remove_prefix(static_cast<std::size_t>(stop - message.data()));
  }
  return {place[0], place[1]};
}

/// The compiler's messages, with the user's own line and a caret below each that is about one.
std::string with_carets(std::string_view log, const raw_source& s) {
  std::string out;
  while (!log.empty()) {
    const std::string_view message = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(message.size() + 1, log.size()));
    out.append(message).append("\n");
    const auto [line, column] = position_in(message, s.name);
    if (line == 0) continue;
    const std::string_view text = line_of(s.text, line), next = log.substr(0, log.find('\n'));
    const bool shown = next.find(" | ") < 8 || (!text.empty() && next == text);
    if (shown || text.empty()) continue;
    std::string gap(text.substr(0, std::min(column > 0 ? column - 1 : 0, text.size())));
    for (char& c : gap)
      if (c != '\t') c = ' ';
    out += fmt::format("{:5} | {}\n{:5} | {}^\n", line, text, "", gap);
  }
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

[[noreturn]] void refuse(const raw_source& s, const std::string& why, const std::string& source = {}) {
  throw compile_error(fmt::format("kernel {} does not compile\n{}", s.name, why), source.empty() ? s.text : source, why,
                      fmt::format("{}", fmt::join(s.options, " ")));
}

struct loaded_library {
  void* handle = nullptr;
  loaded_library() = default;
  loaded_library(const loaded_library&) = delete;
  loaded_library& operator=(const loaded_library&) = delete;
  ~loaded_library() {
    if (handle != nullptr) dlclose(handle);
  }
};

/// Whether debuggers and sanitizers may want to read the compiled kernels later on.
bool keeps_images() {
  const std::string padded = fmt::format(" {} ", runtime::environment().host_options);
  return padded.find(" -g ") != padded.npos;
}

/// As a file that stays, for those who read it after it was loaded.
void* open_kept_image(std::span<const std::byte> i, const std::string& name) {
  std::string folder = runtime::environment().temporary_directory + "/sinter.XXXXXX";
  void* handle = nullptr;
  std::string failure = "no folder for it";
  if (mkdtemp(folder.data()) != nullptr) {
    const std::string path = folder + "/kernel.so";
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(i.data()),
                                                std::ssize(i));
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (const char* const message = handle == nullptr ? dlerror() : nullptr) failure = message;
    if (handle != nullptr) runtime::log(runtime::level::info, fmt::format("kernel {} is kept as {}", name, path));
  }
  if (handle == nullptr)
    throw device_error(fmt::format("cpu: kernel {} can't be loaded from {}: {}\n  hint: TMPDIR must name a folder that "
                                   "allows programs to run; with a sanitizer in SINTER_HOST_OPTIONS, the program must "
                                   "be built with it, too",
                                   name, folder, failure));
  return handle;
}

void* open_image(std::span<const std::byte> i, const std::string& name) {
  return keeps_images() ? open_kept_image(i, name) : runtime::open_shared_object(i, name);
}

// ---- What was compiled ----

/// "... [with T = const float*]" -> "const float*"
std::string type_in(std::string_view function_text) {
  const std::size_t begin = function_text.find("T = "), end = function_text.rfind(']');
  if (begin == function_text.npos || end == function_text.npos) return {};
  std::string type(function_text.substr(begin + 4, end - begin - 4));
  if (const std::size_t space = type.find(" *"); space != type.npos) type.erase(space, 1);  // clang's way
  return type;
}

raw_parameter parameter_from(const emulation::parameter& p) {
  raw_parameter out;
  out.type = type_in(p.type);
  out.bytes = static_cast<std::size_t>(p.bytes);
  out.is_pointer = p.is_pointer;
  out.is_const = p.is_const;
  out.has_element = p.element >= 0;
  if (out.has_element) out.element = static_cast<dtype>(p.element);
  return out;
}

/// The mangled name of a variable: "c" stays, "lib::c" is in a namespace.
std::string symbol_of(std::string_view name) {
  if (name.starts_with("::")) name.remove_prefix(2);
  if (name.find("::") == name.npos) return std::string(name);
  std::string out = "_ZN";
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find("::"));
    name.remove_prefix(std::min(part.size() + 2, name.size()));
    out += fmt::format("{}{}", part.size(), part);
  }
  return out + "E";
}

struct entry {
  raw_function function;
  const emulation::registration* code;
};

}  // namespace

struct emulated_module::state {
  std::string name, log;
  bool checked = false;
  loaded_library library;
  emulation::module_table* table = nullptr;
  std::vector<std::unique_ptr<entry>> kernels;
  std::unordered_map<std::string, const entry*> by_name;
  std::unordered_map<std::string, raw_global> variables;
  std::size_t static_bytes = 0;

  void read_table();
  const entry& entry_of(const raw_function& f) const;
};

void emulated_module::state::read_table() {
  for (const emulation::registration* r = table->last; r != nullptr; r = r->previous) {
    const std::string key = without_spaces(r->name);
    if (r->count < 0) {
      variables[key] = {r->address, static_cast<std::size_t>(r->bytes)};
      continue;
    }
    auto e = std::make_unique<entry>();
    e->function.name = r->name;
    e->code = r;
    for (int k = 0; k < r->count; ++k) e->function.parameters.push_back(parameter_from(r->parameters[k]));
    if (by_name.emplace(key, e.get()).second) kernels.push_back(std::move(e));
  }
  std::ranges::reverse(kernels);  // as in the text
  const std::size_t all = thread_local_region(reinterpret_cast<const void*>(table->variables)).bytes;
  static_bytes = all > own_bytes ? all - own_bytes : 0;
}

const entry& emulated_module::state::entry_of(const raw_function& f) const {
  for (const auto& e : kernels)
    if (&e->function == &f) return *e;
  const auto found = by_name.find(without_spaces(f.name));
  if (found == by_name.end()) throw error(fmt::format("raw kernel {} is not of this module ({})", f.name, name));
  return *found->second;
}

std::shared_ptr<emulated_module> emulated_module::build(const raw_source& s, bool checked) {
  const host_options options = translate_options(s.options);
  if (!options.unknown.empty())
    refuse(s, fmt::format("unrecognized option {} found\n  hint: options are NVRTC's; SINTER_HOST_OPTIONS holds those "
                          "for the host compiler",
                          options.unknown));
  checked = checked || options.checked;
  const host_ready_text user = make_host_ready(s.text, checked);
  compile_task t;
  t.users_text = s.text;
  compile_request& r = t.request;
  r.name = s.name;
  r.target = host_target();
  r.math = options.math;
  // Functions that nothing calls, and pragmas for other compilers, are everyday things in headers of kernels.
  r.options = {"-Wl,-Bsymbolic", "-Wall", "-Wno-attributes", "-Wno-unused-function", "-Wno-unknown-pragmas"};
  r.options.insert(r.options.end(), options.words.begin(), options.words.end());
  if (checked) {
    r.options.insert(r.options.end(), {"-fsanitize=bounds", "-g"});
    if (!options.checked) r.options.emplace_back("-DSINTER_CHECKED=1");
  }
  std::string_view more = runtime::environment().host_options;
  while (!more.empty()) {
    const std::string_view word = more.substr(0, more.find(' '));
    more.remove_prefix(std::min(word.size() + 1, more.size()));
    if (!word.empty()) r.options.emplace_back(word);
  }
  r.source = whole_source(s, user);
  if (runtime::wants(runtime::dump::source)) runtime::log(runtime::level::silent, "\n" + user.text);
  note_headers(t);

  auto made = std::make_unique<state>();
  made->name = s.name;
  made->checked = checked;
  try {
    obtain_program(t, [&](std::span<const std::byte> code, const program_notes& notes) {
      made->library.handle = open_image(code, s.name);
      made->log = with_carets(notes.log, s);
    });
  } catch (const compile_error& e) {
    const std::string log = with_carets(e.log(), s);
    throw compile_error(fmt::format("kernel {} does not compile\n{}", s.name, log), e.source(), log, e.options());
  }
  made->table = static_cast<emulation::module_table*>(dlsym(made->library.handle, "sinter_module"));
  SINTER_CHECK(made->table != nullptr && made->table->version == emulation::abi_version);
  made->table->calls = &emulation_services();
  made->table->variables();  // the thread's variables exist from here on, so their size is known
  made->read_table();
  if (!made->kernels.empty() && made->static_bytes > most_static_bytes * made->kernels.size())
    refuse(s, fmt::format("too much shared memory: __shared__ variables of about {} bytes, of at most {}\n  hint: more "
                          "is there as dynamic shared memory, extern __shared__",
                          made->static_bytes, most_static_bytes), r.source);
  return std::shared_ptr<emulated_module>(new emulated_module(std::move(made)));
}

emulated_module::emulated_module(std::unique_ptr<state> s) : state_(std::move(s)) {}
emulated_module::~emulated_module() = default;

std::shared_ptr<emulated_module> emulated_module::load(const raw_source& s) {
  using result = std::shared_future<std::shared_ptr<emulated_module>>;
  static std::mutex* const guard = new std::mutex;
  static auto* const modules = new std::unordered_map<std::string, result>;  // kept: variables of modules stay good

  const bool checked = runtime::environment().checked;
  std::string key = fmt::format("{}\n{}\n", checked, s.name);
  for (const auto& list : {s.options, s.expressions})
    for (const std::string& word : list) key += fmt::format("{}:{}\n", word.size(), word);
  key += fmt::format("{}\n", s.options.size());
  key += s.text;

  std::promise<std::shared_ptr<emulated_module>> mine;
  result wanted;
  bool builds = false;
  {
    const std::lock_guard lock(*guard);
    const auto [at, fresh] = modules->try_emplace(std::move(key));
    builds = fresh;
    if (fresh) at->second = mine.get_future().share();
    wanted = at->second;
  }
  if (builds) {
    try {
      mine.set_value(build(s, checked));
    } catch (...) {
      mine.set_exception(std::current_exception());
    }
  }
  try {
    return wanted.get();
  } catch (const compile_error& e) {
    throw compile_error(error_text(e.what(), s.site), e.source(), e.log(), e.options());
  }
}

const raw_function* emulated_module::find(std::string_view name) const {
  const auto found = state_->by_name.find(without_spaces(without_ampersand(name)));
  return found == state_->by_name.end() ? nullptr : &found->second->function;
}

std::vector<const raw_function*> emulated_module::functions() const {
  std::vector<const raw_function*> out;
  for (const auto& e : state_->kernels) out.push_back(&e->function);
  return out;
}

raw_global emulated_module::global(std::string_view name) const {
  const std::string key = without_spaces(without_ampersand(name));
  if (const auto found = state_->variables.find(key); found != state_->variables.end()) return found->second;
  void* const address = dlsym(state_->library.handle, symbol_of(key).c_str());
  Dl_info where{}, library{};
  const ElfW(Sym)* symbol = nullptr;
  void** const found_symbol = reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol));
  if (address == nullptr || dladdr1(address, &where, found_symbol, RTLD_DL_SYMENT) == 0) return {};
  // What the loader finds in libraries that this one uses is none of the user's.
  if (dladdr(state_->table, &library) == 0 || library.dli_fbase != where.dli_fbase) return {};
  if (symbol == nullptr || (symbol->st_info & 0xf) != STT_OBJECT) return {};
  return {address, static_cast<std::size_t>(symbol->st_size)};
}

const std::string& emulated_module::log() const { return state_->log; }

std::size_t emulated_module::static_shared_bytes() const { return state_->static_bytes; }

std::uint64_t emulated_module::most_cooperative_blocks(const raw_extents& block) {
  return most_cooperative_threads / std::max<std::uint64_t>(block.count(), 1);
}

// ---- Launching ----

namespace {

/// What the device would refuse, as a message; empty when all is well.
std::string objection(const raw_extents& grid, const raw_extents& block, std::size_t dynamic_bytes,
                      std::size_t static_bytes, bool cooperative) {
  if (block.count() == 0 || block.count() > most_threads || block.x > 1024 || block.y > 1024 || block.z > 64)
    return fmt::format("a block of {} x {} x {} threads; it may have from 1 to {}, and 64 along z", block.x, block.y,
                       block.z, most_threads);
  if (grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535)
    return fmt::format("a grid of {} x {} x {} blocks; it may have 2147483647 along x, 65535 along y and z", grid.x,
                       grid.y, grid.z);
  if (dynamic_bytes + static_bytes > most_shared_bytes)
    return fmt::format("{} bytes of dynamic shared memory{}; a block may have {} of shared memory", dynamic_bytes,
                       static_bytes == 0 ? "" : fmt::format(" and about {} of __shared__ variables", static_bytes),
                       most_shared_bytes);
  if (cooperative && grid.count() > emulated_module::most_cooperative_blocks(block))
    return fmt::format("a cooperative launch of {} blocks; at most {} of {} threads fit", grid.count(),
                       emulated_module::most_cooperative_blocks(block), block.count());
  return {};
}

}  // namespace

void emulated_module::launch(const raw_function& f, const raw_extents& grid, const raw_extents& block,
                             std::size_t dynamic_shared_bytes, void* const* arguments, bool cooperative,
                             const place& at) {
  const entry& e = state_->entry_of(f);
  if (grid.count() == 0) return;
  const std::size_t known_static = state_->kernels.size() == 1 ? state_->static_bytes : 0;
  if (const std::string why = objection(grid, block, dynamic_shared_bytes, known_static, cooperative); !why.empty())
    throw device_error(error_text(fmt::format("raw kernel {}: {}", f.name, why), at));

  emulated_launch l;
  l.kernel = e.code;
  l.module = state_->table;
  l.arguments = arguments;
  l.grid = grid;
  l.block = block;
  l.dynamic_bytes = dynamic_shared_bytes;
  l.checked = state_->checked;
  l.cooperative = cooperative;

  constexpr std::uint64_t worthwhile = 512;  // threads; fewer end before another processor has woken up
  if (cooperative || grid.count() == 1 || grid.count() * block.count() < worthwhile) {
    run_blocks(l);
  } else {
    runtime::pool& workers = runtime::pool::instance();
    const auto chunks = std::min<std::uint64_t>(grid.count(), static_cast<std::uint64_t>(workers.size()));
    workers.run(static_cast<std::int64_t>(chunks), &l,
                [](void* launch, std::int64_t) { run_blocks(*static_cast<emulated_launch*>(launch)); });
  }
  if (!l.fault.empty()) throw device_error(error_text(fmt::format("raw kernel {}, {}", f.name, l.fault), at));
}

}  // namespace sinter::jit
