// Sums of products by loops over every axis, as a formula names them: the reference of matmul and its relatives.
#pragma once

#include "dsl/libraries.hpp"
#include "tests/backend/plain_reduce.hpp"

#include <map>
#include <string>
#include <vector>

namespace sinter_test {

/// The sum that "ij,jk->ik" describes; one letter an axis, no "...". Axes of extent 1 broadcast. Rounded once to
/// `type`; truth is "or" of "and".
inline host_array plain_sum(const std::string& formula, const std::vector<host_array>& operands, sinter::dtype type) {
  std::vector<std::string> terms(1);
  for (const char c : formula.substr(0, formula.find('-'))) {
    if (c == ',') terms.emplace_back();
    else terms.back() += c;
  }
  const std::string result = formula.substr(formula.find('>') + 1);
  std::string letters = result;
  std::map<char, std::int64_t> extents;
  for (std::size_t t = 0; t < terms.size(); ++t)
    for (std::size_t k = 0; k < terms[t].size(); ++k) {
      const char c = terms[t][k];
      if (letters.find(c) == std::string::npos) letters += c;
      std::int64_t& extent = extents.try_emplace(c, 1).first->second;
      if (extent == 1) extent = operands[t].extents[static_cast<int>(k)];
    }
  sinter::shape out_extents;
  for (const char c : result) out_extents.append(extents[c]);
  host_array out(type, out_extents);
  std::vector<value> sums(static_cast<std::size_t>(out.size()));
  std::int64_t count = 1;
  for (const char c : letters) count *= extents[c];
  // By number of the letter: its index now, and how far it moves in each operand (the result is the last).
  std::vector<std::int64_t> index(letters.size());
  std::vector<std::vector<std::int64_t>> moves(letters.size(), std::vector<std::int64_t>(terms.size() + 1));
  for (std::size_t t = 0; t <= terms.size(); ++t) {
    const std::string& term = t < terms.size() ? terms[t] : result;
    const sinter::shape& shape_of = t < terms.size() ? operands[t].extents : out_extents;
    std::int64_t stride = 1;
    for (std::size_t k = term.size(); k-- > 0;) {
      if (shape_of[static_cast<int>(k)] != 1) moves[letters.find(term[k])][t] += stride;
      stride *= shape_of[static_cast<int>(k)];
    }
  }
  std::vector<std::int64_t> at(terms.size() + 1);
  for (std::int64_t step = 0; step < count; ++step) {
    value product{1, 0};
    for (std::size_t t = 0; t < terms.size(); ++t) {
      const value x = operands[t].get(at[t]);
      product = {product.re * x.re - product.im * x.im, product.re * x.im + product.im * x.re};
    }
    value& sum = sums[static_cast<std::size_t>(at.back())];
    sum = {sum.re + product.re, sum.im + product.im};
    for (std::size_t l = letters.size(); l-- > 0;) {
      const bool wraps = ++index[l] == extents[letters[l]];
      for (std::size_t t = 0; t < at.size(); ++t) at[t] += wraps ? -moves[l][t] * (index[l] - 1) : moves[l][t];
      if (!wraps) break;
      index[l] = 0;
    }
  }
  for (std::int64_t k = 0; k < out.size(); ++k) {
    const value& s = sums[static_cast<std::size_t>(k)];
    out.set(k, type == sinter::boolean ? value{is_true(s) ? 1.0L : 0.0L, 0} : rounded_value(s, type));
  }
  return out;
}

/// How libraries are used while it lives.
class with_libraries {
 public:
  explicit with_libraries(bool on) : before_(sinter::get_use_libraries()) { sinter::set_use_libraries(on); }
  ~with_libraries() { sinter::set_use_libraries(before_); }
  with_libraries(const with_libraries&) = delete;
  with_libraries& operator=(const with_libraries&) = delete;

 private:
  bool before_;
};

/// Whether large products are done by a library here; else why not, for a note beside what isn't checked.
inline bool has_library() {
  const sinter::array x = sinter::ones({64, 64}, sinter::f32);
  sinter::eval(x);
  return sinter::explain(sinter::matmul(x, x)).find("library: ") != std::string::npos;
}

}  // namespace sinter_test
