// One convolution pass over one chunk of images: the library's primitive, its copies of weights and of gradients that
// are added, and where these lie in the caller's workspace. Made once for each case, thread count and thread
// (plan_for); nothing is compiled before the first call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/onednn.h"
#include "ops/onednn/library.h"

namespace reprise::onednn {

struct ConvKey {
  ConvGeometry geometry;
  ConvPass pass;
  int threads;
  friend bool operator==(const ConvKey&, const ConvKey&) = default;
};

class ConvPlan {
 public:
  explicit ConvPlan(const ConvKey& key) : key_(key) { describe(); }

  /// Null when the library has a kernel.
  const char* refusal() const { return refusal_; }
  const char* kernel() const { return kernel_; }
  std::int64_t workspace() const { return workspace_; }

  /// Compiles the kernel and the copies, once. Nothing that runs later can fail for want of them.
  void build();
  /// The weight in the library's layout, into the workspace: before the first chunk that this plan runs.
  void load_weight(const float* weight, std::byte* workspace);
  void forward(const float* x, const float* bias, float* y, std::byte* workspace);
  void backward_data(const float* dy, float* dx, bool accumulate, std::byte* workspace);
  void backward_weights(const float* x, const float* dy, float* dw, bool accumulate, std::byte* workspace);

 private:
  using Descriptor = dnnl::memory::desc;

  void set_common(std::byte* workspace);
  void describe_user_layouts();
  void describe();
  void adopt(const dnnl::primitive_desc_base& description, const Descriptor& weight);

  ConvKey key_;
  const char* refusal_ = nullptr;
  const char* kernel_ = "";
  std::int64_t workspace_ = 0;
  std::int64_t weight_at_ = 0, x_at_ = 0, scratch_at_ = 0;
  Descriptor x_desc_, y_desc_, user_weight_, weight_desc_, scratch_desc_;
  dnnl::primitive_desc_base description_;
  dnnl::primitive primitive_;
  dnnl::memory x_, y_, weight_, bias_, scratch_;
  Reorder weight_in_, store_, store_add_;
};

/// From the calling thread's cache.
ConvPlan& plan_for(const ConvGeometry& geometry, ConvPass pass);

}  // namespace reprise::onednn
