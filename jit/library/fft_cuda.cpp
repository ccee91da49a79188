// cuFFT. Plans are kept, their working memory isn't: it comes from the run that needs it.
#include "jit/library/fft.hpp"
#include "jit/library/plan_cache.hpp"
#include "runtime/backend.hpp"
#include "runtime/library.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sinter::jit {

namespace {

/// As cufft.h has them, which isn't needed to build.
using cufft_handle = int;
using cufft_result = int;
constexpr cufft_result succeeded = 0;
constexpr int forward_sign = -1, inverse_sign = 1;
/// By transform: in f32, in f64.
constexpr int cufft_types[3][2] = {{0x29, 0x69}, {0x2a, 0x6a}, {0x2c, 0x6c}};

#define SINTER_CUFFT_ENTRIES(ENTRY)                                                                                   \
  ENTRY(cufftCreate, (cufft_handle*))                                                                                 \
  ENTRY(cufftDestroy, (cufft_handle))                                                                                 \
  ENTRY(cufftSetAutoAllocation, (cufft_handle, int))                                                                  \
  ENTRY(cufftMakePlanMany64, (cufft_handle, int, long long*, long long*, long long, long long, long long*, long long, \
                              long long, int, long long, std::size_t*))                                               \
  ENTRY(cufftSetWorkArea, (cufft_handle, void*))                                                                      \
  ENTRY(cufftSetStream, (cufft_handle, void*))                                                                        \
  ENTRY(cufftExecC2C, (cufft_handle, void*, void*, int))                                                              \
  ENTRY(cufftExecZ2Z, (cufft_handle, void*, void*, int))                                                              \
  ENTRY(cufftExecR2C, (cufft_handle, void*, void*))                                                                   \
  ENTRY(cufftExecD2Z, (cufft_handle, void*, void*))                                                                   \
  ENTRY(cufftExecC2R, (cufft_handle, void*, void*))                                                                   \
  ENTRY(cufftExecZ2D, (cufft_handle, void*, void*))

struct cufft_library {
  cufft_library()
      : code("cuFFT", runtime::cuda_library_names("cufft", {12, 11, 10}),
             "the CUDA toolkit's libcufft (NVIDIA's packages libcufft-13-0, libcufft-12-x; Debian, Ubuntu: libcufft11, "
             "libcufft10), or set CUDA_HOME to the toolkit's folder",
             {
#define SINTER_NAME(name, parameters) #name,
                 SINTER_CUFFT_ENTRIES(SINTER_NAME)
#undef SINTER_NAME
             }) {
#define SINTER_FIND(name, parameters) name = code.find<cufft_result parameters>(#name);
    SINTER_CUFFT_ENTRIES(SINTER_FIND)
#undef SINTER_FIND
  }

  static const cufft_library& instance() {
    static const auto* const open = new cufft_library;  // like the driver, never closed
    return *open;
  }

  runtime::library code;
#define SINTER_ENTRY(name, parameters) cufft_result(*name) parameters = nullptr;
  SINTER_CUFFT_ENTRIES(SINTER_ENTRY)
#undef SINTER_ENTRY
};
#undef SINTER_CUFFT_ENTRIES

const char* meaning(cufft_result code) {
  switch (code) {
    case 1:
      return "invalid plan";
    case 2:
      return "no memory for the plan";
    case 3:
      return "invalid type";
    case 4:
      return "invalid value";
    case 5:
      return "internal error";
    case 6:
      return "execution failed";
    case 7:
      return "setup failed";
    case 8:
      return "invalid size";
    case 11:
      return "invalid device";
    case 14:
      return "not implemented";
    case 16:
      return "not supported";
    default:
      return "error";
  }
}

void check(const library_run& r, cufft_result code, const char* what) {
  if (code != succeeded) r.fail("fft", fmt::format("cuFFT: {}: {} ({})", what, meaning(code), code), code);
}

struct device_task {
  int device;
  fft_task task;
  friend bool operator==(const device_task&, const device_task&) = default;
};

class cufft_plan {
 public:
  cufft_plan(const fft_task& t, const library_run& r) : api_(cufft_library::instance()), task_(t) {
    check(r, api_.cufftCreate(&handle_), "making a plan");
    try {
      check(r, api_.cufftSetAutoAllocation(handle_, 0), "making a plan");
      long long lengths[most_fft_axes];
      std::copy(t.lengths, t.lengths + t.axes, lengths);
      check(r,
            api_.cufftMakePlanMany64(handle_, t.axes, lengths, nullptr, 1, 0, nullptr, 1, 0,
                                     cufft_types[static_cast<int>(t.how)][t.is_double ? 1 : 0], t.batch, &work_bytes_),
            "making a plan");
    } catch (...) {
      api_.cufftDestroy(handle_);
      throw;
    }
  }
  ~cufft_plan() { api_.cufftDestroy(handle_); }
  cufft_plan(const cufft_plan&) = delete;
  cufft_plan& operator=(const cufft_plan&) = delete;

  void run(void* source, void* result, library_run& r) {
    void* const work = work_bytes_ > 0 ? r.scratch(work_bytes_) : nullptr;
    void* const stream = r.where.native_stream();
    const std::lock_guard lock(guard_);
    check(r, api_.cufftSetStream(handle_, stream), "choosing the stream");
    check(r, api_.cufftSetWorkArea(handle_, work), "giving it memory");
    check(r, execute(source, result), "starting a transform");
  }

 private:
  cufft_result execute(void* source, void* result) const {
    const int sign = task_.forward ? forward_sign : inverse_sign;
    switch (task_.how) {
      case transform::complex:
        return (task_.is_double ? api_.cufftExecZ2Z : api_.cufftExecC2C)(handle_, source, result, sign);
      case transform::real_to_half:
        return (task_.is_double ? api_.cufftExecD2Z : api_.cufftExecR2C)(handle_, source, result);
      case transform::half_to_real:
        return (task_.is_double ? api_.cufftExecZ2D : api_.cufftExecC2R)(handle_, source, result);
    }
    return succeeded;
  }

  const cufft_library& api_;
  fft_task task_;
  std::mutex guard_;  ///< stream and memory are the plan's: nobody changes them before it has started
  cufft_handle handle_ = 0;
  std::size_t work_bytes_ = 0;
};

}  // namespace

const std::string& cufft_absence() { return cufft_library::instance().code.absence(); }

void transform_on_cuda(const fft_task& t, const void* source, void* result, library_run& r) {
  static auto& plans = *new plan_cache<device_task, cufft_plan>(64);
  r.where.native_stream();  // makes the device's context this thread's, which plans are made in
  const std::shared_ptr<cufft_plan> plan =
      plans.find({r.where.ordinal(), t}, [&] { return std::make_shared<cufft_plan>(t, r); });
  void* from = const_cast<void*>(source);
  if (t.how == transform::half_to_real) {  // may leave anything in what it reads
    const auto bytes = static_cast<std::size_t>(t.batch * (t.lengths[t.axes - 1] / 2 + 1) * (t.is_double ? 16 : 8));
    from = r.scratch(bytes);
    r.where.copy_on_device(from, source, bytes);
  }
  plan->run(from, result, r);
}

}  // namespace sinter::jit
