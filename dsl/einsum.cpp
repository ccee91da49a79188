#include "dsl/einsum.hpp"

#include "dsl/product_internal.hpp"
#include "dsl/reduce_internal.hpp"
#include "dsl/shape_ops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace sinter {

using jit::op;

namespace {

using label_list = std::vector<int>;

// Axes that "..." stands for have the labels from here on, the last one this.
constexpr int first_unnamed = 256, ellipsis_mark = -1;

/// What a formula says: a list of labels for each term, with ellipsis_mark where "..." stands.
struct parsed_formula {
  std::vector<label_list> terms;
  label_list result;
  bool has_result = false;
};

class formula_parser {
 public:
  formula_parser(std::string_view text, const place& at) : text_(text), at_(at) {}

  parsed_formula parse() {
    parsed_formula f;
    do f.terms.push_back(parse_term());
    while (take(","));
    if (take("->")) {
      f.has_result = true;
      f.result = parse_term();
    }
    if (position_ < text_.size()) fail(fmt::format("'{}' can't stand here", text_[position_]));
    return f;
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw_type_error(fmt::format("einsum: \"{}\", position {}: {}", text_, position_, why), at_,
                     "a formula is like \"ij,jk->ik\": a letter for each axis, a term for each operand");
  }

 private:
  label_list parse_term() {
    label_list labels;
    for (;;) {
      skip_blanks();
      if (take("...")) {
        if (std::ranges::find(labels, ellipsis_mark) != labels.end()) fail("\"...\" stands twice in one term");
        labels.push_back(ellipsis_mark);
        continue;
      }
      const char c = position_ < text_.size() ? text_[position_] : '\0';
      if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return labels;
      labels.push_back(c);
      ++position_;
    }
  }

  void skip_blanks() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }

  bool take(std::string_view word) {
    skip_blanks();
    if (!text_.substr(position_).starts_with(word)) return false;
    position_ += word.size();
    return true;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  place at_;
};

std::string name_of(int label) {
  return label >= first_unnamed ? fmt::format("an axis of \"...\"") : fmt::format("'{}'", static_cast<char>(label));
}

/// One einsum: terms, and what their labels stand for.
class einstein_sum {
 public:
  einstein_sum(std::string_view formula, std::span<const array> operands, const place& at)
      : text_(formula), at_(at) {
    parsed_formula f = formula_parser(formula, at).parse();
    if (f.terms.size() != operands.size())
      throw_type_error(fmt::format("einsum: \"{}\" has {} term(s), and {} operand(s) are given", formula,
                                   f.terms.size(), operands.size()),
                       at);
    type_ = operands[0].type();
    for (const array& x : operands) type_ = jit::promote(type_, x.type(), "einsum", at);
    for (std::size_t k = 0; k < operands.size(); ++k) add_term(operands[k], f.terms[k], k);
    find_result(f);
    for (term& t : terms_) t = without_unit_axes(std::move(t));
  }

  array compute() {
    for (std::size_t k = 0; k < terms_.size(); ++k) sum_lone_axes(k);
    while (terms_.size() > 1) multiply_cheapest();
    return arranged(terms_[0], result_, at_);
  }

 private:
  void add_term(const array& x, const label_list& parsed, std::size_t k) {
    const int named = static_cast<int>(std::ranges::count_if(parsed, [](int l) { return l != ellipsis_mark; }));
    const int unnamed = x.rank() - named;
    const bool has_ellipsis = named != static_cast<int>(parsed.size());
    if (unnamed < 0 || (unnamed > 0 && !has_ellipsis))
      throw_shape_error(fmt::format("einsum: operand {} has shape {}, and its term in \"{}\" names {} axes", k,
                                    to_string(x.extents()), text_, named),
                        at_, unnamed > 0 ? "\"...\" stands for axes without a letter" : "");
    label_list labels;
    for (const int label : parsed) {
      if (label != ellipsis_mark) labels.push_back(label);
      else
        for (int axis = unnamed - 1; axis >= 0; --axis) labels.push_back(first_unnamed + axis);
    }
    unnamed_ = std::max(unnamed_, has_ellipsis ? unnamed : 0);
    for (std::size_t axis = 0; axis < labels.size(); ++axis)
      note_extent(labels[axis], x.extents()[static_cast<int>(axis)], k);
    terms_.push_back(with_diagonals(convert(x, type_, at_), labels));
  }

  void note_extent(int label, std::int64_t extent, std::size_t k) {
    const auto [known, fresh] = extents_.try_emplace(label, extent);
    if (fresh || known->second == extent || extent == 1) return;
    if (known->second != 1)
      throw_shape_error(fmt::format("einsum: \"{}\": {} has {} elements, and {} in operand {}", text_, name_of(label),
                                    known->second, extent, k),
                        at_, "axes with the same letter have one extent, or 1");
    known->second = extent;
  }

  /// A view in which each label is one axis.
  term with_diagonals(const array& x, const label_list& labels) const {
    term t;
    shape extents;
    jit::axis_map map[max_rank];
    for (std::size_t k = 0; k < labels.size(); ++k) {
      const std::int64_t extent = x.extents()[static_cast<int>(k)];
      const auto known = std::ranges::find(t.labels, labels[k]);
      const int axis = static_cast<int>(known - t.labels.begin());
      if (known == t.labels.end()) {
        t.labels.push_back(labels[k]);
        extents.append(extent);
      } else if (extents[axis] == 1) {
        extents[axis] = extent;
      }
      map[k] = {0, 1, axis};
    }
    for (std::size_t k = 0; k < labels.size(); ++k)
      if (x.extents()[static_cast<int>(k)] == 1) map[k] = {};
    t.x = view(x, {map, labels.size()}, extents, at_);
    return t;
  }

  void find_result(const parsed_formula& f) {
    std::map<int, int> uses;
    for (const label_list& labels : f.terms)
      for (const int label : labels) ++uses[label];
    const auto add_unnamed = [&] {
      for (int axis = unnamed_ - 1; axis >= 0; --axis) result_.push_back(first_unnamed + axis);
    };
    if (!f.has_result) {
      add_unnamed();
      for (const auto& [label, count] : uses)
        if (label != ellipsis_mark && count == 1) result_.push_back(label);
      return;
    }
    for (const int label : f.result) {
      if (label == ellipsis_mark) {
        add_unnamed();
        continue;
      }
      if (!uses.contains(label)) fail(fmt::format("the result has {}, and no operand", name_of(label)));
      if (std::ranges::find(result_, label) != result_.end())
        fail(fmt::format("{} stands twice in the result", name_of(label)));
      result_.push_back(label);
    }
    if (unnamed_ > 0 && std::ranges::find(f.result, ellipsis_mark) == f.result.end())
      fail("the operands have axes under \"...\", and the result has no \"...\"");
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw_type_error(fmt::format("einsum: \"{}\": {}", text_, why), at_);
  }

  /// An axis of extent 1 that is longer elsewhere says nothing.
  term without_unit_axes(term t) const {
    std::vector<int> out;
    label_list left;
    for (std::size_t k = 0; k < t.labels.size(); ++k) {
      const bool stays = t.x.extents()[static_cast<int>(k)] != 1 || extents_.at(t.labels[k]) == 1;
      if (stays) left.push_back(t.labels[k]);
      else out.push_back(static_cast<int>(k));
    }
    if (out.empty()) return t;
    return {squeeze(t.x, axes(std::span<const int>(out)), at_), left};
  }

  bool is_wanted(int label, std::initializer_list<std::size_t> besides) const {
    if (std::ranges::find(result_, label) != result_.end()) return true;
    for (std::size_t k = 0; k < terms_.size(); ++k)
      if (std::ranges::find(besides, k) == besides.end() && terms_[k].has(label)) return true;
    return false;
  }

  void sum_lone_axes(std::size_t k) {
    term& t = terms_[k];
    std::uint32_t bits = 0;
    label_list left;
    for (std::size_t axis = 0; axis < t.labels.size(); ++axis) {
      if (is_wanted(t.labels[axis], {k})) left.push_back(t.labels[axis]);
      else bits |= std::uint32_t{1} << axis;
    }
    if (bits == 0) return;
    t = {convert(reduced(op::reduce_sum, t.x, bits, false, at_), type_, at_), left};
  }

  /// Multiplications that the product of two terms takes.
  double cost_of(const term& a, const term& b) const {
    std::set<int> labels(a.labels.begin(), a.labels.end());
    labels.insert(b.labels.begin(), b.labels.end());
    double cost = 1;
    for (const int label : labels) cost *= static_cast<double>(extents_.at(label));
    return cost;
  }

  void multiply_cheapest() {
    std::size_t first = 0, second = 1;
    double least = cost_of(terms_[0], terms_[1]);
    for (std::size_t i = 0; i < terms_.size(); ++i)
      for (std::size_t j = i + 1; j < terms_.size(); ++j)
        if (const double cost = cost_of(terms_[i], terms_[j]); cost < least) least = cost, first = i, second = j;
    label_list kept = result_;
    for (const term* t : {&terms_[first], &terms_[second]})
      for (const int label : t->labels)
        if (is_wanted(label, {first, second}) && std::ranges::find(kept, label) == kept.end()) kept.push_back(label);
    terms_[first] = contract(terms_[first], terms_[second], kept, "einsum", at_);
    terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(second));
  }

  std::string_view text_;
  place at_;
  dtype type_ = f32;
  std::vector<term> terms_;
  label_list result_;
  std::map<int, std::int64_t> extents_;
  int unnamed_ = 0;  ///< axes that the longest "..." stands for
};

}  // namespace

array einsum(std::string_view formula, std::span<const array> operands, place at) {
  if (operands.empty()) throw_type_error("einsum: no operands are given", at);
  return einstein_sum(formula, operands, at).compute();
}

array einsum(std::string_view formula, std::initializer_list<array> operands, place at) {
  return einsum(formula, std::span<const array>(operands.begin(), operands.size()), at);
}

}  // namespace sinter
