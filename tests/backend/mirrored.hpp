// The same random view of an array twice: recorded by the library, and copied element by element by plain loops.
#pragma once

#include "tests/backend/expect.hpp"

#include <random>

namespace sinter_test {

/// An array of the library, what it must hold, and how it came about.
struct mirrored {
  sinter::array a;
  host_array h;
  std::string text;
};

class view_program {
 public:
  explicit view_program(std::uint64_t seed) : random_(seed) {}

  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  /// i32 elements that tell their positions, of a random shape of rank 0 to 5, computed or not, laid out in any way.
  mirrored source();
  mirrored source(const sinter::shape& extents);
  /// One random operation on x.
  mirrored step(const mirrored& x);
  /// x with a sum or difference of another source that broadcasts with it.
  mirrored combined(const mirrored& x);
  sinter::shape random_shape(int rank, bool may_be_empty);

 private:
  mirrored indexed(const mirrored& x);
  mirrored reshaped_(const mirrored& x);
  mirrored transposed(const mirrored& x);
  mirrored flipped(const mirrored& x);
  mirrored broadcast(const mirrored& x);
  mirrored swapped(const mirrored& x);
  mirrored moved(const mirrored& x);
  mirrored expanded(const mirrored& x);
  mirrored squeezed(const mirrored& x);
  mirrored diagonal_(const mirrored& x);
  mirrored rotated(const mirrored& x);
  mirrored taken(const mirrored& x);
  mirrored taken_along(const mirrored& x);
  /// Indices into an axis of n elements, of any integer dtype; some negative.
  host_array random_indices(const sinter::shape& extents, std::int64_t n);
  std::vector<int> shuffled(int count);
  int signed_axis(int axis, int rank) { return below(2) == 0 ? axis : axis - rank; }

  std::mt19937_64 random_;
};

/// Extents `to` filled from x: element `at` (one index per axis) is x's element source(at), one index per axis of x.
template <class F>
host_array remapped(const host_array& x, const sinter::shape& to, F source) {
  host_array out(x.type, to);
  std::vector<std::int64_t> at(static_cast<std::size_t>(to.rank()), 0);
  for (std::int64_t k = 0; k < out.size(); ++k) {
    std::int64_t rest = k;
    for (int axis = to.rank(); axis-- > 0;) {
      at[static_cast<std::size_t>(axis)] = rest % to[axis];
      rest /= to[axis];
    }
    const std::vector<std::int64_t> from = source(at);
    std::int64_t flat = 0;
    for (int axis = 0; axis < x.extents.rank(); ++axis)
      flat = flat * x.extents[axis] + from[static_cast<std::size_t>(axis)];
    out.set(k, x.get(flat));
  }
  return out;
}

/// x[...] by NumPy's rules: an index per position.
struct plain_index {
  enum class kind { integer, slice, unit, rest, array } what;
  std::int64_t integer = 0;
  std::optional<std::int64_t> first = {}, last = {};  ///< of a slice; empty: the default of its direction
  std::int64_t step = 1;
  host_array values = {};
};
host_array read_plainly(const host_array& x, std::vector<plain_index> list);

}  // namespace sinter_test
