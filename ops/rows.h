// Rows picked by index: gather_rows, embedding, scatter_add_rows. Indices are i64 or i32 of any shape.
//
// All indices are checked before anything is written. Repeated indices add up in index order, whatever the threads.
#pragma once

#include <cstdint>

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise {

extern const Op kGatherRows;
extern const Op kScatterAddRows;

/// table [n, rest...], index [s...] -> [s..., rest...]. With `wrap` indices are taken modulo n, else one outside [0, n)
/// is an error (user) that names its position. The recorded read is the rows named, not the table.
Value gather_rows(Tape& tape, Arg table, Arg index, bool wrap = false);
/// gather_rows on a trained table: the gradient is added into the rows of the table, one by one in the table's
/// dtype (in bf16 a row that is named some hundred times stops growing: keep such a table in f32, cast what is
/// gathered).
Value embedding(Tape& tape, Arg table, Arg index);
/// [rows, rest...] of zeros with source [s..., rest...] added to the rows named by index [s...].
Value scatter_add_rows(Tape& tape, Arg source, Arg index, std::int64_t rows, bool wrap = false);

void register_rows_ops();

}  // namespace reprise
