// The device seam's loop on a CUDA device gives what the same functors give on the CPU, bit for bit.
#include "core/parallel.cuh"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/dtype.h"
#include "core/philox.h"

namespace reprise {
namespace {

constexpr Device kGpu{DeviceKind::cuda, 0};
constexpr Device kCpu{};

struct FillUniform {
  float* out;
  std::uint64_t seed, id, position;
  REPRISE_HOST_DEVICE void operator()(std::int64_t i) const {
    out[i] = uniform_from_word(philox_word(seed, id, position + static_cast<std::uint64_t>(i)));
  }
};

struct RoundToBf16 {
  float* values;
  REPRISE_HOST_DEVICE void operator()(std::int64_t i) const {
    values[i] = static_cast<float>(BFloat16(values[i] * 3.0f - 1.5f));
  }
};

// Memory that the test's loops can use on both sides.
class Managed {
 public:
  explicit Managed(std::int64_t count) {
    cuda::check(cudaMallocManaged(&data_, static_cast<std::size_t>(count) * sizeof(float)), "test");
  }
  Managed(const Managed&) = delete;
  Managed& operator=(const Managed&) = delete;
  ~Managed() { cudaFree(data_); }
  float* data() const { return data_; }

 private:
  float* data_ = nullptr;
};

class CudaParallel : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda::device_count() == 0) GTEST_SKIP() << "no CUDA device";
  }
};

TEST_F(CudaParallel, DrawsAndCastsHaveTheBitsOfTheCpu) {
  for (std::int64_t n : {std::int64_t{1}, std::int64_t{255}, std::int64_t{257}, std::int64_t{3'000'001}}) {
    Managed on_gpu(n);
    std::vector<float> on_cpu(n);
    cuda::parallel_for(kGpu, n, FillUniform{on_gpu.data(), 4294967301u, 3, 2});
    cuda::parallel_for(kGpu, n, RoundToBf16{on_gpu.data()});
    cuda::parallel_for(kCpu, n, FillUniform{on_cpu.data(), 4294967301u, 3, 2});
    cuda::parallel_for(kCpu, n, RoundToBf16{on_cpu.data()});
    EXPECT_EQ(std::memcmp(on_gpu.data(), on_cpu.data(), static_cast<std::size_t>(n) * sizeof(float)), 0) << n;
  }
}

TEST_F(CudaParallel, AnEmptyLoopLaunchesNothing) { cuda::parallel_for(kGpu, 0, FillUniform{nullptr, 1, 1, 0}); }

TEST(CudaSeam, ACountWithoutADriverIsZeroAndNoError) { EXPECT_GE(cuda::device_count(), 0); }

TEST(CudaSeam, ARefusedCallNamesWhereAndWhy) {
  try {
    cuda::check(cudaErrorInvalidValue, "parallel_for");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    EXPECT_NE(error.message().find("[parallel_for]"), std::string::npos);
    EXPECT_NE(error.message().find("invalid argument"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace reprise
