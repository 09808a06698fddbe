// The help of the program and of every verb: examples are run as they are typed, in a folder where what they name is
// there (in small), so that none of them can be wrong; and the text keeps to words that people know.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>

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
train: {epochs: 1, batch: 16, warmup_steps: 0, log_every: 1}
probe: {epochs: 1}
recompute: {segments: blocks}
)";
constexpr const char* kClassifier = R"(threads: 1
model: {type: classifier, encoder: {widths: [4], blocks: 1}}
data: {limit: 32, prefetch: 1, synthetic: {train: 100, test: 100}}
train: {epochs: 1, batch: 16, warmup_steps: 0}
recompute: {segments: blocks}
)";

/// The lines of "Examples:", without what explains them behind the command.
std::vector<std::string> examples_of(const std::string& help) {
  std::vector<std::string> all;
  std::istringstream in(help);
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "Examples:") {
      inside = true;
    } else if (inside && line.starts_with("  reprise ")) {
      all.push_back(line.substr(2, line.find("   ", 2) - 2));
      std::size_t note = all.back().find("  ");  // what stands two blanks behind a command explains it
      if (note != std::string::npos) all.back().resize(note);
    } else if (!line.starts_with(" ")) {
      inside = false;
    }
  }
  return all;
}

/// A folder in which examples work: configurations of their names in small, runs, data, programs.
class Workshop {
 public:
  Workshop() {
    for (const char* folder : {"configs", "programs", "bin", "home/.zfunc", "home/.config/fish/completions",
                               "home/.local/share/bash-completion/completions"}) {
      fs::create_directories(folder_ / folder);
    }
    write_text(folder_ / "configs/cifar100_dense_queue.yaml", kQueue);
    write_text(folder_ / "configs/cifar100_supervised.yaml", kClassifier);
    fs::create_symlink(REPRISE_BINARY, folder_ / "bin/reprise");
    fs::create_directory_symlink(fs::path(REPRISE_SOURCE_DIR) / "configs/studies", folder_ / "configs/studies");
    for (const char* name : {"programs/a.json", "queue.json"}) {
      fs::copy_file(fs::path(REPRISE_SOURCE_DIR) / "tests/conformance/scopes.json", folder_ / name);
    }
    testing::FileBytes record(3074);
    testing::FileBytes train;
    for (int i = 0; i < 32; ++i) train.insert(train.end(), record.begin(), record.end());
    make_tar(folder_ / "cifar-100-binary.tar.gz", Filter::gzip,
             {{"cifar-100-binary/train.bin", train}, {"cifar-100-binary/test.bin", record}});
    for (const char* method : {"retain", "region"}) {
      EXPECT_EQ(run(std::string("reprise train configs/cifar100_dense_queue.yaml --quiet recompute.method=") + method +
                    " run.dir=runs/" + method)
                    .code,
                0);
    }
  }
  Outcome run(const std::string& command) const {
    const std::string root = folder_.path().string();
    return run_shell("cd " + shell_word(root) + " && HOME=" + shell_word(root + "/home") + " PATH=" +
                     shell_word(root + "/bin") + ":$PATH timeout 300 sh -c " + "\"" + quoted(command) + "\" 2>&1");
  }

 private:
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

/// Benchmarks take minutes and a peer's process; studies and their records have tests of their own.
bool is_left_out(const std::string& verb, const std::string& example) {
  return verb == "bench" || verb == "study" || verb == "report" || contains(example, "configs/studies");
}

/// Whether nothing but the finite differences differs: kinks of a network as tiny as the one here may lie within a
/// step.
bool only_finite_differences(const std::string& text) {
  std::size_t first = text.find("DIFFERS"), row = text.find("\nfinite differences");
  return first != std::string::npos && row != std::string::npos && first > row;
}

/// Verbs whose examples make what those of others need come first.
std::vector<Verb> in_order() {
  std::vector<Verb> first, rest;
  for (Verb& verb : all_verbs())
    (verb.name == "train" || verb.name == "plan" ? first : rest).push_back(std::move(verb));
  first.insert(first.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  return first;
}

TEST(Help, EveryExampleWorksAsTyped) {
  Workshop workshop;
  for (const Verb& verb : in_order()) {
    std::vector<std::string> examples = examples_of(verb.help);
    EXPECT_FALSE(examples.empty()) << verb.name;
    for (const std::string& example : examples) {
      EXPECT_TRUE(example.starts_with("reprise " + verb.name)) << example;
      if (is_left_out(verb.name, example)) continue;
      Outcome outcome = workshop.run(example);
      bool differ = example.starts_with("reprise contract --diff");  // says so by its exit code
      if (verb.name == "check" && only_finite_differences(outcome.text)) continue;
      EXPECT_EQ(outcome.code, differ ? 1 : 0) << example << "\n" << outcome.text;
    }
  }
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
