// A small laboratory for tests of tape and replay: one memory, one tape, a method, and short names for making tensors.
// Guarded: owed bytes are hashed when read and checked when served.
#pragma once

#include <memory>
#include <vector>

#include "autograd/segment.h"
#include "autograd/tape.h"
#include "ops/registry.h"
#include "recompute/methods.h"
#include "recompute/replay.h"

namespace reprise::testing {

class Lab {
 public:
  explicit Lab(Method method = Method::retain, DType dtype = DType::f64, std::uint64_t seed = 1, bool dry = false)
      : memory({.dry = dry}), policy_(make_policy(method, seed)) {
    register_builtin_ops();
    memory.preserver().set_guard(!dry);
    memory.preserver().set_unchecked(method == Method::unchecked);
    TapeOptions options;
    options.default_dtype = dtype;
    tape = std::make_unique<Tape>(memory, options);
    tape->set_policy(policy_.get());
    tape->set_replayer(&replayer);
    dtype_ = dtype;
  }

  LeafRef leaf(const Shape& shape, std::vector<double> data, const char* name = "leaf") {
    return Leaf::create(name, tensor(shape, std::move(data), Category::parameters));
  }
  Tensor state(const Shape& shape, std::vector<double> data) { return tensor(shape, std::move(data), Category::state); }
  Tensor indices(std::vector<double> data) {
    Tensor t = make_tensor(memory.allocator(), memory.observer(), DType::i64,
                           Shape{static_cast<std::int64_t>(data.size())}, Category::data);
    t.assign_doubles(data);
    return t;
  }

  static std::vector<double> gradient(const LeafRef& leaf) {
    if (leaf->grad_empty || !leaf->grad.defined())
      return std::vector<double>(static_cast<std::size_t>(leaf->data.size()), 0.0);
    return leaf->grad.to_doubles();
  }

  Memory memory;
  TraceReplayer replayer;
  std::unique_ptr<Tape> tape;

 private:
  Tensor tensor(const Shape& shape, std::vector<double> data, Category category) {
    Tensor t = make_tensor(memory.allocator(), memory.observer(), dtype_, shape, category);
    if (!memory.is_dry()) t.assign_doubles(data);
    return t;
  }

  std::unique_ptr<SegmentPolicy> policy_;
  DType dtype_ = DType::f64;
};

}  // namespace reprise::testing
