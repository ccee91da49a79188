#include "jit/codegen/prelude.hpp"

#include "jit/source_text.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

namespace sinter::jit {

namespace device {  // the files of jit/device, embedded when the library is built
extern const std::string_view prelude, accumulate, access, atomics, column_scan, complex, constants, emulation,
    emulation_abi, emulation_intrinsics, emulation_math, emulation_vectors, integers, random, raw, standard_names,
    staging, steps, team, users;
}  // namespace device

namespace {

struct libm_function {
  std::string_view name;
  int arity;
  bool vectors;  ///< x86-64 libmvec has it, right for NaN, infinities, subnormals and huge arguments, too
};

enum class form : unsigned char { single, plain, overload };  ///< "sinf", "sin", and the overload "sin" of float

/// What text and mentions are is found out when the section is first taken: a process that loads its kernels from disk
/// takes few.
struct section {
  std::vector<std::string> names, needs;
  std::string condition;  ///< identifier that must be mentioned; empty: none
  bool standard = false;  ///< of constants.cuh or standard_names.cuh
  bool by_call = false;   ///< taken when a kernel or `needs` names it, not when other sections do
  std::string_view lines;  ///< of the file
  std::string text;
  std::vector<std::string_view> mentions;  ///< in the text
  bool finished = false;
  const libm_function* declares = nullptr;
  form as = form::plain;
};

constexpr bool starts_identifier(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool continues_identifier(char c) { return starts_identifier(c) || (c >= '0' && c <= '9'); }

/// Bessel functions' names are everybody's names of numbers, too: they count where they are called.
bool is_name_of_number(std::string_view word, std::string_view rest) {
  return (word == "j0" || word == "j1" || word == "y0" || word == "y1") &&
         !rest.substr(std::min(rest.find_first_not_of(" \t\n"), rest.size())).starts_with('(');
}

template <class Visit>
void each_identifier(std::string_view text, Visit&& visit) {
  for (std::size_t k = 0; k < text.size();) {
    if (const std::size_t end = skip_opaque(text, k); end != k) {
      k = end;
    } else if (continues_identifier(text[k])) {
      const std::size_t begin = k;
      while (k < text.size() && continues_identifier(text[k])) ++k;
      const std::string_view word = text.substr(begin, k - begin);
      if (starts_identifier(word.front()) && !is_name_of_number(word, text.substr(k))) visit(word);  // else a suffix
    } else {
      ++k;
    }
  }
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t k = 0; (k = text.find(from, k)) != text.npos; k += to.size()) text.replace(k, from.size(), to);
}

/// "//@host a b with c needs d" -> a section, and whether it is for dialect d.
bool parse_marker(std::string_view line, dialect d, section& out) {
  std::string_view rest = line.substr(3);
  const std::string_view wanted = rest.substr(0, rest.find(' '));
  rest.remove_prefix(wanted.size());
  std::string_view mode;
  each_identifier(rest, [&](std::string_view word) {
    if (word == "with" || word == "needs") mode = word;
    else if (mode == "with") out.condition = word;
    else (mode == "needs" ? out.needs : out.names).emplace_back(word);
  });
  return wanted.empty() || wanted == (d == dialect::cuda ? "cuda" : "host");
}

/// The sections of a file, each a line with a marker and those up to the next.
void parse_file(std::string_view text, bool by_call, dialect d, std::vector<section>& out) {
  constexpr std::string_view marker = "\n//@";
  std::size_t at = text.starts_with(marker.substr(1)) ? 0 : text.find(marker) + 1;  // npos + 1 is 0
  if (at == 0 && !text.starts_with(marker.substr(1))) return;
  for (;;) {
    const std::size_t next = text.find(marker, at);
    std::string_view lines = text.substr(at, next == text.npos ? next : next + 1 - at);
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    section s;
    if (parse_marker(line, d, s)) {
      s.by_call = by_call;
      s.lines = lines;
      out.push_back(std::move(s));
    }
    if (next == text.npos) return;
    at = next + 1;
  }
}

/// A section's lines without its documentation.
std::string text_of(std::string_view lines) {
  std::string text;
  text.reserve(lines.size() + 1);
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    if (!line.starts_with("///")) text.append(line).append("\n");
  }
  return text;
}

constexpr libm_function libm[] = {
    {"fabs", 1, false},     {"floor", 1, false},     {"ceil", 1, false},      {"trunc", 1, false},
    {"rint", 1, false},     {"nearbyint", 1, false}, {"round", 1, false},     {"sqrt", 1, false},
    {"cbrt", 1, true},      {"exp", 1, true},        {"exp2", 1, true},       {"exp10", 1, true},
    {"expm1", 1, true},     {"log", 1, true},        {"log2", 1, true},       {"log10", 1, true},
    {"log1p", 1, true},     {"sin", 1, true},        {"cos", 1, true},        {"tan", 1, true},
    {"asin", 1, true},      {"acos", 1, true},       {"atan", 1, true},       {"sinh", 1, true},
    {"cosh", 1, true},      {"tanh", 1, true},       {"asinh", 1, true},      {"acosh", 1, true},
    {"atanh", 1, true},     {"erf", 1, true},        {"erfc", 1, true},       {"lgamma", 1, false},
    {"tgamma", 1, false},   {"j0", 1, false},        {"j1", 1, false},        {"y0", 1, false},
    {"y1", 1, false},       {"atan2", 2, true},      {"hypot", 2, true},      {"pow", 2, true},
    {"copysign", 2, false}, {"nextafter", 2, false}, {"fmod", 2, false},      {"remainder", 2, false},
    {"fmin", 2, false},     {"fmax", 2, false},      {"fdim", 2, false},      {"fma", 3, false},
};

/// Whether the libm that kernels will be linked with (this process's own) has all of libmvec's functions: since 2.35.
bool has_libmvec() {
#if defined(__GLIBC__) && defined(__x86_64__)
  const std::string version = gnu_get_libc_version();
  const std::size_t dot = version.find('.');
  const int major = std::atoi(version.c_str()), minor = dot == version.npos ? 0 : std::atoi(version.c_str() + dot + 1);
  return major > 2 || (major == 2 && minor >= 35);
#else
  return false;
#endif
}

/// The declaration of a libm function in one form.
std::string declaration(const libm_function& f, form as) {
  static const bool vectors = has_libmvec();
  const std::string name(f.name), before = "extern \"C\" ";
  const std::string attribute = vectors && f.vectors ? "__attribute__((simd(\"notinbranch\"))) " : "";
  const auto list = [&](std::string_view each, bool named) {
    std::string text;
    for (int k = 0; k < f.arity; ++k) {
      if (k != 0) text += ", ";
      text += each;
      if (named) text += "xyz"[k];
    }
    return text;
  };
  switch (as) {
    case form::single: return before + attribute + "float " + name + "f(" + list("float", false) + ");";
    case form::plain: return before + attribute + "double " + name + "(" + list("double", false) + ");";
    case form::overload: break;
  }
  return "static inline float " + name + "(" + list("float ", true) + ") { return " + name + "f(" + list("", true) +
         "); }";
}

void declare(const libm_function& f, std::vector<section>& out) {
  for (const form as : {form::single, form::plain, form::overload}) {
    section& s = out.emplace_back();
    s.names.emplace_back(f.name);
    if (as == form::single) s.names.back() += 'f';
    if (as == form::overload) s.condition = "float";
    s.declares = &f;
    s.as = as;
  }
}

void finish(section& s, dialect d) {
  if (std::exchange(s.finished, true)) return;
  s.text = s.declares ? declaration(*s.declares, s.as) : text_of(s.lines);
  while (!s.text.empty() && s.text.back() == '\n') s.text.pop_back();
  replace_all(s.text, "SINTER_FUNCTION", d == dialect::cuda ? "__device__ __forceinline__" : "static inline");
  replace_all(s.text, "SINTER_CONSTANT", d == dialect::cuda ? "static __device__ constexpr" : "static constexpr");
  replace_all(s.text, "SINTER_MEMBER", d == dialect::cuda ? "__device__ __forceinline__" : "inline");
  each_identifier(s.text, [&](std::string_view word) { s.mentions.push_back(word); });
}

std::vector<section> make_sections(dialect d) {
  std::vector<section> all;
  all.reserve(800);
  if (d == dialect::host)
    for (const libm_function& f : libm) declare(f, all);
  parse_file(device::prelude, false, d, all);
  parse_file(device::integers, false, d, all);
  parse_file(device::random, false, d, all);
  parse_file(device::access, false, d, all);
  parse_file(device::accumulate, false, d, all);
  parse_file(device::team, false, d, all);
  parse_file(device::column_scan, false, d, all);
  parse_file(device::staging, false, d, all);
  parse_file(device::steps, false, d, all);
  parse_file(device::complex, true, d, all);
  parse_file(device::atomics, false, d, all);
  parse_file(device::raw, false, d, all);
  parse_file(device::users, true, d, all);
  const std::size_t before = all.size();
  parse_file(device::constants, false, d, all);
  parse_file(device::standard_names, true, d, all);
  for (std::size_t k = before; k < all.size(); ++k) all[k].standard = true;
  for (const std::string_view file :
       {device::emulation_abi, device::emulation_vectors, device::emulation, device::emulation_math,
        device::emulation_intrinsics})
    parse_file(file, false, d, all);
  return all;
}

/// Whether a value follows, so that the name is the text's own.
bool is_defined(std::string_view text, std::string_view word) {
  std::size_t k = static_cast<std::size_t>(word.data() - text.data()) + word.size();
  while (k < text.size() && text[k] == ' ') ++k;
  return k + 1 < text.size() && (text[k] == '{' || (text[k] == '=' && text[k + 1] != '='));
}

/// The sections, for one caller at a time.
class section_list {
 public:
  explicit section_list(dialect d) : lock_(guard()), all_(of(d)) {}
  std::vector<section>& all() { return all_; }

 private:
  static std::mutex& guard() {
    static auto* const m = new std::mutex;
    return *m;
  }
  static std::vector<section>& of(dialect d) {
    static std::vector<section>* made[2] = {};
    std::vector<section>*& list = made[static_cast<int>(d)];
    if (!list) list = new std::vector<section>(make_sections(d));
    return *list;
  }

  std::lock_guard<std::mutex> lock_;
  std::vector<section>& all_;
};

/// One-line sections follow one another closely, others stand apart.
void append(std::string& out, const section& s, bool& after_line) {
  const bool line = s.text.find('\n') == s.text.npos;
  if (!out.empty() && !(line && after_line)) out += '\n';
  out.append(s.text).append("\n");
  after_line = line;
}

}  // namespace

std::string prelude_for(std::string_view text, dialect d) {
  section_list list(d);
  std::vector<section>& all = list.all();
  std::unordered_set<std::string_view> mentioned, called;
  each_identifier(text, [&](std::string_view word) { called.insert(word); });
  mentioned = called;
  std::vector<bool> taken(all.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t k = 0; k < all.size(); ++k) {
      section& s = all[k];
      if (taken[k] || (!s.condition.empty() && !mentioned.contains(s.condition))) continue;
      const auto& words = s.by_call ? called : mentioned;
      if (std::ranges::none_of(s.names, [&](const std::string& name) { return words.contains(name); })) continue;
      taken[k] = changed = true;
      finish(s, d);
      mentioned.insert(s.mentions.begin(), s.mentions.end());
      mentioned.insert(s.needs.begin(), s.needs.end());
      called.insert(s.needs.begin(), s.needs.end());
    }
  }
  std::string out;
  bool after_line = false;
  for (std::size_t k = 0; k < all.size(); ++k)
    if (taken[k]) append(out, all[k], after_line);
  return out;
}

std::unordered_set<std::string_view> defined_names(std::string_view text) {
  std::unordered_set<std::string_view> own;
  each_identifier(text, [&](std::string_view word) {
    if (is_defined(text, word)) own.insert(word);
  });
  return own;
}

std::string standard_prelude(std::string_view text) {
  if (text.find("#include") != text.npos) return "";
  std::string words;
  {
    section_list list(dialect::cuda);
    const std::unordered_set<std::string_view> own = defined_names(text);
    std::unordered_set<std::string_view> names;
    for (const section& s : list.all())
      if (s.standard) names.insert(s.names.begin(), s.names.end());
    each_identifier(text, [&](std::string_view word) {
      if ((word == "std" || names.contains(word)) && !own.contains(word)) words.append(word).append(" ");
    });
  }
  return prelude_for(words, dialect::cuda);
}

std::string whole_prelude(dialect d) {
  std::string out;
  bool after_line = false;
  section_list list(d);
  for (section& s : list.all()) {
    finish(s, d);
    append(out, s, after_line);
  }
  return out;
}

}  // namespace sinter::jit
