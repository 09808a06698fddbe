// The device seam: the only header where CUDA shows. A functor marked REPRISE_HOST_DEVICE compiles for both sides;
// parallel_for(device, n, functor) in core/parallel.h runs it on the CPU, core/parallel.cuh on a CUDA device.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define REPRISE_HOST_DEVICE __host__ __device__
#else
#define REPRISE_HOST_DEVICE
#endif

namespace reprise {

enum class DeviceKind : std::uint8_t { cpu, cuda };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

const char* to_string(DeviceKind kind);

}  // namespace reprise
