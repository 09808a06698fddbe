// The table of the language's ops: how many operands each takes, which attributes it knows, and how it is said on a
// tape.
#pragma once

#include <string>
#include <vector>

#include "autograd/tape.h"
#include "tools/conform/program.h"

namespace reprise::conform {

struct OpRule {
  const char* name;
  int min_in, max_in;
  std::vector<const char*> attributes;
  Value (*run)(Tape& tape, std::vector<Arg>& in, const Statement& statement);
};

/// Null when the language has no op of that name.
const OpRule* find_op_rule(const std::string& name);

/// `arg` flat: [element count]. State is viewed where its strides allow.
Arg flat_rows(Tape& tape, Arg arg);
/// A tensor that is never written, from numbers.
Tensor constant_tensor(Tape& tape, DType dtype, const Shape& shape, const std::vector<double>& numbers);

}  // namespace reprise::conform
