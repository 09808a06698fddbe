// The one door to oneDNN (Debian's 2.6): f32 convolution and matrix product on x86 CPUs. ops/onednn/ alone includes it;
// without REPRISE_WITH_ONEDNN every query answers "not built in" and the kernels may not be called.
//
// Convolutions are the library's direct ones: ops/winograd.h is ahead of its Winograd. Primitives are cached by
// geometry and thread count, per thread; all scratch comes from the caller's workspace. Callers: ops/implementation.cpp
// (the rule), ops/conv2d.cpp and ops/gemm.cpp (the kernels).
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/window.h"

namespace reprise::onednn {

/// Null when oneDNN can be used at all here, else why not.
const char* refusal();
/// The instruction set that oneDNN uses on this machine: "avx512_core", ...; "none" when not built in.
const char* isa_name();
/// "2.6.0"; "not built in" without it.
const char* version();
/// Whether oneDNN's kernels are those for AVX-512: the processor has it, and the environment of the library lets it.
bool uses_avx512();
/// Whether the processor is AMD's.
bool is_amd();

/// Null when oneDNN has an optimised kernel for the case, else why not.
const char* conv_refusal(const ConvGeometry& geometry, ConvPass pass);
/// The library's name of the kernel, for `reprise ops --why`. Empty when refused.
const char* conv_kernel_name(const ConvGeometry& geometry, ConvPass pass);
/// Workspace bytes of one call.
std::int64_t conv_workspace(const ConvGeometry& geometry, ConvPass pass);

/// Compiles all that one call of the pass will run: afterwards nothing of it but the run itself can fail.
void prepare_conv(const ConvGeometry& geometry, ConvPass pass, bool accumulate);

/// bias is null where geometry.bias is false.
void conv_forward(const ConvGeometry& geometry, const float* x, const float* weight, const float* bias, float* y,
                  std::byte* workspace);
/// accumulate: adds to dx (dw) instead of overwriting it.
void conv_backward_data(const ConvGeometry& geometry, const float* dy, const float* weight, float* dx, bool accumulate,
                        std::byte* workspace);
/// Same bits at the same thread count only: the library splits this sum over threads.
void conv_backward_weights(const ConvGeometry& geometry, const float* x, const float* dy, float* dw, bool accumulate,
                           std::byte* workspace);

/// Row-major C = alpha op(A) op(B) + beta C on the calling thread's share; leading dimensions in elements. Runs inside
/// parallel loops, whose bodies must not throw: the library's status comes back, for require_done() after the loop.
int sgemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
          const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc);
/// Errors (device): `status`, of sgemm, says that it failed.
void require_done(int status);

}  // namespace reprise::onednn
