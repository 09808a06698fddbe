// `reprise bench`: what this build takes for ops, steps, replay, optimisers, augmentation, start-up and planning.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

#include "core/parallel.h"
#include "data/atomic_file.h"
#include "ops/registry.h"
#include "tools/bench/bench.h"
#include "tools/bench/record.h"
#include "tools/cli/verb.h"
#include "tools/study/surroundings.h"

namespace reprise {
namespace {

constexpr const char* kBenchHelp =
    R"(Measures this build on this machine. Figures are medians over rounds, with the smallest and the largest beside them; the
machine's limit (a matrix product, a copy) is measured in the same sitting. With --peer, each round of ours is followed by
one of the peer's process. Leave the machine alone meanwhile, and quote ratios rather than times. --record keeps them with
the program's versions, the machine and its load, for `reprise report`.

  ops      single ops at the sizes of image encoders, and the cost per op of a long chain of tiny ops
  step     one step of the dense-queue model (forward, loss, backward, SGD, average, enqueue): time and memory
  replay   what contracts, records, replayed segments cost
  optim    SGD with momentum, AdamW and an average over the parameters of the resnet18 preset
  loader   augmented images per second
  startup  from the start of the process to the end of its first step
  planner  the search for plans: made-up steps of 50 to 100,000 segments beside Cbc where it is installed; with
           --instances, public traces and graphs

Examples:
  reprise bench ops --threads 2
  reprise bench step --preset resnet18 --peer venv/bin/python --peers ../shared/peers --json step.json
  reprise bench optim --record figures.jsonl)";

using Bench = bench::Report (*)(const bench::BenchOptions&);
const std::map<std::string, Bench> kBenches = {
    {"ops", bench::bench_ops},         {"step", bench::bench_step},     {"replay", bench::bench_replay},
    {"optim", bench::bench_optim},     {"loader", bench::bench_loader}, {"startup", bench::bench_startup},
    {"planner", bench::bench_planner},
};

struct BenchOptions {
  std::string what, json, record, peers, memory_of, planner_case;
  bool first_step = false;
  bench::BenchOptions bench;
};

std::string peers_folder(const std::string& given) {
  if (!given.empty()) return given;
  const char* shared = std::getenv("REPRISE_SHARED");
  return shared && *shared ? std::string(shared) + "/peers" : "../shared/peers";
}

/// The command as it can be typed again, but for the places of files, which are another machine's.
std::string command_of(const BenchOptions& options) {
  const bench::BenchOptions& o = options.bench;
  std::string text = fmt::format("bench {} --threads {}", options.what, o.threads);
  if (o.rounds > 0) text += fmt::format(" --rounds {}", o.rounds);
  if (o.preset != bench::BenchOptions().preset) text += " --preset " + o.preset;
  if (o.batch > 0) text += fmt::format(" --batch {}", o.batch);
  if (o.quick) text += " --quick";
  if (o.peer.asked()) text += " --peer PYTHON";
  if (o.compiled) text += " --compiled";
  if (!o.instances.empty()) text += " --instances DIR";
  return text;
}

/// Runs the bench and says under which circumstances.
bench::Report measure(BenchOptions& options, Bench bench, Json& record) {
  record = {{"schema", bench::kRecordSchema}, {"bench", options.what}, {"command", command_of(options)}};
  record.update(study::circumstances());
  record["threads"] = options.bench.threads;
  bench::Report report = bench(options.bench);
  study::end_circumstances(record);
  record.update(report.json());
  return report;
}

int run(BenchOptions& options) {
  auto bench = kBenches.find(options.what);
  if (bench == kBenches.end()) {
    fail(ErrorKind::user, "[bench] expected ops, step, replay, optim, loader, startup or planner, got {}",
         quoted_for_message(options.what));
  }
  check_output(options.json, "bench");
  if (!options.record.empty() && !options.record.ends_with(".jsonl"))
    fail(ErrorKind::user, "[bench] expected --record FILE.jsonl, got {}", quoted_for_message(options.record));
  check_output(options.record, "bench");
  set_thread_count(options.bench.threads);
  register_builtin_ops();
  if (!options.memory_of.empty()) {
    fmt::print("{}\n", json_line(bench::step_memory(options.bench, options.memory_of)));
    return 0;
  }
  if (!options.planner_case.empty()) {
    fmt::print("{}\n", json_line(bench::planner_case(options.planner_case)));
    return 0;
  }
  if (options.first_step) {
    bench::first_step();
    return 0;
  }
  options.bench.peer.folder = peers_folder(options.peers);
  Json record;
  bench::Report report = measure(options, bench->second, record);
  if (!is_standard_output(options.json)) fmt::print("{}", report.table());
  if (!options.json.empty()) write_output(options.json, json_pretty(report.json()));
  if (!options.record.empty()) bench::append_record(options.record, record);
  return 0;
}

}  // namespace

Verb bench_verb() {
  return {
      "bench", "measure ops, steps, replay, optimisers, augmentation, start-up and planning", kBenchHelp,
      [](Command& app) -> VerbAction {
        auto options = std::make_shared<BenchOptions>();
        app.add_option("what", options->what, "ops, step, replay, optim, loader, startup or planner")
            .option_text("BENCH")
            .suggest({"ops", "step", "replay", "optim", "loader", "startup", "planner"})
            .required();
        app.add_option("--threads", options->bench.threads, "threads of the pool (1)").option_text("N").range(1, 1024);
        app.add_option("--rounds", options->bench.rounds, "rounds; the default is the bench's own, at least 10")
            .option_text("N")
            .range(1, 100000);
        app.add_option("--preset", options->bench.preset, "encoder of a step: small or resnet18")
            .option_text("NAME")
            .one_of({"small", "resnet18"});
        app.add_option("--batch", options->bench.batch, "images of a step; the default is the preset's")
            .option_text("N")
            .range(1, 1 << 20);
        app.add_option("--peer", options->bench.peer.python, "a Python with torch: measure the peer too, taking turns")
            .option_text("PYTHON");
        app.add_flag("--compiled", options->bench.compiled,
                     "step: measure the peer's compiled step too, a minute more in each round");
        app.add_option("--peers", options->peers, "folder of the peer's scripts ($REPRISE_SHARED/peers)")
            .option_text("DIR");
        app.add_option("--json", options->json,
                       "also write the figures, with every sample, to this file (-: instead of the table)")
            .option_text("OUT");
        app.add_option("--record", options->record, "append the figures as a line to this file, for `reprise report`")
            .option_text("FILE.jsonl");
        app.add_option("--instances", options->bench.instances,
                       "folder with dtr/ and monet/: plan these instead of made-up steps (planner)")
            .option_text("DIR");
        app.add_flag("--quick", options->bench.quick,
                     "tiny sizes, few rounds: shows that it works, the figures mean nothing");
        app.add_option("--memory-of", options->memory_of).hidden();        // a child of `bench step`
        app.add_option("--planner-case", options->planner_case).hidden();  // a child of `bench planner`
        app.add_flag("--first-step", options->first_step).hidden();        // a child of `bench startup`
        return [options] { return run(*options); };
      }};
}

}  // namespace reprise
