// Convolutions through the library; gradients that are added to others go chunk by chunk of the batch.
#if defined(REPRISE_WITH_ONEDNN)

#include <algorithm>

#include "core/allocator.h"
#include "ops/onednn/conv_plan.h"

namespace reprise::onednn {
namespace {

// Note: chunks of images. The library cannot add to a data gradient that is there already: it is made in the workspace
// first, by chunks of about this many bytes: small workspaces, and the copies stay in cache.
constexpr std::int64_t kChunkBytes = std::int64_t{4} << 20;

// How many images go through the workspace at once: a divisor of the batch where one is near.
std::int64_t chunk_images(const ConvGeometry& g, bool accumulate) {
  if (!accumulate) return g.n;
  std::int64_t image = std::max<std::int64_t>(1, g.h * g.w * g.in * 4);
  std::int64_t most = std::clamp<std::int64_t>(kChunkBytes / image, 1, g.n);
  for (std::int64_t chunk = most; chunk > most / 2; --chunk) {
    if (g.n % chunk == 0) return chunk;
  }
  return most;
}

// Calls body(plan) for the plan of the full chunks and, where the last chunk is shorter, for its plan.
template <class Body>
void for_each_plan(const ConvGeometry& geometry, ConvPass pass, std::int64_t chunk, Body&& body) {
  ConvGeometry part = geometry;
  part.n = std::min(chunk, geometry.n);
  body(plan_for(part, pass));
  part.n = geometry.n % chunk;
  if (geometry.n > chunk && part.n > 0) body(plan_for(part, pass));
}

}  // namespace

const char* conv_refusal(const ConvGeometry& g, ConvPass pass) {
  const char* reason = plan_for(g, pass).refusal();
  auto ask = [&](ConvPlan& plan) {
    if (!reason) reason = plan.refusal();
  };
  if (pass == ConvPass::backward_data) for_each_plan(g, pass, chunk_images(g, true), ask);
  return reason;
}

const char* conv_kernel_name(const ConvGeometry& g, ConvPass pass) { return plan_for(g, pass).kernel(); }

std::int64_t conv_workspace(const ConvGeometry& g, ConvPass pass) {
  std::int64_t bytes = plan_for(g, pass).workspace();
  if (pass != ConvPass::backward_data) return bytes;
  // Written in place, a data gradient needs no copy; added to what is there, it needs that of a chunk.
  bytes -= round_up_64(g.x_size() * 4);
  for_each_plan(g, pass, chunk_images(g, true), [&](ConvPlan& plan) { bytes = std::max(bytes, plan.workspace()); });
  return bytes;
}

void prepare_conv(const ConvGeometry& g, ConvPass pass, bool accumulate) {
  bool chunked = accumulate && pass == ConvPass::backward_data;
  for_each_plan(g, pass, chunk_images(g, chunked), [](ConvPlan& plan) { plan.build(); });
}

void conv_forward(const ConvGeometry& g, const float* x, const float* weight, const float* bias, float* y,
                  std::byte* workspace) {
  ConvPlan& plan = plan_for(g, ConvPass::forward);
  plan.load_weight(weight, workspace);
  plan.forward(x, bias, y, workspace);
}

void conv_backward_data(const ConvGeometry& g, const float* dy, const float* weight, float* dx, bool accumulate,
                        std::byte* workspace) {
  std::int64_t chunk = chunk_images(g, accumulate);
  for (std::int64_t first = 0; first < g.n; first += chunk) {
    ConvGeometry part = g;
    part.n = std::min(chunk, g.n - first);
    ConvPlan& plan = plan_for(part, ConvPass::backward_data);
    if (first == 0 || part.n != chunk) plan.load_weight(weight, workspace);
    plan.backward_data(dy + first * g.oh * g.ow * g.out, dx + first * g.h * g.w * g.in, accumulate, workspace);
  }
}

void conv_backward_weights(const ConvGeometry& g, const float* x, const float* dy, float* dw, bool accumulate,
                           std::byte* workspace) {
  plan_for(g, ConvPass::backward_weights).backward_weights(x, dy, dw, accumulate, workspace);
}

}  // namespace reprise::onednn

#endif
