// What one choice costs: bytes per row, the peak with the row that binds, and the time.
//
// Called by the solver on every plan that it returns, by its tests and by whoever built the instance. Two evaluators
// are kept side by side: one with difference arrays, one that asks every object in every row whether it is alive.
// Invariant: both give the same numbers for every valid instance and choice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recompute/solver/instance.h"

namespace reprise::solver {

struct Evaluation {
  std::int64_t peak = 0;
  std::int32_t binding_row = 0;         // the first row that reaches the peak
  std::int64_t time_ns = 0;             // with the base time
  std::vector<std::int64_t> row_bytes;  // per row
  friend bool operator==(const Evaluation&, const Evaluation&) = default;
};

/// Errors (user): a number out of range, named by the object, segment or row that holds it.
void validate(const Instance& instance);

/// Errors (user): the choice has another shape than the instance.
Evaluation evaluate(const Instance& instance, const Choice& choice);

/// The same by walking: every row asks every object whether a selected use still needs it. Slow, for certifying.
Evaluation evaluate_naive(const Instance& instance, const Choice& choice);

/// "boundary 3": the objects alive in a row under a choice, largest first, with their bytes.
struct Alive {
  std::string name;
  std::int64_t bytes = 0;
};
std::vector<Alive> alive_in_row(const Instance& instance, const Choice& choice, std::int32_t row);

}  // namespace reprise::solver
