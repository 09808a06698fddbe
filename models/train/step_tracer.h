// StepTracer: the first steps of a run as trace.json (the keys trace, trace_steps): spans for ops, segments, replays,
// preserving, exchanging and the loader, and the live bytes of each category.
//
// The trainer opens stages around what it does; ops come from the tape's hooks. Live bytes are exact in their order and
// values; changes between two hooks are spread evenly over the time between them. Must outlive the loader and the tape.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "autograd/tape.h"
#include "data/loader.h"
#include "memory/preserve_listener.h"
#include "models/run/trace_file.h"

namespace reprise {

class StepTracer final : public TapeObserver, public PreserveListener {
 public:
  StepTracer(std::int64_t steps, std::int64_t batch);
  ~StepTracer() override;

  /// Lets the loader tell when it prepares a batch.
  void listen(LoaderOptions& options);
  /// The steps under way are traced while some are left. Takes the tape's node hook and observer.
  void begin_step(Tape& tape, std::int64_t step);
  void end_step();
  /// Stages nest and lie inside a step; outside one nothing is kept.
  void begin_stage(const char* name);
  void end_stage();
  /// Whether a step was traced.
  bool begun() const { return !about_["steps"].empty(); }
  /// No step is traced any more.
  bool done() const { return left_ == 0; }
  /// Writes the file. Errors (io).
  void write(const std::filesystem::path& path);

  // TapeObserver
  void before_replay(const Tape& tape, std::uint32_t node) override;
  void before_backward(const Tape& tape, std::uint32_t node) override;
  void after_backward(const Tape& tape, std::uint32_t node, std::span<const TensorView> gradients) override;
  // PreserveListener
  void begins(What what, const Storage& storage) noexcept override;
  void ends(const MovedBytes& moved) noexcept override;

 private:
  /// A span that has begun.
  struct Open {
    std::string name;
    const char* category = nullptr;  // null: none is open
    std::int64_t begin = 0;
    std::uint32_t segment = kNone;
    Json args;
  };
  void forward_node(std::uint32_t node);
  void enter_group(const Tape& tape, const char* category, std::uint32_t node, std::int64_t now);
  void open_op(const Tape& tape, const char* category, std::uint32_t node, std::int64_t now);
  void close(Open& open, std::int64_t end);
  void flush(std::int64_t now);
  void sample(std::int64_t now);
  void detach();

  TraceFile file_;
  Json about_;
  std::int64_t left_;
  Tape* tape_ = nullptr;  // while a step is traced
  Meter* meter_ = nullptr;
  std::vector<Open> stages_;
  Open group_, op_;  // a run of nodes of one segment; one node
  Open kept_;        // preserve or exchange
  std::int64_t kept_bytes_ = 0;
  std::int64_t last_ = 0;  // of the last event: where the next node of a forward begins
  std::int64_t sampled_ = 0;
  CategoryBytes live_{};

  std::atomic<bool> loading_{true};
  std::int64_t load_begin_ = 0;  // the loader's thread alone uses it
};

/// A stage while in scope; `tracer` may be null.
class TraceStage {
 public:
  TraceStage(StepTracer* tracer, const char* name) : tracer_(tracer) {
    if (tracer_) tracer_->begin_stage(name);
  }
  ~TraceStage() {
    if (tracer_) tracer_->end_stage();
  }
  TraceStage(const TraceStage&) = delete;
  TraceStage& operator=(const TraceStage&) = delete;

 private:
  StepTracer* tracer_;
};

}  // namespace reprise
