#include "ops/optimiser.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/parallel.h"
#include "ops/optimiser_slots.h"
#include "ops/row_sums.h"

namespace reprise {
namespace {

// Elements of one range that a thread takes at a time. Their squares are summed in their own type, so it is part of
// what norms come out as.
constexpr std::int64_t kBlock = 16384;
constexpr int kPointers = 5;

enum Role { kParameter, kGradient, kMomentum, kSecond, kAverage };

// A run of elements that is updated by one loop; null where the role is unused.
struct Range {
  std::byte* at[kPointers] = {};
  std::int64_t count = 0;
  bool decay = true;
  double ratio = 1;  // LARS: factor on the update
};

// The ranges of one step, by dtype. Capacity is kept between steps, so that a step does not allocate.
struct Work {
  std::vector<Range> ranges;
  std::vector<std::int64_t> first_block;
  DType dtype = DType::f32;

  void start() {
    ranges.clear();
    first_block.clear();
  }

  void add(const Range& range, std::int64_t item) {
    if (!ranges.empty() && touches(ranges.back(), range, item))
      ranges.back().count += range.count;
    else if (range.count > 0)
      ranges.push_back(range);
  }

  static bool touches(const Range& before, const Range& after, std::int64_t item) {
    if (before.decay != after.decay || before.ratio != after.ratio) return false;
    for (int i = 0; i < kPointers; ++i) {
      if ((before.at[i] == nullptr) != (after.at[i] == nullptr)) return false;
      if (before.at[i] && before.at[i] + before.count * item != after.at[i]) return false;
    }
    return true;
  }

  // Calls body(range, begin, end) for blocks of all ranges, in parallel.
  template <class Body>
  void run(Body&& body) {
    std::int64_t blocks = 0;
    first_block.clear();
    for (const Range& range : ranges) {
      first_block.push_back(blocks);
      blocks += (range.count + kBlock - 1) / kBlock;
    }
    parallel_blocks(blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t block = begin; block < end; ++block) {
        auto after = std::upper_bound(first_block.begin(), first_block.end(), block);
        auto which = static_cast<std::size_t>(after - first_block.begin() - 1);
        const Range& range = ranges[which];
        std::int64_t from = (block - first_block[which]) * kBlock;
        body(range, from, std::min(range.count, from + kBlock), block);
      }
    });
  }
};

Work& work() {
  static thread_local Work instance;
  return instance;
}

// The newest bytes of a tensor for a loop that reads them; the door puts them back where a preserver had moved them.
std::byte* read_door(const Tensor& tensor) {
  tensor.storage().host_read();
  return tensor.view().data;
}

// Announces the write of a whole tensor.
std::byte* write_door(const Tensor& tensor, const char* who) {
  tensor.storage().host_write(tensor.region(), who);
  return tensor.view().data;
}

// Calls run<T>() for each dtype that occurs, with the ranges of the slots of that dtype. Everything is announced
// before the first loop. `ratios`, if there are any: one for each slot.
template <class Run>
void over_slots(const char* who, std::span<const OptimiserSlot> slots, const SlotNeeds& needs, Run&& run,
                std::span<const double> ratios = {}) {
  check_slots(who, slots, needs);
  for (const OptimiserSlot& slot : slots) {
    if (is_idle(slot)) continue;
    read_door(slot.parameter->grad);
    write_door(slot.parameter->data, who);
    if (needs.momentum) write_door(slot.momentum, who);
    if (needs.second) write_door(slot.second, who);
    if (slot.average.defined()) write_door(slot.average, who);
  }
  for (DType dtype : {DType::f32, DType::f64}) {
    Work& ready = work();
    ready.start();
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const OptimiserSlot& slot = slots[i];
      const Leaf& leaf = *slot.parameter;
      if (is_idle(slot) || leaf.data.dtype() != dtype) continue;
      Range range;
      range.at[kParameter] = leaf.data.view().data;
      range.at[kGradient] = leaf.grad.view().data;
      if (needs.momentum) range.at[kMomentum] = slot.momentum.view().data;
      if (needs.second) range.at[kSecond] = slot.second.view().data;
      if (slot.average.defined()) range.at[kAverage] = slot.average.view().data;
      range.count = leaf.data.size();
      range.decay = slot.decay;
      if (!ratios.empty()) range.ratio = ratios[i];
      ready.add(range, size_of(dtype));
    }
    if (!ready.ranges.empty()) dispatch_float(dtype, [&]<class T>() { run.template operator()<T>(ready); });
  }
}

template <class T>
T* pointer(const Range& range, Role role, std::int64_t from) {
  return range.at[role] ? reinterpret_cast<T*>(range.at[role]) + from : nullptr;
}

template <class T>
void follow(T* average, const T* source, std::int64_t n, T step) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) average[i] += step * (source[i] - average[i]);
}

// Formula: torch.optim.SGD with dampening 0.
template <class T, bool kMoves, bool kNesterov>
void sgd_block(T* p, const T* g, T* v, std::int64_t n, T lr, T momentum, T decay, T scale) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    T step = g[i] * scale + decay * p[i];
    if constexpr (kMoves) {
      T velocity = momentum * v[i] + step;
      v[i] = velocity;
      step = kNesterov ? step + momentum * velocity : velocity;
    }
    p[i] -= lr * step;
  }
}

// The numbers of one AdamW step (formula: ops/optimiser.h), with both corrections c = 1 - beta^step taken out of the
// loop: keep = 1 - lr decay, rest = 1 - beta, step = lr / c1, root = 1 / sqrt(c2).
template <class T>
struct AdamwNumbers {
  T keep, beta2, rest1, rest2, step, root, eps, scale;
};

template <class T>
void adamw_block(T* p, const T* g, T* m, T* s, std::int64_t n, const AdamwNumbers<T>& a) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    T gradient = g[i] * a.scale;
    T first = m[i] + a.rest1 * (gradient - m[i]);
    T second = a.beta2 * s[i] + a.rest2 * gradient * gradient;
    m[i] = first;
    s[i] = second;
    p[i] = p[i] * a.keep - a.step * first / (std::sqrt(second) * a.root + a.eps);
  }
}

}  // namespace

void sgd_step(std::span<const OptimiserSlot> slots, const SgdOptions& o) {
  bool moves = o.momentum != 0;
  if (o.nesterov && !moves)
    fail(ErrorKind::user, "[sgd] expected a momentum above 0 for Nesterov's form, got {}", o.momentum);
  over_slots("sgd", slots, {.momentum = moves}, [&]<class T>(Work& ready) {
    T lr = static_cast<T>(o.lr), momentum = static_cast<T>(o.momentum), scale = static_cast<T>(o.gradient_scale);
    ready.run([&](const Range& range, std::int64_t begin, std::int64_t end, std::int64_t) {
      T decay = static_cast<T>(range.decay ? o.weight_decay : 0.0);
      T *p = pointer<T>(range, kParameter, begin), *v = pointer<T>(range, kMomentum, begin);
      const T* g = pointer<T>(range, kGradient, begin);
      if (!moves)
        sgd_block<T, false, false>(p, g, v, end - begin, lr, momentum, decay, scale);
      else if (o.nesterov)
        sgd_block<T, true, true>(p, g, v, end - begin, lr, momentum, decay, scale);
      else
        sgd_block<T, true, false>(p, g, v, end - begin, lr, momentum, decay, scale);
      if (T* average = pointer<T>(range, kAverage, begin))
        follow<T>(average, p, end - begin, static_cast<T>(1 - o.average_keep));
    });
  });
}

void adamw_step(std::span<const OptimiserSlot> slots, const AdamwOptions& o) {
  if (o.step < 1) fail(ErrorKind::user, "[adamw] expected a step number of at least 1, got {}", o.step);
  double correct1 = 1 - std::pow(o.beta1, static_cast<double>(o.step)),
         correct2 = 1 - std::pow(o.beta2, static_cast<double>(o.step));
  over_slots("adamw", slots, {.momentum = true, .second = true}, [&]<class T>(Work& ready) {
    AdamwNumbers<T> numbers{.keep = T(1),
                            .beta2 = static_cast<T>(o.beta2),
                            .rest1 = static_cast<T>(1 - o.beta1),
                            .rest2 = static_cast<T>(1 - o.beta2),
                            .step = static_cast<T>(o.lr / correct1),
                            .root = static_cast<T>(1 / std::sqrt(correct2)),
                            .eps = static_cast<T>(o.eps),
                            .scale = static_cast<T>(o.gradient_scale)};
    ready.run([&](const Range& range, std::int64_t begin, std::int64_t end, std::int64_t) {
      AdamwNumbers<T> here = numbers;
      here.keep = static_cast<T>(1 - (range.decay ? o.lr * o.weight_decay : 0.0));
      T* p = pointer<T>(range, kParameter, begin);
      adamw_block<T>(p, pointer<T>(range, kGradient, begin), pointer<T>(range, kMomentum, begin),
                     pointer<T>(range, kSecond, begin), end - begin, here);
      if (T* average = pointer<T>(range, kAverage, begin))
        follow<T>(average, p, end - begin, static_cast<T>(1 - o.average_keep));
    });
  });
}

void ema_step(std::span<const EmaSlot> slots, double keep) {
  check_averages(slots);
  for (const EmaSlot& slot : slots) {
    read_door(slot.source);
    write_door(slot.average, "ema");
  }
  for (DType dtype : {DType::f32, DType::f64}) {
    Work& ready = work();
    ready.start();
    for (const EmaSlot& slot : slots) {
      if (slot.source.dtype() != dtype) continue;
      Range range;
      range.at[kParameter] = slot.source.view().data;
      range.at[kAverage] = slot.average.view().data;
      range.count = slot.source.size();
      ready.add(range, size_of(dtype));
    }
    if (ready.ranges.empty()) continue;
    dispatch_float(dtype, [&]<class T>() {
      ready.run([&](const Range& range, std::int64_t begin, std::int64_t end, std::int64_t) {
        follow<T>(pointer<T>(range, kAverage, begin), pointer<T>(range, kParameter, begin), end - begin,
                  static_cast<T>(1 - keep));
      });
    });
  }
}

namespace {

// The sum of f(i)^2 over n elements: in T within a block, in double over the blocks in order.
template <class T, class F>
double sum_of_squares(std::int64_t n, const F& f) {
  static thread_local std::vector<double> partial;
  partial.resize(static_cast<std::size_t>((n + kBlock - 1) / kBlock));
  parallel_blocks(n, kBlock, [&, sums = partial.data()](std::int64_t begin, std::int64_t end) {
    sums[begin / kBlock] =
        static_cast<double>(row_sum<T>(end - begin, [&](std::int64_t i) { return f(begin + i) * f(begin + i); }));
  });
  double total = 0;
  for (double sum : partial) total += sum;
  return total;
}

double lars_ratio(const OptimiserSlot& slot, const LarsOptions& o) {
  if (!slot.decay || is_idle(slot)) return 1;
  const Tensor &parameter = slot.parameter->data, &gradient = slot.parameter->grad;
  read_door(parameter);
  read_door(gradient);
  return dispatch_float(parameter.dtype(), [&]<class T>() {
    const T *p = parameter.view().as<T>(), *g = gradient.view().as<T>();
    T scale = static_cast<T>(o.gradient_scale), decay = static_cast<T>(o.weight_decay);
    double length = std::sqrt(sum_of_squares<T>(parameter.size(), [&](std::int64_t i) { return p[i]; }));
    double update =
        std::sqrt(sum_of_squares<T>(parameter.size(), [&](std::int64_t i) { return g[i] * scale + decay * p[i]; }));
    return length > 0 && update > 0 ? o.trust * length / update : 1.0;
  });
}

}  // namespace

void lars_step(std::span<const OptimiserSlot> slots, const LarsOptions& o) {
  static thread_local std::vector<double> ratios;
  check_slots("lars", slots, {.momentum = true});
  ratios.clear();
  for (const OptimiserSlot& slot : slots) ratios.push_back(lars_ratio(slot, o));
  auto loop = [&]<class T>(Work& ready) {
    T lr = static_cast<T>(o.lr), momentum = static_cast<T>(o.momentum), scale = static_cast<T>(o.gradient_scale);
    ready.run([&](const Range& range, std::int64_t begin, std::int64_t end, std::int64_t) {
      T decay = static_cast<T>(range.decay ? o.weight_decay : 0.0), ratio = static_cast<T>(range.ratio);
      T *p = pointer<T>(range, kParameter, begin), *v = pointer<T>(range, kMomentum, begin);
      const T* g = pointer<T>(range, kGradient, begin);
#pragma omp simd
      for (std::int64_t i = 0; i < end - begin; ++i) {
        v[i] = momentum * v[i] + (g[i] * scale + decay * p[i]) * ratio;
        p[i] -= lr * v[i];
      }
      if (T* average = pointer<T>(range, kAverage, begin))
        follow<T>(average, p, end - begin, static_cast<T>(1 - o.average_keep));
    });
  };
  over_slots("lars", slots, {.momentum = true}, loop, ratios);
}

double gradient_norm(std::span<const OptimiserSlot> slots) {
  double total = 0;
  // Each parameter by itself, so that the order of the sum does not depend on where gradients lie.
  for (const OptimiserSlot& slot : slots) {
    require_parameter("gradient_norm", slot);
    if (is_idle(slot)) continue;
    const Tensor& gradient = slot.parameter->grad;
    if (!gradient.contiguous())
      fail(ErrorKind::user, "[gradient_norm] expected contiguous gradients, got that of '{}'", slot.parameter->name);
    read_door(gradient);
    dispatch_float(gradient.dtype(), [&]<class T>() {
      const T* g = gradient.view().as<T>();
      total += sum_of_squares<T>(gradient.size(), [&](std::int64_t i) { return g[i]; });
    });
  }
  return std::sqrt(total);
}

double clip_scale(double norm, double max_norm) { return std::min(1.0, max_norm / (norm + 1e-6)); }

}  // namespace reprise
