#include "models/train/step_tracer.h"

#include <array>

#include "data/atomic_file.h"

namespace reprise {
namespace {

const char* counter_name(int category) {
  static const std::array<std::string, kCategoryCount> names = [] {
    std::array<std::string, kCategoryCount> made;
    for (int c = 0; c < kCategoryCount; ++c) {
      made[static_cast<std::size_t>(c)] = std::string("live ") + to_string(static_cast<Category>(c));
    }
    return made;
  }();
  return names[static_cast<std::size_t>(category)].c_str();
}

constexpr const char* kTotal = "live bytes";

const char* option_name(const SegmentInstance& segment) { return segment.replayable() ? "replay" : "retain"; }

}  // namespace

StepTracer::StepTracer(std::int64_t steps, std::int64_t batch) : left_(steps) {
  about_ = {{"program", "reprise"}, {"batch", batch}, {"steps", Json::array()}};
}

StepTracer::~StepTracer() {
  if (tape_) preserve_listener() = nullptr;  // the step failed
}

void StepTracer::listen(LoaderOptions& options) {
  options.on_prepare = [this](std::int64_t, std::int64_t) { load_begin_ = trace_clock(); };
  options.on_prepared = [this](std::int64_t epoch, std::int64_t step) {
    if (!loading_) return;
    file_.add(TraceTrack::loader,
              {"prepare batch", "loader", load_begin_, trace_clock(), {{"epoch", epoch}, {"batch", step}}});
  };
}

void StepTracer::begin_step(Tape& tape, std::int64_t step) {
  if (left_ == 0) return;
  tape_ = &tape;
  meter_ = &tape.memory().meter();
  live_ = meter_->snapshot().live;
  meter_->clear_timeline();
  meter_->record_timeline(true);
  tape.set_node_hook([this](std::uint32_t node) { forward_node(node); });
  tape.set_observer(this);
  preserve_listener() = this;
  sampled_ = last_ = trace_clock();
  for (int c = 0; c < kCategoryCount; ++c) {
    file_.count(counter_name(c), sampled_, live_[static_cast<std::size_t>(c)]);
  }
  file_.count(kTotal, sampled_, meter_->live());
  about_["steps"].push_back(step);
  stages_.push_back({fmt::format("step {}", step), "step", sampled_, kNone, nullptr});
}

void StepTracer::end_step() {
  if (!tape_) return;
  while (!stages_.empty()) end_stage();
  detach();
  if (--left_ == 0) loading_ = false;
}

void StepTracer::detach() {
  meter_->record_timeline(false);
  meter_->clear_timeline();
  tape_->set_node_hook(nullptr);
  tape_->set_observer(nullptr);
  preserve_listener() = nullptr;
  tape_ = nullptr;
}

void StepTracer::begin_stage(const char* name) {
  if (!tape_) return;
  std::int64_t now = trace_clock();
  flush(now);
  stages_.push_back({name, "stage", now, kNone, nullptr});
}

void StepTracer::end_stage() {
  if (!tape_ || stages_.empty()) return;
  std::int64_t now = trace_clock();
  flush(now);
  close(stages_.back(), now);
  stages_.pop_back();
}

void StepTracer::close(Open& open, std::int64_t end) {
  if (open.category) {
    file_.add(TraceTrack::step, {std::move(open.name), open.category, open.begin, end, std::move(open.args)});
  }
  open = {};
}

/// What is under way ends here.
void StepTracer::flush(std::int64_t now) {
  close(op_, now);
  close(group_, now);
  sample(now);
  last_ = now;
}

/// The changes of the live bytes since the last look.
void StepTracer::sample(std::int64_t now) {
  const std::vector<MeterEvent>& events = meter_->timeline();
  auto count = static_cast<std::int64_t>(events.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const MeterEvent& event = events[static_cast<std::size_t>(i)];
    std::int64_t at = sampled_ + (now - sampled_) * (i + 1) / (count + 1);
    std::int64_t& live = live_[static_cast<std::size_t>(event.category)];
    live += event.delta;
    file_.count(counter_name(static_cast<int>(event.category)), at, live);
    file_.count(kTotal, at, event.live);
  }
  meter_->clear_timeline();
  sampled_ = now;
}

/// Nodes of one segment, or of none, that follow each other in one direction.
void StepTracer::enter_group(const Tape& tape, const char* category, std::uint32_t node, std::int64_t now) {
  std::uint32_t segment = tape.data().nodes[node].segment;
  if (group_.category == category && group_.segment == segment) return;
  close(group_, now);
  if (segment == kNone) return;
  const SegmentInstance& instance = tape.data().segments[segment];
  group_ = {fmt::format("{} {}", category, instance.name), category, now, segment, {{"values", option_name(instance)}}};
}

void StepTracer::open_op(const Tape& tape, const char* category, std::uint32_t node, std::int64_t now) {
  const NodeRecord& record = tape.data().nodes[node];
  op_ = {record.op->name, category, now, record.segment, {{"node", node}}};
  if (record.label && *record.label) op_.args["label"] = record.label;
}

/// The node has run: what happened since the last event was its own.
void StepTracer::forward_node(std::uint32_t node) {
  std::int64_t now = trace_clock();
  enter_group(*tape_, "forward", node, last_);
  open_op(*tape_, "op", node, last_);
  close(op_, now);
  sample(now);
  last_ = now;
}

void StepTracer::before_replay(const Tape& tape, std::uint32_t node) {
  std::int64_t now = trace_clock();
  close(op_, now);
  enter_group(tape, "replay", node, now);
  open_op(tape, "replayed op", node, now);
  sample(now);
}

void StepTracer::before_backward(const Tape& tape, std::uint32_t node) {
  std::int64_t now = trace_clock();
  close(op_, now);
  enter_group(tape, "backward", node, now);
  open_op(tape, "backward op", node, now);
  sample(now);
}

void StepTracer::after_backward(const Tape&, std::uint32_t, std::span<const TensorView>) {
  std::int64_t now = trace_clock();
  close(op_, now);
  sample(now);
}

void StepTracer::begins(What what, const Storage& storage) noexcept try {
  kept_ = {};
  if (!storage.raw()) return;  // of a dry trace: the schedule of a step is made while it is under way
  bool preserve = what == What::preserve;
  kept_bytes_ = meter_->live(Category::preserved);
  kept_ = {preserve ? "preserve" : "exchange",
           preserve ? "preserve" : "exchange",
           trace_clock(),
           kNone,
           {{"storage", storage.name().empty() ? "a value" : storage.name()}}};
} catch (...) {
  kept_ = {};
}

void StepTracer::ends(const MovedBytes& moved) noexcept try {
  if (moved.empty()) kept_ = {};
  if (!kept_.category) return;
  std::int64_t kept = meter_->live(Category::preserved) - kept_bytes_;
  if (kept > 0) kept_.args["bytes"] = kept;
  close(kept_, trace_clock());
} catch (...) {
  kept_ = {};
}

void StepTracer::write(const std::filesystem::path& path) { write_file_atomically(path, file_.text(about_)); }

}  // namespace reprise
