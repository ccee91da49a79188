// What goes between the parentheses of `a(...)`.
#pragma once

#include "array.hpp"

namespace sinter {

/// Marks the whole of an axis, an inserted unit axis, and "all the axes not named".
struct all_t {};
struct newaxis_t {};
struct ellipsis_t {};
inline constexpr all_t all{};
inline constexpr newaxis_t newaxis{};
inline constexpr ellipsis_t ellipsis{};

/// An integer as an index; unsigned ones past 2^63 stay out of range of every axis instead of counting from the end.
template <class T>
constexpr std::int64_t as_index(T i) {
  if constexpr (!std::is_signed_v<T> && sizeof(T) >= sizeof(std::int64_t))
    if (i > static_cast<T>(INT64_MAX)) return INT64_MAX;
  return static_cast<std::int64_t>(i);
}

/// A position along an axis: a plain number (negative: from the end), or counted from `begin` or `end`: `end` is one
/// past the last element, `end - 1` the last, `begin` the first.
struct position {
  enum class anchor : std::uint8_t { none, begin, end };
  std::int64_t offset = 0;
  anchor from = anchor::none;
  constexpr position() = default;
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  constexpr position(T i) : offset(as_index(i)) {}
  constexpr position(std::int64_t i, anchor a) : offset(i), from(a) {}
  friend constexpr position operator+(position p, std::int64_t n) { return {p.offset + n, p.from}; }
  friend constexpr position operator-(position p, std::int64_t n) { return {p.offset - n, p.from}; }
};
struct begin_t {
  constexpr operator position() const { return {0, position::anchor::begin}; }
  friend constexpr position operator+(begin_t, std::int64_t n) { return {n, position::anchor::begin}; }
};
struct end_t {
  constexpr operator position() const { return {0, position::anchor::end}; }
  friend constexpr position operator-(end_t, std::int64_t n) { return {-n, position::anchor::end}; }
};
inline constexpr begin_t begin{};
inline constexpr end_t end{};

/// Elements first, first + step, ... before last, clipped to the axis like NumPy's slices: negative positions count
/// from the end. With a negative step, `begin` as `last` means "down to and including element 0" and `end` as `first`
/// "from the last": range(end, begin, -1) reverses. A step of 0 is an index_error where the range is used.
struct range {
  position first, last;
  std::int64_t step = 1;
  constexpr range(position first_, position last_, std::int64_t step_ = 1) : first(first_), last(last_), step(step_) {}
  /// range(n): the first n.
  constexpr explicit range(position last_) : range(position(0), last_) {}
};

/// One index of `a(...)`; made implicitly.
class index {
 public:
  enum class kind : std::uint8_t { none, integer, whole, slice, unit, rest, array };

  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  index(T i, place at = place::here()) : kind_(kind::integer), integer_(as_index(i)), at_(at) {}
  index(all_t, place at = place::here()) : index(kind::whole, at) {}
  index(newaxis_t, place at = place::here()) : index(kind::unit, at) {}
  index(ellipsis_t, place at = place::here()) : index(kind::rest, at) {}
  index(const range& r, place at = place::here()) : kind_(kind::slice), range_(r), at_(at) {}
  index(position p, place at = place::here())
      : kind_(kind::integer), anchor_(p.from), integer_(p.offset), at_(at) {}
  index(begin_t b, place at = place::here()) : index(position(b), at) {}
  index(end_t e, place at = place::here()) : index(position(e), at) {}
  index(const array& a, place at = place::here()) : kind_(kind::array), array_(&a), at_(at) {}
  index(const selection& s, place at = place::here());

  constexpr index() : index(kind::none, place{}) {}

  kind what() const { return kind_; }
  std::int64_t integer() const { return integer_; }
  position::anchor anchor() const { return anchor_; }  ///< what the integer counts from
  const range& slice() const { return range_; }
  const array& values() const { return *array_; }
  const place& at() const { return at_; }

 private:
  constexpr index(kind k, const place& at) : kind_(k), integer_(0), at_(at) {}

  kind kind_;
  position::anchor anchor_ = position::anchor::none;
  union {  // by kind: only what there is takes time to store
    std::int64_t integer_;
    range range_;
    const array* array_;
  };
  place at_;
};

struct selection_extras;
namespace jit {
enum class op : std::uint8_t;
struct attribute;
}

/// `a(...)` of a variable `a`: reads as an array that holds the selected elements as they are now (independent of `a`,
/// lazy), and can be written to within the expression that made it: `a(all, 0) += x;`. A write records a new version of
/// `a`; arrays recorded from `a` before keep the old values; nothing is launched. The right side broadcasts to the
/// selection's shape (shape_error) and converts to a's dtype when its kind fits (type_error for floats into integers,
/// C++ numbers out of range). With index arrays that repeat an element, `=` leaves the last value, as a loop would,
/// and the others accumulate in any order (options.hpp: set_deterministic); bad indices write nothing and throw
/// index_error at the next wait. Masks: the right side broadcasts, or has a value per true element (then their number
/// is waited for). To keep a selection, name its type: `array s = a(all, 0);` `auto s` can be read, not written.
class selection {
 public:
  selection(const selection&) = delete;
  ~selection() {
    if (node_ || facts_ || extras_) let_go();
  }

  void operator=(const operand& x) &&;
  void operator=(const selection& x) &&;
  void operator=(selection&& x) &&;
  void operator+=(const operand& x) &&;
  void operator-=(const operand& x) &&;
  void operator*=(const operand& x) &&;
  void operator/=(const operand& x) &&;
  void operator%=(const operand& x) &&;
  void operator&=(const operand& x) &&;
  void operator|=(const operand& x) &&;
  void operator^=(const operand& x) &&;
  void operator<<=(const operand& x) &&;
  void operator>>=(const operand& x) &&;
  /// Replaces elements by minimum(element, x), maximum(element, x): NaN wins.
  void set_minimum(const operand& x) &&;
  void set_maximum(const operand& x) &&;

  void operator=(const operand& x) & = delete;  // would change a copy: write `array s = a(...)`
  void operator=(const selection& x) & = delete;
  void operator+=(const operand& x) & = delete;
  void operator-=(const operand& x) & = delete;
  void operator*=(const operand& x) & = delete;
  void operator/=(const operand& x) & = delete;
  void operator%=(const operand& x) & = delete;
  void operator&=(const operand& x) & = delete;
  void operator|=(const operand& x) & = delete;
  void operator^=(const operand& x) & = delete;
  void operator<<=(const operand& x) & = delete;
  void operator>>=(const operand& x) & = delete;

  /// The selected elements. Recorded when first asked for; masks then wait for their count.
  operator array() const& { return read(); }
  operator array() &&;

  // What an array has.
  dtype type() const { return read().type(); }
  const shape& extents() const { return read().extents(); }
  int rank() const { return read().rank(); }
  std::int64_t size() const { return read().size(); }
  std::int64_t extent(int axis, place at = place::here()) const { return read().extent(axis, at); }
  sinter::device device() const;
  bool is_evaluated() const { return read().is_evaluated(); }
  template <element T>
  T item(place at = place::here()) const {
    return read().item<T>(at);
  }
  template <element T>
    requires(!std::is_same_v<T, bool>)
  std::vector<T> to_vector(place at = place::here()) const {
    return read().to_vector<T>(at);
  }
  template <element T>
  void copy_to(std::span<T> to, place at = place::here()) const {
    read().copy_to(to, at);
  }
  array astype(dtype type, place at = place::here()) const { return read().astype(type, at); }
  array to(const sinter::device& d, place at = place::here()) const { return read().to(d, at); }
  array operator()(const index& p0) const;
  array operator()(const index& p0, const index& p1) const;
  array operator()(const index& p0, const index& p1, const index& p2, SINTER_MORE_INDICES) const;
  jit::node* node() const { return read().node(); }  ///< for the library

 private:
  friend class array;
  friend class operand;
  friend class index;
  friend const array* addressed(const selection& s);
  selection(array& target, std::span<const index* const> list);
  void let_go();
  const array& read() const;
  jit::node*& read_last();  ///< of a temporary: where it then holds the elements
  void write(jit::op how, const operand& x);

  // Nothing is recorded before it is read: most are written to, which needs a map and no view.
  array* target_;                     // null once written, or read for the last time
  jit::node* node_;                   // owned: what the target was; then what was read
  jit::attribute* facts_;             // owned: the map of a basic view of that; null once used
  shape extents_;                     // of the basic view
  place at_;
  mutable selection_extras* extras_;  // owned
};

#undef SINTER_MORE_INDICES

inline operand::operand(selection&& s, place at) : node_(s.read_last()), spare_(&s.node_), at_(at) {}

}  // namespace sinter
