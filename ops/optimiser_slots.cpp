#include "ops/optimiser_slots.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "core/error.h"

namespace reprise {
namespace {

/// Throws the error of a tensor that is not as its parameter is.
void require_like(const char* who, const std::string& name, const char* role, const Tensor& tensor,
                  const Tensor& parameter) {
  if (tensor.defined() && tensor.dtype() == parameter.dtype() && tensor.shape() == parameter.shape() &&
      tensor.contiguous())
    return;
  fail(ErrorKind::user, "[{}] expected a contiguous {} of {} {} for parameter '{}', got {}", who, role,
       to_string(parameter.dtype()), to_string(parameter.shape()), name,
       tensor.defined() ? fmt::format("{} {}", to_string(tensor.dtype()), to_string(tensor.shape()))
                        : std::string("none"));
}

// The bytes of one tensor of a step.
struct Extent {
  const Storage* storage;
  std::int64_t lo, hi;
  bool written;
  const char* role;
  const std::string* name;  // of the parameter
  std::size_t order;        // among those of the step

  bool meets(const Extent& other) const {
    return storage == other.storage && lo < other.hi && other.lo < hi && (written || other.written);
  }
};

// The tensors of one step. Capacity is kept between steps, so that a step does not allocate.
class Extents {
 public:
  static Extents& start() {
    static thread_local Extents instance;
    instance.all_.clear();
    return instance;
  }

  void add(const Tensor& tensor, bool written, const char* role, const std::string& name) {
    std::int64_t lo = tensor.offset() * size_of(tensor.dtype());
    if (tensor.size() > 0)
      all_.push_back({&tensor.storage(), lo, lo + tensor.bytes(), written, role, &name, all_.size()});
  }

  // One sweep by place. Any two may meet but where one is written.
  void require_apart(const char* who) {
    std::sort(all_.begin(), all_.end(), [](const Extent& a, const Extent& b) {
      return a.storage != b.storage ? std::less<>()(a.storage, b.storage) : a.lo < b.lo;
    });
    const Extent *reaching = nullptr, *writing = nullptr;  // those that end last, so far
    for (const Extent& extent : all_) {
      const Extent* before = extent.written ? reaching : writing;
      if (before && extent.meets(*before)) refuse(who);
      keep_last(reaching, extent);
      if (extent.written) keep_last(writing, extent);
    }
  }

 private:
  // Names the first two in the order of the slots: the sweep meets them by addresses, which differ from run to run.
  [[noreturn]] void refuse(const char* who) {
    std::sort(all_.begin(), all_.end(), [](const Extent& a, const Extent& b) { return a.order < b.order; });
    for (std::size_t second = 0;; ++second) {
      for (std::size_t first = 0; first < second; ++first) {
        const Extent &a = all_[first], &b = all_[second];
        if (!a.meets(b)) continue;
        fail(ErrorKind::user,
             "[{}] expected tensors apart in every slot, got {} of '{}' and {} of '{}' in the same bytes", who, a.role,
             *a.name, b.role, *b.name);
      }
    }
  }

  static void keep_last(const Extent*& last, const Extent& extent) {
    if (!last || last->storage != extent.storage || extent.hi > last->hi) last = &extent;
  }

  std::vector<Extent> all_;
};

}  // namespace

void require_parameter(const char* who, const OptimiserSlot& slot) {
  if (!slot.parameter) fail(ErrorKind::user, "[{}] expected a parameter in every slot, got a null one", who);
}

bool is_idle(const OptimiserSlot& slot) { return slot.parameter->grad_empty || !slot.parameter->grad.defined(); }

void check_slots(const char* who, std::span<const OptimiserSlot> slots, const SlotNeeds& needs) {
  Extents& extents = Extents::start();
  for (const OptimiserSlot& slot : slots) {
    require_parameter(who, slot);
    const Tensor& parameter = slot.parameter->data;
    const std::string& name = slot.parameter->name;
    if (!parameter.contiguous() || (parameter.dtype() != DType::f32 && parameter.dtype() != DType::f64)) {
      fail(ErrorKind::user, "[{}] expected contiguous parameters of f32 or f64, got '{}' of {} {}", who, name,
           to_string(parameter.dtype()), to_string(parameter.shape()));
    }
    if (is_idle(slot)) continue;
    if (slot.parameter->grad_partial) {
      fail(ErrorKind::user,
           "[{}] expected complete gradients, got a part of that of '{}'. Its backward failed; clear it or finish it",
           who, name);
    }
    auto take = [&](const Tensor& tensor, bool written, const char* role) {
      require_like(who, name, role, tensor, parameter);
      extents.add(tensor, written, role, name);
    };
    take(parameter, true, "parameter");
    take(slot.parameter->grad, false, "gradient");
    if (needs.momentum) take(slot.momentum, true, "momentum");
    if (needs.second) take(slot.second, true, "second moment");
    if (slot.average.defined()) take(slot.average, true, "average");
  }
  extents.require_apart(who);
}

void check_averages(std::span<const EmaSlot> slots) {
  Extents& extents = Extents::start();
  for (const EmaSlot& slot : slots) {
    if (!slot.source.defined() || !is_floating(slot.source.dtype()) || slot.source.dtype() == DType::bf16 ||
        !slot.source.contiguous()) {
      fail(ErrorKind::user, "[ema] expected contiguous sources of f32 or f64, got {}",
           slot.source.defined() ? fmt::format("'{}' of {} {}", slot.source.storage().name(),
                                               to_string(slot.source.dtype()), to_string(slot.source.shape()))
                                 : std::string("none"));
    }
    const std::string& name = slot.source.storage().name();
    require_like("ema", name, "average", slot.average, slot.source);
    extents.add(slot.source, false, "source", name);
    extents.add(slot.average, true, "average", name);
  }
  extents.require_apart("ema");
}

}  // namespace reprise
