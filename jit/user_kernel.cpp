#include "jit/user_kernel.hpp"

#include "jit/codegen/dialect.hpp"
#include "jit/source_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace sinter::jit {

namespace {


/// The words of C++20 that can't name anything.
constexpr std::string_view keywords[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept", "const",
    "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do", "double",
    "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
    "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "return", "short", "signed",
    "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local", "throw",
    "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile",
    "wchar_t", "while", "xor", "xor_eq"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_identifier_part(char c) { return is_letter(c) || c == '_' || (c >= '0' && c <= '9'); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_blank_text(std::string_view text) { return std::ranges::all_of(text, is_blank); }
std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<dtype> dtype_named(std::string_view name) {
  for (int k = 0; k < dtype_count; ++k)
    if (name == dtype_table[k].name || name == dtype_table[k].numpy_name) return static_cast<dtype>(k);
  if (name == "float") return dtype::f32;
  if (name == "double") return dtype::f64;
  if (name == "int") return dtype::i32;
  if (name == "unsigned") return dtype::u32;
  return std::nullopt;
}

/// Calls f with each word of C++ text, its place, and the word before it ("" after anything else), but for comments and
/// literals.
template <class F>
void each_word(std::string_view text, F&& f) {
  std::string_view before;
  for (std::size_t k = 0; k < text.size();) {
    if (text.substr(k, 2) == "//") {
      k = std::min(text.find('\n', k), text.size());
    } else if (text.substr(k, 2) == "/*") {
      k = std::min(text.find("*/", k), text.size() - 2) + 2;
    } else if (text[k] == '"' || text[k] == '\'') {
      const char quote = text[k++];
      while (k < text.size() && text[k] != quote) k += text[k] == '\\' ? 2 : 1;
      ++k;
      before = {};
    } else if (is_identifier_part(text[k])) {
      const std::size_t begin = k;
      while (k < text.size() && is_identifier_part(text[k])) ++k;
      const std::string_view word = text.substr(begin, k - begin);
      f(word, begin, before);
      before = word;
    } else {
      if (!is_blank(text[k])) before = {};
      ++k;
    }
  }
}

/// Whether text means what is outside of it by `name`: it is no member, and isn't declared where it is first met.
bool asks_for(std::string_view text, std::string_view name) {
  bool found = false, declared = false;
  each_word(text, [&](std::string_view word, std::size_t at, std::string_view before) {
    if (word != name || found || declared) return;
    const bool member = at > 0 && (text[at - 1] == '.' || text.substr(0, at).ends_with("->") || text[at - 1] == ':');
    if (member) return;
    const bool statement = before == "return" || before == "else" || before == "case" || before == "do" ||
                           before == "sizeof" || before == "not" || before == "and" || before == "or";
    declared = !before.empty() && !statement && (is_letter(before[0]) || before[0] == '_');
    found = !declared;
  });
  return found;
}

bool declares_struct(std::string_view preamble, std::string_view type) {
  bool found = false;
  std::string_view statement;  // the keyword of the declaration that the word is in
  each_word(preamble, [&](std::string_view word, std::size_t, std::string_view before) {
    if (word == "typedef" || word == "using") statement = word;
    found |= word == type && (before == "struct" || before == "class" || before == "union" || before == "using" ||
                              statement == "typedef");
  });
  return found;
}

/// Why `name` can't name a kernel or a parameter; empty when it can.
std::string fault_of_name(std::string_view name) {
  if (name.empty()) return "is empty";
  const bool digit_first = name[0] >= '0' && name[0] <= '9';
  if (digit_first || !std::ranges::all_of(name, is_identifier_part)) return "is not an identifier";
  if (std::ranges::find(keywords, name) != std::end(keywords)) return "is a keyword of C++";
  if (name[0] == '_' || name.find("__") != std::string_view::npos)
    return "is reserved: it begins with _ or contains __";
  if (name == "i" || name == "n") return "is reserved";
  if (dtype_named(name)) return "is the name of a dtype";
  return {};
}

constexpr std::string_view names_of_threads[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};

/// Reads the strings of one kernel; every error names the kernel and the line it was made at.
class parser {
 public:
  /// `preamble` may declare structs. Only elementwise kernels have raw parameters.
  parser(std::string_view kernel, std::string_view preamble, bool raw_allowed, const place& at)
      : kernel_(kernel), preamble_(preamble), raw_allowed_(raw_allowed), at_(at) {}

  void check_kernel_name() const {
    if (const std::string fault = fault_of_name(kernel_); !fault.empty())
      fail(fmt::format("kernel name \"{}\" {}", kernel_, fault), "a name is letters, digits and _");
  }

  std::vector<user_parameter> parameters(std::string_view text, std::string_view role) const {
    std::vector<user_parameter> out;
    if (is_blank_text(text)) return out;
    for (bool more = true; more;) {
      const std::size_t comma = text.find(',');
      out.push_back(parameter(text.substr(0, comma), role));
      more = comma != std::string_view::npos;
      if (more) text.remove_prefix(comma + 1);
    }
    if (out.size() > most_parameters)
      fail(fmt::format("{}: {} {} parameters, at most {} are possible", kernel_, out.size(), role, most_parameters));
    return out;
  }

  /// An expression of a reduction: no statement, and none of CuPy's names of what this library can't give.
  void check_expression(std::string_view text, std::string_view role) const {
    if (is_blank_text(text)) fail(fmt::format("{}: the {} expression is empty", kernel_, role));
    if (trimmed(text).ends_with(';'))
      fail(fmt::format("{}: the {} expression ends with \";\"", kernel_, role),
           "map, reduce and identity are expressions; statements go in the post-map or, as functions, in the preamble");
    check_words(text, role);
  }

  void check_words(std::string_view text, std::string_view role) const {
    for (std::size_t k = 0; k < text.size();) {
      const std::size_t begin = k;
      while (k < text.size() && is_identifier_part(text[k])) ++k;
      const std::string_view word = text.substr(begin, k - begin);
      if (word == "_J" || word == "_in_ind" || word == "_out_ind" || word.starts_with("_raw_"))
        fail(fmt::format("{}: the {} uses \"{}\", but positions and raw inputs are not available in this version",
                         kernel_, role, word),
             "positions can be an input of their own: k(x, arange(n))");
      if (word.empty()) k = std::max(k + 1, skip_opaque(text, k));
    }
  }

  /// Generated sources have no headers: what those of the language declare for kernels is there already, and others
  /// would come between namespaces. What #if begins ends in the same text.
  void check_directives(std::string_view text, std::string_view role) const {
    int open = 0;
    while (!text.empty()) {
      const std::string_view line = trimmed(text.substr(0, text.find('\n')));
      text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
      if (!line.starts_with('#')) continue;
      const std::string_view word = trimmed(line.substr(1));
      if (word.starts_with("include"))
        fail(fmt::format("{}: the {} has \"{}\", but string kernels have no headers", kernel_, role, line),
             "math functions and the integer types of <cstdint> are there without it; raw_module takes whole files");
      if (word.starts_with("line"))
        fail(fmt::format("{}: the {} has \"{}\", but its lines are numbered already", kernel_, role, line));
      if (word.starts_with("if")) ++open;
      if (word.starts_with("endif") && --open < 0)
        fail(fmt::format("{}: the {} has an #endif without an #if", kernel_, role));
    }
    if (open > 0) fail(fmt::format("{}: the {} has an #if without an #endif", kernel_, role));
  }

  /// What belongs to the threads of a block, which elements know nothing of.
  void check_threads(std::string_view text, std::string_view role) const {
    for (std::size_t k = 0; k < text.size();) {
      const std::size_t begin = k;
      while (k < text.size() && is_identifier_part(text[k])) ++k;
      const std::string_view word = text.substr(begin, k - begin);
      if (word.starts_with("__syncthreads") || word == "__syncwarp" || word == "__shared__" ||
          std::ranges::find(names_of_threads, word) != std::end(names_of_threads))
        fail(fmt::format("{}: the {} uses {}, but which thread an element belongs to is the library's choice", kernel_,
                         role, word),
             "`i` is the element's number; a raw_kernel has threads and blocks");
      if (word.empty()) k = std::max(k + 1, skip_opaque(text, k));
    }
  }

  void check_names(const user_kernel& k) const {
    std::vector<std::string_view> seen;
    for (const auto* list : {&k.inputs, &k.outputs})
      for (const user_parameter& p : *list) {
        if (std::ranges::find(seen, p.name) != seen.end())
          fail(fmt::format("{}: parameter name \"{}\" is used twice", kernel_, p.name));
        seen.push_back(p.name);
      }
    for (const auto* list : {&k.inputs, &k.outputs})
      for (const user_parameter& p : *list)
        if (p.is_placeholder() && std::ranges::find(seen, p.type) != seen.end())
          fail(fmt::format("{}: \"{}\" names both a type and a parameter", kernel_, p.type));
  }

  [[noreturn]] void fail(const std::string& what, std::string_view hint = {}) const {
    throw error(error_text(what, at_, hint));
  }

 private:
  user_parameter parameter(std::string_view text, std::string_view role) const {
    std::vector<std::string_view> words;
    for (std::size_t k = 0; k < text.size();) {
      const std::size_t begin = k;
      while (k < text.size() && is_blank(text[k]) == is_blank(text[begin])) ++k;
      if (!is_blank(text[begin])) words.push_back(text.substr(begin, k - begin));
    }
    if (words.size() < 2)
      fail(fmt::format("{}: {} parameter \"{}\" is not a type and a name", kernel_, role, text),
           "parameters are written \"T x, f32 y\"");
    const bool raw = words[0] == "raw" && words.size() > 2 && raw_allowed_;
    for (std::size_t k = raw ? 1 : 0; k + 2 < words.size(); ++k) reject_keyword(words[k], role);
    const std::string_view type = words[words.size() - 2], name = words.back();
    if (type == "raw" || type == "const") reject_keyword(type, role);
    if (const std::string fault = fault_of_name(name); !fault.empty())
      fail(fmt::format("{}: {} parameter name \"{}\" {}", kernel_, role, name, fault));
    if (type.size() == 1 && is_letter(type[0])) return {std::string(type), std::string(name), raw};
    if (const std::optional<dtype> fixed = dtype_named(type)) return {to_string(*fixed), std::string(name), raw};
    if (role == "input" && !raw && raw_allowed_ && declares_struct(preamble_, type))
      return {std::string(type), std::string(name), false, true};
    throw_type_error(fmt::format("{}: unknown type \"{}\" of {} parameter \"{}\"", kernel_, type, role, name), at_,
                     "types are bool, i8..i64, u8..u64, f16, bf16, f32, f64, c64, c128, NumPy's names for them, one "
                     "letter for any of them, or, of inputs, a struct that the preamble declares");
  }

  [[noreturn]] void reject_keyword(std::string_view word, std::string_view role) const {
    if (word == "raw")
      throw_type_error(raw_allowed_
                           ? fmt::format("{}: \"raw\" stands before the type, once", kernel_)
                           : fmt::format("{}: raw parameters of reductions are not available in this version", kernel_),
                       at_, raw_allowed_ ? "raw parameters are written \"raw T x\""
                                         : "reduce what an elementwise kernel with raw parameters gives");
    if (word == "const")
      throw_type_error(fmt::format("{}: \"const\" is not needed", kernel_), at_,
                       "inputs are const and outputs are not, always");
    throw_type_error(fmt::format("{}: unknown keyword \"{}\" in the {} parameters", kernel_, word, role), at_,
                     "parameters are written \"T x, f32 y\"");
  }

  std::string_view kernel_, preamble_;
  bool raw_allowed_;
  const place& at_;
};

// ---- Interning ----

struct bound_key {
  std::uint64_t identity, types;
  std::string form;  ///< empty for plain calls
  friend bool operator==(const bound_key&, const bound_key&) = default;
};
struct bound_hash {
  std::size_t operator()(const bound_key& k) const {
    return (k.identity ^ (k.types * 0x9e3779b97f4a7c15ull)) * 31 + std::hash<std::string>()(k.form);
  }
};

/// All kernels of the process. Never destroyed: arrays in static storage may still be using kernels at exit.
struct kernel_store {
  std::mutex mutex;
  std::uint64_t last_identity = 0;
  std::unordered_map<std::string, std::shared_ptr<const user_kernel>> parsed;
  std::unordered_map<bound_key, std::shared_ptr<const user_kernel>, bound_hash> bound;
};
kernel_store& store() {
  static auto* s = new kernel_store;
  return *s;
}

/// Everything that distinguishes a kernel, each string with its length before it.
std::string text_of(const user_kernel& k) {
  std::string text;
  const auto add = [&](std::string_view part) { text += fmt::format("{}:{}", part.size(), part); };
  const reduction_text& r = k.reduction;
  for (const std::string* part : {&k.name, &k.body, &k.preamble, &r.map, &r.reduce, &r.post_map, &r.identity,
                                  &r.accumulator, &k.loop.before, &k.loop.after})
    add(*part);
  for (const auto* list : {&k.inputs, &k.outputs}) {
    add(fmt::to_string(list->size()));
    for (const user_parameter& p : *list) {
      add(p.is_raw ? "raw " + p.type : p.type);
      add(p.name);
    }
  }
  for (const std::string& option : k.options) add(option);
  return text;
}

/// What both kinds of kernel have: names, parameters and the text around the body.
std::shared_ptr<user_kernel> parse_frame(const parser& p, std::string_view name, std::string_view inputs,
                                         std::string_view outputs, std::string_view preamble,
                                         std::vector<std::string> options, const place& at) {
  p.check_kernel_name();
  auto k = std::make_shared<user_kernel>();
  k->name = name;
  k->inputs = p.parameters(inputs, "input");
  k->outputs = p.parameters(outputs, "output");
  k->preamble = preamble;
  k->options = std::move(options);
  k->site = at;
  p.check_names(*k);
  p.check_directives(preamble, "preamble");
  if (k->outputs.empty())
    p.fail(fmt::format("{}: no output parameters", name), "a kernel has at least one output: \"T z\"");
  return k;
}

/// The kernel of that text that was there first, or else `k`.
std::shared_ptr<const user_kernel> interned(std::shared_ptr<user_kernel> k) {
  kernel_store& s = store();
  const std::lock_guard lock(s.mutex);
  std::shared_ptr<const user_kernel>& slot = s.parsed[text_of(*k)];
  if (!slot) {
    k->identity = ++s.last_identity;
    slot = std::move(k);
  }
  return slot;
}

/// The dtype whose element in a kernel is what the user named: a dtype, a bound letter, or C++ ("long long").
std::optional<dtype> accumulator_type(const user_kernel& k) {
  const std::string& type = k.reduction.accumulator;
  if (type.empty()) {
    const dtype first = k.output_types[0];
    return is_real(first) && size_of(first) == 2 ? dtype::f32 : first;
  }
  if (const std::optional<dtype> named = user_parameter{type, ""}.type_in(k.placeholders)) return named;
  for (int t = 0; t < dtype_count; ++t)
    if (type == c_type(static_cast<dtype>(t))) return static_cast<dtype>(t);
  return std::nullopt;
}

}  // namespace

std::optional<dtype> user_parameter::type_in(const letters& bound) const {
  if (!is_placeholder()) return dtype_named(type);
  for (const auto& [letter, dtype_bound] : bound)
    if (letter == type[0]) return dtype_bound;
  return std::nullopt;
}

std::shared_ptr<const user_kernel> parse_user_kernel(std::string_view name, std::string_view inputs,
                                                     std::string_view outputs, std::string_view body,
                                                     std::string_view preamble, std::vector<std::string> options,
                                                     const place& at, loop_text loop) {
  const parser p(name, preamble, true, at);
  std::shared_ptr<user_kernel> k = parse_frame(p, name, inputs, outputs, preamble, std::move(options), at);
  if (is_blank_text(body)) p.fail(fmt::format("{}: the body is empty", name));
  for (std::string* text : {&loop.before, &loop.after})
    if (is_blank_text(*text)) text->clear();
  p.check_directives(body, "body");
  p.check_threads(body, "body");
  p.check_directives(loop.before, "loop_prep");
  p.check_directives(loop.after, "after_loop");
  k->body = body;
  k->loop = std::move(loop);
  k->wants_position = asks_for(k->body, "i");
  k->wants_count = asks_for(k->body, "n") || asks_for(k->loop.before, "n") || asks_for(k->loop.after, "n");
  k->wants_index = asks_for(k->body, "_ind");
  return interned(std::move(k));
}

std::shared_ptr<const user_kernel> parse_user_reduction(std::string_view name, std::string_view inputs,
                                                        std::string_view outputs, reduction_text text,
                                                        std::string_view preamble, std::vector<std::string> options,
                                                        const place& at) {
  const parser p(name, preamble, false, at);
  std::shared_ptr<user_kernel> k = parse_frame(p, name, inputs, outputs, preamble, std::move(options), at);
  if (k->inputs.empty())
    p.fail(fmt::format("{}: no input parameters", name), "a reduction has at least one input: \"T x\"");
  for (const std::string* part : {&text.map, &text.reduce, &text.identity, &text.post_map})
    p.check_threads(*part, "text");
  p.check_expression(text.map, "map");
  p.check_expression(text.reduce, "reduce");
  if (!is_blank_text(text.identity)) p.check_expression(text.identity, "identity");
  else text.identity.clear();
  p.check_words(text.post_map, "post-map");
  if (is_blank_text(text.post_map)) text.post_map.clear();
  if (text.post_map.empty() && k->outputs.size() > 1)
    p.fail(fmt::format("{}: the post-map is empty, but there are {} outputs", name, k->outputs.size()),
           "give each its value: \"y = a.first; z = a.second\"");
  text.accumulator = std::string(trimmed(text.accumulator));
  k->reduction = std::move(text);
  return interned(std::move(k));
}

bool user_kernel::has_raw_inputs() const {
  return std::ranges::any_of(inputs, &user_parameter::is_raw);
}
std::uint32_t user_kernel::raw_parameter(std::uint32_t k) const {
  std::uint32_t p = 0;
  for (++k; k > 0; ++p) k -= parameter(p).is_raw;
  return p - 1;
}
bool user_kernel::has_raw_outputs() const {
  return std::ranges::any_of(outputs, &user_parameter::is_raw);
}

std::string user_kernel::reason_to_run_alone() const {
  const auto raw = std::ranges::find_if(outputs, &user_parameter::is_raw);
  if (raw != outputs.end()) return fmt::format("it may write anywhere in its raw output {}", raw->name);
  return loop.is_there() ? "it has code around the loop over its elements (loop_prep, after_loop)" : "";
}

namespace {

/// What else than the inputs' dtypes a bound kernel depends on.
std::string text_of(const user_kernel& k, const letters& bound, const call_form& form) {
  if (form == call_form{}) return {};
  std::string text = fmt::format("{} {} {}", form.index_rank, form.given, form.numbers);
  for (const auto* list : {&form.inputs, &form.outputs})
    for (const std::uint8_t x : *list) text += fmt::format(" {}", x);
  for (const user_parameter& p : k.outputs) text += fmt::format(" {}", to_string(*p.type_in(bound)));
  return text;
}

/// Which operands of a call's node are whole arrays: inputs, positions, then what outputs were before.
std::vector<bool> whole_operands(const user_kernel& k, const call_form& form) {
  std::vector<bool> whole;
  for (std::size_t p = 0; p < k.inputs.size(); ++p)
    whole.insert(whole.end(), k.inputs[p].is_struct ? form.inputs[p] : 1u, k.inputs[p].is_raw);
  whole.insert(whole.end(), k.wants_position + k.wants_count + (k.wants_index ? form.index_rank + 1u : 0u), false);
  for (const user_parameter& p : k.outputs)
    if (p.is_raw || form.given) whole.push_back(p.is_raw);
  return whole;
}

}  // namespace

const user_kernel& bind_user_kernel(const user_kernel& k, const std::vector<dtype>& input_types, const letters& bound,
                                    const call_form& form) {
  bound_key key{k.identity, 0, text_of(k, bound, form)};
  for (const dtype t : input_types) key.types = key.types << 4 | static_cast<std::uint64_t>(t);
  kernel_store& s = store();
  const std::lock_guard lock(s.mutex);
  std::shared_ptr<const user_kernel>& slot = s.bound[key];
  if (!slot) {
    auto made = std::make_shared<user_kernel>(k);
    made->input_types = input_types;
    made->placeholders = bound;
    made->form = form;
    if (!k.is_reduction()) made->whole_operands = whole_operands(k, form);
    for (const user_parameter& p : k.outputs) made->output_types.push_back(*p.type_in(bound));
    if (k.is_reduction()) made->accumulator_type = accumulator_type(*made);
    made->identity = ++s.last_identity;
    slot = std::move(made);
  }
  if (key.form.empty()) std::atomic_ref(k.last_bound).store(slot.get(), std::memory_order_release);
  return *slot;
}

}  // namespace sinter::jit
