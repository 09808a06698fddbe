// The help of the program and of every verb: examples are run as they are typed, in a folder where what they name is
// there (in small), so that none of them can be wrong; and the text keeps to words that people know.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "data/synthetic.h"
#include "tests/data/make_archive.h"
#include "tests/support/program.h"
#include "tools/cli/verb.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT
namespace fs = std::filesystem;

constexpr const char* kQueue = R"(threads: 1
model: {type: dense_queue, encoder: {widths: [4, 8], blocks: 1}, projection: {hidden: 8, out: 4}, queue: {size: 48}}
data: {limit: 32, prefetch: 1, synthetic: {train: 100, test: 100}}
train: {epochs: 1, batch: 16, warmup_steps: 0, log_every: 1, keep_best: loss}
probe: {epochs: 1}
recompute: {segments: blocks}
)";
constexpr const char* kClassifier = R"(threads: 1
model: {type: classifier, encoder: {widths: [4], blocks: 1}}
data: {limit: 32, prefetch: 1, synthetic: {train: 100, test: 100}}
train: {epochs: 1, batch: 16, warmup_steps: 0}
recompute: {segments: blocks}
)";

/// Stands for the Python of `bench step --peer`: it has every package, and figures.
constexpr const char* kPeer = R"(#!/bin/sh
echo '{"modes": {"cl": {"step_ms": 1, "cpu_ms": 1}, "cl_ckpt": {"step_ms": 1, "cpu_ms": 1}},'\
     '"rss_peak_minus_before_mib": 100}'
)";

/// What is changed of an example before it is run. Every other example is run as typed, a new one too.
struct ExampleChange {
  const char* example;  // how the examples begin
  const char* from;     // empty: `to` comes behind
  const char* to;
  const char* why;
};
constexpr ExampleChange kExampleChanges[] = {
    {"reprise bench", "", " --quick", "at the sizes that figures are taken at, a bench takes minutes"},
    {"reprise study configs/studies/sparse_write_small.yaml", "/tmp/small", "tmp/small",
     "two tests at a time must not share a folder, nor leave one behind"},
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    {"reprise bench step", "--preset resnet18", "--preset small", "the large encoder takes minutes under sanitizers"},
#endif
    {"source", "", " && complete -p reprise", "a shell is content with an empty script too"},
};

std::string as_run(std::string example, std::set<const char*>& used) {
  for (const ExampleChange& change : kExampleChanges) {
    if (!example.starts_with(change.example)) continue;
    std::string from = change.from;
    std::size_t at = from.empty() ? example.size() : example.find(from);
    if (at == std::string::npos) continue;
    example.replace(at, from.size(), change.to);
    used.insert(change.example);
  }
  return example;
}

/// The lines of "Examples:", without what explains them behind the command (two blanks apart) or below it.
std::vector<std::string> examples_of(const std::string& help) {
  std::vector<std::string> all;
  std::istringstream in(help);
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "Examples:") {
      inside = true;
    } else if (inside && line.size() > 2 && line.starts_with("  ") && line[2] != ' ') {
      all.push_back(line.substr(2, line.find("  ", 2) - 2));
    } else if (!line.starts_with(" ")) {
      inside = false;
    }
  }
  return all;
}

std::string committed(const std::string& name) { return file_text(fs::path(REPRISE_SOURCE_DIR) / name); }

/// A checkout in which examples work: configurations of their names in small, data, programs, a peer, and runs.
class Workshop {
 public:
  Workshop() {
    for (const char* folder :
         {"checkout/configs/studies", "checkout/programs", "checkout/venv/bin", "checkout/tmp", "shared/peers", "bin",
          "home/.zfunc", "home/.config/fish/completions", "home/.local/share/bash-completion/completions"}) {
      fs::create_directories(folder_ / folder);
    }
    fs::create_symlink(REPRISE_BINARY, folder_ / "bin/reprise");
    write_text(here() / "configs/cifar100_dense_queue.yaml", kQueue);
    write_text(here() / "configs/cifar100_supervised.yaml", kClassifier);
    write_studies();
    for (const char* name : {"programs/a.json", "queue.json"}) {
      write_text(here() / name, committed("tests/conformance/scopes.json"));
    }
    Dataset images = make_synthetic({.seed = 1, .train = 100, .test = 100});
    make_tar(
        here() / "cifar-100-binary.tar.gz", Filter::gzip,
        {{"cifar-100-binary/train.bin", images.train.records}, {"cifar-100-binary/test.bin", images.test.records}});
    write_text(folder_ / "shared/peers/cifar_step.py", "");
    write_text(here() / "venv/bin/python", kPeer);
    fs::permissions(here() / "venv/bin/python", fs::perms::owner_all);
    for (const char* method : {"retain", "region"}) {
      EXPECT_EQ(run(std::string("reprise train configs/cifar100_dense_queue.yaml --quiet recompute.method=") + method +
                    " run.dir=runs/" + method)
                    .code,
                0);
    }
  }
  Outcome run(const std::string& command) const {
    const std::string root = folder_.path().string();
    return run_shell("cd " + shell_word(here().string()) + " && HOME=" + shell_word(root + "/home") + " PATH=" +
                     shell_word(root + "/bin") + ":$PATH timeout 300 bash -c " + "\"" + quoted(command) + "\" 2>&1");
  }

 private:
  fs::path here() const { return folder_ / "checkout"; }

  /// The committed miniatures under the names of the studies that take hours.
  void write_studies() const {
    for (const char* name : {"row_memory.yaml", "cifar100_dense_queue_small.yaml"}) {
      write_text(here() / "configs" / name, committed(std::string("configs/") + name));
    }
    for (const std::string name : {"sparse_write", "cifar100_dense_queue"}) {
      std::string text = committed("configs/studies/" + name + "_small.yaml"), line = "\nname: " + name;
      std::size_t at = text.find(line + "_small\n");
      ASSERT_NE(at, std::string::npos) << name;
      write_text(here() / "configs/studies" / (name + "_small.yaml"), text);
      write_text(here() / "configs/studies" / (name + ".yaml"), text.replace(at, line.size() + 6, line));
    }
    fs::create_directory_symlink(fs::path(REPRISE_SOURCE_DIR) / "configs/studies/records",
                                 here() / "configs/studies/records");
  }

  static std::string quoted(const std::string& text) {
    std::string out;
    for (char c : text) {
      if (c == '"' || c == '$' || c == '`' || c == '\\') out += '\\';
      out += c;
    }
    return out;
  }
  TempFolder folder_;
};

/// Whether nothing but the finite differences differs: kinks of a network as tiny as the one here may lie within a
/// step.
bool only_finite_differences(const std::string& text) {
  std::size_t first = text.find("DIFFERS"), row = text.find("\nfinite differences");
  return first != std::string::npos && row != std::string::npos && first > row;
}

/// Examples of a group are run in one folder, those first that make what others need.
std::string group_of(const std::string& verb) {
  if (verb == "bench") return "Bench";
  return verb == "study" || verb == "report" || verb == "cohort" ? "Studies" : "Runs";
}

std::vector<Verb> verbs_of(const std::string& group) {
  std::vector<Verb> verbs;
  for (Verb& verb : all_verbs()) {
    if (group_of(verb.name) == group) verbs.push_back(std::move(verb));
  }
  std::stable_partition(verbs.begin(), verbs.end(),
                        [](const Verb& verb) { return verb.name == "train" || verb.name == "plan"; });
  return verbs;
}

class HelpExamples : public ::testing::TestWithParam<const char*> {};

TEST_P(HelpExamples, WorkAsTyped) {
  Workshop workshop;
  std::set<const char*> used;
  for (const Verb& verb : verbs_of(GetParam())) {
    std::vector<std::string> examples = examples_of(verb.help);
    EXPECT_FALSE(examples.empty()) << verb.name;
    for (const std::string& example : examples) {
      EXPECT_PRED2(contains, example, "reprise " + verb.name);
      Outcome outcome = workshop.run(as_run(example, used));
      bool differ = example.starts_with("reprise contract --diff");  // says so by its exit code
      if (verb.name == "check" && only_finite_differences(outcome.text)) continue;
      EXPECT_EQ(outcome.code, differ ? 1 : 0) << example << "\n" << outcome.text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Group, HelpExamples, ::testing::Values("Runs", "Studies", "Bench"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Help, EveryChangeOfAnExampleIsOfOneThatIsThere) {
  std::set<const char*> used;
  for (const Verb& verb : all_verbs()) {
    for (const std::string& example : examples_of(verb.help)) as_run(example, used);
  }
  for (const ExampleChange& change : kExampleChanges)
    EXPECT_TRUE(used.contains(change.example)) << change.example << ": " << change.why;
}

TEST(Help, TheProgramsOwnExamplesWork) {
  Workshop workshop;
  std::vector<std::string> examples = examples_of(reprise("--help").text);
  EXPECT_GE(examples.size(), 3u);
  for (const std::string& example : examples) {
    Outcome outcome = workshop.run(example);
    EXPECT_EQ(outcome.code, 0) << example << "\n" << outcome.text;
  }
}

TEST(Help, IsThereForEveryVerbAndFitsATerminal) {
  std::string list = reprise("--help").text;
  for (const Verb& verb : all_verbs()) {
    EXPECT_PRED2(contains, list, verb.name);
    EXPECT_PRED2(contains, list, verb.summary.substr(0, 20));
    EXPECT_LT(verb.summary.size(), 80u) << verb.name;
    Outcome help = reprise(verb.name + " --help");
    EXPECT_EQ(help.code, 0);
    EXPECT_PRED2(contains, help.text, "Examples:");
    std::istringstream in(verb.help);
    for (std::string line; std::getline(in, line);) EXPECT_LE(line.size(), 125u) << verb.name << ": " << line;
  }
}

/// Words of the field that a help text may use must be explained in the README.
TEST(Help, WordsOfItsOwnAreExplainedInTheReadme) {
  const std::string readme = file_text(fs::path(REPRISE_SOURCE_DIR) / "README.md");
  std::string all;
  for (const Verb& verb : all_verbs()) all += verb.help;
  for (const char* word : {"segment", "replay", "preserve", "retain", "region", "contract", "budget", "method"}) {
    if (contains(all, word)) {
      EXPECT_PRED2(contains, readme, word);
    }
  }
  for (const char* word : {"TODO", "FIXME", "leverage", "utilize", "simply", "just "}) {
    EXPECT_FALSE(contains(all, word)) << word;
  }
}

}  // namespace
}  // namespace reprise
