// The reader of conformance programs, and the machine that runs what it accepted: a hostile program may fail, never the
// process that runs it.
#include "core/error.h"
#include "tests/fuzz/target.h"
#include "tools/conform/verdict.h"

namespace reprise::fuzz {
namespace {

using conform::Program;
using conform::Statement;

std::int64_t statements(const std::vector<Statement>& list) {
  std::int64_t count = 0;
  for (const Statement& s : list) count += 1 + s.retries + statements(s.body) + statements(s.otherwise);
  return count;
}

/// Small enough to run in a moment, many times.
bool small(const Program& program) {
  std::int64_t elements = 0, work = statements(program.main);
  for (const auto& [name, input] : program.inputs) elements += element_count(input.data.shape);
  for (const auto& [name, buffer] : program.buffers) elements += element_count(buffer.shape);
  for (const auto& [name, segment] : program.segments) work += statements(segment.body);
  return elements <= 2000 && work <= 60;
}

}  // namespace

void run_conformance(Input input) {
  accepts([&] {
    Program program = conform::read_program(text_of(input), kSource);
    if (!small(program)) return;
    for (Method method : {Method::retain, Method::region}) {
      conform::Outcome outcome = conform::run_program(program, method, 1);
      conform::Judgement judgement = conform::judge(program, outcome);
      std::string line = conform::result_line(program, method, outcome, judgement);
      expect(line.find('\n') == std::string::npos, "a result of two lines");
      expect(outcome.leaked_bytes == 0, "bytes are live when the run is gone");
    }
  });
}

}  // namespace reprise::fuzz
