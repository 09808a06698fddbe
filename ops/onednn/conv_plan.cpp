#if defined(REPRISE_WITH_ONEDNN)

#include "ops/onednn/conv_plan.h"

#include <memory>
#include <string_view>
#include <unordered_map>

#include "core/allocator.h"
#include "core/error.h"
#include "core/parallel.h"

namespace reprise::onednn {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

struct KeyHash {
  std::size_t operator()(const ConvKey& key) const {
    const ConvGeometry& g = key.geometry;
    std::uint64_t hash = 0x9E3779B97F4A7C15u;
    for (std::int64_t word :
         {g.n, g.h, g.w, g.in, g.oh, g.ow, g.out, g.kh, g.kw, g.stride.h, g.stride.w, g.padding.h, g.padding.w,
          g.dilation.h, g.dilation.w, g.groups, static_cast<std::int64_t>(key.pass) * 16 + g.bias,
          static_cast<std::int64_t>(key.threads)}) {
      hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9FB21C651E98DF25u;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

}  // namespace

void ConvPlan::load_weight(const float* weight, std::byte* workspace) {
  build();
  weight_in_.run(weight, workspace + weight_at_);
}

void ConvPlan::forward(const float* x, const float* bias, float* y, std::byte* workspace) {
  x_.set_data_handle(const_cast<float*>(x));
  y_.set_data_handle(y);
  set_common(workspace);
  if (bias) bias_.set_data_handle(const_cast<float*>(bias));
  dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, x_.get()},
                            {DNNL_ARG_WEIGHTS, weight_.get()},
                            {DNNL_ARG_DST, y_.get()},
                            {DNNL_ARG_SCRATCHPAD, scratch_.get()},
                            {DNNL_ARG_BIAS, bias_.get(true)}};
  execute(primitive_, args, bias ? 5 : 4);
}

void ConvPlan::backward_data(const float* dy, float* dx, bool accumulate, std::byte* workspace) {
  y_.set_data_handle(const_cast<float*>(dy));
  x_.set_data_handle(accumulate ? workspace + x_at_ : static_cast<void*>(dx));
  set_common(workspace);
  dnnl_exec_arg_t args[] = {{DNNL_ARG_DIFF_DST, y_.get()},
                            {DNNL_ARG_WEIGHTS, weight_.get()},
                            {DNNL_ARG_DIFF_SRC, x_.get()},
                            {DNNL_ARG_SCRATCHPAD, scratch_.get()}};
  execute(primitive_, args, 4);
  if (accumulate) store_add_.run(workspace + x_at_, dx);
}

void ConvPlan::backward_weights(const float* x, const float* dy, float* dw, bool accumulate, std::byte* workspace) {
  build();
  x_.set_data_handle(const_cast<float*>(x));
  y_.set_data_handle(const_cast<float*>(dy));
  set_common(workspace);
  dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, x_.get()},
                            {DNNL_ARG_DIFF_DST, y_.get()},
                            {DNNL_ARG_DIFF_WEIGHTS, weight_.get()},
                            {DNNL_ARG_SCRATCHPAD, scratch_.get()}};
  execute(primitive_, args, 4);
  (accumulate ? store_add_ : store_).run(workspace + weight_at_, dw);
}

void ConvPlan::set_common(std::byte* workspace) {
  weight_.set_data_handle(workspace + weight_at_);
  scratch_.set_data_handle(workspace + scratch_at_);
}

void ConvPlan::describe_user_layouts() {
  const ConvGeometry& g = key_.geometry;
  auto type = memory::data_type::f32;
  x_desc_ = memory::desc({g.n, g.in, g.h, g.w}, type, Tag::nhwc);
  y_desc_ = memory::desc({g.n, g.out, g.oh, g.ow}, type, Tag::nhwc);
  if (g.groups == 1) {
    user_weight_ = memory::desc({g.out, g.in, g.kh, g.kw}, type, Tag::oihw);
  } else {
    user_weight_ = memory::desc({g.groups, g.out / g.groups, g.in / g.groups, g.kh, g.kw}, type, Tag::goihw);
  }
}

// Finds the library's kernel; nothing is compiled yet.
void ConvPlan::describe() {
  describe_user_layouts();
  const ConvGeometry& g = key_.geometry;
  auto type = memory::data_type::f32;
  auto algorithm = dnnl::algorithm::convolution_direct;
  memory::desc x = x_desc_, y = y_desc_, weight(user_weight_.dims(), type, Tag::any);
  memory::desc bias = g.bias ? memory::desc({g.out}, type, Tag::a) : memory::desc();
  memory::dims strides{g.stride.h, g.stride.w}, dilates{g.dilation.h - 1, g.dilation.w - 1};
  // Padding after the image is what the window grid really uses, which may be less than the padding before it.
  auto after = [](std::int64_t extent, std::int64_t count, std::int64_t kernel, std::int64_t stride,
                  std::int64_t dilation, std::int64_t padding) {
    return (count - 1) * stride + dilation * (kernel - 1) + 1 - extent - padding;
  };
  memory::dims left{g.padding.h, g.padding.w};
  memory::dims right{after(g.h, g.oh, g.kh, g.stride.h, g.dilation.h, g.padding.h),
                     after(g.w, g.ow, g.kw, g.stride.w, g.dilation.w, g.padding.w)};
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  try {
    dnnl::convolution_forward::desc forward(dnnl::prop_kind::forward_training, algorithm, x, weight, bias, y, strides,
                                            dilates, left, right);
    dnnl::convolution_forward::primitive_desc hint(forward, attr, engine());
    if (key_.pass == ConvPass::forward) {
      adopt(hint, hint.weights_desc());
    } else if (key_.pass == ConvPass::backward_data) {
      dnnl::convolution_backward_data::primitive_desc pd({algorithm, x, weight, y, strides, dilates, left, right}, attr,
                                                         engine(), hint);
      adopt(pd, pd.weights_desc());
    } else {
      dnnl::convolution_backward_weights::primitive_desc pd({algorithm, x, weight, y, strides, dilates, left, right},
                                                            attr, engine(), hint);
      adopt(pd, pd.diff_weights_desc());
    }
  } catch (const dnnl::error&) {
    refusal_ = "oneDNN has no kernel for this shape";
  }
}

void ConvPlan::adopt(const dnnl::primitive_desc_base& description, const memory::desc& weight) {
  dnnl_primitive_desc_t copy = nullptr;
  check(dnnl_primitive_desc_clone(&copy, description.get()), "a description");
  description_ = dnnl::primitive_desc_base(copy);
  weight_desc_ = weight;
  scratch_desc_ = description_.scratchpad_desc();
  kernel_ = description_.impl_info_str();
  if (std::string_view(kernel_).find("ref") != std::string_view::npos) {
    refusal_ = "oneDNN has only its slow reference kernel for this shape";
    return;
  }
  std::int64_t at = 0;
  auto take = [&](std::int64_t bytes) {
    std::int64_t place = at;
    at += round_up_64(bytes);
    return place;
  };
  weight_at_ = take(static_cast<std::int64_t>(weight_desc_.get_size()));
  scratch_at_ = take(static_cast<std::int64_t>(scratch_desc_.get_size()));
  // Last, because a data gradient written in place leaves it out.
  x_at_ = key_.pass == ConvPass::backward_data ? take(static_cast<std::int64_t>(x_desc_.get_size())) : 0;
  workspace_ = at;
}

void ConvPlan::build() {
  if (primitive_.get(true)) return;
  REPRISE_INVARIANT(refusal_ == nullptr);
  x_ = memory(x_desc_, engine(), nullptr);
  y_ = memory(y_desc_, engine(), nullptr);
  weight_ = memory(weight_desc_, engine(), nullptr);
  scratch_ = memory(scratch_desc_, engine(), nullptr);
  if (key_.geometry.bias)
    bias_ = memory(memory::desc({key_.geometry.out}, memory::data_type::f32, Tag::a), engine(), nullptr);
  if (key_.pass == ConvPass::backward_weights) {
    store_.prepare(weight_desc_, user_weight_, false);
    store_add_.prepare(weight_desc_, user_weight_, true);
  } else {
    weight_in_.prepare(user_weight_, weight_desc_, false);
    if (key_.pass == ConvPass::backward_data) store_add_.prepare(x_desc_, x_desc_, true);
  }
  primitive_ = dnnl::primitive(description_.get());
}

ConvPlan& plan_for(const ConvGeometry& geometry, ConvPass pass) {
  static thread_local std::unordered_map<ConvKey, std::unique_ptr<ConvPlan>, KeyHash> cache;
  ConvKey key{geometry, pass, thread_count()};
  auto found = cache.find(key);
  if (found == cache.end()) found = cache.emplace(key, std::make_unique<ConvPlan>(key)).first;
  return *found->second;
}

}  // namespace reprise::onednn

#endif
