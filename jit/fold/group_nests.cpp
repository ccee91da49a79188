#include "jit/fold/group_nests.hpp"

#include "jit/fold/wrapping.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace sinter::jit {

namespace {

// A few nests stay as they are: rows of a table would only be worse.
constexpr std::size_t fewest_rewritten = 16;
constexpr std::size_t fewest_rows = 3;
constexpr std::size_t longest_period = 16;

bool same_rigid(const nest_shape& shape, const std::int64_t* a, const std::int64_t* b) {
  return std::equal(a, a + shape.rigid, b);
}

// Marks the words of a nest that have a column in a table inside it.
void mark_columns(const nest_shape& shape, std::size_t first, const std::int64_t* rigid, const table_store& tables,
                  std::vector<bool>& marked) {
  if (shape.is_statement()) return;
  if (shape.is_table())
    for (const traced_table::column& c : tables.at(shape.table(rigid)).columns) marked[first + 1 + c.word] = true;
  for (const nest_shape::child& part : shape.body)
    mark_columns(*part.shape, first + 1 + part.affine, rigid + part.rigid, tables, marked);
}

// ---- Loops over one statement, whatever their length ----

// Irregular trip counts make nests by accident: rows of 4, 5 and 6 are a triangle. Such a nest is short, and what did
// not happen to progress lies next to it.
bool accidental(const nest_list& nests, std::size_t k) {
  constexpr std::int64_t most = 8;
  constexpr std::uint32_t deepest = 3;
  const nest_shape& s = nests.shape(k);
  if (!s.is_loop() || s.is_row() || s.depth > deepest || nests.words(k)[0] > most) return false;
  const auto akin = [&](const nest_shape& other) {
    return &other != &s &&
           (other.first == s.first || other.first == s.last || other.last == s.first || other.last == s.last);
  };
  return (k > 0 && akin(nests.shape(k - 1))) || (k + 1 < nests.size() && akin(nests.shape(k + 1)));
}

void write_rows(const nest_shape& shape, const std::int64_t* affine, const std::int64_t* rigid, nest_list& out) {
  if (!shape.is_statement() && affine[0] <= 0) return;
  if (!shape.is_loop() || shape.is_row()) {
    out.add(shape, affine, rigid);
    return;
  }
  const std::int64_t* strides = shape.strides(rigid);
  std::vector<std::int64_t> words(affine + 1, affine + shape.affine);
  for (std::int64_t k = 0; k < affine[0]; ++k) {
    for (const nest_shape::child& part : shape.body)
      write_rows(*part.shape, words.data() + part.affine, rigid + part.rigid, out);
    for (std::size_t c = 0; c < words.size(); ++c) words[c] = wrapping_add(words[c], strides[c]);
  }
}

/// Adds a row, or makes the last one longer if it is what that goes on with.
void add_row(nest_list& out, const nest_shape& shape, const std::int64_t* affine, const std::int64_t* rigid) {
  if (const std::size_t n = out.size(); n > 0 && &out.shape(n - 1) == &shape) {
    std::int64_t* row = out.words(n - 1);
    const std::int64_t* strides = shape.strides(rigid);
    bool follows = same_rigid(shape, out.rigid(n - 1), rigid);
    for (std::uint32_t c = 0; c < shape.body_affine && follows; ++c)
      follows = affine[1 + c] == wrapping_add(row[1 + c], wrapping_multiply(row[0], strides[c]));
    if (follows) {
      row[0] = wrapping_add(row[0], affine[0]);
      return;
    }
  }
  out.add(shape, affine, rigid);
}

// The rows over one statement that are most of them, if any are. (source: Boyer and Moore, "MJRTY: a fast majority vote
// algorithm", 1991)
struct usual_row {
  std::size_t nest = 0;
  std::int64_t votes = 0;
};

/// Makes rows over a statement alike: statements of their own are rows of one or two, rows with another stride are that
/// by accident if they are short, and so are accidental nests.
class rows_alike {
 public:
  explicit rows_alike(const nest_list& nests) {
    for (std::size_t k = 0; k < nests.size(); ++k) {
      if (accidental(nests, k)) {
        write_rows(nests.shape(k), nests.words(k), nests.rigid(k), parts_);
        changes_ = true;
      } else {
        parts_.add(nests.shape(k), nests.words(k), nests.rigid(k));
      }
    }
    for (std::size_t k = 0; k < parts_.size(); ++k)
      if (parts_.shape(k).is_row()) vote(k);
  }

  /// Whether run() would return anything else than the nests given.
  bool changes() const { return changes_ || !usual_.empty(); }
  nest_list run() {
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const nest_shape& s = parts_.shape(k);
      if (s.is_statement()) add_statement(s, parts_.words(k));
      else if (s.is_row()) add(k);
      else out_.add(s, parts_.words(k), parts_.rigid(k));
    }
    return std::move(out_);
  }

 private:
  void vote(std::size_t k) {
    usual_row& usual = usual_[parts_.shape(k).body[0].shape];
    if (usual.votes == 0) usual.nest = k;
    usual.votes += is_usual(k, usual) ? 1 : -1;
  }
  bool is_usual(std::size_t k, const usual_row& usual) const {
    return same_rigid(parts_.shape(k), parts_.rigid(k), parts_.rigid(usual.nest));
  }
  void add(std::size_t k) {
    constexpr std::int64_t most = 8;
    const nest_shape &row = parts_.shape(k), &statement = *row.body[0].shape;
    const std::int64_t *affine = parts_.words(k), *strides = row.strides(parts_.rigid(k));
    if (affine[0] > most || is_usual(k, usual_.at(&statement))) {
      add_row(out_, row, affine, parts_.rigid(k));
      return;
    }
    std::vector<std::int64_t> words(affine + 1, affine + row.affine);
    for (std::int64_t i = 0; i < affine[0]; ++i) {
      add_statement(statement, words.data());
      for (std::size_t c = 0; c < words.size(); ++c) words[c] = wrapping_add(words[c], strides[c]);
    }
  }
  void add_statement(const nest_shape& statement, const std::int64_t* words) {
    const auto usual = usual_.find(&statement);
    if (usual == usual_.end()) {
      out_.add(statement, words, nullptr);
      return;
    }
    affine_.assign(1, 1);
    affine_.insert(affine_.end(), words, words + statement.affine);
    add_row(out_, parts_.shape(usual->second.nest), affine_.data(), parts_.rigid(usual->second.nest));
  }

  nest_list parts_, out_;
  bool changes_ = false;
  std::unordered_map<const nest_shape*, usual_row> usual_;  // by statement
  std::vector<std::int64_t> affine_;
};

// ---- Tables ----

class grouping {
 public:
  grouping(const nest_list& nests, nest_shapes& shapes, table_store& tables)
      : nests_(nests), shapes_(shapes), tables_(tables) {}

  nest_list run() {
    while (at_ < nests_.size()) {
      const auto [period, rows, nests] = longest_run();
      if (rows < fewest_rows || !add_table(period, rows)) copy(std::max<std::size_t>(nests, 1));
      else at_ += nests;
    }
    return std::move(out_);
  }

 private:
  struct repetition {
    std::size_t period = 0, rows = 0, nests = 0;
  };

  bool same(std::size_t a, std::size_t b) const {
    return &nests_.shape(a) == &nests_.shape(b) && same_rigid(nests_.shape(a), nests_.rigid(a), nests_.rigid(b));
  }

  // Calls have(part, nest) or lack(part) for each part of the row that begins at this nest: a row of a sparse matrix
  // may be empty, so that loops may be lacking unless the row has others like it. The nest behind the row, or `begin`
  // when there is none.
  template <class Have, class Lack>
  std::size_t walk_row(std::size_t period, std::size_t begin, Have have, Lack lack) const {
    std::size_t at = begin;
    for (std::size_t part = at_; part < at_ + period; ++part)
      if (at < nests_.size() && same(part, at)) have(part, at++);
      else if (may_lack_[part - at_]) lack(part);
      else return begin;
    return at;
  }

  repetition repeats(std::size_t period) const {
    repetition r{period, 0, 0};
    for (std::size_t at = at_, next = 0;; at = next, ++r.rows, r.nests = at - at_) {
      next = walk_row(
          period, at, [](std::size_t, std::size_t) {}, [](std::size_t) {});
      if (next == at) return r;
    }
  }

  // Rows that overlap more of the trace are better, but not if it is only for a row that lacks its end.
  repetition longest_run() {
    repetition best;
    for (std::size_t period = 1; period <= longest_period && at_ + 2 * period <= nests_.size(); ++period) {
      if (!nests_.shape(at_).is_loop() && !same(at_, at_ + period)) continue;
      find_optional(period);
      if (const repetition r = repeats(period); r.rows >= fewest_rows && r.nests >= best.nests + period) best = r;
    }
    return best;
  }

  void find_optional(std::size_t period) {
    may_lack_.assign(period, false);
    for (std::size_t a = 0; a < period; ++a) {
      bool optional = nests_.shape(at_ + a).is_loop();
      for (std::size_t b = 0; b < period && optional; ++b)
        optional = a == b || &nests_.shape(at_ + a) != &nests_.shape(at_ + b);
      may_lack_[a] = optional;
    }
  }

  bool add_table(std::size_t period, std::size_t rows);
  void copy(std::size_t count) {
    for (; count > 0; --count, ++at_) out_.add(nests_.shape(at_), nests_.words(at_), nests_.rigid(at_));
  }

  const nest_list& nests_;
  nest_shapes& shapes_;
  table_store& tables_;
  std::size_t at_ = 0;
  std::vector<bool> may_lack_;  // by part of a row
  nest_list out_;
};

bool grouping::add_table(std::size_t period, std::size_t rows) {
  find_optional(period);
  std::vector<const nest_shape*> body;
  std::vector<std::int64_t> rigid;
  for (std::size_t part = at_; part < at_ + period; ++part) {
    body.push_back(&nests_.shape(part));
    rigid.insert(rigid.end(), nests_.rigid(part), nests_.rigid(part) + nests_.shape(part).rigid);
  }
  const nest_shape& shape = shapes_.loop(nest_shape::form::table, body);
  row_table recorded;
  recorded.start(shape.body_affine);
  std::vector<std::int64_t> row(shape.body_affine);
  for (std::size_t r = 0, nest = at_; r < rows; ++r) {
    const auto first = [&](std::size_t part) { return shape.body[part - at_].affine; };
    nest = walk_row(
        period, nest,
        [&](std::size_t part, std::size_t k) {
          std::copy_n(nests_.words(k), nests_.shape(k).affine, row.data() + first(part));
        },
        [&](std::size_t part) {
          for (std::uint32_t c = 0; c < nests_.shape(part).affine; ++c)
            row[first(part) + c] = c == 0 ? 0 : recorded.expected(first(part) + c);
        });
    recorded.append(row.data());
  }
  const std::int64_t number = recorded.close(tables_);
  std::vector<bool> marked(shape.body_affine);
  for (const nest_shape::child& part : shape.body)
    mark_columns(*part.shape, part.affine, rigid.data() + part.rigid, tables_, marked);
  for (const traced_table::column& c : tables_.at(number).columns)
    if (marked[c.word]) return false;
  std::vector<std::int64_t> affine(1, static_cast<std::int64_t>(rows));
  for (std::uint32_t c = 0; c < shape.body_affine; ++c) affine.push_back(recorded.first(c));
  for (std::uint32_t c = 0; c < shape.body_affine; ++c) rigid.push_back(recorded.stride(c));
  rigid.push_back(number);
  out_.add(shape, affine.data(), rigid.data());
  return true;
}

}  // namespace

nest_list group_nests(const nest_list& nests, nest_shapes& shapes, table_store& tables) {
  nest_list as_is = grouping(nests, shapes, tables).run();
  if (nests.size() < fewest_rewritten || as_is.size() == 1) return as_is;
  rows_alike rows(nests);
  if (!rows.changes()) return as_is;
  nest_list alike = grouping(rows.run(), shapes, tables).run();
  return alike.size() < as_is.size() ? std::move(alike) : std::move(as_is);
}

}  // namespace sinter::jit
