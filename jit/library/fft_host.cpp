// FFTW, whose planner is called by one thread at a time, with estimates: measuring would take longer than most
// programs' transforms. Plans are of one line. Threads share the lines along an axis, axis after axis.
#include "jit/library/fft.hpp"
#include "jit/library/plan_cache.hpp"
#include "runtime/backend.hpp"
#include "runtime/library.hpp"
#include "runtime/module.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sinter::jit {

namespace {

/// As fftw3.h has them, which isn't needed to build.
struct fftw_dimension {
  std::ptrdiff_t n, input_step, output_step;
};
constexpr unsigned unaligned = 1u << 1, preserve_input = 1u << 4, estimate = 1u << 6;
constexpr int minus = -1, plus = 1;

struct fftw_library {
  using plan = void*;
  using dimensions = const fftw_dimension*;

  explicit fftw_library(bool is_double)
      : code(is_double ? "FFTW (double precision)" : "FFTW (single precision)",
             {is_double ? "libfftw3.so.3" : "libfftw3f.so.3"},
             is_double ? "libfftw3-double3 (Debian, Ubuntu)" : "libfftw3-single3 (Debian, Ubuntu)",
             {symbol(is_double, "plan_guru64_dft"), symbol(is_double, "plan_guru64_dft_r2c"),
              symbol(is_double, "plan_guru64_dft_c2r"), symbol(is_double, "execute_dft"),
              symbol(is_double, "execute_dft_r2c"), symbol(is_double, "execute_dft_c2r"),
              symbol(is_double, "destroy_plan")}) {
    if (!code) return;
    const auto find = [&](auto*& f, const char* name) {
      f = code.find<std::remove_reference_t<decltype(*f)>>(symbol(is_double, name));
    };
    find(plan_complex, "plan_guru64_dft");
    find(plan_real_to_half, "plan_guru64_dft_r2c");
    find(plan_half_to_real, "plan_guru64_dft_c2r");
    find(execute[0], "execute_dft");
    find(execute[1], "execute_dft_r2c");
    find(execute[2], "execute_dft_c2r");
    find(destroy, "destroy_plan");
  }

  static std::string symbol(bool is_double, const char* name) {
    return fmt::format("{}_{}", is_double ? "fftw" : "fftwf", name);
  }
  static const fftw_library& of(bool is_double) {
    // They stay open: threads may still run when the program ends.
    static const auto* const single = new fftw_library(false);
    static const auto* const twice = new fftw_library(true);
    return is_double ? *twice : *single;
  }

  runtime::library code;
  plan (*plan_complex)(int, dimensions, int, dimensions, void*, void*, int, unsigned) = nullptr;
  plan (*plan_real_to_half)(int, dimensions, int, dimensions, void*, void*, unsigned) = nullptr;
  plan (*plan_half_to_real)(int, dimensions, int, dimensions, void*, void*, unsigned) = nullptr;
  void (*execute[3])(plan, void*, void*) = {};  ///< by transform
  void (*destroy)(plan) = nullptr;
};

std::mutex& planner() {
  static auto* const guard = new std::mutex;
  return *guard;
}

/// One transform of neighbouring elements.
struct line_task {
  transform how;
  bool forward, is_double, in_place;
  bool aligned;  ///< source and result are, so that vector instructions can be used
  std::int64_t length;
  friend bool operator==(const line_task&, const line_task&) = default;
};

class line_plan {
 public:
  line_plan(const line_task& t, void* source, void* result) : library_(fftw_library::of(t.is_double)), how_(t.how) {
    const fftw_dimension along{t.length, 1, 1};
    const unsigned flags = estimate | (t.aligned ? 0 : unaligned);
    const std::lock_guard lock(planner());
    if (how_ == transform::complex)
      plan_ = library_.plan_complex(1, &along, 0, nullptr, source, result, t.forward ? minus : plus,
                                    t.in_place ? flags : flags | preserve_input);
    else if (how_ == transform::real_to_half)
      plan_ = library_.plan_real_to_half(1, &along, 0, nullptr, source, result, flags | preserve_input);
    else plan_ = library_.plan_half_to_real(1, &along, 0, nullptr, source, result, flags | preserve_input);
  }
  ~line_plan() {
    const std::lock_guard lock(planner());
    if (plan_) library_.destroy(plan_);
  }
  line_plan(const line_plan&) = delete;
  line_plan& operator=(const line_plan&) = delete;

  bool is_there() const { return plan_ != nullptr; }
  void run(void* source, void* result) const { library_.execute[static_cast<int>(how_)](plan_, source, result); }

 private:
  const fftw_library& library_;
  transform how_;
  fftw_library::plan plan_ = nullptr;
};

std::shared_ptr<line_plan> plan_for(const line_task& t, void* source, void* result, library_run& r) {
  static auto& plans = *new plan_cache<line_task, line_plan>(64);
  return plans.find(t, [&] {
    auto fresh = std::make_shared<line_plan>(t, source, result);
    if (!fresh->is_there()) r.fail("fft", fmt::format("FFTW has no plan for {} elements", t.length));
    return fresh;
  });
}

/// What FFTW's vector instructions want elements to be aligned to.
constexpr std::uintptr_t vector_bytes = 16;

bool is_aligned(const void* source, const void* result, std::int64_t row_bytes) {
  const auto places = reinterpret_cast<std::uintptr_t>(source) | reinterpret_cast<std::uintptr_t>(result);
  return (places | static_cast<std::uintptr_t>(row_bytes)) % vector_bytes == 0;
}

int cost_of(std::int64_t length, std::int64_t lines) {
  const double work = 5 * static_cast<double>(length) * std::log2(static_cast<double>(length) + 1);
  return static_cast<int>(std::clamp(work * static_cast<double>(lines), 1.0, 1e9));
}

/// [rows, length] along the last axis.
void transform_rows(const fft_task& t, std::int64_t rows, const std::byte* source, std::byte* result, library_run& r) {
  const std::int64_t length = t.lengths[t.axes - 1], real_bytes = t.is_double ? 8 : 4;
  const std::int64_t half_row = (length / 2 + 1) * 2 * real_bytes, complex_row = length * 2 * real_bytes;
  const std::int64_t real_row = length * real_bytes;
  const std::int64_t from_row = t.how == transform::real_to_half   ? real_row
                                : t.how == transform::half_to_real ? half_row
                                                                   : complex_row;
  const std::int64_t to_row = t.how == transform::real_to_half   ? half_row
                              : t.how == transform::half_to_real ? real_row
                                                                 : complex_row;
  auto* const from = const_cast<std::byte*>(source);
  const line_task line{t.how, t.forward, t.is_double, false, is_aligned(source, result, from_row | to_row), length};
  const std::shared_ptr<line_plan> plan = plan_for(line, from, result, r);
  runtime::launch_shape shape;
  shape.rows = rows;
  shape.cost = cost_of(length, 1);
  runtime::parallel_for(shape, [&](std::int64_t begin, std::int64_t end, std::int64_t, std::int64_t) {
    for (std::int64_t k = begin; k < end; ++k) plan->run(from + k * from_row, result + k * to_row);
  });
}

/// [outer, length, inner] complex numbers along the middle axis, in place. Some neighbouring columns at a time are
/// brought together: elements that are a power of two apart, as they often are, share few places of a cache.
template <class Element>
class column_transform {
 public:
  column_transform(const fft_task& t, std::int64_t outer, std::int64_t length, std::int64_t inner, void* data,
                   library_run& r)
      : length_(length), inner_(inner), data_(static_cast<Element*>(data)) {
    const auto fitting = static_cast<std::int64_t>(most_bytes / sizeof(Element)) / length;
    columns_ = std::min(inner, std::clamp(fitting, least_columns, most_columns));
    groups_of_outer_ = (inner + columns_ - 1) / columns_;
    groups_ = outer * groups_of_outer_;
    pitch_ = (length + 15) / 8 * 8;  // apart by no power of two, and aligned
    const auto threads = static_cast<std::int64_t>(r.where.processors().processors);
    parts_ = std::min(groups_, 4 * threads);
    room_ = static_cast<Element*>(r.scratch(static_cast<std::size_t>(parts_ * columns_ * pitch_) * sizeof(Element)));
    plan_ = plan_for({transform::complex, t.forward, t.is_double, true, true, length}, room_, room_, r);
  }

  void run() const {
    runtime::launch_shape shape;
    shape.rows = parts_;
    shape.cost = cost_of(length_, columns_ * (groups_ / parts_));
    runtime::parallel_for(shape, [&](std::int64_t begin, std::int64_t end, std::int64_t, std::int64_t) {
      for (std::int64_t p = begin; p < end; ++p)
        for (std::int64_t g = groups_ * p / parts_; g < groups_ * (p + 1) / parts_; ++g)
          transform_group(g, room_ + p * columns_ * pitch_);
    });
  }

 private:
  static constexpr std::size_t most_bytes = std::size_t{1} << 18;
  static constexpr std::int64_t least_columns = 64 / static_cast<std::int64_t>(sizeof(Element)), most_columns = 32;

  void transform_group(std::int64_t group, Element* room) const {
    const std::int64_t column = group % groups_of_outer_ * columns_, count = std::min(columns_, inner_ - column);
    Element* const first = data_ + group / groups_of_outer_ * length_ * inner_ + column;
    for (std::int64_t j = 0; j < length_; ++j)
      for (std::int64_t c = 0; c < count; ++c) room[c * pitch_ + j] = first[j * inner_ + c];
    for (std::int64_t c = 0; c < count; ++c) plan_->run(room + c * pitch_, room + c * pitch_);
    for (std::int64_t j = 0; j < length_; ++j)
      for (std::int64_t c = 0; c < count; ++c) first[j * inner_ + c] = room[c * pitch_ + j];
  }

  std::int64_t length_, inner_, columns_ = 0, groups_of_outer_ = 0, groups_ = 0, pitch_ = 0, parts_ = 0;
  Element *data_, *room_ = nullptr;
  std::shared_ptr<line_plan> plan_;
};

}  // namespace

const std::string& fftw_absence(bool is_double) { return fftw_library::of(is_double).code.absence(); }

void transform_on_host(const fft_task& t, const void* source, void* result, library_run& r) {
  std::int64_t outer = t.batch;
  for (int k = 0; k < t.axes - 1; ++k) outer *= t.lengths[k];
  transform_rows(t, outer, static_cast<const std::byte*>(source), static_cast<std::byte*>(result), r);
  std::int64_t inner = t.lengths[t.axes - 1];
  if (t.how == transform::real_to_half) inner = inner / 2 + 1;
  for (int k = t.axes - 2; k >= 0; --k) {
    outer /= t.lengths[k];
    if (t.lengths[k] == 1) continue;
    if (t.is_double) column_transform<complex128>(t, outer, t.lengths[k], inner, result, r).run();
    else column_transform<complex64>(t, outer, t.lengths[k], inner, result, r).run();
    inner *= t.lengths[k];
  }
}

}  // namespace sinter::jit
