#include "jit/raw/host_options.hpp"

#include <algorithm>
#include <string_view>

namespace sinter::jit {
namespace {

enum class meaning : unsigned char {
  define,
  undefine,
  include,
  standard,
  fast,
  contract,
  quiet,
  debug,
  lines,
  ignored
};

struct known_option {
  std::string_view name;  ///< with one dash
  meaning what;
  bool has_value = true;  ///< in the same word behind '=', or in the next one
};

constexpr known_option known_options[] = {
    {"-define-macro", meaning::define},
    {"-undefine-macro", meaning::undefine},
    {"-include-path", meaning::include},
    {"-std", meaning::standard},
    {"-use_fast_math", meaning::fast, false},
    {"-fmad", meaning::contract},
    {"-w", meaning::quiet, false},
    {"-disable-warnings", meaning::quiet, false},
    {"-G", meaning::debug, false},
    {"-device-debug", meaning::debug, false},
    {"-lineinfo", meaning::lines, false},
    {"-generate-line-info", meaning::lines, false},
    {"-gpu-architecture", meaning::ignored},
    {"-arch", meaning::ignored},
    {"-maxrregcount", meaning::ignored},
    {"-ptxas-options", meaning::ignored},
    {"-Xptxas", meaning::ignored},
    {"-ftz", meaning::ignored},
    {"-prec-sqrt", meaning::ignored},
    {"-prec-div", meaning::ignored},
    {"-dopt", meaning::ignored},
    {"-diag-suppress", meaning::ignored},
    {"-diag-warn", meaning::ignored},
    {"-diag-error", meaning::ignored},
    {"-relocatable-device-code", meaning::ignored},
    {"-rdc", meaning::ignored},
    {"-Ofast-compile", meaning::ignored},
    {"-Ofc", meaning::ignored},
    {"-split-compile", meaning::ignored},
    {"-default-device", meaning::ignored, false},
    {"-device-as-default-execution-space", meaning::ignored, false},
    {"-restrict", meaning::ignored, false},
    {"-extra-device-vectorization", meaning::ignored, false},
    {"-extensible-whole-program", meaning::ignored, false},
    {"-ewp", meaning::ignored, false},
    {"-display-error-number", meaning::ignored, false},
    {"-no-display-error-number", meaning::ignored, false},
    {"-no-source-include", meaning::ignored, false},
    {"-minimal", meaning::ignored, false},
    {"-device-int128", meaning::ignored, false},
};

void apply(meaning what, std::string_view value, host_options& out) {
  const auto add = [&](std::string_view flag) { out.words.push_back(std::string(flag).append(value)); };
  switch (what) {
    case meaning::define:
      out.checked = out.checked || value == "SINTER_CHECKED" || value.starts_with("SINTER_CHECKED=");
      return add("-D");
    case meaning::undefine: return add("-U");
    case meaning::include: return add("-I");
    case meaning::standard:  // what is built in needs C++17
      if (value != "c++03" && value != "c++11" && value != "c++14") add("-std=");
      return;
    case meaning::fast: out.math = math_mode::fast; return;
    case meaning::contract:
      if (value == "false") out.math = math_mode::strict;
      return;
    case meaning::quiet: out.words.emplace_back("-w"); return;
    case meaning::debug:
      out.words.emplace_back("-O0");
      [[fallthrough]];
    case meaning::lines: out.words.emplace_back("-g"); return;
    case meaning::ignored: return;
  }
}

}  // namespace

host_options translate_options(const std::vector<std::string>& options) {
  host_options out;
  for (std::size_t k = 0; k < options.size(); ++k) {
    std::string_view word = options[k];
    if (word.starts_with("--")) word.remove_prefix(1);
    const auto next = [&]() -> std::string_view { return k + 1 < options.size() ? options[++k] : std::string_view{}; };
    const std::string_view name = word.substr(0, word.find('='));
    const auto known = std::ranges::find(known_options, name, &known_option::name);
    if (known != std::end(known_options)) {
      if (!known->has_value) apply(known->what, {}, out);
      else apply(known->what, name.size() < word.size() ? word.substr(name.size() + 1) : next(), out);
    } else if (word.starts_with("-D") || word.starts_with("-U") || word.starts_with("-I")) {
      const meaning what = word[1] == 'D' ? meaning::define : word[1] == 'U' ? meaning::undefine : meaning::include;
      apply(what, word.size() > 2 ? word.substr(2) : next(), out);
    } else if (out.unknown.empty()) {
      out.unknown = options[k];
    }
  }
  return out;
}

}  // namespace sinter::jit
