// How wrapper functions ready their operands: numbers become constants of the right dtype, mixed dtypes are cast by a
// recorded node. Called by the wrappers of this room only; kernels see operands of one dtype.
#pragma once

#include <variant>

#include "autograd/tape.h"

namespace reprise {

inline bool is_number(const Arg& arg) { return std::holds_alternative<double>(arg.what()); }
inline bool is_left_out(const Arg& arg) { return std::holds_alternative<std::monostate>(arg.what()); }

/// `arg` in `dtype`: a number becomes a constant, another dtype (and a number beyond an integer type) is cast by a
/// recorded node.
Arg as_dtype(Tape& tape, Arg arg, DType dtype);

/// Whether arithmetic with `arg` leaves the integers: a float, or a number that is not whole.
bool is_fractional(const Arg& arg);

/// Brings two operands to one dtype. Integers with whole numbers stay integers; integers beside a float, or beside a
/// number that is not whole, become that float type (of the tape's default where there is none).
void match_dtypes(Tape& tape, Arg& a, Arg& b);

}  // namespace reprise
