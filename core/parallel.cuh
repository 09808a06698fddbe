// The CUDA side of the device seam's loop: functor(i) for each i in [0, n) on a CUDA device, by the same functor bodies
// (marked REPRISE_HOST_DEVICE) that core/parallel.h runs on the CPU. Included by .cu files only.
//
// launch_for queues the loop on a stream and returns; parallel_for(device, ...) dispatches on the device and, on CUDA,
// waits for the end. Errors (device) when CUDA refuses the launch or the loop fails.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "core/error.h"
#include "core/parallel.h"

namespace reprise::cuda {

/// Throws an Error (device) that names `what` when `status` is not success.
inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) fail(ErrorKind::device, "[{}] CUDA: {}", what, cudaGetErrorString(status));
}

/// Devices that can be used; 0 where there is no driver. Never throws.
inline int device_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

namespace internal {

constexpr int kThreadsPerBlock = 256;
// Enough blocks to fill any device; each thread strides over the rest. The grid depends on n alone.
constexpr std::int64_t kMaxBlocks = 4096;

template <class Functor>
__global__ void __launch_bounds__(kThreadsPerBlock) loop_kernel(std::int64_t n, Functor functor) {
  std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride)
    functor(i);
}

}  // namespace internal

/// Queues functor(i) for each i in [0, n) on `stream` of the current device.
template <class Functor>
void launch_for(std::int64_t n, const Functor& functor, cudaStream_t stream = nullptr) {
  if (n <= 0) return;
  std::int64_t blocks =
      std::min((n + internal::kThreadsPerBlock - 1) / internal::kThreadsPerBlock, internal::kMaxBlocks);
  internal::loop_kernel<<<static_cast<unsigned>(blocks), internal::kThreadsPerBlock, 0, stream>>>(n, functor);
  check(cudaGetLastError(), "parallel_for");
}

/// The loop on `device`, complete when the call returns. On CUDA what the functor points at must be device memory.
template <class Functor>
void parallel_for(Device device, std::int64_t n, const Functor& functor) {
  if (device.kind == DeviceKind::cpu) {
    reprise::parallel_for(device, n, functor);
    return;
  }
  check(cudaSetDevice(device.index), "parallel_for");
  launch_for(n, functor);
  check(cudaStreamSynchronize(nullptr), "parallel_for");
}

}  // namespace reprise::cuda
