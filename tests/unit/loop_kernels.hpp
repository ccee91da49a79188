// Kernels with loops, built by hand with the numbers of one launch, each with what a plain loop gives for its outputs.
#pragma once

#include "jit/codegen/dialect.hpp"
#include "jit/codegen/magic.hpp"
#include "tests/unit/kernel_builder.hpp"

#include <bit>
#include <cmath>
#include <functional>
#include <memory>
#include <string>

namespace sinter_test {

/// How a kernel's loops are to be run.
struct loop_options {
  dialect d = dialect::host;
  int lanes = 4, bits = 64, kept = 0, threads = 256;
  bool split = false;
  int across = 3, down = 0;  ///< log2 of a team's threads
  bool aligned = false;      ///< all vectors are
  std::int64_t pieces_down = 1, pieces_across = 1;
};

class loop_kernel : public kernel_builder {
 public:
  loop_kernel(std::initializer_list<std::int64_t> domain, distribution over, const loop_options& o)
      : kernel_builder(domain), how(o), extents_(domain) {
    k.over = over;
  }

  value iteration(dtype t, std::int64_t n) { return loop(t, {n}); }
  std::uint32_t dim_of(value l, std::uint32_t which = 0) const { return k.loops[k[l].attr].first + which; }

  /// The parameters that come last, and the choices; call it once the body is there.
  void finish() {
    k.lanes = static_cast<std::uint8_t>(how.lanes);
    k.index_bits = static_cast<std::uint8_t>(how.d == dialect::host ? 64 : how.bits);
    k.kept = static_cast<std::uint8_t>(how.d == dialect::host ? 0 : how.kept);
    k.threads = static_cast<std::uint16_t>(how.threads);
    k.split = how.split;
    for (std::size_t d = 1; d + 1 < extents_.size(); ++d) {
      const magic_numbers m = magic(static_cast<std::uint32_t>(extents_[d]));
      parameter(parameter_kind::magic, u64, static_cast<std::int64_t>(m.multiplier | std::uint64_t{m.shift} << 32));
    }
    if (how.lanes > 1) parameter(parameter_kind::aligned, u64, how.aligned ? -1 : 0);
    parameter(parameter_kind::team, u64, how.across | how.down << 8);
    if (!how.split) return;
    parameter(parameter_kind::pieces, i64, how.pieces_down);
    parameter(parameter_kind::pieces, i64, how.pieces_across);
    workspace_.resize(static_cast<std::size_t>(elements() * how.pieces_down * how.pieces_across * 32 * 4));
    pointer(parameter_kind::workspace, i64, workspace_.data());
    tickets_.resize(static_cast<std::size_t>(4 + 4 * elements() * how.pieces_across));
    if (how.d == dialect::cuda) pointer(parameter_kind::tickets, i64, tickets_.data());
    else phase_ = parameter(parameter_kind::phase, i64, 0);
  }

  std::int64_t inner() const { return extents_.back(); }
  std::int64_t rows() const { return elements() / inner(); }
  std::int64_t elements() const {
    std::int64_t n = 1;
    for (const std::int64_t e : extents_) n *= e;
    return n;
  }
  void set_phase(launch_phase p) {
    auto* const at = static_cast<slot*>(arguments()[phase_]);
    at->as_i64 = static_cast<std::int64_t>(p);
  }

  loop_options how;
  std::vector<unsigned char> workspace_;
  std::vector<std::uint32_t> tickets_;

 private:
  std::vector<std::int64_t> extents_;
  std::uint32_t phase_ = 0;
};

/// A kernel with its data, and what it must find.
struct loop_case {
  std::string name;
  std::unique_ptr<loop_kernel> kernel;
  std::vector<std::shared_ptr<std::vector<float>>> floats;  ///< what it reads
  std::shared_ptr<std::vector<double>> out;                  ///< all results as f64
  std::vector<double> wanted;
  double tolerance = 0;
};

inline std::unique_ptr<loop_kernel> made(std::initializer_list<std::int64_t> domain, distribution over,
                                         const loop_options& o) {
  return std::make_unique<loop_kernel>(domain, over, o);
}

/// Numbers without pattern in [-1, 1).
inline std::shared_ptr<std::vector<float>> noise(std::int64_t n, std::uint32_t seed = 1) {
  auto x = std::make_shared<std::vector<float>>(static_cast<std::size_t>(n));
  for (float& v : *x) {
    seed = seed * 1664525u + 1013904223u;
    v = static_cast<float>(seed >> 8) * 0x1p-23f - 1.0f;
  }
  return x;
}

inline std::shared_ptr<std::vector<double>> space(std::int64_t n) {
  return std::make_shared<std::vector<double>>(static_cast<std::size_t>(n), -7777.0);
}

inline double at(const loop_case& c, std::int64_t k, std::size_t array = 0) {
  return double{(*c.floats[array])[static_cast<std::size_t>(k)]};
}

/// Stores a value, as f64, at `out` + row * step.
inline void store_as_double(loop_kernel& b, value v, std::vector<double>& out, std::uint32_t form) {
  if (b.k[v].type != f64) v = b.add(op::convert, f64, {v});
  b.store(f64, out.data(), form, v);
}

/// [n, m] -> sum and maximum of x * x along the second axis, and where the maximum is: three reductions in one loop.
inline loop_case three_reductions(std::int64_t n, std::int64_t m, const loop_options& o) {
  loop_case c{"three_reductions", made({n}, distribution::rows, o),
              {noise(n * m)}, space(3 * n), {}, 1e-12};
  loop_kernel& b = *c.kernel;
  std::vector<float>& x = *c.floats[0];
  if (n * m > 40) x[30] = x[37] = 2;  // the first of equals counts
  const value l = b.loop(f64, {m});
  const value v = b.load(f32, x, b.form({{0, m}, static_cast<int>(b.dim_of(l))}));
  const value s = b.add(op::multiply, f32, {v, v});
  const value sum = b.add(op::reduce_sum, f32, {s, l}), most = b.add(op::reduce_max, f32, {s, l});
  const value first = b.add(op::reduce_argmax, i64, {s, l});
  b.end(l);
  store_as_double(b, sum, *c.out, b.form({0}));
  store_as_double(b, most, *c.out, b.form({0}, n));
  store_as_double(b, first, *c.out, b.form({0}, 2 * n));
  b.finish();
  c.wanted.assign(static_cast<std::size_t>(3 * n), 0);
  for (std::int64_t r = 0; r < n; ++r) {
    double total = 0;
    float best = -1;
    std::int64_t place = -1;
    for (std::int64_t j = 0; j < m; ++j) {
      const float square = x[static_cast<std::size_t>(r * m + j)] * x[static_cast<std::size_t>(r * m + j)];
      total += double{square};
      if (square > best) place = j;
      best = std::max(best, square);
    }
    c.wanted[static_cast<std::size_t>(r)] = double{static_cast<float>(total)};
    c.wanted[static_cast<std::size_t>(n + r)] = double{best};
    c.wanted[static_cast<std::size_t>(2 * n + r)] = static_cast<double>(place);
  }
  return c;
}

/// [n, q, m] -> sums over the first and last axis, in a domain of three dims of which one is the loop's outer counter.
inline loop_case sum_around(std::int64_t n, std::int64_t q, std::int64_t m, const loop_options& o) {
  loop_case c{"sum_around", made({q}, distribution::rows, o),
              {noise(n * q * m, 3)}, space(q), {}, 1e-14};
  loop_kernel& b = *c.kernel;
  const value l = b.loop(f64, {n, m});
  const auto d = static_cast<int>(b.dim_of(l));
  const value v = b.load(f32, *c.floats[0], b.form({{d, q * m}, {0, m}, d + 1}));
  const value wide = b.add(op::convert, f64, {v});
  const value sum = b.add(op::reduce_sum, f64, {wide, l});
  b.end(l);
  const value half = b.add(op::multiply, f64, {sum, b.scalar(f64, 0.5)});
  store_as_double(b, half, *c.out, b.form({0}));
  b.finish();
  for (std::int64_t j = 0; j < q; ++j) {
    double total = 0;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t k = 0; k < m; ++k) total += at(c, (i * q + j) * m + k);
    c.wanted.push_back(total / 2);
  }
  return c;
}

/// softmax along the last axis of [p, n, m]: three loops over the same dims, the last one stores.
inline loop_case softmax(std::int64_t p, std::int64_t n, std::int64_t m, const loop_options& o) {
  loop_case c{"softmax", made({p, n}, distribution::rows, o),
              {noise(p * n * m, 5)}, space(p * n * m), {}, 1e-6};
  loop_kernel& b = *c.kernel;
  const value first = b.loop(f32, {m});
  const auto d = static_cast<int>(b.dim_of(first));
  const std::uint32_t place = b.form({{0, n * m}, {1, m}, d});
  const auto origin = [&](value v, value same) { b.k.origins[raw(v)] = raw(same); };
  const value x = b.load(f32, *c.floats[0], place);
  const value most = b.add(op::reduce_max, f32, {x, first});
  b.end(first);
  const value second = b.loop_again(first);
  const value y = b.load(f32, *c.floats[0], place);
  origin(y, x);
  const value e = b.add(op::exp, f32, {b.add(op::subtract, f32, {y, most})});
  const value sum = b.add(op::reduce_sum, f32, {e, second});
  b.end(second);
  const value third = b.loop_again(first);
  const value z = b.load(f32, *c.floats[0], place);
  origin(z, x);
  const value again = b.add(op::exp, f32, {b.add(op::subtract, f32, {z, most})});
  const value share = b.add(op::divide, f32, {again, sum});
  store_as_double(b, share, *c.out, place);
  b.end(third);
  b.finish();
  for (std::int64_t r = 0; r < p * n; ++r) {
    double total = 0;
    for (std::int64_t j = 0; j < m; ++j) total += std::exp(at(c, r * m + j));
    for (std::int64_t j = 0; j < m; ++j) c.wanted.push_back(std::exp(at(c, r * m + j)) / total);
  }
  return c;
}

/// [p, n, m] -> mean over the middle axis, then the deviations from it, summed: two loops, the second needs the first.
inline loop_case column_spread(std::int64_t p, std::int64_t n, std::int64_t m, const loop_options& o,
                               bool both = true) {
  loop_case c{"column_spread", made({p, m}, distribution::columns, o),
              {noise(p * n * m, 7), noise(m, 8)}, space(2 * p * m), {}, 1e-10};
  loop_kernel& b = *c.kernel;
  const value scale = b.load(f32, *c.floats[1], b.form({1}));
  const value first = b.loop(f64, {n});
  const auto d = static_cast<int>(b.dim_of(first));
  const std::uint32_t place = b.form({{0, n * m}, {d, m}, 1});
  const value x = b.add(op::convert, f64, {b.load(f32, *c.floats[0], place)});
  const value sum = b.add(op::reduce_sum, f64, {x, first});
  b.end(first);
  const value mean = b.add(op::divide, f64, {sum, b.scalar(f64, static_cast<double>(n))});
  value second;
  if (!both) {
    second = b.add(op::multiply, f64, {mean, mean});
  } else {
    const value again = b.loop_again(first);
    const value y = b.add(op::convert, f64, {b.load(f32, *c.floats[0], place)});
    const value away = b.add(op::square, f64, {b.add(op::subtract, f64, {y, mean})});
    second = b.add(op::reduce_sum, f64, {away, again});
    b.end(again);
  }
  const value wide = b.add(op::convert, f64, {scale});
  store_as_double(b, b.add(op::multiply, f64, {mean, wide}), *c.out, b.form({{0, m}, 1}));
  store_as_double(b, second, *c.out, b.form({{0, m}, 1}, p * m));
  b.finish();
  c.wanted.assign(static_cast<std::size_t>(2 * p * m), 0);
  for (std::int64_t r = 0; r < p; ++r)
    for (std::int64_t j = 0; j < m; ++j) {
      const auto element = [&](std::int64_t i) { return at(c, (r * n + i) * m + j); };
      double total = 0, spread = 0;
      for (std::int64_t i = 0; i < n; ++i) total += element(i);
      const double middle = total / static_cast<double>(n);
      for (std::int64_t i = 0; i < n; ++i) spread += (element(i) - middle) * (element(i) - middle);
      c.wanted[static_cast<std::size_t>(r * m + j)] = middle * at(c, j, 1);
      c.wanted[static_cast<std::size_t>((p + r) * m + j)] = both ? spread : middle * middle;
    }
  return c;
}

/// Running sums and maxima along the last (rows) or the middle axis (columns) of [n, m].
inline loop_case running(std::int64_t n, std::int64_t m, distribution over, const loop_options& o) {
  const bool columns = over == distribution::columns;  // [m, n] in memory
  loop_case c{columns ? "running_down" : "running",
              made({n}, over, o),
              {noise(n * m, 13)}, space(2 * n * m), {}, 1e-12};
  loop_kernel& b = *c.kernel;
  const value l = b.loop(f64, {m});
  const auto d = static_cast<int>(b.dim_of(l));
  const std::uint32_t place = columns ? b.form({{d, n}, 0}) : b.form({{0, m}, d});
  const value x = b.load(f32, *c.floats[0], place);
  const value twice = b.add(op::add, f32, {x, x});
  const value wide = b.add(op::convert, f64, {twice});
  const value sum = b.add(op::scan_sum, f64, {wide, l});
  const value most = b.add(op::scan_max, f32, {twice, l});
  store_as_double(b, b.add(op::subtract, f64, {sum, wide}), *c.out, place);
  store_as_double(b, most, *c.out, columns ? b.form({{d, n}, 0}, n * m) : b.form({{0, m}, d}, n * m));
  b.end(l);
  b.finish();
  c.wanted.assign(static_cast<std::size_t>(2 * n * m), 0);
  for (std::int64_t r = 0; r < n; ++r) {
    double total = 0;
    float best = -100;
    for (std::int64_t j = 0; j < m; ++j) {
      const auto here = static_cast<std::size_t>(columns ? j * n + r : r * m + j);
      const float y = (*c.floats[0])[here] * 2;
      c.wanted[here] = total;
      total += double{y};
      best = std::max(best, y);
      c.wanted[static_cast<std::size_t>(n * m) + here] = double{best};
    }
  }
  return c;
}

}  // namespace sinter_test
