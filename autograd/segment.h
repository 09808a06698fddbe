// Segments: marking a run of nodes as one unit of replay, preservation and planning.
//
//   Value y = segment(tape, "layer2.0", [&] { ...; return y; });
//
// Nothing else in the model changes: reads, draws and effects are discovered from the ops' contracts. Nested calls
// only label nodes; the outermost segment is the unit. Returned values are its outputs.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "autograd/tape.h"

namespace reprise {

namespace internal {
inline void collect_outputs(const Value& value, std::vector<ValueId>& out) {
  if (value.defined()) out.push_back(value.id());
}
inline void collect_outputs(const std::vector<Value>& values, std::vector<ValueId>& out) {
  for (const Value& value : values) collect_outputs(value, out);
}
template <class A, class B>
void collect_outputs(const std::pair<A, B>& pair, std::vector<ValueId>& out) {
  collect_outputs(pair.first, out);
  collect_outputs(pair.second, out);
}
template <class... T>
void collect_outputs(const std::tuple<T...>& tuple, std::vector<ValueId>& out) {
  std::apply([&](const T&... each) { (collect_outputs(each, out), ...); }, tuple);
}
template <class T>
void collect_outputs(const T&, std::vector<ValueId>&) {}  // other results hold no values of the tape
}  // namespace internal

/// Runs `body` as a segment named `name`. Errors: what the body throws, and what keeps the segment from being closed
/// (its surroundings cannot be noted, no memory); nodes recorded by then cannot be differentiated.
template <class Body>
auto segment(Tape& tape, std::string_view name, Body&& body) {
  struct Scope {
    Tape& tape;
    bool closed = false;
    ~Scope() {
      if (!closed) tape.abort_segment();
    }
  };
  tape.begin_segment(name);
  Scope scope{tape};
  auto result = std::forward<Body>(body)();
  std::vector<ValueId> outputs;
  internal::collect_outputs(result, outputs);
  scope.closed = true;
  tape.end_segment(outputs);
  return result;
}

/// Finds again which nodes a replay of `segment` must run for the nodes that are not consumed, and ends the obligations
/// that none of them needs. Called when a segment closes and after each backward that consumed some of its nodes. Where
/// the heap runs out it can be called again.
void update_needed(Tape& tape, std::uint32_t segment, bool closing);

/// Lets go of the values that pass between the segments of the run that ends with `segment`.
void close_run(Tape& tape, std::uint32_t segment) noexcept;
/// Makes the room that close_run() takes.
void prepare_run(Tape& tape, std::uint32_t segment);

/// Ends a run that has not closed, because a backward begins: it may consume what restoring the run would read.
void cut_run(TapeData& data);

}  // namespace reprise
