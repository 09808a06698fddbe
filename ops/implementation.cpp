#include "ops/implementation.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/conv2d.h"
#include "ops/conv_geometry.h"
#include "ops/matmul.h"
#include "ops/onednn.h"
#include "ops/winograd.h"

namespace reprise {
namespace {

thread_local int portable_depth = 0;

const char* fast_refusal(DType dtype) {
  if (dtype != DType::f32) return "it takes f32 only";
  return PortableOnly::active() ? "portable implementations were asked for" : nullptr;
}

const char* library_refusal(DType dtype) {
  const char* reason = fast_refusal(dtype);
  return reason ? reason : onednn::refusal();
}

const char* winograd_refusal(const ConvGeometry& g, DType dtype) {
  if (const char* reason = fast_refusal(dtype)) return reason;
  if (onednn::refusal() == nullptr && !onednn::uses_avx512()) return "oneDNN does without AVX-512, by its environment";
  return winograd::refusal(g);
}

std::string conv_name(ConvImplementation implementation, const ConvGeometry& g, ConvPass pass) {
  std::string name = to_string(implementation);
  if (implementation != ConvImplementation::onednn) return name;
  return fmt::format("{} ({})", name, onednn::conv_kernel_name(g, pass));
}

Why why_conv(const ConvGeometry& g, ConvPass pass, const char* title, DType dtype) {
  Why result{title, conv_name(choose_conv(g, pass, dtype), g, pass), {}};
  for (int i = 0; i < kConvImplementationCount; ++i) {
    auto implementation = static_cast<ConvImplementation>(i);
    if (const char* reason = conv_refusal(implementation, g, pass, dtype))
      result.refused.push_back({to_string(implementation), reason});
    else if (implementation != choose_conv(g, pass, dtype))
      result.refused.push_back({to_string(implementation), "an earlier one takes the case"});
  }
  return result;
}

Why why_gemm(DType dtype) {
  Why result{"all passes", to_string(choose_gemm(dtype)), {}};
  for (int i = 0; i < kGemmImplementationCount; ++i) {
    auto implementation = static_cast<GemmImplementation>(i);
    if (const char* reason = gemm_refusal(implementation, dtype))
      result.refused.push_back({to_string(implementation), reason});
    else if (implementation != choose_gemm(dtype))
      result.refused.push_back({to_string(implementation), "an earlier one takes the case"});
  }
  return result;
}

std::vector<Why> why_conv2d(const std::vector<Shape>& operands, DType dtype, const Attrs& attrs) {
  if (operands.size() < 2)
    fail(ErrorKind::user, "[why conv2d] expected the shapes of x and weight, got {} shapes", operands.size());
  ConvGeometry g = conv_geometry(operands[0], operands[1], attrs, operands.size() > 2);
  return {why_conv(g, ConvPass::forward, "forward", dtype),
          why_conv(g, ConvPass::backward_data, "gradient of x", dtype),
          why_conv(g, ConvPass::backward_weights, "gradient of weight", dtype)};
}

}  // namespace

PortableOnly::PortableOnly() { ++portable_depth; }
PortableOnly::~PortableOnly() { --portable_depth; }
bool PortableOnly::active() { return portable_depth > 0; }

const char* to_string(ConvImplementation implementation) {
  constexpr const char* kNames[kConvImplementationCount] = {"Winograd", "oneDNN", "im2col and Eigen"};
  return kNames[static_cast<int>(implementation)];
}

const char* to_string(GemmImplementation implementation) {
  return implementation == GemmImplementation::onednn ? "oneDNN" : "Eigen";
}

const char* conv_refusal(ConvImplementation implementation, const ConvGeometry& g, ConvPass pass, DType dtype) {
  if (implementation == ConvImplementation::eigen) return nullptr;
  if (g.x_size() == 0 || g.y_size() == 0 || g.weight_size() == 0) return "nothing to compute";
  if (implementation == ConvImplementation::winograd) return winograd_refusal(g, dtype);
  const char* reason = library_refusal(dtype);
  return reason ? reason : onednn::conv_refusal(g, pass);
}

ConvImplementation choose_conv(const ConvGeometry& g, ConvPass pass, DType dtype) {
  for (int i = 0; i + 1 < kConvImplementationCount; ++i) {
    auto implementation = static_cast<ConvImplementation>(i);
    if (conv_refusal(implementation, g, pass, dtype) == nullptr) return implementation;
  }
  return ConvImplementation::eigen;
}

const char* gemm_refusal(GemmImplementation implementation, DType dtype) {
  return implementation == GemmImplementation::eigen ? nullptr : library_refusal(dtype);
}

GemmImplementation choose_gemm(DType dtype) {
  return gemm_refusal(GemmImplementation::onednn, dtype) == nullptr ? GemmImplementation::onednn
                                                                    : GemmImplementation::eigen;
}

std::vector<Why> why(const Op& op, const std::vector<Shape>& operands, DType dtype, const Attrs& attrs) {
  // Ops whose kernels have a choice; every other op has loops of its own and nothing to choose.
  if (&op == &kConv2d) return why_conv2d(operands, dtype, attrs);
  if (&op == &kMatmul || &op == &kLinear) return {why_gemm(dtype)};
  return {Why{"all passes", kOwnLoops, {}}};
}

std::string describe(const std::vector<Why>& reasons) {
  std::string text = fmt::format("oneDNN sees: {}{}\n", onednn::isa_name(), onednn::is_amd() ? ", AMD" : "");
  for (const Why& reason : reasons) {
    text += fmt::format("{}: {}\n", reason.pass, reason.chosen);
    for (const Why::Refused& refused : reason.refused)
      text += fmt::format("  not {}: {}\n", refused.implementation, refused.reason);
  }
  return text;
}

}  // namespace reprise
