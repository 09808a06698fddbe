#include "tools/conform/verdict.h"

#include <cmath>

#include "core/text.h"
#include "tools/conform/machine.h"

namespace reprise::conform {
namespace {

constexpr std::int64_t kBudget = std::int64_t{2} << 30;  // a program that asks for more gets a memory error

void collect(const Program& program, const Machine& machine, Outcome& outcome) {
  for (const auto& [name, input] : program.inputs) {
    if (input.kind != InputKind::frozen) outcome.grads[name] = machine.gradient(name);
    if (input.kind == InputKind::param) outcome.buffers[name] = machine.bytes(name);
  }
  for (const auto& [name, data] : program.buffers) outcome.buffers[name] = machine.bytes(name);
  for (const auto& [name, stream] : program.streams) outcome.streams[name] = machine.position(name);
  for (const auto& [name, cell] : program.cells) outcome.cells[name] = machine.cell(name);
  for (const auto& [name, segment] : program.segments) outcome.replays[name] = machine.replays(name);
}

Outcome run_once(const Program& program, const MachineOptions& options) {
  Outcome outcome;
  MemoryOptions memory_options;
  memory_options.budget = kBudget;
  memory_options.poison_freed = true;
  Memory memory(memory_options);
  bool in_backward = false;
  try {
    Machine machine(program, memory, options);
    try {
      machine.run();
      collect(program, machine, outcome);
      outcome.left_bytes = machine.clear_tape();
    } catch (...) {
      in_backward = machine.in_backward();
      throw;
    }
  } catch (const NeedsKeep&) {
    throw;
  } catch (const Unsupported& error) {
    outcome.failed = outcome.unsupported = true;
    outcome.error = error.what();
  } catch (const Error& error) {
    outcome.failed = true;
    outcome.kind = error.kind();
    outcome.index_outside = dynamic_cast<const IndexError*>(&error) != nullptr;
    outcome.error = fmt::format("{}: {}", to_string(error.kind()), error.what());
  }
  outcome.in_backward = in_backward;
  outcome.leaked_bytes = memory.meter().live();
  return outcome;
}

// ---- comparing

struct Difference {
  std::string text;  // empty: none
  explicit operator bool() const { return !text.empty(); }
};

bool agree(double got, double want, double tolerance) {
  return got == want || std::fabs(got - want) <= tolerance * (1 + std::fabs(want));
}

std::size_t size_of_data(const TensorData& data) {
  return data.dtype == DType::i64 ? data.integers.size() : data.reals.size();
}
double at(const TensorData& data, std::size_t i) {
  return data.dtype == DType::i64 ? static_cast<double>(data.integers[i]) : data.reals[i];
}

Difference compare(const std::string& what, const TensorData& got, const TensorData& want, double tolerance) {
  if (!(got.shape == want.shape)) {
    return {fmt::format("{} has shape {}, expected {}", what, to_string(got.shape), to_string(want.shape))};
  }
  for (std::size_t i = 0; i < size_of_data(want); ++i) {
    if (got.dtype == DType::i64 && want.dtype == DType::i64 && got.integers[i] == want.integers[i]) continue;
    if (agree(at(got, i), at(want, i), tolerance)) continue;
    return {fmt::format("{}[{}] is {:.9g}, expected {:.9g}", what, i, at(got, i), at(want, i))};
  }
  return {};
}

Difference compare(const std::string& what, const CellData& got, const CellData& want, double tolerance) {
  if (got.kind != want.kind) return {fmt::format("cell {} is of another kind than expected", what)};
  if (got.kind == CellData::Kind::tensor) return compare(what, got.tensor, want.tensor, tolerance);
  if (got.kind == CellData::Kind::number) {
    if (agree(got.number, want.number, tolerance)) return {};
    return {fmt::format("cell {} is {:.9g}, expected {:.9g}", what, got.number, want.number)};
  }
  bool same = got.list.size() == want.list.size();
  for (std::size_t i = 0; same && i < got.list.size(); ++i) {
    const Json &a = got.list[i], &b = want.list[i];
    same = a.is_number() && b.is_number() ? agree(a.get<double>(), b.get<double>(), tolerance) : a == b;
  }
  if (same) return {};
  return {fmt::format("cell {} is {}, expected {}", what, Json(got.list).dump(), Json(want.list).dump())};
}

template <class Map, class Compare>
Difference first_difference(const Map& want, const Map& got, Compare&& compare_one) {
  for (const auto& [name, value] : want) {
    auto found = got.find(name);
    if (found == got.end()) return {name + " is missing"};
    if (Difference difference = compare_one(name, found->second, value)) return difference;
  }
  return {};
}

Difference compare_state(const Program& program, const Outcome& outcome, double tolerance) {
  const Expectation& expect = *program.expect;
  auto tensors = [&](const auto& name, const auto& got, const auto& want) {
    return compare(name, got, want, tolerance);
  };
  if (auto d = first_difference(expect.buffers, outcome.buffers, tensors)) return d;
  auto streams = [&](const std::string& name, std::uint64_t got, std::uint64_t want) {
    return got == want ? Difference{} : Difference{fmt::format("stream {} stands at {}, expected {}", name, got, want)};
  };
  if (auto d = first_difference(expect.streams, outcome.streams, streams)) return d;
  if (auto d = first_difference(expect.cells, outcome.cells, tensors)) return d;
  auto replays = [&](const std::string& name, std::int64_t got, std::int64_t most) {
    return got <= most ? Difference{}
                       : Difference{fmt::format("segment {} was replayed {}, at most {} allowed", name,
                                                counted(got, "time"), most)};
  };
  if (auto d = first_difference(expect.max_replays, outcome.replays, replays)) return d;
  return {};
}

/// Programs without an error must also give all memory back, first that of the tape.
Judgement judge_leak(const Outcome& outcome, Judgement judgement) {
  if (judgement.verdict != Verdict::match && judgement.verdict != Verdict::ran) return judgement;
  if (outcome.left_bytes > 0)
    return {Verdict::state, false, fmt::format("{} bytes are live after the tape is cleared", outcome.left_bytes)};
  if (outcome.leaked_bytes == 0) return judgement;
  return {Verdict::state, false, fmt::format("{} bytes are live after the run is over", outcome.leaked_bytes)};
}

Json tensor_json(const TensorData& data) {
  Json shape = Json::array();
  for (std::int64_t extent : data.shape) shape.push_back(extent);
  Json json = {{"shape", shape}};
  if (data.dtype == DType::i64) {
    json["data"] = data.integers;
    json["dtype"] = "i64";
  } else {
    json["data"] = data.reals;
  }
  return json;
}

Json number_json(double number) {
  if (number == std::floor(number) && std::fabs(number) < 9e15) return static_cast<std::int64_t>(number);
  return number;
}

Json cell_json(const CellData& cell) {
  if (cell.kind == CellData::Kind::tensor) return tensor_json(cell.tensor);
  if (cell.kind == CellData::Kind::number) return number_json(cell.number);
  Json list = Json::array();
  for (const Json& item : cell.list) list.push_back(item.is_number_float() ? number_json(item.get<double>()) : item);
  return list;
}

}  // namespace

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::match: return "match";
    case Verdict::reject: return "reject";
    case Verdict::silent: return "silent";
    case Verdict::state: return "state";
    case Verdict::unsupported: return "unsupported";
    case Verdict::ran: return "ran";
  }
  return "unknown";
}

Outcome run_program(const Program& program, Method method, std::uint64_t seed) {
  MachineOptions options{method, seed, false};
  try {
    return run_once(program, options);
  } catch (const NeedsKeep&) {
    options.keep_all = true;
    return run_once(program, options);
  }
}

Judgement judge(const Program& program, const Outcome& outcome) {
  if (outcome.unsupported) return {Verdict::unsupported, false, outcome.error};
  bool wants_error = program.expect && program.expect->error;
  if (outcome.failed) {
    // What the format excuses: that the framework cannot show a replay what the forward saw, and an index outside. A
    // mistake in the program, a broken invariant or a lack of memory never passes for either.
    bool honest = program.honour_or_reject && outcome.kind == ErrorKind::replay;
    bool foreseen = wants_error && !outcome.in_backward && outcome.index_outside;
    return {Verdict::reject, honest || foreseen, outcome.error};
  }
  if (!program.expect) return judge_leak(outcome, {Verdict::ran, true, ""});
  if (wants_error) return {Verdict::silent, false, "expected an error in the forward, got none"};
  double tolerance = program.dtype == DType::f64 ? 1e-8 : 2e-4;
  auto tensors = [&](const auto& name, const auto& got, const auto& want) {
    return compare("grad " + name, got, want, tolerance);
  };
  if (auto d = first_difference(program.expect->grads, outcome.grads, tensors)) return {Verdict::silent, false, d.text};
  if (auto d = compare_state(program, outcome, tolerance)) return {Verdict::state, false, d.text};
  return judge_leak(outcome, {Verdict::match, true, ""});
}

std::string result_line(const Program& program, Method method, const Outcome& outcome, const Judgement& judgement) {
  nlohmann::ordered_json line;
  line["name"] = program.name;
  line["method"] = to_string(method);
  line["verdict"] = to_string(judgement.verdict);
  line["detail"] = judgement.detail;
  for (const char* section : {"grads", "buffers", "streams", "cells"}) line[section] = nlohmann::ordered_json::object();
  for (const auto& [name, data] : outcome.grads) line["grads"][name] = tensor_json(data);
  for (const auto& [name, data] : outcome.buffers) line["buffers"][name] = tensor_json(data);
  for (const auto& [name, position] : outcome.streams) line["streams"][name] = position;
  for (const auto& [name, cell] : outcome.cells) line["cells"][name] = cell_json(cell);
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace reprise::conform
