// `reprise contract`: the replay contracts of a run as a document, and what changed between two of them.
#include <cstdio>
#include <memory>

#include "core/text.h"
#include "data/atomic_file.h"
#include "data/text_file.h"
#include "models/train/trace_step.h"
#include "recompute/contract_diff.h"
#include "recompute/methods.h"
#include "tools/cli/verb.h"

namespace reprise {
namespace {

constexpr const char* kContractHelp =
    R"(Records one step of the run that CONFIG describes, without data, and writes the replay contract of each segment instance:
trace, obligations (storage, region, version, last writer), stream positions, decisions and values kept, effects, context;
with fingerprints of the trace, the contracts and the build. The same run, build and machine give the same bytes. The format
is described in recompute/contract_json.h.

--diff says in words what changed between two documents, and exits with 1 if anything did.

Examples:
  reprise contract configs/cifar100_dense_queue.yaml recompute.method=region -o ring.json
  reprise contract configs/cifar100_dense_queue.yaml recompute.method=region model.queue.layout=shift -o shift.json
  reprise contract --diff ring.json shift.json)";

constexpr std::int64_t kLongestDocument = 64 << 20;

struct ContractOptions {
  ConfigArguments arguments;
  std::string output;
  std::vector<std::string> diff;
  bool all = false;
};

ContractDocument read_document(const std::string& path) {
  return parse_contracts(read_text_file(path, "contract", kLongestDocument), path);
}

int diff(const ContractOptions& options) {
  if (!options.arguments.empty() || !options.output.empty())
    fail(ErrorKind::user, "[contract] expected two documents and nothing else for --diff, got more");
  ContractDocument a = read_document(options.diff[0]), b = read_document(options.diff[1]);
  std::vector<std::string> lines = diff_contracts(a, b, options.all ? SIZE_MAX : 4);
  for (const std::string& line : lines) fmt::print("{}\n", line);
  if (lines.empty()) fmt::print("no difference\n");
  return lines.empty() ? 0 : 1;
}

int run(const ContractOptions& options) {
  if (!options.diff.empty()) return diff(options);
  if (options.all) fail(ErrorKind::user, "[contract] --all expected --diff beside it");
  check_output(options.output, "contract", {options.arguments.file()});
  Config config = options.arguments.load();
  TracedStep traced = trace_step(config);
  if (traced.method == to_string(Method::unchecked)) fmt::print(stderr, "{}\n", kUncheckedWarning);
  std::vector<ReplayContract> contracts;
  for (ContractSet& set : traced.micro_batches) {
    for (ReplayContract& contract : set.contracts) contracts.push_back(std::move(contract));
  }
  ContractDocument document = make_document(std::move(contracts), step_keys(config));
  std::string text = to_json(document);
  if (options.output.empty() || is_standard_output(options.output)) {
    std::fputs(text.c_str(), stdout);
    return 0;
  }
  write_output(options.output, text);
  fmt::print("{}: {}, trace {}, contracts {}, build {}\n", options.output,
             counted(static_cast<std::int64_t>(document.contracts.size()), "contract"), document.trace_fingerprint,
             document.contracts_fingerprint, document.build_fingerprint);
  return 0;
}

}  // namespace

Verb contract_verb() {
  return {"contract", "write the replay contracts of a run, or compare two of them", kContractHelp,
          [](Command& app) -> VerbAction {
            auto options = std::make_shared<ContractOptions>();
            options->arguments.add_to(app);
            app.add_option("-o,--output", options->output, "the file to write (standard output)").option_text("FILE");
            app.add_option("--diff", options->diff, "say what changed between two documents")
                .option_text("A B")
                .expected(2);
            app.add_flag("--all", options->all, "with --diff: list every difference");
            return [options] { return run(*options); };
          }};
}

}  // namespace reprise
