// Reads declarations of __global__ functions in CUDA C++, as much as it takes to check arguments: no preprocessor, no
// templates. What it can't tell is left unknown, never guessed.
#pragma once

#include "jit/raw/raw_program.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::jit {

struct raw_declaration {
  std::string name;  ///< with its namespaces; of a symbol, with its template arguments
  bool is_template = false;
  std::vector<raw_parameter> parameters;
};

/// What there is in a source. A kernel that is declared several times in different ways (overloads, under #if) is there
/// as often.
struct raw_declarations {
  std::vector<raw_declaration> kernels;
  std::vector<std::string> variables;  ///< __device__ and __constant__ ones, with their namespaces
  /// The kernel of that name, if just one way to declare it was found.
  const raw_declaration* find(std::string_view name) const;
};

/// `options`: of them, "-DNAME=TYPE" may name types.
raw_declarations read_declarations(std::string_view text, const std::vector<std::string>& options);

/// Whether `word` stands in the source as a word, be it in a macro or a comment.
bool has_word(std::string_view text, std::string_view word);

/// The kernel behind a mangled symbol ("_Z1kIfEvPT_": "k<float>" of a float*); none for other symbols.
std::optional<raw_declaration> read_symbol(const std::string& symbol);

/// Fills in what the spelling of a type tells: "const float*", "unsigned long", "float4 const*", "complex<float>".
raw_parameter describe_type(std::string_view spelled);

/// Names of the same thing, but for blanks: "k<float,4>", "k< float, 4 >".
bool same_name(std::string_view a, std::string_view b);

}  // namespace sinter::jit
