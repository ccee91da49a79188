// The lazy array, and `operand`, through which every operator and function takes arrays and C++ numbers alike.
#pragma once

#include "fwd.hpp"
#include "runtime/error.hpp"
#include "runtime/shape.hpp"
#include "runtime/types.hpp"

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sinter {

namespace jit { struct node; }

class index;
/// Stands for "no further index" in `a(...)`.
extern const index no_index;

/// The parameters of `a(...)` after the third: an index per axis, up to 16. Sixteen references take longer to pass than
/// a view to record, so one and two indices have entries of their own.
#define SINTER_MORE_INDICES                                                                                            \
  const index &p3 = no_index, const index &p4 = no_index, const index &p5 = no_index, const index &p6 = no_index,      \
      const index &p7 = no_index, const index &p8 = no_index, const index &p9 = no_index,                              \
      const index &p10 = no_index, const index &p11 = no_index, const index &p12 = no_index,                           \
      const index &p13 = no_index, const index &p14 = no_index, const index &p15 = no_index

/// An n-dimensional value: dtype, shape (up to 16 axes), device. Copies are O(1) and independent. Operations on arrays
/// record; nothing runs until a value is needed (`eval`, `item`, `to_vector`, printing).
/// Reading from several threads is safe; assigning to one array variable from several threads is not.
class array {
 public:
  /// An empty array: f32, shape [0]. Also what an array is after its value was moved away.
  array() noexcept;
  /// A 0-d array of the number's C++ dtype (f64 for float literals, i64 for integers, bool).
  explicit array(scalar number, place at = place::here());
  /// [n] from values: `array{1.f, 2.f}` is f32. Copies to the default device.
  template <element T>
  array(std::initializer_list<T> values, place at = place::here())
      : array(values.begin(), dtype_of<T>, shape{static_cast<std::int64_t>(values.size())}, at) {}
  /// [n, m] from rows: `array{{1.f, 2.f}, {3.f, 4.f}}`. Throws shape_error when rows differ in length.
  template <element T>
  array(std::initializer_list<std::initializer_list<T>> rows, place at = place::here())
      : array(join_rows(rows, at),
              shape{static_cast<std::int64_t>(rows.size()),
                    rows.size() == 0 ? 0 : static_cast<std::int64_t>(rows.begin()->size())},
              at) {}
  /// [n] from a vector or span. std::vector<bool> has no contiguous storage and isn't taken.
  template <element T>
  explicit array(std::span<const T> values, place at = place::here())
      : array(values.data(), dtype_of<T>, shape{static_cast<std::int64_t>(values.size())}, at) {}
  template <element T>
  explicit array(const std::vector<T>& values, place at = place::here()) : array(std::span<const T>(values), at) {}
  /// `extents` from values in C order. Throws shape_error when their number isn't extents.size().
  template <element T>
  array(const std::vector<T>& values, const shape& extents, place at = place::here())
      : array(std::span<const T>(values), extents, at) {}
  template <element T>
  array(std::span<const T> values, const shape& extents, place at = place::here())
      : array(checked(values.data(), values.size(), extents, at), dtype_of<T>, extents, at) {}
  /// `extents` elements of `type` in C order from host memory, copied now.
  array(const void* values, dtype type, const shape& extents, place at = place::here());

  array(const array& other) noexcept;
  array(array&& other) noexcept;
  // Only variables are assigned to: `a(0) = 1` would change a temporary, so it doesn't compile.
  array& operator=(const array& other) & noexcept;
  array& operator=(array&& other) & noexcept;
  ~array();

  dtype type() const;
  const shape& extents() const;
  int rank() const { return extents().rank(); }
  std::int64_t size() const { return extents().size(); }
  /// The extent along `axis` (negative: from the end). Throws shape_error.
  std::int64_t extent(int axis, place at = place::here()) const;
  sinter::device device() const;
  /// Whether the values are computed already.
  bool is_evaluated() const;

  /// The only element, converted to T. Evaluates and waits. Throws shape_error unless size() == 1, index_error when a
  /// kernel met a bad index.
  template <element T>
  T item(place at = place::here()) const;
  /// All elements in C order; T must be the array's dtype (type_error). Evaluates and waits. T = bool is not available
  /// (std::vector<bool> is packed): read `std::uint8_t` from a boolean array instead.
  template <element T>
    requires(!std::is_same_v<T, bool>)
  std::vector<T> to_vector(place at = place::here()) const;
  /// Copies all elements in C order to host memory of at least size() elements (shape_error when it is shorter); T as
  /// in to_vector, or bool. Evaluates and waits.
  template <element T>
  void copy_to(std::span<T> to, place at = place::here()) const;

  /// Elements converted to `type`: floats truncate and saturate to integers (NaN: 0), integers wrap, bool is x != 0.
  array astype(dtype type, place at = place::here()) const;
  /// The values on `d`. Evaluates when the device changes.
  array to(const sinter::device& d, place at = place::here()) const;

  /// Reads through an index per axis: ints, all, range, newaxis, ellipsis, index arrays, boolean masks. A view or a
  /// gather; lazy, but for masks: their count of true elements is waited for. NumPy's rules: index arrays of any
  /// integer dtype broadcast together; their shape replaces the first axis they index when they (and ints among them)
  /// are neighbours, else it comes first. A mask stands for the index arrays nonzero(mask) and takes as many axes as it
  /// has. Throws index_error for ints out of range, for too many indices or ellipses; shape_error for a mask of another
  /// shape than its axes; type_error for other index arrays.
  /// Of a variable, the result also can be written to: `a(all, 0) += x` (see selection in index.hpp).
  selection operator()(const index& p0) &;
  selection operator()(const index& p0, const index& p1) &;
  selection operator()(const index& p0, const index& p1, const index& p2, SINTER_MORE_INDICES) &;
  array operator()(const index& p0) const&;
  array operator()(const index& p0, const index& p1) const&;
  array operator()(const index& p0, const index& p1, const index& p2, SINTER_MORE_INDICES) const&;

  /// `a += x` is `a = a + x` with a's shape and dtype kept: x must broadcast to a's shape (shape_error), and the sum
  /// must convert back without changing kind (type_error for a float into integers; i64 into i32 wraps). Lazy.
  array& operator+=(const operand& x) &;
  array& operator-=(const operand& x) &;
  array& operator*=(const operand& x) &;
  array& operator/=(const operand& x) &;
  array& operator%=(const operand& x) &;
  array& operator&=(const operand& x) &;
  array& operator|=(const operand& x) &;
  array& operator^=(const operand& x) &;
  array& operator<<=(const operand& x) &;
  array& operator>>=(const operand& x) &;

  /// For the library: the graph node (never null), an array that takes over a reference to one, and such a reference
  /// given away (null after a move).
  jit::node* node() const { return node_ ? node_ : empty_node(); }
  static array adopt(jit::node* n) { return array(n, adopt_tag{}); }
  jit::node* leave() noexcept { return std::exchange(node_, nullptr); }

 private:
  friend class operand;
  struct adopt_tag {};
  array(jit::node* n, adopt_tag) : node_(n) {}
  static jit::node* empty_node() noexcept;
  /// `values`, when `extents` holds `count` elements. Throws shape_error.
  static const void* checked(const void* values, std::size_t count, const shape& extents, const place& at);
  [[noreturn]] static void throw_ragged(std::size_t first, std::size_t other, const place& at);
  template <class T>
  static std::vector<T> join_rows(std::initializer_list<std::initializer_list<T>> rows, const place& at) {
    std::vector<T> values;
    for (const auto& row : rows) {
      if (row.size() != rows.begin()->size()) throw_ragged(rows.begin()->size(), row.size(), at);
      values.insert(values.end(), row.begin(), row.end());
    }
    return values;
  }
  void read_item(void* to, dtype type, const place& at) const;
  void read_all(void* to, std::int64_t count, dtype type, const place& at) const;

  jit::node* node_;  // null after a move
};

/// What operators and functions take: an array, or a C++ number that adopts the dtype of the array it meets; and the
/// line it was written on. Holds no reference: use it only as a parameter.
class operand {
 public:
  operand(const array& a, place at = place::here()) : node_(a.node()), at_(at) {}
  operand(array&& a, place at = place::here()) : node_(a.node()), spare_(&a.node_), at_(at) {}
  operand(const selection& s, place at = place::here());
  operand(selection&& s, place at = place::here());
  template <class T>
    requires(std::is_arithmetic_v<T>)
  constexpr operand(T number, place at = place::here()) : number_(number), at_(at) {}
  template <class T>
    requires(!std::is_arithmetic_v<T> && element<T> && is_complex(dtype_of<T>))
  operand(const T& number, place at = place::here())
      : number_(__builtin_bit_cast(std::conditional_t<dtype_of<T> == c64, complex64, complex128>, number)), at_(at) {}
  operand(float16 number, place at = place::here()) : number_(number), at_(at) {}
  operand(bfloat16 number, place at = place::here()) : number_(number), at_(at) {}

  jit::node* node() const { return node_; }  ///< null for a number
  const scalar& number() const { return number_; }
  const place& at() const { return at_; }
  jit::node** spare() const { return spare_; }  ///< for its last use: where a temporary holds its node, or null

 private:
  jit::node* node_ = nullptr;
  jit::node** spare_ = nullptr;
  scalar number_;
  place at_;
};

/// Computes all of them together: as few launches as their shapes and sizes allow. Already computed arrays cost
/// nothing. Returns without waiting for the device.
template <class... Arrays>
void eval(const Arrays&... arrays);
void eval_all(std::span<const array> arrays, place at = place::here());
void eval_all(std::span<const array* const> arrays, place at = place::here());

/// Waits until every launch and copy on every device used is done. Throws index_error when a kernel met a bad index.
void synchronize();

/// The values as NumPy prints them; long arrays elided to their ends. Evaluates and waits.
std::ostream& operator<<(std::ostream& out, const array& a);
std::string to_string(const array& a);

/// Arrays, and selections as arrays, for functions of many.
inline const array* addressed(const array& a) { return &a; }
const array* addressed(const selection& s);

template <class... Arrays>
void eval(const Arrays&... arrays) {
  const array* list[] = {addressed(arrays)..., nullptr};
  eval_all(std::span<const array* const>(list, sizeof...(arrays)));
}

template <element T>
T array::item(place at) const {
  T x;
  read_item(&x, dtype_of<T>, at);
  return x;
}
template <element T>
  requires(!std::is_same_v<T, bool>)
std::vector<T> array::to_vector(place at) const {
  std::vector<T> x(static_cast<std::size_t>(size()));
  read_all(x.data(), size(), dtype_of<T>, at);
  return x;
}
template <element T>
void array::copy_to(std::span<T> to, place at) const {
  read_all(to.data(), static_cast<std::int64_t>(to.size()), dtype_of<T>, at);
}

}  // namespace sinter

#include "index.hpp"
