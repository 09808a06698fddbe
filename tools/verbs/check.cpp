// `reprise check`: does recomputation change anything? Byte for byte, and against finite differences.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <sstream>

#include "core/text.h"
#include "models/check/check.h"
#include "recompute/methods.h"
#include "recompute/planning/planner.h"
#include "tools/cli/verb.h"

namespace reprise {
namespace {

constexpr const char* kCheckHelp =
    R"(Trains the model of CONFIG a few steps without segments and then under every method, and compares byte for byte: the
loss of each step, what every op hands back in the backward, every gradient, every state, the positions of random
streams and the log of effects. Methods that plan do so at the budget halfway between the smallest feasible one and no
recomputation, with made-up times, and must keep the peak that the plan promises. One more step per method runs guarded,
at check.guard_batch images and, of models around a memory, a table of at most 2,048 rows. Independently, the gradient
is compared with finite differences in f64. The exit code is 1 on any difference, and the first op that differs is
named.

Examples:
  reprise check configs/cifar100_dense_queue.yaml
  reprise check configs/cifar100_dense_queue.yaml --steps 20 model.queue.layout=shift model.losses=2
  reprise check configs/cifar100_supervised.yaml --methods whole,region model.dropout=0.1)";

struct CheckOptions {
  ConfigArguments arguments;
  EquivalenceOptions check;
  std::string methods;
  bool no_guard = false, no_differences = false;
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream stream(list);
  for (std::string word; std::getline(stream, word, ',');) {
    if (!allowed_by(word) && word != "unchecked") {
      fail(ErrorKind::user, "[check] expected methods among {} and unchecked, got '{}'",
           fmt::join(plannable_methods(), ", "), word);
    }
    words.push_back(word);
  }
  return words;
}

int run(const CheckOptions& given) {
  EquivalenceOptions options = given.check;
  if (options.steps < 1) fail(ErrorKind::user, "[check] expected at least 1 step, got {}", options.steps);
  if (!given.methods.empty()) options.methods = split(given.methods);
  options.guarded_step = !given.no_guard;
  options.finite_differences = !given.no_differences;
  Config config = given.arguments.load();
  if (std::find(options.methods.begin(), options.methods.end(), to_string(Method::unchecked)) !=
      options.methods.end()) {
    fmt::print(stderr, "{}\n", kUncheckedWarning);
  }
  EquivalenceReport report = check_model(config, options);
  std::printf("%-56s %9s %12s  %s\n", "run", "seconds", "peak", "result");
  for (const EquivalenceRow& row : report.rows) {
    std::string peak = row.peak_bytes > 0 ? short_bytes(row.peak_bytes) : "";
    std::printf("%-56s %9.2f %12s  %s\n", row.what.c_str(), row.seconds, peak.c_str(),
                row.good ? "same" : ("DIFFERS: " + row.difference).c_str());
  }
  std::printf(report.good() ? "no difference\n"
                            : "recomputation changes this model's results; see the first row that differs\n");
  return report.good() ? 0 : 1;
}

}  // namespace

Verb check_verb() {
  return {"check", "compare training with and without recomputation, byte for byte", kCheckHelp,
          [](Command& app) -> VerbAction {
            auto options = std::make_shared<CheckOptions>();
            options->arguments.add_to(app);
            app.add_option("--steps", options->check.steps, "steps per method (3)");
            app.add_option("--methods", options->methods,
                           fmt::format("methods, separated by commas ({})", fmt::join(plannable_methods(), ",")));
            app.add_flag("--no-guard", options->no_guard, "leave out the guarded step");
            app.add_flag("--no-differences", options->no_differences, "leave out the finite differences");
            return [options] { return run(*options); };
          }};
}

}  // namespace reprise
