#include "jit/library/fft.hpp"

#include "jit/engine.hpp"
#include "runtime/backend.hpp"
#include "runtime/error.hpp"

#include <fmt/format.h>

namespace sinter::jit {

namespace {

constexpr dtype real_of(bool is_double) { return is_double ? dtype::f64 : dtype::f32; }
constexpr dtype complex_of(bool is_double) { return is_double ? dtype::c128 : dtype::c64; }

class fft_call final : public library_call {
 public:
  fft_call(const fft_task& t, const shape& result) : task_(t), result_(result) {}

  std::string_view name() const override { return "fft"; }
  std::string describe() const override {
    const char* const kinds[] = {"complex", "real to complex", "complex to real"};
    const std::span<const std::int64_t> lengths(task_.lengths, static_cast<std::size_t>(task_.axes));
    return fmt::format("fft: {} of {}, {} {}, batch of {}", kinds[static_cast<int>(task_.how)],
                       fmt::join(lengths, " x "), task_.is_double ? "f64" : "f32",
                       task_.forward ? "forward" : "backward", task_.batch);
  }

  std::vector<output> outputs() const override {
    return {{task_.how == transform::half_to_real ? real_of(task_.is_double) : complex_of(task_.is_double), result_}};
  }

  void start(library_run& r) const override {
    if (r.where.kind() == runtime::device_kind::cpu) transform_on_host(task_, r.inputs[0].data, r.outputs[0].data, r);
    else transform_on_cuda(task_, r.inputs[0].data, r.outputs[0].data, r);
  }

 private:
  fft_task task_;
  shape result_;
};

void check_library(const runtime::device& where, bool is_double, const place& at) {
  const bool on_host = where.kind() == runtime::device_kind::cpu;
  if (!current_options().use_libraries)
    throw device_error(
        error_text(fmt::format("fft: {} isn't used: libraries are switched off", on_host ? "FFTW" : "cuFFT"), at));
  const std::string& absence = on_host ? fftw_absence(is_double) : cufft_absence();
  if (!absence.empty()) throw device_error(error_text(fmt::format("fft: {}", absence), at));
}

}  // namespace

node_ref record_fft(node* x, transform how, bool forward, int axes, std::int64_t length, const place& at) {
  node* const operands[] = {x};
  runtime::device& where = device_of_operands(operands, "fft", at);
  fft_task t;
  t.how = how;
  t.forward = forward;
  t.is_double = x->type == dtype::f64 || x->type == dtype::c128;
  t.axes = axes;
  check_library(where, t.is_double, at);
  const int rank = x->extents.rank();
  shape result = x->extents;
  for (int k = 0; k < rank - axes; ++k) t.batch *= x->extents[k];
  for (int k = 0; k < axes; ++k) t.lengths[k] = x->extents[rank - axes + k];
  if (how == transform::half_to_real) result[rank - 1] = t.lengths[axes - 1] = length;
  if (how == transform::real_to_half) result[rank - 1] = t.lengths[axes - 1] / 2 + 1;
  return std::move(record_library_call(std::make_shared<const fft_call>(t, result), operands, where, at)[0]);
}

}  // namespace sinter::jit
