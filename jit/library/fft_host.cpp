// FFTW, whose planner is called by one thread at a time, with estimates: measuring would take longer than most
// programs' transforms. Plans are of one axis. Threads share the transforms along it, axis after axis.
#include "jit/library/fft.hpp"
#include "jit/library/plan_cache.hpp"
#include "runtime/backend.hpp"
#include "runtime/library.hpp"

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

/// Transforms along one axis, of `columns` neighbours at once: elements of each are `step` apart.
struct axis_task {
  transform how;
  bool forward, is_double, in_place;
  bool aligned;  ///< each transform's first element is, so that vector instructions can be used
  std::int64_t length, step, columns;
  friend bool operator==(const axis_task&, const axis_task&) = default;
};

class axis_plan {
 public:
  axis_plan(const axis_task& t, void* source, void* result) : library_(fftw_library::of(t.is_double)), how_(t.how) {
    const fftw_dimension along{t.length, t.step, t.step}, columns{t.columns, 1, 1};
    const unsigned flags = estimate | (t.aligned ? 0 : unaligned);
    const std::lock_guard lock(planner());
    if (how_ == transform::complex)
      plan_ = library_.plan_complex(1, &along, 1, &columns, source, result, t.forward ? minus : plus,
                                    t.in_place ? flags : flags | preserve_input);
    else if (how_ == transform::real_to_half)
      plan_ = library_.plan_real_to_half(1, &along, 1, &columns, source, result, flags | preserve_input);
    else plan_ = library_.plan_half_to_real(1, &along, 1, &columns, source, result, flags | preserve_input);
  }
  ~axis_plan() {
    const std::lock_guard lock(planner());
    if (plan_) library_.destroy(plan_);
  }
  axis_plan(const axis_plan&) = delete;
  axis_plan& operator=(const axis_plan&) = delete;

  bool is_there() const { return plan_ != nullptr; }
  void run(void* source, void* result) const { library_.execute[static_cast<int>(how_)](plan_, source, result); }

 private:
  const fftw_library& library_;
  transform how_;
  fftw_library::plan plan_ = nullptr;
};

std::shared_ptr<axis_plan> plan_for(const axis_task& t, void* source, void* result, library_run& r) {
  static auto& plans = *new plan_cache<axis_task, axis_plan>(64);
  return plans.find(t, [&] {
    auto fresh = std::make_shared<axis_plan>(t, source, result);
    if (!fresh->is_there()) r.fail("fft", fmt::format("FFTW has no plan for {} elements", t.length));
    return fresh;
  });
}

/// Columns that go together: a cache line holds some of each row.
constexpr std::int64_t most_columns = 16;
/// What FFTW's vector instructions want elements to be aligned to.
constexpr std::uintptr_t vector_bytes = 16;

/// [outer, length, inner] transformed along the middle axis.
void transform_axis(const fft_task& whole, transform how, std::int64_t outer, std::int64_t length, std::int64_t inner,
                    const std::byte* source, std::byte* result, library_run& r) {
  const std::int64_t real_bytes = whole.is_double ? 8 : 4, half = length / 2 + 1;
  const std::int64_t source_row = how == transform::real_to_half   ? length * real_bytes
                                  : how == transform::half_to_real ? half * 2 * real_bytes
                                                                   : length * 2 * real_bytes;
  const std::int64_t result_row = how == transform::real_to_half   ? half * 2 * real_bytes
                                  : how == transform::half_to_real ? length * real_bytes
                                                                   : length * 2 * real_bytes;
  const auto places = reinterpret_cast<std::uintptr_t>(source) | reinterpret_cast<std::uintptr_t>(result) |
                      static_cast<std::uintptr_t>(source_row * inner | result_row * inner);
  axis_task t{how,
              whole.forward,
              whole.is_double,
              source == result,
              places % vector_bytes == 0,
              length,
              inner,
              std::min(inner, most_columns)};
  const std::int64_t groups = inner / t.columns, rest = inner % t.columns;
  void* const from = const_cast<std::byte*>(source);
  const std::shared_ptr<axis_plan> plan = plan_for(t, from, result, r);
  std::shared_ptr<axis_plan> last = plan;
  if (rest > 0) {
    t.columns = rest;
    last = plan_for(t, from, result, r);
  }
  const std::int64_t all_groups = groups + (rest > 0 ? 1 : 0), column_bytes = most_columns * 2 * real_bytes;
  runtime::launch_shape shape;
  shape.rows = outer * all_groups;
  const double work = 5 * static_cast<double>(length) * std::log2(static_cast<double>(length) + 1);
  shape.cost = static_cast<int>(std::clamp(work * static_cast<double>(std::min(inner, most_columns)), 1.0, 1e9));
  runtime::parallel_for(shape, [&](std::int64_t begin, std::int64_t end, std::int64_t, std::int64_t) {
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t row = k / all_groups, group = k % all_groups, column = group * column_bytes;
      (group < groups ? plan : last)
          ->run(const_cast<std::byte*>(source) + row * source_row * inner + column,
                result + row * result_row * inner + column);
    }
  });
}

}  // namespace

const std::string& fftw_absence(bool is_double) { return fftw_library::of(is_double).code.absence(); }

void transform_on_host(const fft_task& t, const void* source, void* result, library_run& r) {
  const auto* const from = static_cast<const std::byte*>(source);
  auto* const to = static_cast<std::byte*>(result);
  std::int64_t outer = t.batch;
  for (int k = 0; k < t.axes - 1; ++k) outer *= t.lengths[k];
  transform_axis(t, t.how, outer, t.lengths[t.axes - 1], 1, from, to, r);
  // The other axes in place.
  std::int64_t inner = t.lengths[t.axes - 1];
  if (t.how == transform::real_to_half) inner = inner / 2 + 1;
  for (int k = t.axes - 2; k >= 0; --k) {
    outer /= t.lengths[k];
    transform_axis(t, transform::complex, outer, t.lengths[k], inner, to, to, r);
    inner *= t.lengths[k];
  }
}

}  // namespace sinter::jit
