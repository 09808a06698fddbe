// An instance under a domain, made small: what is decided anyway is part of the base, what only one segment decides is
// part of its options, and rows that can never reach the budget are left out. Built and read by the parts of the
// solver.
//
// Invariant: for every choice in the domain, base plus the spans of its options plus the live objects are the bytes of
// the kept rows, and the rows left out stay at or below the budget.
#pragma once

#include <cstdint>
#include <vector>

#include "recompute/solver/domain.h"
#include "recompute/solver/instance.h"

namespace reprise::solver {

/// Bytes in the rows first..last.
struct Span {
  std::int32_t first = 0, last = 0;
  std::int64_t bytes = 0;
};

struct ModelOption {
  std::int64_t time = 0;
  std::vector<Span> spans;
  std::uint8_t source = 0;  // option of the segment, or state of the class
};

/// A segment or a class with more than one open option. A class stands before the first segment that meets it.
struct Variable {
  bool is_class = false;
  std::int32_t source = 0;
  std::vector<ModelOption> options;
  std::vector<std::int32_t> objects;  // shared ones that it touches, ascending
};

/// A selected use lifts its object to `level`: the object then lives until rows[level - 1].
struct ModelUse {
  std::int32_t variable = 0;
  std::uint64_t options = 0;  // of the variable
  std::int32_t level = 0;
  std::int32_t class_variable = -1;
  std::uint8_t class_option = 0;
};

struct SharedObject {
  std::int64_t bytes = 0, time = 0;
  std::int32_t birth = 0;
  std::vector<std::int32_t> rows;  // of levels 1.., ascending; below birth: no row
  std::vector<ModelUse> uses;      // by variable
};

struct Model {
  std::int64_t budget = 0;
  std::int64_t base_time = 0;
  std::vector<std::int64_t> base;    // per kept row
  std::vector<std::int32_t> row_of;  // kept row -> row of the instance
  std::vector<Variable> variables;
  std::vector<SharedObject> objects;
  Choice rest;  // what is decided; variables overwrite their own

  std::int32_t rows() const { return static_cast<std::int32_t>(base.size()); }
};

/// One option per variable.
using Assignment = std::vector<std::uint8_t>;

Model compile(const Instance& instance, const Domain& domain, std::int64_t budget);

Choice to_choice(const Model& model, const Assignment& assignment);

/// The assignment of a choice that the domain of the model contains.
Assignment to_assignment(const Model& model, const Choice& choice);

/// The level of an object under an assignment; 0: not alive, no time.
std::int32_t level_of(const SharedObject& object, const Assignment& assignment);

/// Bytes of every kept row, and the time.
struct Load {
  std::vector<std::int64_t> rows;
  std::int64_t time = 0;
};
Load load_of(const Model& model, const Assignment& assignment);

}  // namespace reprise::solver
