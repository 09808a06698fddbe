// `reprise explain`: what each segment of a run keeps, replays, owes and has preserved, and memory over its step,
// before anything is trained.
#include <cstdio>
#include <memory>

#include "core/text.h"
#include "data/atomic_file.h"
#include "models/train/make_plan.h"
#include "models/train/session.h"
#include "models/train/trace_step.h"
#include "recompute/explain.h"
#include "recompute/methods.h"
#include "recompute/planning/plan_text.h"
#include "tools/chart/chart.h"
#include "tools/cli/verb.h"
#include "tools/memory_picture/memory_picture.h"

namespace reprise {
namespace {

constexpr const char* kExplainHelp =
    R"(Records one step of the run that CONFIG describes, without data and in no memory, and shows for each segment its option,
how many of its nodes a replay runs and how many fall away because no backward needs them; the bytes kept from forward to
backward, by who needs them (backward formulas, replays, decisions, handles that the program still holds); what it owes
(storage, region, version, last writer); what is preserved, at what cost and for whom; and the peak of the step by category.

A segment's id is its name, with /2 for its second instance; (outside) are the nodes between segments. #3 is node 3 of a
segment. Bytes kept and preserved are charged in blocks of 64 bytes, as the meter counts.

--plan explains the step under a plan written by `reprise plan`; where recompute.method is one that plans, a plan is made
first. Then, and with -o, one real step is run too: every change of the live bytes must be the predicted one, else the
exit code is 1. -o draws memory over the step, stacked by category, both lines on top of each other, with the steps that
bind marked.

Examples:
  reprise explain configs/cifar100_dense_queue.yaml recompute.method=region
  reprise explain configs/cifar100_dense_queue.yaml recompute.method=whole model.queue.layout=shift --reads
  reprise explain configs/cifar100_dense_queue.yaml recompute.method=region --json
  reprise explain configs/cifar100_dense_queue.yaml recompute.method=joint memory.budget=110MiB -o memory.svg
  reprise explain configs/cifar100_dense_queue.yaml --plan plan.json -o memory.svg)";

struct ExplainArguments {
  ConfigArguments arguments;
  std::string plan, picture;
  bool json = false;
  bool reads = false;
};

/// A plan that does not fit the budget of `config` cannot be run under it.
void require_room(const Config& config, const Plan& plan) {
  Bytes budget = config.get_bytes("memory.budget");
  if (!budget || plan.predicted_peak <= *budget) return;
  throw config.error_at("memory.budget", "expected room for the plan, whose peak is {} bytes ({}), got {} bytes",
                        plan.predicted_peak, short_bytes(plan.predicted_peak), *budget);
}

struct Explained {
  ExplainInput input;
  MemoryPicture picture;
  bool watched = false;  // the picture is there
};

Explained explain(const Config& config, const ExplainArguments& options) {
  MadePlan made = make_plan(config, [](const std::string& text) { fmt::print(stderr, "{}\n", text); });
  if (made.plan) require_room(config, *made.plan);
  Explained explained;
  StepRecorder recorder;
  TraceOptions trace;
  trace.plan = made.plan;
  trace.begin = [&](Tape& tape) { recorder.begin(tape); };
  trace.end = [&] { explained.picture.predicted = recorder.end(); };
  TracedStep traced = trace_step(config, trace);
  std::int64_t budget = config.get_bytes("memory.budget").value_or(made.plan ? made.plan->budget : 0);
  explained.input = {step_title(config, traced), std::move(traced.micro_batches), traced.before, traced.step, budget};
  if (traced.method == to_string(Method::unchecked)) fmt::print(stderr, "{}\n", kUncheckedWarning);
  explained.watched = made.plan || !options.picture.empty();
  if (!explained.watched) return explained;
  MemoryPicture& picture = explained.picture;
  picture.title = explained.input.title;
  picture.plan = made.plan;
  picture.budget = budget;
  picture.exact = traced.exact;
  picture.measured = within_budget(config, [&] { return measure_timeline(config, made.plan); });
  return explained;
}

int run(const ExplainArguments& options) {
  check_output(options.picture, "explain", {options.arguments.file(), options.plan});
  chart::check_picture_name(options.picture, "explain");
  bool picture_alone = is_standard_output(options.picture);
  if (picture_alone && options.json)
    fail(ErrorKind::user, "[explain] -o - expected no --json beside it: both go there");
  Config config = options.arguments.load();
  if (!options.plan.empty()) config.set("recompute.plan", std::string(options.plan), "--plan");
  Explained explained = explain(config, options);
  const MemoryPicture& picture = explained.picture;
  if (picture_alone) {
    // Nothing else goes where the picture goes.
  } else if (options.json) {
    std::string text = explain_json(explained.input);
    if (explained.watched) {
      Json json = Json::parse(text);
      if (picture.plan) json["plan"] = Json::parse(to_json(*picture.plan));
      json["memory"] = memory_json(picture);
      text = json_pretty(json);
    }
    std::fputs(text.c_str(), stdout);
  } else {
    std::fputs(explain_text(explained.input, {.all_reads = options.reads}).c_str(), stdout);
    if (explained.watched) std::fputs(("\n" + memory_text(picture)).c_str(), stdout);
    if (picture.plan) std::fputs(("\n" + plan_summary(*picture.plan) + "\n").c_str(), stdout);
  }
  if (!options.picture.empty()) {
    write_output(options.picture, memory_svg(picture));
    if (!options.json && !picture_alone) fmt::print("written to {}\n", options.picture);
  }
  return explained.watched && !picture.difference().empty() ? 1 : 0;
}

}  // namespace

Verb explain_verb() {
  return {"explain", "show what each segment keeps, replays, owes and has preserved", kExplainHelp,
          [](Command& app) -> VerbAction {
            auto options = std::make_shared<ExplainArguments>();
            options->arguments.add_to(app);
            app.add_option("--plan", options->plan, "explain the step under this plan").option_text("FILE");
            app.add_option("-o,--output", options->picture,
                           "draw memory over the step (-: alone, to the standard output)")
                .option_text("FILE.svg");
            app.add_flag("--json", options->json, "as JSON");
            app.add_flag("--reads", options->reads, "list reads of storages that nobody writes too");
            return [options] { return run(*options); };
          }};
}

}  // namespace reprise
