// Leaf: a tensor that wants gradients (a parameter), with its accumulator. Its bytes are state like any other: ops and
// host code may write them at any time, and every recorded read keeps the version it saw.
//
// The accumulator is a slot in a gradient slab or a tensor of its own. `grad_empty` means that it counts as zero
// whatever its bytes are, so that clearing is free and the first contribution overwrites.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor.h"

namespace reprise {

class Leaf : public RefCounted {
 public:
  /// `grad` may be undefined: then the engine makes one (category gradients) at the first contribution.
  static Ref<Leaf> create(std::string name, Tensor data, Tensor grad = {}, bool requires_grad = true) {
    auto* leaf = new Leaf;
    leaf->name = std::move(name);
    leaf->data = std::move(data);
    leaf->grad = std::move(grad);
    leaf->requires_grad = requires_grad;
    return Ref<Leaf>(leaf);
  }

  void clear_grad() {
    grad_empty = true;
    grad_partial = grad_abandoned = false;
    if (grad.defined()) grad.storage().allow_reading();
  }

  std::string name;
  Tensor data;
  Tensor grad;
  bool requires_grad = true;
  bool grad_empty = true;
  bool grad_partial = false;    // a failed backward has put in some, not all, of its contributions
  bool grad_abandoned = false;  // and will not put in the others; nobody may read it until it is cleared
  /// Each runs once per backward that reaches the leaf, after its gradient is complete. May read the gradient, write
  /// state and parameters; may throw, then runs again in full when the backward is called again.
  std::vector<std::function<void(Leaf&)>> hooks;

 private:
  friend class Ref<Leaf>;
  Leaf() = default;
  ~Leaf() = default;
  static void destroy(Leaf* leaf) noexcept { delete leaf; }
};

using LeafRef = Ref<Leaf>;

}  // namespace reprise
