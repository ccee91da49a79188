// The CUDA Driver API, opened at run time: one binary runs with and without a GPU.
#pragma once

#include <string>

#include <cuda.h>

namespace sinter::runtime::gpu {

// Every entry point the library calls. cuda.h renames some of them (cuMemFree is a macro for cuMemFree_v2): types and
// symbols are both taken after that renaming, so a header and the signatures it declares can't drift apart.
#define SINTER_CUDA_ENTRIES(ENTRY)  \
  ENTRY(cuInit)                     \
  ENTRY(cuDriverGetVersion)         \
  ENTRY(cuGetErrorName)             \
  ENTRY(cuGetErrorString)           \
  ENTRY(cuDeviceGetCount)           \
  ENTRY(cuDeviceGet)                \
  ENTRY(cuDeviceGetAttribute)       \
  ENTRY(cuDevicePrimaryCtxRetain)   \
  ENTRY(cuCtxSetCurrent)            \
  ENTRY(cuCtxSynchronize)           \
  ENTRY(cuStreamSynchronize)        \
  ENTRY(cuDeviceGetDefaultMemPool)  \
  ENTRY(cuMemPoolSetAttribute)      \
  ENTRY(cuMemPoolGetAttribute)      \
  ENTRY(cuMemPoolTrimTo)            \
  ENTRY(cuMemAllocFromPoolAsync)    \
  ENTRY(cuMemFreeAsync)             \
  ENTRY(cuMemAlloc)                 \
  ENTRY(cuMemFree)                  \
  ENTRY(cuMemGetInfo)               \
  ENTRY(cuMemHostAlloc)             \
  ENTRY(cuMemFreeHost)              \
  ENTRY(cuPointerGetAttributes)     \
  ENTRY(cuMemcpyHtoDAsync)          \
  ENTRY(cuMemcpyDtoHAsync)          \
  ENTRY(cuMemcpyDtoDAsync)          \
  ENTRY(cuMemcpy2DAsync)            \
  ENTRY(cuModuleLoadDataEx)         \
  ENTRY(cuModuleGetFunction)        \
  ENTRY(cuModuleGetGlobal)          \
  ENTRY(cuModuleUnload)             \
  ENTRY(cuFuncGetAttribute)         \
  ENTRY(cuFuncSetAttribute)         \
  ENTRY(cuLaunchKernel)             \
  ENTRY(cuLaunchCooperativeKernel)  \
  ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  ENTRY(cuGraphCreate)              \
  ENTRY(cuGraphDestroy)             \
  ENTRY(cuGraphAddKernelNode)       \
  ENTRY(cuGraphInstantiate)         \
  ENTRY(cuGraphLaunch)              \
  ENTRY(cuGraphExecKernelNodeSetParams) \
  ENTRY(cuGraphExecDestroy)

// Of them, those for streams and events.
#define SINTER_CUDA_STREAM_ENTRIES(ENTRY) \
  ENTRY(cuStreamCreateWithPriority)       \
  ENTRY(cuStreamDestroy)                  \
  ENTRY(cuStreamQuery)                    \
  ENTRY(cuStreamWaitEvent)                \
  ENTRY(cuStreamGetCtx)                   \
  ENTRY(cuStreamGetPriority)              \
  ENTRY(cuStreamIsCapturing)              \
  ENTRY(cuEventCreate)                    \
  ENTRY(cuEventDestroy)                   \
  ENTRY(cuEventRecord)                    \
  ENTRY(cuEventQuery)                     \
  ENTRY(cuEventSynchronize)

// Those that a driver may lack: null then.
#if CUDA_VERSION >= 12040
#define SINTER_CUDA_NEW_ENTRIES(ENTRY) \
  ENTRY(cuFuncGetParamInfo)            \
  ENTRY(cuFuncGetName)                 \
  ENTRY(cuModuleGetFunctionCount)      \
  ENTRY(cuModuleEnumerateFunctions)
#else
#define SINTER_CUDA_NEW_ENTRIES(ENTRY)
#endif

/// The table of entry points, named as cuda.h names them after its renaming.
struct driver {
#define SINTER_ENTRY(name) decltype(&::name) name = nullptr;
  SINTER_CUDA_ENTRIES(SINTER_ENTRY)
  SINTER_CUDA_STREAM_ENTRIES(SINTER_ENTRY)
  SINTER_CUDA_NEW_ENTRIES(SINTER_ENTRY)
#undef SINTER_ENTRY
  decltype(&::cuEventElapsedTime) cuEventElapsedTime = nullptr;  ///< under its new or its old name; null: neither
};

/// What the first look at the driver found.
struct driver_state {
  driver api;
  int devices = 0;
  std::string absence;  ///< why there are no devices; empty when there are
};

/// Opens and initialises the driver at the first call; later calls cost nothing.
const driver_state& open_driver();

/// Whether the process is ending and the driver may be gone: nothing is released from then on.
bool ending() noexcept;

/// "CUDA_ERROR_INVALID_VALUE (1): invalid argument".
std::string describe(const driver& api, CUresult result);
/// Throws out_of_memory or device_error: "what: name (code): description".
[[noreturn]] void fail(const driver& api, CUresult result, const char* what);
inline void check(const driver& api, CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) [[unlikely]] fail(api, result, what);
}

}  // namespace sinter::runtime::gpu
