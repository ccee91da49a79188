#include "jit/raw/program.hpp"

#include "jit/cache/obtain.hpp"
#include "jit/codegen/prelude.hpp"
#include "jit/raw/cuda_text.hpp"
#include "jit/raw/emulated_module.hpp"
#include "jit/raw/tokens.hpp"
#include "runtime/error.hpp"
#include "runtime/log.hpp"
#include "runtime/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>

namespace sinter::jit {

namespace {

/// The last name in an expression like "&lib::k<float>": "k".
std::string_view base_name(std::string_view expression) {
  expression = expression.substr(0, expression.find('<'));
  while (!expression.empty() && !continues_word(expression.back())) expression.remove_suffix(1);
  std::size_t begin = expression.size();
  while (begin > 0 && continues_word(expression[begin - 1])) --begin;
  return expression.substr(begin);
}

/// Helpers for a source that uses `complex<T>` and doesn't say what that is: complex numbers, and those of their
/// functions that it names.
std::string complex_prelude(const std::string& text, std::span<const std::string> expressions) {
  const bool named = has_word(text, "complex") ||
                     std::ranges::any_of(expressions, [](const std::string& e) { return has_word(e, "complex"); });
  if (!named) return "";
  const std::vector<std::string_view> tokens = split_tokens(text);
  for (std::size_t k = 1; k < tokens.size(); ++k)
    if (tokens[k] == "complex" && (tokens[k - 1] == "struct" || tokens[k - 1] == "class" || tokens[k - 1] == "::"))
      return "";
  std::string words = "complex<float> ";
  for (const char* f :
       {"abs", "arg", "conj", "real", "imag", "exp", "log", "sqrt", "sin", "cos", "pow", "tanh", "isnan"})
    if (has_word(text, f)) words += fmt::format("{}() ", f);
  return prelude_for(words, dialect::cuda);
}

std::string file_name(const std::string& name) {
  std::string text = name;
  for (char& c : text)
    if (c == '"' || c == '\\' || c == '\n') c = '_';
  return text;
}

std::string_view bytes_as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The symbols of an image's kernels: sections of a cubin, entries of PTX. Of compressed images, none.
std::vector<std::string> symbols_in(std::span<const std::byte> bytes) {
  std::vector<std::string> names;
  const std::string_view text = bytes_as_text(bytes);
  const bool is_elf = text.starts_with("\177ELF");
  const std::string_view mark = is_elf ? ".text." : ".entry ";
  for (std::size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + 1)) {
    std::size_t begin = at + mark.size(), end = begin;
    while (end < text.size() && (continues_word(text[end]) || text[end] == '$')) ++end;
    std::string name(text.substr(begin, end - begin));
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

/// The spelling and the order that all ways to ask for the same kernels have: they are part of the key on disk.
std::vector<std::string> in_one_form(std::vector<std::string> expressions) {
  for (std::string& e : expressions) e = without_spaces(e);
  std::ranges::sort(expressions);
  return expressions;
}

void add_name(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::none_of(names, [&](const std::string& n) { return same_name(n, name); })) names.push_back(name);
}

/// Whether it is an expression that can't be compiled. Both compilers give it the look of a source of its own.
bool is_about_names(const compile_error& e) {
  return e.log().find("__nv_name_map") != std::string::npos || e.log().find("name expression ") != std::string::npos;
}

/// "_ZN3lib5tableE" of "lib::table".
std::string variable_symbol(const std::string& name) {
  if (name.find("::") == std::string::npos) return name;
  std::string symbol = "_ZN";
  for (const std::string_view t : split_tokens(name))
    if (t != "::") symbol += fmt::format("{}{}", t.size(), t);
  return symbol + "E";
}

}  // namespace

/// What there is of a program on one device.
struct raw_program::loaded {
  explicit loaded(runtime::device& d) : where(d) {}
  ~loaded() { delete variables.users; }
  loaded(const loaded&) = delete;
  loaded& operator=(const loaded&) = delete;

  runtime::device& where;
  runtime::buffer variables{&where, this, 1};  ///< no memory, but used like it by what may change variables
  std::mutex building;
  std::map<std::string, std::unique_ptr<raw_entry>, std::less<>> entries;
  std::vector<std::unique_ptr<runtime::module_function>> functions;  ///< gone before their modules
  std::vector<std::unique_ptr<runtime::module>> modules;             ///< the newest one last: its variables are meant
  std::vector<std::pair<std::string, std::string>> symbols;          ///< by expression
  std::vector<std::string> found;                                    ///< symbols of images
  std::vector<std::string> expressions;                              ///< to be compiled, or compiled
  std::vector<std::shared_ptr<emulated_module>> emulations;          ///< the newest one last
  std::deque<emulated_kernel> emulated;
  std::string log;
  std::map<std::string, std::exception_ptr, std::less<>> failures;  ///< by kernel; "": without any
};

raw_program::raw_program(raw_source source)
    : source_(std::move(source)), declared_(read_declarations(source_.text, source_.options)) {}

raw_program::raw_program(std::string name, std::string path, std::vector<std::byte> bytes, const place& site)
    : source_{std::move(name), {}, {}, {}, site}, path_(std::move(path)), image_(std::move(bytes)) {}

raw_program::~raw_program() = default;

void raw_program::want(const std::vector<std::string>& expressions) {
  const std::lock_guard lock(guard_);
  for (const std::string& e : expressions) add_name(wanted_, e);
}

std::vector<std::string> raw_program::wanted_with(const std::string& name) {
  const std::lock_guard lock(guard_);
  std::vector<std::string> all = wanted_;
  if (!name.empty()) add_name(all, name);
  return all;
}

raw_program::loaded& raw_program::on(runtime::device& d) {
  const std::lock_guard lock(guard_);
  for (const auto& l : devices_)
    if (&l->where == &d) return *l;
  devices_.push_back(std::make_unique<loaded>(d));
  return *devices_.back();
}

raw_entry& raw_program::entry(const std::string& name, runtime::device& d) {
  loaded& l = on(d);
  const std::lock_guard lock(l.building);
  if (const auto known = l.entries.find(name); known != l.entries.end()) return *known->second;
  if (const auto failed = l.failures.find(name); failed != l.failures.end()) std::rethrow_exception(failed->second);
  try {
    return add_entry(l, name);
  } catch (const compile_error& e) { fail(l, e, name); }
}

raw_entry& raw_program::add_entry(loaded& l, const std::string& name) {
  auto fresh = std::make_unique<raw_entry>();
  fresh->program = this;
  fresh->where = &l.where;
  if (!declared_.variables.empty()) fresh->variables = &l.variables;
  fresh->name = name;
  fresh->strides = !path_.empty();
  for (const char* word : {"gridDim", "for", "while"}) fresh->strides |= has_word(source_.text, word);
  find_code(l, *fresh);
  describe(l, *fresh);
  return *l.entries.emplace(name, std::move(fresh)).first->second;
}

/// Remembers the failure, told with the user's options and line, and throws it.
void raw_program::fail(loaded& l, const compile_error& e, const std::string& name) {
  std::string text = e.what();
  while (text.ends_with('\n')) text.pop_back();
  if (!source_.options.empty()) text += fmt::format("\n  options: {}", fmt::join(source_.options, " "));
  const std::string defined = fmt::format("at {}:{} ", source_.site.file, source_.site.line);
  if (text.find(defined) == std::string::npos)
    text = error_text(fmt::format("{}\n  raw kernel {}, defined", text, source_.name), source_.site);
  std::exception_ptr& told = l.failures[name];
  told = std::make_exception_ptr(compile_error(text, e.source(), e.log(), e.options()));
  std::rethrow_exception(told);
}

void raw_program::no_such_kernel(const std::string& name) const {
  std::vector<std::string> names;
  for (const raw_declaration& k : declared_.kernels) names.push_back(k.is_template ? k.name + "<...>" : k.name);
  if (declared_.kernels.empty())
    for (const std::string& s : symbols_in(image_)) {
      const std::optional<raw_declaration> d = read_symbol(s);
      names.push_back(d ? d->name : s);
    }
  throw error(error_text(
      fmt::format("{}: there is no kernel {}", source_.name, name), source_.site,
      names.empty() ? std::string("it has no __global__ function") : fmt::format("it has {}", fmt::join(names, ", "))));
}

// ---- Code ----

void raw_program::find_code(loaded& l, raw_entry& e) {
  if (path_.empty() && !has_word(source_.text, base_name(e.name))) no_such_kernel(e.name);
  if (l.where.kind() == runtime::device_kind::cuda) find_cuda_code(l, e);
  else find_emulated_code(l, e);
}

void raw_program::load_file(loaded& l) {
  if (path_.empty() || !l.modules.empty()) return;
  l.modules.push_back(l.where.load_module(image_, source_.name));
  l.found = l.modules.back()->symbols();
  if (l.found.empty()) l.found = symbols_in(image_);
}

void raw_program::find_cuda_code(loaded& l, raw_entry& e) {
  load_file(l);
  if (l.modules.empty()) build_first(l, e.name);
  if (resolve(l, e)) return;
  if (!path_.empty()) no_such_kernel(e.name);
  build_more(l, e.name);
  if (!resolve(l, e)) no_such_kernel(e.name);
}

/// All that is wanted so far; without what can't be compiled, if that is for other names than this one.
void raw_program::build_first(loaded& l, const std::string& name) {
  std::vector<std::string> all = wanted_with(name);
  const bool others = all.size() > 1;
  try {
    build(l, std::move(all));
  } catch (const compile_error& e) {
    if (!others || !is_about_names(e)) throw;
    build(l, name.empty() ? std::vector<std::string>() : std::vector{name});
  }
}

/// Looks in what is loaded.
bool raw_program::resolve(loaded& l, raw_entry& e) {
  std::string symbol = e.name;
  for (const auto& [expression, s] : l.symbols)
    if (same_name(expression, e.name)) symbol = s;
  for (const std::string& s : l.found)
    if (const std::optional<raw_declaration> d = read_symbol(s); d && same_name(d->name, e.name)) symbol = s;
  for (std::size_t k = l.modules.size(); k-- > 0;) {
    std::unique_ptr<runtime::module_function> f = l.modules[k]->find(symbol);
    if (!f) continue;
    l.functions.push_back(std::move(f));
    e.code.store(l.functions.back().get(), std::memory_order_release);
    return true;
  }
  return false;
}

void raw_program::build(loaded& l, std::vector<std::string> expressions) {
  compile_task t;
  t.how = target_kind::cuda;
  t.expressions = in_one_form(expressions);
  t.users_text = source_.text;
  compile_request& r = t.request;
  r.name = file_name(source_.name);
  r.target = l.where.target();
  r.options = source_.options;
  r.source = complex_prelude(source_.text, t.expressions) + standard_prelude(source_.text) +
             fmt::format("#line 1 \"{}\"\n", r.name) + source_.text;
  note_headers(t);
  obtain_program(t, [&](std::span<const std::byte> code, program_notes notes) {
    l.modules.push_back(l.where.load_module(code, source_.name));
    for (auto& s : notes.symbols)
      if (std::ranges::find(l.symbols, s) == l.symbols.end()) l.symbols.push_back(std::move(s));
    for (std::string& s : symbols_in(code)) l.found.push_back(std::move(s));
    l.log = std::move(notes.log);
  });
  tell_of_warnings(l);
  l.expressions = std::move(expressions);
}

void raw_program::tell_of_warnings(const loaded& l) const {
  if (!l.log.empty())
    runtime::log(runtime::level::info, fmt::format("compiling kernel {}:\n{}", source_.name, l.log));
}

/// Another template's instance. Without variables it is a module by itself; else all is built again, so that all
/// kernels see the same variables, which keep their values.
void raw_program::build_more(loaded& l, const std::string& expression) {
  if (declared_.variables.empty()) return build(l, {expression});
  std::vector<std::string> all = l.expressions;
  all.push_back(expression);
  build(l, std::move(all));
  keep_variables(l, **std::prev(l.modules.end(), 2), *l.modules.back());
  for (const auto& [name, e] : l.entries) SINTER_CHECK(resolve(l, *e));
}

void raw_program::keep_variables(loaded& l, runtime::module& from, runtime::module& to) {
  runtime::memory_use use(l.where);
  use.writes(l.variables);
  for (const std::string& name : declared_.variables) {
    const std::string symbol = variable_symbol(name);
    const runtime::module::variable old = from.find_variable(symbol), now = to.find_variable(symbol);
    if (old.address && now.address && old.bytes == now.bytes && old.bytes > 0)
      l.where.copy_on_device(now.address, old.address, old.bytes);
  }
  use.finished();
}

void raw_program::find_emulated_code(loaded& l, raw_entry& e) {
  if (!path_.empty())
    throw device_error(error_text(
        fmt::format("{}: {} holds code for CUDA devices, which the cpu device can't run", source_.name, path_),
        source_.site, "give the source instead of an image"));
  if (l.emulations.empty()) emulate_first(l, e.name);
  if (resolve_emulated(l, e)) return;
  std::vector<std::string> all = l.expressions;
  add_name(all, e.name);
  emulate(l, std::move(all));
  if (!resolve_emulated(l, e)) no_such_kernel(e.name);
}

bool raw_program::resolve_emulated(loaded& l, raw_entry& e) {
  const raw_function* f = l.emulations.back()->find(e.name);
  if (!f) return false;
  l.emulated.push_back({l.emulations.back().get(), f});
  e.emulated.store(&l.emulated.back(), std::memory_order_release);
  return true;
}

void raw_program::emulate_first(loaded& l, const std::string& name) {
  std::vector<std::string> all = wanted_with(name);
  const bool others = all.size() > 1;
  try {
    emulate(l, std::move(all));
  } catch (const compile_error& e) {
    if (!others || !is_about_names(e)) throw;
    emulate(l, name.empty() ? std::vector<std::string>() : std::vector{name});
  }
}

/// An emulation with all these kernels takes the place of the one before, with its variables' values.
void raw_program::emulate(loaded& l, std::vector<std::string> expressions) {
  raw_source s = source_;
  s.expressions = in_one_form(expressions);
  std::shared_ptr<emulated_module> fresh = emulated_module::load(s);
  l.log = fresh->log();
  tell_of_warnings(l);
  if (!l.emulations.empty())
    for (const std::string& name : declared_.variables) {
      const raw_global old = l.emulations.back()->global(name), now = fresh->global(name);
      if (old.address && now.address && old.bytes == now.bytes) std::memcpy(now.address, old.address, old.bytes);
    }
  l.emulations.push_back(std::move(fresh));
  l.expressions = std::move(expressions);
  for (const auto& [name, e] : l.entries) SINTER_CHECK(resolve_emulated(l, *e));
}

// ---- What is known about a kernel ----

/// The types that the symbol or the source tells, where the sizes that the driver tells agree.
void raw_program::describe(loaded& l, raw_entry& e) {
  if (const emulated_kernel* k = e.emulated.load(std::memory_order_relaxed)) {
    e.parameters = k->function->parameters;
    e.knows_parameters = true;
    for (raw_parameter& p : e.parameters) {
      const raw_parameter told = describe_type(p.type);
      if (p.element_bytes == 0) p.element_bytes = told.element_bytes;
      if (p.has_element || !told.has_element) continue;
      p.element = told.element;
      p.has_element = true;
    }
    e.facts.max_threads = 1024;
    return;
  }
  runtime::module_function& code = *e.code.load(std::memory_order_relaxed);
  e.facts = code.facts();
  std::vector<std::string> symbols;
  for (const auto& [expression, s] : l.symbols)
    if (same_name(expression, e.name)) symbols.push_back(s);
  symbols.insert(symbols.end(), l.found.begin(), l.found.end());
  for (const std::string& s : symbols)
    if (const std::optional<raw_declaration> d = read_symbol(s);
        d && !e.knows_parameters && same_name(d->name, e.name)) {
      e.parameters = d->parameters;
      e.knows_parameters = true;
    }
  if (const raw_declaration* d = declared_.find(e.name); d && !e.knows_parameters && !d->is_template) {
    e.parameters = d->parameters;
    e.knows_parameters = true;
  }
  const std::optional<std::vector<std::size_t>> sizes = code.parameter_bytes();
  if (!sizes) return;
  const bool agree =
      e.knows_parameters && std::ranges::equal(e.parameters, *sizes, [](const raw_parameter& p, std::size_t bytes) {
        return p.bytes == 0 || p.bytes == bytes;
      });
  if (!agree) e.parameters.assign(sizes->size(), {});
  for (std::size_t k = 0; k < sizes->size(); ++k) e.parameters[k].bytes = (*sizes)[k];
  e.knows_parameters = true;
}

raw_global raw_program::variable(const std::string& name, runtime::device& d, const place& at) {
  loaded& l = on(d);
  const std::lock_guard lock(l.building);
  const bool is_cuda = d.kind() == runtime::device_kind::cuda;
  make_ready(l);
  raw_global g;
  if (is_cuda) {
    const runtime::module::variable v = l.modules.back()->find_variable(variable_symbol(name));
    g = {v.address, v.bytes};
  } else {
    g = l.emulations.back()->global(name);
  }
  if (!g.address)
    throw error(error_text(fmt::format("{}: there is no variable {}", source_.name, name), at,
                           declared_.variables.empty()
                               ? std::string("it has no __device__ or __constant__ variable")
                               : fmt::format("it has {}", fmt::join(declared_.variables, ", "))));
  g.order = &l.variables;
  return g;
}

std::string raw_program::compile(runtime::device& d) {
  loaded& l = on(d);
  const std::lock_guard lock(l.building);
  make_ready(l);
  return l.log;
}

/// What is wanted, unless something is there already.
void raw_program::make_ready(loaded& l) {
  if (const auto failed = l.failures.find(""); failed != l.failures.end()) std::rethrow_exception(failed->second);
  try {
    if (l.where.kind() != runtime::device_kind::cuda) {
      if (l.emulations.empty()) emulate_first(l, "");
      return;
    }
    load_file(l);
    if (l.modules.empty()) build_first(l, "");
  } catch (const compile_error& e) { fail(l, e, ""); }
}

// ---- All programs ----

namespace {

struct program_store {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<raw_program>> programs;
};

program_store& store() {
  static auto* s = new program_store;  // never destroyed, like the kernels
  return *s;
}

}  // namespace

raw_program& find_program(raw_source source) {
  std::string key = source.text;
  for (const std::string& o : source.options) key.append("\0-", 2).append(o);
  program_store& s = store();
  const std::lock_guard lock(s.mutex);
  std::unique_ptr<raw_program>& slot = s.programs[std::move(key)];
  const std::vector<std::string> expressions = source.expressions;
  if (!slot) slot = std::make_unique<raw_program>(std::move(source));
  slot->want(expressions);
  return *slot;
}

raw_program& load_program(const std::string& path, const place& at) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file || text.empty()) throw_io_error(fmt::format("raw_module: {} can't be read, or is empty", path), at);
  program_store& s = store();
  const std::lock_guard lock(s.mutex);
  std::unique_ptr<raw_program>& slot = s.programs["\1" + path + "\1" + text];
  if (!slot) {
    std::vector<std::byte> bytes(text.size() + 1);  // PTX ends with a zero
    std::memcpy(bytes.data(), text.data(), text.size());
    slot = std::make_unique<raw_program>(path, path, std::move(bytes), at);
  }
  return *slot;
}

}  // namespace sinter::jit
