#include "ops/onednn.h"

#include "core/error.h"
#include "core/parallel.h"

#if defined(REPRISE_WITH_ONEDNN)

#include <algorithm>
#include <memory>
#include <string>

#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>
#include <unordered_map>

#include "core/allocator.h"

namespace reprise::onednn {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

// Note: chunks of images. Winograd wants its activations in blocks of 16 channels, so they are reordered into the
// workspace; and a data gradient that is added to one already there is made in the workspace first. Both go through
// the batch in chunks whose copies take about this many bytes: small workspaces, and the copies stay in cache.
constexpr std::int64_t kChunkBytes = std::int64_t{4} << 20;

struct Key {
  ConvGeometry geometry;
  ConvAlgorithm algorithm;
  ConvPass pass;
  int threads;
  friend bool operator==(const Key&, const Key&) = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    const ConvGeometry& g = key.geometry;
    std::uint64_t hash = 0x9E3779B97F4A7C15u;
    for (std::int64_t word :
         {g.n, g.h, g.w, g.in, g.oh, g.ow, g.out, g.kh, g.kw, g.stride.h, g.stride.w, g.padding.h, g.padding.w,
          g.dilation.h, g.dilation.w, g.groups,
          static_cast<std::int64_t>(key.algorithm) * 64 + static_cast<std::int64_t>(key.pass) * 16 + g.bias,
          static_cast<std::int64_t>(key.threads)}) {
      hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9FB21C651E98DF25u;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

dnnl::engine& engine() {
  static dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}

dnnl::stream& stream() {
  static thread_local dnnl::stream instance(engine());
  return instance;
}

void check(dnnl_status_t status, const char* what) {
  if (status != dnnl_success)
    fail(ErrorKind::device, "[onednn] expected {} to succeed, got status {}", what, static_cast<int>(status));
}

void execute(const dnnl::primitive& primitive, const dnnl_exec_arg_t* args, int count) {
  check(dnnl_primitive_execute(primitive.get(), stream().get(), count, args), "a primitive");
}

// A copy between the caller's layout and the library's; `add` adds to the target instead of overwriting it.
struct Reorder {
  dnnl::primitive primitive;
  memory from, to;

  void prepare(const memory::desc& from_desc, const memory::desc& to_desc, bool add) {
    dnnl::primitive_attr attr;
    if (add) {
      dnnl::post_ops ops;
      ops.append_sum(1.0f);
      attr.set_post_ops(ops);
    }
    primitive = dnnl::reorder(dnnl::reorder::primitive_desc(engine(), from_desc, engine(), to_desc, attr));
    from = memory(from_desc, engine(), nullptr);
    to = memory(to_desc, engine(), nullptr);
  }
  void run(const void* source, void* target) {
    from.set_data_handle(const_cast<void*>(source));
    to.set_data_handle(target);
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}};
    execute(primitive, args, 2);
  }
};

// One convolution pass over one chunk of images: the primitive, its copies, and where these lie in the workspace.
class Plan {
 public:
  explicit Plan(const Key& key) : key_(key) { describe(); }

  const char* refusal() const { return refusal_; }
  const char* kernel() const { return kernel_; }
  std::int64_t workspace() const { return workspace_; }
  bool copies_activations() const { return x_desc_ != user_x_ || y_desc_ != user_y_; }

  /// The weight in the library's layout, into the workspace.
  void load_weight(const float* weight, std::byte* workspace) {
    build();
    weight_in_.run(weight, workspace + weight_at_);
  }

  void forward(const float* x, const float* bias, float* y, std::byte* workspace) {
    const void* source = load(x_in_, x, x_desc_ != user_x_, workspace + x_at_);
    bool copy = y_desc_ != user_y_;
    x_.set_data_handle(const_cast<void*>(source));
    y_.set_data_handle(copy ? workspace + y_at_ : static_cast<void*>(y));
    set_common(workspace);
    if (bias) bias_.set_data_handle(const_cast<float*>(bias));
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, x_.get()},
                              {DNNL_ARG_WEIGHTS, weight_.get()},
                              {DNNL_ARG_DST, y_.get()},
                              {DNNL_ARG_SCRATCHPAD, scratch_.get()},
                              {DNNL_ARG_BIAS, bias_.get(true)}};
    execute(primitive_, args, bias ? 5 : 4);
    if (copy) store_.run(workspace + y_at_, y);
  }

  void backward_data(const float* dy, float* dx, bool accumulate, std::byte* workspace) {
    const void* source = load(y_in_, dy, y_desc_ != user_y_, workspace + y_at_);
    bool copy = accumulate || x_desc_ != user_x_;
    y_.set_data_handle(const_cast<void*>(source));
    x_.set_data_handle(copy ? workspace + x_at_ : static_cast<void*>(dx));
    set_common(workspace);
    dnnl_exec_arg_t args[] = {{DNNL_ARG_DIFF_DST, y_.get()},
                              {DNNL_ARG_WEIGHTS, weight_.get()},
                              {DNNL_ARG_DIFF_SRC, x_.get()},
                              {DNNL_ARG_SCRATCHPAD, scratch_.get()}};
    execute(primitive_, args, 4);
    if (copy) (accumulate ? store_add_ : store_).run(workspace + x_at_, dx);
  }

  void backward_weights(const float* x, const float* dy, float* dw, bool accumulate, std::byte* workspace) {
    build();
    x_.set_data_handle(const_cast<void*>(load(x_in_, x, x_desc_ != user_x_, workspace + x_at_)));
    y_.set_data_handle(const_cast<void*>(load(y_in_, dy, y_desc_ != user_y_, workspace + y_at_)));
    set_common(workspace);
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, x_.get()},
                              {DNNL_ARG_DIFF_DST, y_.get()},
                              {DNNL_ARG_DIFF_WEIGHTS, weight_.get()},
                              {DNNL_ARG_SCRATCHPAD, scratch_.get()}};
    execute(primitive_, args, 4);
    (accumulate ? store_add_ : store_).run(workspace + weight_at_, dw);
  }

 private:
  static const void* load(Reorder& reorder, const float* user, bool copy, std::byte* place) {
    if (!copy) return user;
    reorder.run(user, place);
    return place;
  }

  void set_common(std::byte* workspace) {
    weight_.set_data_handle(workspace + weight_at_);
    scratch_.set_data_handle(workspace + scratch_at_);
  }

  void describe_user_layouts() {
    const ConvGeometry& g = key_.geometry;
    auto type = memory::data_type::f32;
    user_x_ = memory::desc({g.n, g.in, g.h, g.w}, type, Tag::nhwc);
    user_y_ = memory::desc({g.n, g.out, g.oh, g.ow}, type, Tag::nhwc);
    if (g.groups == 1) {
      user_weight_ = memory::desc({g.out, g.in, g.kh, g.kw}, type, Tag::oihw);
    } else {
      user_weight_ = memory::desc({g.groups, g.out / g.groups, g.in / g.groups, g.kh, g.kw}, type, Tag::goihw);
    }
  }

  // Finds the library's kernel; nothing is compiled yet.
  void describe() {
    describe_user_layouts();
    const ConvGeometry& g = key_.geometry;
    bool winograd = key_.algorithm == ConvAlgorithm::winograd;
    auto type = memory::data_type::f32;
    auto algorithm = winograd ? dnnl::algorithm::convolution_winograd : dnnl::algorithm::convolution_direct;
    memory::desc x = user_x_, y = user_y_, weight(user_weight_.dims(), type, Tag::any);
    memory::desc bias = g.bias ? memory::desc({g.out}, type, Tag::a) : memory::desc();
    if (winograd) {
      x = memory::desc(user_x_.dims(), type, Tag::nChw16c);
      y = memory::desc(user_y_.dims(), type, Tag::nChw16c);
    }
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
        adopt(hint, hint.src_desc(), hint.weights_desc(), hint.dst_desc());
      } else if (key_.pass == ConvPass::backward_data) {
        dnnl::convolution_backward_data::primitive_desc pd({algorithm, x, weight, y, strides, dilates, left, right},
                                                           attr, engine(), hint);
        adopt(pd, pd.diff_src_desc(), pd.weights_desc(), pd.diff_dst_desc());
      } else {
        dnnl::convolution_backward_weights::primitive_desc pd({algorithm, x, weight, y, strides, dilates, left, right},
                                                              attr, engine(), hint);
        adopt(pd, pd.src_desc(), pd.diff_weights_desc(), pd.diff_dst_desc());
      }
    } catch (const dnnl::error&) {
      refusal_ = "oneDNN has no kernel for this shape";
    }
  }

  void adopt(const dnnl::primitive_desc_base& description, const memory::desc& x, const memory::desc& weight,
             const memory::desc& y) {
    dnnl_primitive_desc_t copy = nullptr;
    check(dnnl_primitive_desc_clone(&copy, description.get()), "a description");
    description_ = dnnl::primitive_desc_base(copy);
    x_desc_ = x, weight_desc_ = weight, y_desc_ = y;
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
    y_at_ = y_desc_ != user_y_ ? take(static_cast<std::int64_t>(y_desc_.get_size())) : 0;
    scratch_at_ = take(static_cast<std::int64_t>(scratch_desc_.get_size()));
    // Last, because a data gradient written in place leaves it out.
    bool x_is_copied = x_desc_ != user_x_ || key_.pass == ConvPass::backward_data;
    x_at_ = x_is_copied ? take(static_cast<std::int64_t>(x_desc_.get_size())) : 0;
    workspace_ = at;
  }

  // Compiles the kernel and the copies, at the first call.
  void build() {
    if (primitive_.get(true)) return;
    REPRISE_INVARIANT(refusal_ == nullptr);
    x_ = memory(x_desc_, engine(), nullptr);
    y_ = memory(y_desc_, engine(), nullptr);
    weight_ = memory(weight_desc_, engine(), nullptr);
    scratch_ = memory(scratch_desc_, engine(), nullptr);
    if (key_.geometry.bias)
      bias_ = memory(memory::desc({key_.geometry.out}, memory::data_type::f32, Tag::a), engine(), nullptr);
    bool weights = key_.pass == ConvPass::backward_weights, data = key_.pass == ConvPass::backward_data;
    if (!weights) weight_in_.prepare(user_weight_, weight_desc_, false);
    if (!data && x_desc_ != user_x_) x_in_.prepare(user_x_, x_desc_, false);
    if (key_.pass != ConvPass::forward && y_desc_ != user_y_) y_in_.prepare(user_y_, y_desc_, false);
    if (weights) {
      store_.prepare(weight_desc_, user_weight_, false);
      store_add_.prepare(weight_desc_, user_weight_, true);
    } else if (data) {
      store_.prepare(x_desc_, user_x_, false);
      store_add_.prepare(x_desc_, user_x_, true);
    } else if (y_desc_ != user_y_) {
      store_.prepare(y_desc_, user_y_, false);
    }
    primitive_ = dnnl::primitive(description_.get());
  }

  Key key_;
  const char* refusal_ = nullptr;
  const char* kernel_ = "";
  std::int64_t workspace_ = 0;
  std::int64_t weight_at_ = 0, x_at_ = 0, y_at_ = 0, scratch_at_ = 0;
  memory::desc user_x_, user_y_, user_weight_, x_desc_, y_desc_, weight_desc_, scratch_desc_;
  dnnl::primitive_desc_base description_;
  dnnl::primitive primitive_;
  memory x_, y_, weight_, bias_, scratch_;
  Reorder weight_in_, x_in_, y_in_, store_, store_add_;
};

Plan& plan_for(const ConvGeometry& geometry, ConvAlgorithm algorithm, ConvPass pass) {
  static thread_local std::unordered_map<Key, std::unique_ptr<Plan>, KeyHash> cache;
  Key key{geometry, algorithm, pass, thread_count()};
  auto found = cache.find(key);
  if (found == cache.end()) found = cache.emplace(key, std::make_unique<Plan>(key)).first;
  return *found->second;
}

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

bool has_avx512() {
  static const bool answer = [] {
    auto isa = dnnl::get_effective_cpu_isa();
    return isa == dnnl::cpu_isa::avx512_core || isa == dnnl::cpu_isa::avx512_core_vnni ||
           isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx;
  }();
  return answer;
}

const char* refusal() {
  static const char* const answer = has_avx512() || dnnl::get_effective_cpu_isa() == dnnl::cpu_isa::avx2 ||
                                            dnnl::get_effective_cpu_isa() == dnnl::cpu_isa::avx2_vnni
                                        ? nullptr
                                        : "the processor has no AVX2";
  return answer;
}

const char* version() {
  static const std::string text = [] {
    const dnnl_version_t* v = dnnl_version();
    return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
  }();
  return text.c_str();
}

const char* isa_name() { return has_avx512() ? "avx512_core" : refusal() ? "older than avx2" : "avx2"; }

bool is_amd() {
#if defined(__x86_64__)
  static const bool answer = __builtin_cpu_is("amd");
  return answer;
#else
  return false;
#endif
}

const char* conv_refusal(const ConvGeometry& g, ConvAlgorithm algorithm, ConvPass pass) {
  const char* reason = nullptr;
  auto ask = [&](Plan& plan) {
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
                [&](Plan& plan) { bytes = std::max(bytes, plan.workspace() - copy); });
  if (!in_place) return bytes;
  for_each_plan(g, algorithm, pass, chunk_images(g, algorithm, true),
                [&](Plan& plan) { bytes = std::max(bytes, plan.workspace()); });
  return bytes;
}

void conv_forward(const ConvGeometry& g, ConvAlgorithm algorithm, const float* x, const float* weight,
                  const float* bias, float* y, std::byte* workspace) {
  for_each_chunk(g, algorithm, ConvPass::forward, chunk_images(g, algorithm, false),
                 [&](Plan& plan, std::int64_t first, bool other) {
                   if (other) plan.load_weight(weight, workspace);
                   plan.forward(x + first * g.h * g.w * g.in, bias, y + first * g.oh * g.ow * g.out, workspace);
                 });
}

void conv_backward_data(const ConvGeometry& g, ConvAlgorithm algorithm, const float* dy, const float* weight, float* dx,
                        bool accumulate, std::byte* workspace) {
  for_each_chunk(g, algorithm, ConvPass::backward_data, chunk_images(g, algorithm, accumulate),
                 [&](Plan& plan, std::int64_t first, bool other) {
                   if (other) plan.load_weight(weight, workspace);
                   plan.backward_data(dy + first * g.oh * g.ow * g.out, dx + first * g.h * g.w * g.in, accumulate,
                                      workspace);
                 });
}

void conv_backward_weights(const ConvGeometry& g, ConvAlgorithm algorithm, const float* x, const float* dy, float* dw,
                           bool accumulate, std::byte* workspace) {
  for_each_chunk(g, algorithm, ConvPass::backward_weights, chunk_images(g, algorithm, false),
                 [&](Plan& plan, std::int64_t first, bool) {
                   plan.backward_weights(x + first * g.h * g.w * g.in, dy + first * g.oh * g.ow * g.out, dw,
                                         accumulate || first > 0, workspace);
                 });
}

void sgemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
           const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc) {
  check(dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, alpha, a, lda, b, ldb, beta, c, ldc),
        "a matrix product");
}

}  // namespace reprise::onednn

#else

namespace reprise::onednn {

const char* refusal() { return "this build is without oneDNN"; }
const char* version() { return "not built in"; }
const char* isa_name() { return "none"; }
bool has_avx512() { return false; }
bool is_amd() { return false; }
const char* conv_refusal(const ConvGeometry&, ConvAlgorithm, ConvPass) { return refusal(); }
const char* conv_kernel_name(const ConvGeometry&, ConvAlgorithm, ConvPass) { return ""; }
std::int64_t conv_workspace(const ConvGeometry&, ConvAlgorithm, ConvPass) { return 0; }

namespace {
[[noreturn]] void absent() { fail(ErrorKind::internal, "[onednn] expected a build with oneDNN, got one without it"); }
}  // namespace

void conv_forward(const ConvGeometry&, ConvAlgorithm, const float*, const float*, const float*, float*, std::byte*) {
  absent();
}
void conv_backward_data(const ConvGeometry&, ConvAlgorithm, const float*, const float*, float*, bool, std::byte*) {
  absent();
}
void conv_backward_weights(const ConvGeometry&, ConvAlgorithm, const float*, const float*, float*, bool, std::byte*) {
  absent();
}
void sgemm(bool, bool, std::int64_t, std::int64_t, std::int64_t, float, const float*, std::int64_t, const float*,
           std::int64_t, float, float*, std::int64_t) {
  absent();
}

}  // namespace reprise::onednn

#endif
