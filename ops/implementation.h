// Which implementation runs a convolution or a matrix product: the first of a fixed list that does not refuse the case.
// The rule reads shapes, dtype and processor only, never a clock, so a run on one machine always takes the same path.
//
// One function per implementation gives the reason for a refusal; the choice and `reprise ops --why` both come from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autograd/op.h"
#include "ops/window.h"

namespace reprise {

enum class ConvImplementation : std::uint8_t { winograd, onednn, eigen };
constexpr int kConvImplementationCount = 3;
const char* to_string(ConvImplementation implementation);

/// Null when the implementation takes the case, else why not.
const char* conv_refusal(ConvImplementation implementation, const ConvGeometry& geometry, ConvPass pass, DType dtype);
/// The first implementation of the list that does not refuse; the last refuses nothing.
ConvImplementation choose_conv(const ConvGeometry& geometry, ConvPass pass, DType dtype);

enum class GemmImplementation : std::uint8_t { onednn, eigen };
constexpr int kGemmImplementationCount = 2;
const char* to_string(GemmImplementation implementation);
const char* gemm_refusal(GemmImplementation implementation, DType dtype);
GemmImplementation choose_gemm(DType dtype);

/// While alive, this thread refuses the implementations of other libraries and builds for newer processors: for tests
/// of parity with the portable ones.
class PortableOnly {
 public:
  PortableOnly();
  ~PortableOnly();
  PortableOnly(const PortableOnly&) = delete;
  PortableOnly& operator=(const PortableOnly&) = delete;
  static bool active();
};

/// What Why::chosen says of an op whose kernels have no choice.
inline constexpr const char* kOwnLoops = "own loops";

/// One pass of an op ("forward", "gradient of x", ...) with what was chosen for it and what was refused.
struct Why {
  struct Refused {
    std::string implementation;
    std::string reason;
  };
  std::string pass;
  std::string chosen;  // with the library's name of the kernel where it has one
  std::vector<Refused> refused;
};

/// Explains the choice for operands of these shapes and one dtype. An op with one implementation yields one entry.
/// Errors (user): shapes that do not fit the op.
std::vector<Why> why(const Op& op, const std::vector<Shape>& operands, DType dtype, const Attrs& attrs = {});

/// A few lines for people: what was chosen, why the others were not, and what oneDNN sees of the processor.
std::string describe(const std::vector<Why>& reasons);

}  // namespace reprise
