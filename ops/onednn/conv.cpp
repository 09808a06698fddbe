// Convolutions through the library: chunk by chunk of the batch.
#if defined(REPRISE_WITH_ONEDNN)

#include <algorithm>

#include "core/allocator.h"
#include "ops/onednn/conv_plan.h"

namespace reprise::onednn {
namespace {

// Note: chunks of images. Winograd wants its activations in blocks of 16 channels, so they are reordered into the
// workspace; and a data gradient that is added to one already there is made in the workspace first. Both go through
// the batch in chunks whose copies take about this many bytes: small workspaces, and the copies stay in cache.
constexpr std::int64_t kChunkBytes = std::int64_t{4} << 20;

// How many images go through the workspace at once: a divisor of the batch where one is near.
std::int64_t chunk_of(const ConvGeometry& g, std::int64_t bytes_per_image) {
  std::int64_t most = std::clamp<std::int64_t>(kChunkBytes / std::max<std::int64_t>(1, bytes_per_image), 1, g.n);
  for (std::int64_t chunk = most; chunk > most / 2; --chunk) {
    if (g.n % chunk == 0) return chunk;
  }
  return most;
}

std::int64_t chunk_images(const ConvGeometry& g, ConvAlgorithm algorithm, bool accumulate) {
  std::int64_t x = g.h * g.w * g.in * 4, y = g.oh * g.ow * g.out * 4;
  if (algorithm == ConvAlgorithm::winograd) return chunk_of(g, x + y);
  return accumulate ? chunk_of(g, x) : g.n;
}

// Calls body(plan, first image) for each chunk; the last may be shorter and then has its own plan.
template <class Body>
void for_each_chunk(const ConvGeometry& geometry, ConvAlgorithm algorithm, ConvPass pass, std::int64_t chunk,
                    Body&& body) {
  for (std::int64_t first = 0; first < geometry.n; first += chunk) {
    ConvGeometry part = geometry;
    part.n = std::min(chunk, geometry.n - first);
    body(plan_for(part, algorithm, pass), first, first == 0 || part.n != chunk);
  }
}

// Calls body(plan) for the plan of the full chunks and, where the last chunk is shorter, for its plan.
template <class Body>
void for_each_plan(const ConvGeometry& geometry, ConvAlgorithm algorithm, ConvPass pass, std::int64_t chunk,
                   Body&& body) {
  ConvGeometry part = geometry;
  part.n = std::min(chunk, geometry.n);
  body(plan_for(part, algorithm, pass));
  part.n = geometry.n % chunk;
  if (geometry.n > chunk && part.n > 0) body(plan_for(part, algorithm, pass));
}

}  // namespace

const char* conv_refusal(const ConvGeometry& g, ConvAlgorithm algorithm, ConvPass pass) {
  const char* reason = nullptr;
  auto ask = [&](ConvPlan& plan) {
    if (!reason) reason = plan.refusal();
  };
  for_each_plan(g, algorithm, pass, chunk_images(g, algorithm, false), ask);
  if (pass == ConvPass::backward_data) for_each_plan(g, algorithm, pass, chunk_images(g, algorithm, true), ask);
  return reason;
}

const char* conv_kernel_name(const ConvGeometry& g, ConvAlgorithm algorithm, ConvPass pass) {
  ConvGeometry part = g;
  part.n = chunk_images(g, algorithm, false);
  return plan_for(part, algorithm, pass).kernel();
}

std::int64_t conv_workspace(const ConvGeometry& g, ConvAlgorithm algorithm, ConvPass pass) {
  std::int64_t bytes = 0;
  // Written in place, a direct data gradient needs no copy; added to what is there, it needs that of a chunk.
  bool in_place = pass == ConvPass::backward_data && algorithm == ConvAlgorithm::direct;
  std::int64_t copy = in_place ? round_up_64(g.x_size() * 4) : 0;
  for_each_plan(g, algorithm, pass, chunk_images(g, algorithm, false),
                [&](ConvPlan& plan) { bytes = std::max(bytes, plan.workspace() - copy); });
  if (!in_place) return bytes;
  for_each_plan(g, algorithm, pass, chunk_images(g, algorithm, true),
                [&](ConvPlan& plan) { bytes = std::max(bytes, plan.workspace()); });
  return bytes;
}

void prepare_conv(const ConvGeometry& g, ConvAlgorithm algorithm, ConvPass pass, bool accumulate) {
  bool chunked = accumulate && pass == ConvPass::backward_data;
  for_each_plan(g, algorithm, pass, chunk_images(g, algorithm, chunked), [](ConvPlan& plan) { plan.build(); });
}

void conv_forward(const ConvGeometry& g, ConvAlgorithm algorithm, const float* x, const float* weight,
                  const float* bias, float* y, std::byte* workspace) {
  for_each_chunk(g, algorithm, ConvPass::forward, chunk_images(g, algorithm, false),
                 [&](ConvPlan& plan, std::int64_t first, bool other) {
                   if (other) plan.load_weight(weight, workspace);
                   plan.forward(x + first * g.h * g.w * g.in, bias, y + first * g.oh * g.ow * g.out, workspace);
                 });
}

void conv_backward_data(const ConvGeometry& g, ConvAlgorithm algorithm, const float* dy, const float* weight, float* dx,
                        bool accumulate, std::byte* workspace) {
  for_each_chunk(g, algorithm, ConvPass::backward_data, chunk_images(g, algorithm, accumulate),
                 [&](ConvPlan& plan, std::int64_t first, bool other) {
                   if (other) plan.load_weight(weight, workspace);
                   plan.backward_data(dy + first * g.oh * g.ow * g.out, dx + first * g.h * g.w * g.in, accumulate,
                                      workspace);
                 });
}

void conv_backward_weights(const ConvGeometry& g, ConvAlgorithm algorithm, const float* x, const float* dy, float* dw,
                           bool accumulate, std::byte* workspace) {
  for_each_chunk(g, algorithm, ConvPass::backward_weights, chunk_images(g, algorithm, false),
                 [&](ConvPlan& plan, std::int64_t first, bool) {
                   plan.backward_weights(x + first * g.h * g.w * g.in, dy + first * g.oh * g.ow * g.out, dw,
                                         accumulate || first > 0, workspace);
                 });
}

}  // namespace reprise::onednn

#endif
