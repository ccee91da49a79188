#include "dsl/fft.hpp"

#include "dsl/create.hpp"
#include "dsl/join.hpp"
#include "dsl/record_internal.hpp"
#include "dsl/shape_ops.hpp"
#include "jit/library/fft.hpp"
#include "jit/loops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace sinter::fft {

using jit::op;
using jit::transform;

namespace {

constexpr dtype real_of(dtype type) {
  const bool is_single = type == c64 || type == f32 || (is_real(type) && size_of(type) == 2);
  return is_single ? f32 : f64;
}
constexpr dtype complex_of(dtype type) { return real_of(type) == f32 ? c64 : c128; }

/// What a call does, for messages and scales.
struct call {
  std::string_view name;
  bool forward;
  place at;
};

void check_call(const call& c) {
  if (!jit::is_recording_body()) return;
  throw_type_error(fmt::format("{}: can't run in the body of a loop inside a kernel", c.name), c.at,
                   "do it before the loop, or loop on the host");
}

void check_real(const array& x, const call& c) {
  if (is_complex(x.type()))
    throw_type_error(fmt::format("{}: takes real numbers, not {}", c.name, to_string(x.type())), c.at,
                     "fft takes complex ones; real(x)");
}

std::int64_t checked_length(std::int64_t n, const call& c) {
  if (n < 1) throw_shape_error(fmt::format("{}: a transform of {} elements", c.name, n), c.at);
  return n;
}

/// Cut, or continued with zeros, to n elements along `axis`.
array with_length(const array& x, int axis, std::int64_t n, const place& at) {
  const std::int64_t now = x.extents()[axis];
  if (n == now) return x;
  shape extents = x.extents();
  if (n > now) {
    extents[axis] = n - now;
    return concat({x, zeros(extents, x.type(), at)}, axis, at);
  }
  jit::axis_map map[max_rank];
  for (int k = 0; k < x.rank(); ++k) map[k] = {0, 1, k};
  extents[axis] = n;
  return view(x, {map, static_cast<std::size_t>(x.rank())}, extents, at);
}

/// What a transform of N elements is multiplied by.
double scale_of(norm scale, bool forward, double elements) {
  if (scale == norm::ortho) return 1 / std::sqrt(elements);
  return (scale == norm::forward) == forward ? 1 / elements : 1;
}

array scaled(const array& x, double scale, const place& at) {
  return scale == 1 ? x : record(op::multiply, x, scale, at);
}

array transformed(const array& x, transform how, bool forward, int count, std::int64_t length, const place& at) {
  return wrap(jit::record_fft(x.node(), how, forward, count, length, at));
}

/// Unscaled, over all of the axes, in their order, as many as a call takes at a time, the last ones first. The first of
/// these calls is of kind `first`.
array over_axes(array x, std::vector<int> along, transform first, bool forward, const place& at) {
  while (!along.empty()) {
    const auto count = std::min<std::size_t>(along.size(), jit::most_fft_axes);
    const std::span<const int> now(along.data() + (along.size() - count), count);
    std::vector<int> last(count);
    for (std::size_t k = 0; k < count; ++k) last[k] = static_cast<int>(k) - static_cast<int>(count);
    const axes from(now), to{std::span<const int>(last)};
    x = moveaxis(transformed(moveaxis(x, from, to, at), first, forward, static_cast<int>(count), 0, at), to, from, at);
    first = transform::complex;
    along.resize(along.size() - count);
  }
  return x;
}

/// The inverse of the half transform along one axis, unscaled.
array half_to_real(const array& x, int axis, std::int64_t n, const place& at) {
  const dtype type = complex_of(x.type());
  const array half = with_length(moveaxis(convert(x, type, at), axis, -1, at), x.rank() - 1, n / 2 + 1, at);
  // Libraries don't agree on what these imaginary parts do.
  const array position = iota(n / 2 + 1, at);
  array alone = record(op::equal, position, 0, at);
  if (n % 2 == 0) alone = record(op::logical_or, alone, record(op::equal, position, n / 2, at), at);
  const array real_part = convert(record(op::real_part, half, at), type, at);
  const array clean = choose(alone, input_of(real_part, at), input_of(half, at), at);
  return moveaxis(transformed(clean, transform::half_to_real, false, 1, n, at), -1, axis, at);
}

// ---- One axis ----

struct one_axis {
  int axis;
  std::int64_t n;
  double scale;
};

/// `own`: how many elements there are unless the options say.
one_axis read_options(const array& x, const options& how, const call& c, std::int64_t (*own)(std::int64_t)) {
  check_call(c);
  const int axis = checked_axis(how.axis, x.rank(), c.name, c.at);
  const std::int64_t n = checked_length(how.n ? *how.n : own(x.extents()[axis]), c);
  return {axis, n, scale_of(how.scale, c.forward, static_cast<double>(n))};
}

std::int64_t same(std::int64_t n) { return n; }
std::int64_t mirrored(std::int64_t half) { return 2 * (half - 1); }

array complex_transform(const array& x, const options& how, const call& c) {
  const one_axis o = read_options(x, how, c, same);
  const array signal = with_length(convert(x, complex_of(x.type()), c.at), o.axis, o.n, c.at);
  return scaled(over_axes(signal, {o.axis}, transform::complex, c.forward, c.at), o.scale, c.at);
}

array half_transform(const array& x, const options& how, const call& c) {
  check_real(x, c);
  const one_axis o = read_options(x, how, c, same);
  const array signal = with_length(convert(x, real_of(x.type()), c.at), o.axis, o.n, c.at);
  return scaled(over_axes(signal, {o.axis}, transform::real_to_half, true, c.at), o.scale, c.at);
}

array real_transform(const array& x, const options& how, const call& c) {
  const one_axis o = read_options(x, how, c, mirrored);
  return scaled(half_to_real(x, o.axis, o.n, c.at), o.scale, c.at);
}

}  // namespace

array fft(const array& x, const options& how, place at) { return complex_transform(x, how, {"fft", true, at}); }
array ifft(const array& x, const options& how, place at) { return complex_transform(x, how, {"ifft", false, at}); }
array rfft(const array& x, const options& how, place at) { return half_transform(x, how, {"rfft", true, at}); }
array irfft(const array& x, const options& how, place at) { return real_transform(x, how, {"irfft", false, at}); }

array hfft(const array& x, const options& how, place at) {
  return real_transform(record(op::conj, x, at), how, {"hfft", true, at});
}

array ihfft(const array& x, const options& how, place at) {
  return record(op::conj, half_transform(x, how, {"ihfft", false, at}), at);
}

// ---- Several axes ----

namespace {

struct several_axes {
  std::vector<int> along;
  std::vector<std::int64_t> lengths;  ///< of the signal
  double scale = 1;
};

/// `half`: x has half of the last of the axes.
several_axes read_options(const array& x, const options_of_axes& how, const axes& usual, bool half, const call& c) {
  check_call(c);
  several_axes s;
  const int given = how.lengths ? (*how.lengths).rank() : -1;
  if (!how.over.all()) {
    s.along = checked_axes(how.over, x.rank(), c.name, c.at);
  } else if (!usual.all()) {
    s.along = checked_axes(usual, x.rank(), c.name, c.at);
  } else {
    const int count = given < 0 ? x.rank() : given;
    if (count > x.rank())
      throw_shape_error(fmt::format("{}: {} lengths for shape {}", c.name, count, to_string(x.extents())), c.at);
    for (int k = x.rank() - count; k < x.rank(); ++k) s.along.push_back(k);
  }
  if (given >= 0 && static_cast<std::size_t>(given) != s.along.size())
    throw_shape_error(fmt::format("{}: {} lengths for {} axes", c.name, given, s.along.size()), c.at);
  if (s.along.empty()) throw_shape_error(fmt::format("{}: over no axes", c.name), c.at);
  double elements = 1;
  for (std::size_t k = 0; k < s.along.size(); ++k) {
    const std::int64_t now = x.extents()[s.along[k]];
    const bool is_half = half && k + 1 == s.along.size();
    const std::int64_t own = is_half ? mirrored(now) : now;
    s.lengths.push_back(checked_length(given >= 0 ? (*how.lengths)[static_cast<int>(k)] : own, c));
    elements *= static_cast<double>(s.lengths.back());
  }
  s.scale = scale_of(how.scale, c.forward, elements);
  return s;
}

array with_lengths(array x, const several_axes& s, std::size_t count, const place& at) {
  for (std::size_t k = 0; k < count; ++k) x = with_length(x, s.along[k], s.lengths[k], at);
  return x;
}

array complex_transform(const array& x, const options_of_axes& how, const axes& usual, const call& c) {
  const several_axes s = read_options(x, how, usual, false, c);
  const array signal = with_lengths(convert(x, complex_of(x.type()), c.at), s, s.along.size(), c.at);
  return scaled(over_axes(signal, s.along, transform::complex, c.forward, c.at), s.scale, c.at);
}

array half_transform(const array& x, const options_of_axes& how, const axes& usual, const call& c) {
  check_real(x, c);
  const several_axes s = read_options(x, how, usual, false, c);
  const array signal = with_lengths(convert(x, real_of(x.type()), c.at), s, s.along.size(), c.at);
  return scaled(over_axes(signal, s.along, transform::real_to_half, true, c.at), s.scale, c.at);
}

/// The other axes first, so that what doesn't count is what it is along the last one.
array real_transform(const array& x, const options_of_axes& how, const axes& usual, const call& c) {
  several_axes s = read_options(x, how, usual, true, c);
  const int last = s.along.back();
  array half = with_length(convert(x, complex_of(x.type()), c.at), last, s.lengths.back() / 2 + 1, c.at);
  half = with_lengths(half, s, s.along.size() - 1, c.at);
  s.along.pop_back();
  half = over_axes(half, s.along, transform::complex, false, c.at);
  return scaled(half_to_real(half, last, s.lengths.back(), c.at), s.scale, c.at);
}

constexpr axes last_two{-2, -1};

}  // namespace

array fftn(const array& x, const options_of_axes& how, place at) {
  return complex_transform(x, how, {}, {"fftn", true, at});
}
array ifftn(const array& x, const options_of_axes& how, place at) {
  return complex_transform(x, how, {}, {"ifftn", false, at});
}
array rfftn(const array& x, const options_of_axes& how, place at) {
  return half_transform(x, how, {}, {"rfftn", true, at});
}
array irfftn(const array& x, const options_of_axes& how, place at) {
  return real_transform(x, how, {}, {"irfftn", false, at});
}
array fft2(const array& x, const options_of_axes& how, place at) {
  return complex_transform(x, how, last_two, {"fft2", true, at});
}
array ifft2(const array& x, const options_of_axes& how, place at) {
  return complex_transform(x, how, last_two, {"ifft2", false, at});
}
array rfft2(const array& x, const options_of_axes& how, place at) {
  return half_transform(x, how, last_two, {"rfft2", true, at});
}
array irfft2(const array& x, const options_of_axes& how, place at) {
  return real_transform(x, how, last_two, {"irfft2", false, at});
}

// ---- Frequencies ----

namespace {

array frequencies(const array& numbers, std::int64_t n, double spacing, dtype type, const place& at) {
  if (!is_real(type))
    throw_type_error(fmt::format("fftfreq: frequencies are no {}", to_string(type)), at, "f64, f32, f16 or bf16");
  const array f = record(op::divide, convert(numbers, f64, at), static_cast<double>(n) * spacing, at);
  return convert(f, type, at);
}

array rolled(array x, const axes& over, bool back, std::string_view name, const place& at) {
  const std::uint32_t bits = axis_bits(over, x.rank(), name, at);
  for (int k = 0; k < x.rank(); ++k) {
    const std::int64_t half = x.extents()[k] / 2;
    if ((bits >> k & 1u) != 0) x = roll(x, back ? -half : half, k, at);
  }
  return x;
}

}  // namespace

array fftfreq(std::int64_t n, double spacing, dtype type, place at) {
  const call c{"fftfreq", true, at};
  const array k = iota(checked_length(n, c), at);
  const array positive = record(op::less, k, (n + 1) / 2, at);
  const array number = choose(positive, input_of(k, at), input_of(record(op::subtract, k, n, at), at), at);
  return frequencies(number, n, spacing, type, at);
}

array rfftfreq(std::int64_t n, double spacing, dtype type, place at) {
  const call c{"rfftfreq", true, at};
  return frequencies(iota(checked_length(n, c) / 2 + 1, at), n, spacing, type, at);
}

array fftshift(const array& x, const axes& over, place at) { return rolled(x, over, false, "fftshift", at); }
array ifftshift(const array& x, const axes& over, place at) { return rolled(x, over, true, "ifftshift", at); }

}  // namespace sinter::fft
