// Arrays as NumPy's str() prints them: nested brackets, lines of at most 75 characters, and beyond 1000 elements three
// at each end of every axis.
#include "dsl/array.hpp"
#include "dsl/print_internal.hpp"
#include "jit/engine.hpp"
#include "runtime/counters.hpp"
#include "runtime/stream.hpp"

#include <algorithm>
#include <ostream>

namespace sinter {

namespace {

constexpr std::int64_t most_elements = 1000;
constexpr std::int64_t edge = 3;
constexpr std::size_t line_width = 75;

/// The elements to show, in C order of `shown`: like the array, but elided axes have 2 * edge elements.
struct excerpt {
  shape full, shown;
  std::vector<std::byte> values;
  bool elided(int axis) const { return full[axis] != shown[axis]; }
};

shape shown_extents(const shape& full) {
  shape shown = full;
  if (full.size() <= most_elements) return shown;
  for (int k = 0; k < full.rank(); ++k) shown[k] = std::min(full[k], 2 * edge);
  return shown;
}

/// Copies the shown parts, each a run of memory: the rest of a large array stays where it is.
void copy_edges(runtime::buffer& from, std::int64_t element, excerpt& e) {
  int last = e.full.rank() - 1;  // the innermost elided axis; all inside it is shown
  std::int64_t block = element;
  while (!e.elided(last)) block *= e.full[last--];
  std::int64_t strides[max_rank];
  contiguous_strides(e.full, strides);
  std::int64_t at[max_rank] = {};
  std::byte* to = e.values.data();
  for (std::byte* const stop = to + e.values.size(); to < stop;) {
    std::int64_t offset = 0;
    for (int k = 0; k <= last; ++k) {
      const std::int64_t i = e.elided(k) && at[k] >= edge ? e.full[k] - 2 * edge + at[k] : at[k];
      offset += i * strides[k] * element;
    }
    const std::int64_t bytes = edge * block;
    runtime::copy_to_host(to, from, static_cast<std::size_t>(offset), static_cast<std::size_t>(bytes));
    runtime::count_copy_out(static_cast<std::uint64_t>(bytes));
    to += bytes;
    at[last] += edge;
    for (int k = last; k > 0 && at[k] == e.shown[k]; --k) {
      at[k] = 0;
      ++at[k - 1];
    }
  }
}

excerpt read_excerpt(const array& a) {
  excerpt e{a.extents(), shown_extents(a.extents()), {}};
  const std::int64_t element = size_of(a.type());
  e.values.resize(static_cast<std::size_t>(e.shown.size() * element));
  if (e.shown == e.full) {
    jit::read(a.node(), e.values.data(), e.values.size(), place{});
    return e;
  }
  jit::node* n = a.node();
  jit::evaluate({&n, 1}, place{});
  const auto values = jit::reference<runtime::buffer>::share(n->values());
  jit::synchronize(*values->owner);
  copy_edges(*values, element, e);
  return e;
}

class layout {
 public:
  layout(const excerpt& e, std::vector<std::string> words) : e_(e), words_(std::move(words)) {}
  std::string text() { return nested(0, " ", line_width); }

 private:
  /// The sub-array at `next_`, in brackets; `indent` is what its further lines begin with.
  std::string nested(int axis, const std::string& indent, std::size_t width) {
    const std::string inside = axis + 1 == e_.shown.rank() ? row(axis, indent, width) : rows(axis, indent, width);
    return "[" + inside.substr(indent.size()) + "]";
  }

  std::string rows(int axis, const std::string& indent, std::size_t width) {
    const std::string separator(static_cast<std::size_t>(e_.shown.rank() - axis - 1), '\n');
    std::string text;
    for (std::int64_t k = 0; k < e_.shown[axis]; ++k) {
      if (k > 0) text += separator;
      if (k == edge && e_.elided(axis)) text += indent + "..." + separator;
      text += indent + nested(axis + 1, indent + ' ', width - 1);
    }
    return text;
  }

  std::string row(int axis, const std::string& indent, std::size_t width) {
    std::string text, line = indent;
    const auto extend = [&](const std::string& word) {
      if (line.size() + word.size() > width - 1 && line.size() > indent.size()) {
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        line = indent;
      }
      line += word;
    };
    for (std::int64_t k = 0; k < e_.shown[axis]; ++k) {
      if (k > 0) line += ' ';
      if (k == edge && e_.elided(axis)) {
        extend("...");
        line += ' ';
      }
      extend(words_[next_++]);
    }
    return text + line;
  }

  const excerpt& e_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

}  // namespace

std::string to_string(const array& a) {
  if (a.size() == 0) return "[]";
  const excerpt e = read_excerpt(a);
  if (a.rank() == 0) return lone_number(e.values.data(), a.type());
  return layout(e, number_words(e.values.data(), e.shown.size(), a.type())).text();
}

std::ostream& operator<<(std::ostream& out, const array& a) { return out << to_string(a); }

}  // namespace sinter
