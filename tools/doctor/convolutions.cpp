// Which kernel runs the convolutions of the presets, and where nothing optimised takes them.
#include <fmt/core.h>

#include "models/config/model_keys.h"
#include "ops/conv2d.h"
#include "ops/conv_geometry.h"
#include "ops/implementation.h"
#include "ops/onednn.h"
#include "tools/doctor/doctor.h"

namespace reprise::doctor {
namespace {

constexpr std::int64_t kImages = 128, kSide = 32;

std::string kernel_of(const ConvGeometry& geometry, ConvPass pass) {
  ConvImplementation chosen = choose_conv(geometry, pass, DType::f32);
  return chosen == ConvImplementation::onednn ? onednn::conv_kernel_name(geometry, pass) : to_string(chosen);
}

void add(Section& s, const std::string& preset, std::int64_t in, std::int64_t out, std::int64_t side,
         std::int64_t kernel, std::int64_t stride) {
  ConvGeometry g;
  g.n = kImages;
  g.h = g.w = side;
  g.in = in;
  g.out = out;
  g.kh = g.kw = kernel;
  g.stride = stride;
  g.padding = kernel / 2;
  g.oh = g.ow = window_count(side, kernel, stride, kernel / 2, 1);
  std::string forward = kernel_of(g, ConvPass::forward), data = kernel_of(g, ConvPass::backward_data),
              weights = kernel_of(g, ConvPass::backward_weights);
  s.facts.emplace_back(
      fmt::format("{}: {}x{}x{} to {}, {}x{}{}", preset, side, side, in, out, kernel, kernel,
                  stride > 1 ? ", stride 2" : ""),
      forward == data && data == weights ? forward : fmt::format("{}; gradients {}, {}", forward, data, weights));
}

}  // namespace

Section convolutions() {
  Section s{fmt::format("convolutions of {} images", kImages), {}};
  for (const char* preset : {"small", "resnet18"}) {
    EncoderSizes sizes = preset_sizes(preset);
    std::int64_t in = sizes.widths.at(0), side = kSide;
    add(s, preset, 3, in, side, 3, 1);
    for (std::int64_t out : sizes.widths) {
      if (out != in) {
        add(s, preset, in, out, side, 3, 2);
        add(s, preset, in, out, side, 1, 2);
        side /= 2;
      }
      add(s, preset, out, out, side, 3, 1);
      in = out;
    }
  }
  return s;
}

}  // namespace reprise::doctor
