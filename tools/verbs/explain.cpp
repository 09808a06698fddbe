// `reprise explain`: what each segment of a run keeps, replays, owes and has preserved, before anything is trained.
#include <cstdio>
#include <memory>

#include "models/train/trace_step.h"
#include "recompute/explain.h"
#include "tools/cli/verb.h"

namespace reprise {
namespace {

constexpr const char* kHelp =
    R"(Records one step of the run that CONFIG describes, without data and in no memory, and shows for each segment its option,
how many of its nodes a replay runs and how many fall away because no backward needs them; the bytes kept from forward to
backward, by who needs them (backward formulas, replays, decisions, handles that the program still holds); what it owes
(storage, region, version, last writer); what is preserved, at what cost and for whom; and the peak of the step by category.

A segment's id is its name, with /2 for its second instance; (outside) are the nodes between segments. #3 is node 3 of a
segment. Bytes kept and preserved are charged in blocks of 64 bytes, as the meter counts.

Examples:
  reprise explain configs/cifar100_dense_queue.yaml recompute.method=region
  reprise explain configs/cifar100_dense_queue.yaml recompute.method=whole model.queue.layout=shift --reads
  reprise explain configs/cifar100_dense_queue.yaml recompute.method=region --json)";

struct Options {
  ConfigArguments arguments;
  bool json = false;
  bool reads = false;
};

int run(const Options& options) {
  Config config = options.arguments.load();
  TracedStep traced = trace_step(config);
  ExplainInput input{step_title(config, traced), std::move(traced.micro_batches), traced.before, traced.step,
                     config.get_bytes("memory.budget").value_or(0)};
  if (traced.method == "unchecked") {
    std::fputs("warning: recompute.method is unchecked: nothing is preserved, and gradients are not to be trusted\n",
               stderr);
  }
  std::fputs((options.json ? explain_json(input) : explain_text(input, {.all_reads = options.reads})).c_str(), stdout);
  return 0;
}

}  // namespace

Verb explain_verb() {
  return {"explain", "show what each segment keeps, replays, owes and has preserved", kHelp,
          [](Command& app) -> VerbAction {
            auto options = std::make_shared<Options>();
            options->arguments.add_to(app);
            app.add_flag("--json", options->json, "as JSON");
            app.add_flag("--reads", options->reads, "list reads of storages that nobody writes too");
            return [options] { return run(*options); };
          }};
}

}  // namespace reprise
