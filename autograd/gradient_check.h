// Gradient check: the gradient that a backward gives against central differences, in f64, for any user function.
//
//   auto result = check_gradient(memory, [&](Tape& tape) { return loss(tape, weight); }, {weight});
//   if (!result.ok) std::puts(result.describe().c_str());
//
// Every element of a small leaf is compared; of a large one, derivatives along a few random directions. The function
// may write in place and keep state: `states` are put back before each evaluation, and `set_up` runs before each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "autograd/tape.h"

namespace reprise {

struct GradientCheckOptions {
  double step = 1e-5;      // times max(1, |x|)
  double relative = 1e-6;  // tolerance: relative * max(|a|, |b|) + absolute
  double absolute = 1e-8;
  std::int64_t most_elements = 64;  // leaves with more are checked along directions
  int directions = 3;
  std::uint64_t seed = 1;        // of the directions
  std::vector<Tensor> states;    // put back to their bytes at the call before each evaluation
  std::vector<Stream*> streams;  // put back to their positions likewise
  std::function<void()> set_up;  // what else must be as before each evaluation
  TapeOptions tape;
  std::function<void(Tape&)> prepare;  // for instance set_policy() and set_replayer()
};

struct GradientCheckResult {
  bool ok = true;
  std::int64_t compared = 0;  // elements and directions
  // The worst, by difference over tolerance.
  double excess = 0;  // above 1: out of tolerance
  std::string leaf;
  std::int64_t element = -1;  // -1: a direction
  double backward = 0, differences = 0;
  /// One line: "weight[3]: backward 0.25, central differences 0.31, 6e+05 of the tolerance; worst of 24".
  std::string describe() const;
};

/// Compares the gradient of the sum of all elements of f(tape). Leaves must be f64 and floating functions of them
/// smooth where they stand. The leaves' accumulators are cleared; their data, states and streams are as before
/// afterwards. Errors: user (a leaf that is not f64; a result that is not finite), memory (putting back, where another
/// tape owes what that overwrites), whatever f throws.
GradientCheckResult check_gradient(Memory& memory, const std::function<Value(Tape&)>& f, std::vector<LeafRef> leaves,
                                   const GradientCheckOptions& options = {});

}  // namespace reprise
