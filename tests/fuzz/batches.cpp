// Random joins of many operands: made, shrunk and printed.
#include "tests/fuzz/batches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

namespace sinter_test::fuzz {

namespace {

using form_kind = batch_form::kind;

constexpr int extent = 64;  // of both axes of every array
constexpr int arrays = 3;

class maker {
 public:
  explicit maker(std::uint64_t seed) : random_(seed * 7919 + 13) {}

  batch_program made() {
    batch_program p;
    p.join = static_cast<batch_program::how>(below(7));
    p.element = below(3);
    p.axis = below(2);
    p.pending = below(3) == 0;
    const int across = 1 + below(4);  // extent of the axis that isn't joined
    const bool same_shape = p.join == batch_program::how::stack;
    const int along = 1 + below(3), kinds = 1 + below(3);
    for (int k = 0; k < kinds; ++k) p.forms.push_back(form(p, same_shape ? along : 1 + below(3), across));
    const int count = below(4) == 0 ? 1 + below(20) : 16 + below(60), pattern = below(4), run = 1 + below(30);
    for (int k = 0; k < count; ++k) {
      batch_operand o;
      o.form = pattern == 0 ? 0 : pattern == 1 ? k % kinds : pattern == 2 ? k / run % kinds : below(kinds);
      p.operands.push_back(o);
    }
    for (int field = 0; field < 4; ++field) number(p, field);
    fill(p, -1, -20, 20);
    return p;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

  batch_form form(const batch_program& p, int along, int across) {
    batch_form f;
    f.what = static_cast<form_kind>(below(5));
    f.rows = p.axis == 0 ? along : across;
    f.columns = p.axis == 0 ? across : along;
    if (f.what == form_kind::gathered && f.rows != 1) f.what = form_kind::part;
    if (f.what == form_kind::halves && f.columns == 1) f.what = form_kind::two_parts;
    f.a = below(arrays);
    f.b = below(arrays);
    for (int& s : f.steps) s = below(3) == 0 ? 2 : below(4) == 0 ? -1 : 1;
    f.operation = below(3);
    f.with_number = below(4);
    const bool can_reduce = f.what == form_kind::part || f.what == form_kind::two_parts;
    if (can_reduce && f.rows == 1 && below(3) == 0) f.reduced = p.element == 0 ? 1 + below(3) : 1;
    return f;
  }

  void number(batch_program& p, int field) {
    // A part of three rows and twice the steps fits behind, and before, any of these.
    fill(p, field, 8, extent - 9);
  }

  /// A field of all operands, -1: the number: always the same, progressing, over and over, in two loops, anyhow.
  void fill(batch_program& p, int field, int low, int high) {
    const int span = high - low + 1, how = below(5), start = below(span), step = below(5) - 2, period = 1 + below(9);
    for (int k = 0; k < static_cast<int>(p.operands.size()); ++k) {
      int x = start;
      if (how == 1) x += k * step;
      if (how == 2) x += k % period * step;
      if (how == 3) x += k % period * step + k / period;
      if (how == 4) x = below(span);
      x = low + ((x % span) + span) % span;
      batch_operand& o = p.operands[static_cast<std::size_t>(k)];
      (field < 0 ? o.number : o.first[field]) = x;
    }
  }

  std::mt19937_64 random_;
};

}  // namespace

batch_program random_batch(std::uint64_t seed) { return maker(seed).made(); }

batch_program shrunk(batch_program p, double seconds) {
  const auto started = std::chrono::steady_clock::now();
  const auto is_late = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count() > seconds;
  };
  for (std::size_t take = std::max<std::size_t>(p.operands.size() / 2, 1); take > 0; take /= 2)
    for (std::size_t k = 0; k + take <= p.operands.size() && p.operands.size() > take;) {
      if (is_late()) return p;
      batch_program fewer = p;
      const auto at = fewer.operands.begin() + static_cast<std::ptrdiff_t>(k);
      fewer.operands.erase(at, at + static_cast<std::ptrdiff_t>(take));
      if (failure_of(fewer)) p = fewer;
      else k += take;
    }
  for (batch_form& f : p.forms)
    for (int* field : {&f.with_number, &f.reduced}) {
      const int before = std::exchange(*field, 0);
      if (!failure_of(p)) *field = before;
    }
  return p;
}

std::string to_text(const batch_program& p) {
  static constexpr const char* joins[] = {"concat", "grown behind", "grown before", "nested",
                                          "stack",  "used twice",   "evaluated"};
  static constexpr const char* kinds[] = {"part", "two parts", "gathered", "halves", "number"};
  static constexpr const char* elements[] = {"i64", "i32", "f64"};
  std::string text = fmt::format("{} along {} of {}{}\n", joins[static_cast<int>(p.join)], p.axis, elements[p.element],
                                 p.pending ? ", arrays pending" : "");
  for (std::size_t k = 0; k < p.forms.size(); ++k) {
    const batch_form& f = p.forms[k];
    text += fmt::format("form {}: {} [{}, {}] of arrays {} and {}, steps {} {} {} {}, operation {}, number {}, reduced "
                        "{}\n",
                        k, kinds[static_cast<int>(f.what)], f.rows, f.columns, f.a, f.b, f.steps[0], f.steps[1],
                        f.steps[2], f.steps[3], f.operation, f.with_number, f.reduced);
  }
  for (const batch_operand& o : p.operands)
    text += fmt::format("  {} at {} {} {} {} with {}\n", o.form, o.first[0], o.first[1], o.first[2], o.first[3],
                        o.number);
  return text;
}

}  // namespace sinter_test::fuzz
