// Running a program under a method and judging what came out, by the rules of the conformance format, section 6.
// Called by the verb and tests; a judgement never depends on the method.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "recompute/methods.h"
#include "tools/conform/program.h"

namespace reprise::conform {

enum class Verdict : std::uint8_t { match, reject, silent, state, unsupported, ran };
const char* to_string(Verdict verdict);

struct Outcome {
  bool failed = false;
  bool in_backward = false;  // the error came out of a backward
  bool unsupported = false;
  ErrorKind kind = ErrorKind::internal;  // of the error
  bool index_outside = false;            // the error is an index outside of what it picks from
  std::string error;                     // with context lines
  std::map<std::string, TensorData> grads, buffers;
  std::map<std::string, std::uint64_t> streams;
  std::map<std::string, CellData> cells;
  std::map<std::string, std::int64_t> replays;  // per segment, the most of one instance
  std::int64_t left_bytes = 0;                  // live beyond declared things and gradients when the tape is cleared
  std::int64_t leaked_bytes = 0;                // live when everything of the run is gone
};

struct Judgement {
  Verdict verdict = Verdict::match;
  bool fine = true;    // match, ran, or a reject that is allowed
  std::string detail;  // empty when there is nothing to say
};

/// Runs `program` guarded, in a memory of its own. An error of the program or the framework is part of the outcome.
Outcome run_program(const Program& program, Method method, std::uint64_t seed);

Judgement judge(const Program& program, const Outcome& outcome);

/// One line of JSON with name, method, verdict, detail and all values; no line end.
std::string result_line(const Program& program, Method method, const Outcome& outcome, const Judgement& judgement);

}  // namespace reprise::conform
