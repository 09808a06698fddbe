// RunReports: what a training run writes for other programs to read, beside its metrics: TensorBoard's event files (the
// key `tensorboard`) and a trace of the first steps for Perfetto (`trace`, `trace_steps`). Used by the trainer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "models/config/config.h"
#include "models/run/event_file.h"
#include "models/run/run_folder.h"
#include "models/train/run_state.h"
#include "models/train/step_tracer.h"

namespace reprise {

class RunReports {
 public:
  explicit RunReports(const Config& config);

  /// `options`, with someone looking on where a trace is wanted.
  LoaderOptions with_trace(LoaderOptions options);
  /// The run stands at `step`. From here on lines of metrics.jsonl become scalars too.
  void begin(RunFolder& folder, std::int64_t step);
  /// Null where nothing is traced.
  StepTracer* tracer() { return tracer_.get(); }
  void begin_step(Tape& tape, std::int64_t step);
  /// Errors (io), as for all that follow.
  void end_step();
  /// No more steps come.
  void end_training();
  void memory(std::int64_t step, const PeakMemory& peak);
  void finish(std::int64_t step, const Json& figures);

 private:
  void write_trace();

  const Config& config_;
  std::filesystem::path folder_;
  std::unique_ptr<EventFile> events_;
  std::unique_ptr<StepTracer> tracer_;
  bool trace_written_ = false;
};

/// The keys of a run with their values, flat: numbers, truth values and texts. Without those that say only where the
/// run lies (run.*).
Json flat_settings(const Config& config);

/// "train.lr = 0.05 (was 0.1), train.epochs = 9 (was 4)": the keys of `before` whose values are others `now`; of
/// flat_settings(), and empty when all are equal.
std::string changes_text(const Config& before, const Config& now);

}  // namespace reprise
