// Everything a person can get wrong, typed as a person would: the exit code, and a message with what was expected, what
// was found, and where. What each room refuses in detail is tested beside it.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

namespace fs = std::filesystem;
using Header = nlohmann::ordered_json;

constexpr std::size_t kRecord = 3074;

class BadInput : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "data");
    write("tiny.yaml", R"(threads: 1
model: {type: dense_queue, encoder: {widths: [4], blocks: 1}, projection: {hidden: 8, out: 4}, queue: {size: 32}}
data: {limit: 32, prefetch: 1, synthetic: {train: 100, test: 100}}
train: {epochs: 1, batch: 16, max_steps: 1}
probe: {epochs: 0}
)");
    write("data/train.bin", std::string(40 * kRecord, '\0'));
    write("data/test.bin", std::string(10 * kRecord, '\0'));
  }

  void write(const std::string& name, const std::string& text) const {
    fs::remove(folder_ / name);
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  std::string read(const std::string& name) const { return file_text(folder_ / name); }
  std::string word(const std::string& name) const { return shell_word((folder_ / name).string()); }

  /// Expects exit code 2, each part in the message, and no run folder.
  void expect_mistake(const std::string& arguments, const std::vector<std::string>& parts) const {
    Outcome outcome = reprise(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.text;
    EXPECT_PRED2(contains, outcome.text, "error (");
    for (const std::string& part : parts) EXPECT_PRED2(contains, outcome.text, part) << arguments;
    EXPECT_FALSE(fs::exists(folder_ / "run")) << arguments;
  }
  void expect_train_mistake(const std::string& overrides, const std::vector<std::string>& parts) const {
    expect_mistake("train " + word("tiny.yaml") + " run.dir=" + word("run") + " " + overrides, parts);
  }
  void expect_config_mistake(const std::string& yaml, const std::string& part) const {
    write("wrong.yaml", yaml);
    expect_mistake("train " + word("wrong.yaml") + " run.dir=" + word("run"), {"wrong.yaml:" + part});
  }

  TempFolder folder_;
};

TEST_F(BadInput, Data) {
  const std::string data = "data.path=" + word("data");
  ASSERT_EQ(reprise("train " + word("tiny.yaml") + " --quiet run.dir=" + word("fine") + " " + data).code, 0);
  expect_train_mistake("data.path=" + word("nowhere"), {"nowhere", "cifar-100-binary.tar.gz", "data.path=", ":11: "});
  const std::string good = read("data/train.bin");
  write("data/train.bin", good.substr(0, good.size() - 1));
  expect_train_mistake(data, {"expected a multiple of 3074 bytes", "train.bin, got 122959 bytes"});
  write("data/train.bin", "");
  expect_train_mistake(data, {"expected records of 3074 bytes", "train.bin, got an empty file"});
  fs::resize_file(folder_ / "data" / "train.bin", 3'074'003'074);
  expect_train_mistake(data, {"expected at most 3074000000 bytes", "train.bin, got 3074003074"});
  std::string label = good;
  label[2 * kRecord + 1] = 100;
  write("data/train.bin", label);
  expect_train_mistake(data, {"expected a fine label of 0 to 99, got 100", "Record 2", "train.bin, byte 6149"});
  fs::remove(folder_ / "data" / "train.bin");
  expect_train_mistake(data, {"expected train.bin and test.bin", "found test.bin", "cifar-100-binary.tar.gz"});
  write("no.tar.gz", "not an archive");
  expect_train_mistake("data.path=" + word("no.tar.gz"), {"no.tar.gz"});
}

TEST_F(BadInput, ConfigurationsAreNamedByFileLineAndColumn) {
  expect_config_mistake("seed: 1\ntrain:\n  bach: 3\n", "3:3: unknown key \"train.bach\". Nearest known key is");
  expect_config_mistake("train:\n  batch: many\n", "2:10: train.batch expects an integer, at least 1 (images), got");
  expect_config_mistake("train: {batch: 0}\n", "1:16: train.batch expects an integer, at least 1 (images), got \"0\"");
  expect_config_mistake("seed: 1\nseed: 2\n", "2:1: the key \"seed\" is given twice. The first is at ");
  expect_config_mistake("- 1\n", "1:1: expected a map");
  expect_config_mistake("seed: [1,\n", "2:1: not valid YAML");
  expect_train_mistake("train.bach=3", {"command line argument 4: train.bach=3:1: unknown key", "\"train.batch\""});
  expect_train_mistake("model.encoder.widths=[4,4,4,4,4,4]", {"model.encoder.widths", "at most 5 stages"});
  expect_train_mistake("model.encoder.norm=group model.encoder.groups=3",
                       {"model.encoder.groups = 3", "divides the channels", "3 groups and 4 channels in stage 1"});
  expect_train_mistake("model.queue.size=8", {"model.queue.size = 8", "one batch, 16"});
  expect_mistake("train " + word("none.yaml"), {"none.yaml: No such file"});
}

TEST_F(BadInput, ABudgetTooSmallIsNamedInBytes) {
  for (const char* budget : {"1KiB", "2MiB"}) {
    expect_train_mistake(std::string("memory.budget=") + budget,
                         {"memory.budget=", ":15: ", "expected at least ",
                          "Largest at the peak: ", budget[0] == '1' ? "got 1024 bytes" : "got 2097152 bytes"});
  }
}

/// Checkpoints of a finished run, damaged in every way.
class BadCheckpoint : public BadInput {
 protected:
  void SetUp() override {
    BadInput::SetUp();
    Outcome outcome = reprise("train " + word("tiny.yaml") + " --quiet run.dir=" + word("good"));
    ASSERT_EQ(outcome.code, 0) << outcome.text;
    good_ = read("good/checkpoint.safetensors");
    std::uint64_t length = 0;
    std::memcpy(&length, good_.data(), 8);
    header_ = Header::parse(good_.substr(8, length));
    data_ = good_.substr(8 + length);
    for (const auto& [name, entry] : header_.items()) {
      if (name != "__metadata__") names_.push_back(name);
    }
  }

  /// A file with `change` applied to the header; it says `length` for the header's length unless that is 0.
  std::string with_header(const std::function<void(Header&)>& change, std::uint64_t length = 0) const {
    Header header = header_;
    change(header);
    std::string text = header.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    if (length == 0) length = text.size();
    std::string file(8, '\0');
    std::memcpy(file.data(), &length, 8);
    return file + text + data_;
  }
  /// As a run's checkpoint and as initial values, which are read by different code.
  void expect_refused(const std::string& file, const std::vector<std::string>& parts) const {
    write("good/checkpoint-00000001.safetensors", file);
    write("good/checkpoint.safetensors", file);
    std::vector<std::string> all = parts;
    all.push_back(".safetensors");
    expect_mistake("eval " + word("good"), all);
    expect_mistake("train --resume " + word("good"), all);
    expect_train_mistake("model.init=" + word("good/checkpoint.safetensors"), {".safetensors"});
  }

  std::string good_, data_;
  Header header_;
  std::vector<std::string> names_;
};

TEST_F(BadCheckpoint, IsRefusedWithFileAndTensor) {
  const std::string &first = names_.at(0), &second = names_.at(1);
  expect_refused(good_.substr(0, 5), {"expected at least 8 bytes", "got 5"});
  expect_refused(good_.substr(0, 100), {"cut short", "got only 92"});
  expect_refused(good_.substr(0, good_.size() - 1), {"cut short"});
  expect_refused(with_header([](Header&) {}, std::uint64_t{1} << 40), {"1099511627776"});
  expect_refused(with_header([&](Header& h) {
                   std::int64_t size = h[second]["data_offsets"][1].get<std::int64_t>() -
                                       h[second]["data_offsets"][0].get<std::int64_t>();
                   h[second]["data_offsets"] = {0, size};
                 }),
                 {"overlaps"});
  expect_refused(with_header([&](Header& h) { h[first]["data_offsets"] = {1 << 30, (1 << 30) + 4}; }), {first});
  expect_refused(with_header([&](Header& h) { h[first]["dtype"] = h[first]["dtype"] == "I32" ? "F32" : "I32"; }),
                 {first});
  const char* weight = "backbone.stem.weight";
  expect_refused(with_header([&](Header& h) { h[weight]["dtype"] = "I32"; }), {weight, "expected dtype F32, got I32"});
  expect_refused(with_header([&](Header& h) {
                   h[weight]["shape"] = {3, 4, 3, 3};
                 }),
                 {weight, "expected shape [4, 3, 3, 3], got [3, 4, 3, 3]"});
}

TEST_F(BadCheckpoint, OfAnotherModelIsRefused) {
  expect_train_mistake("model.encoder.widths=[8] model.init=" + word("good"),
                       {"expected 'backbone.stem.weight' as F32 [8, 3, 3, 3]", "has F32 [4, 3, 3, 3]"});
  expect_mistake("train --resume " + word("good") + " model.encoder.widths=[8]",
                 {"expected shape [8, 3, 3, 3], got [4"});
  expect_train_mistake("model.encoder.norm=group model.encoder.groups=2 model.init=" + word("good"),
                       {"running_mean', which it does not have", "another model.encoder.norm"});
  write("other.yaml", "model: {type: classifier, encoder: {widths: [4], blocks: 1}}\nthreads: 1\n");
  expect_mistake("train " + word("other.yaml") + " run.dir=" + word("run") + " model.init=" + word("good"),
                 {"[model.init] expected a checkpoint of this model", "Another model.type"});
  expect_train_mistake("model.init=" + word("nowhere"), {"model.init=", "nowhere: no such file or folder"});
}

TEST_F(BadCheckpoint, AStateThatIsNoStateIsRefused) {
  const Header good = Header::parse(read("good/state.json"));
  write("good/state.json", "{\"step\": 1}");
  expect_mistake("eval " + word("good"), {"state.json: expected the state of a run"});
  write("good/state.json", "{\n \"format\": \"reprise-state/1\",\n \"step\" = 1}");
  expect_mistake("eval " + word("good"), {"state.json:3:9: expected the state of a run, got something else"});
  write("good/state.json", "{\n \"format\"");
  expect_mistake("train --resume " + word("good"), {"state.json:2:10: ", "got the end of the file"});
  // Deep enough to be the end of a program whose stack grows with it.
  write("good/state.json", "{\n\"x\": " + std::string(200'000, '[') + std::string(200'000, ']') + "}");
  expect_mistake("train --resume " + word("good"), {"state.json:2:69: nested deeper than 64 levels"});
  for (const auto& [key, value] : std::vector<std::pair<std::string, Header>>{
           {"format", "reprise-state/9"}, {"config", 5}, {"predicted_peak_bytes", "many"}, {"hash", nullptr}}) {
    Header changed = good;
    changed[key] = value;
    write("good/state.json", changed.dump());
    expect_mistake("train --resume " + word("good"),
                   {"state.json", key == "format" ? "got 'reprise-state/9'" : ", " + key + ": expected "});
  }
  fs::remove(folder_ / "good" / "state.json");
  expect_mistake("eval " + word("good"), {"expected a run with a checkpoint"});
  const std::string metrics = read("good/metrics.jsonl");
  expect_mistake("train --resume " + word("good"), {"expected state.json beside summary.json"});
  EXPECT_EQ(read("good/metrics.jsonl"), metrics);
  expect_mistake("train --resume " + word("nowhere"), {"expected the folder of a run"});
}

TEST_F(BadInput, SizesThatNoMachineHoldsAreRefusedAndNotComputedWith) {
  for (const char* key : {"model.queue.size", "train.epochs", "train.accumulate", "data.synthetic.train"})
    expect_train_mistake(std::string(key) + "=9223372036854775807", {std::string(key) + " expects an integer, from "});
  expect_train_mistake("train.batch=9223372036854775807", {"error ("});
}

TEST_F(BadInput, AFolderOfOtherThingsIsLeftAsItWas) {
  expect_mistake("train " + word("tiny.yaml") + " run.dir=" + word("data"), {"has other files in it"});
  EXPECT_FALSE(fs::exists(folder_ / "data" / ".lock"));
  expect_mistake("train " + word("tiny.yaml") + " run.dir=" + word(std::string(300, 'a')), {"File name too long"});
}

TEST_F(BadInput, ARunGoesOnInItsOwnFolder) {
  ASSERT_EQ(reprise("train " + word("tiny.yaml") + " --quiet run.dir=" + word("here")).code, 0);
  for (const char* verb : {"plan ", "train ", "explain ", "config "})
    expect_mistake(verb + word("here"), {"got the folder of a run", "here/config.yaml"});
  expect_mistake("train --resume " + word("here") + " run.dir=" + word("there"), {"run.dir", "beside --resume"});
  EXPECT_FALSE(fs::exists(folder_ / "there"));
}

TEST_F(BadInput, OptionsThatWouldDoNothingAreRefused) {
  expect_mistake("contract " + word("tiny.yaml") + " --all", {"--all expected --diff"});
  expect_mistake("bench ops --quick --compiled", {"--compiled expected `bench step --peer PYTHON`"});
  expect_mistake("bench ops --quick --instances " + word("data"), {"--instances expected `bench planner`"});
  expect_mistake("bench stp --quick", {"Nearest is step"});
  expect_mistake("check " + word("tiny.yaml") + " --steps x", {"expected a whole number, got --steps = x"});
}

TEST_F(BadInput, DocumentsThatAreNoJsonOrOfAnotherKindSayWhere) {
  write("cut.json", "{\n \"format\": \"reprise-plan/2\",\n \"method\"");
  expect_mistake("explain " + word("tiny.yaml") + " --plan " + word("cut.json"),
                 {"cut.json:3:10: expected JSON written by `reprise plan", "got the end of the file"});
  write("typo.json", "{\n \"format\" = 3}");
  expect_mistake("explain " + word("tiny.yaml") + " --plan " + word("typo.json"),
                 {"typo.json:2:11: ", "something else"});
  write("plan.json", "{\"format\": \"reprise-plan/2\"}");
  expect_mistake("contract --diff " + word("plan.json") + " " + word("plan.json"), {"another kind of document"});
}

TEST_F(BadInput, ResultsWithNoPlaceToGoAreRefusedBeforeTheWork) {
  write("good.json", R"({"format": "reprise-conformance/1", "name": "good", "main": []})");
  expect_mistake("conform " + word("good.json") + " --jsonl " + word("none") + "/lines", {"there is no folder"});
  EXPECT_PRED2(contains, reprise("conform " + word("good.json") + " --jsonl -", "2>/dev/null").text, "{\"");
  EXPECT_FALSE(fs::exists("-"));
  Outcome missing = reprise("conform " + word("nowhere.json"));
  EXPECT_EQ(missing.code, 2);
  EXPECT_FALSE(contains(missing.text, "[conform] [conform]")) << missing.text;
}

TEST_F(BadInput, APictureOfAnotherKindIsRefused) {
  expect_mistake("explain " + word("tiny.yaml") + " -o " + word("x.png"), {"expected a name that ends in .svg"});
  expect_mistake("plot " + word("data") + " -o " + word("x.pdf"), {"expected a name that ends in .svg"});
}

TEST_F(BadInput, WhatIsReadIsNotWrittenOver) {
  const std::string config = read("tiny.yaml"),
                    program = R"({"format": "reprise-conformance/1", "name": "p", "main": []})";
  write("p.json", program);
  for (const char* verb : {"plan", "explain", "contract"})
    expect_mistake(verb + (" " + word("tiny.yaml") + " -o ") + word("tiny.yaml"), {"tiny.yaml: it is read from"});
  expect_mistake("conform " + word("p.json") + " --jsonl " + word("p.json"), {"p.json: it is read from"});
  EXPECT_EQ(read("tiny.yaml"), config);
  EXPECT_EQ(read("p.json"), program);
}

TEST_F(BadInput, ProgramsStopBetweenTwoOfThemWithWholeLines) {
  std::vector<std::string> arguments = {"conform"};
  for (int i = 0; i < 200; ++i) arguments.push_back(std::string(REPRISE_SOURCE_DIR) + "/tests/conformance");
  const fs::path lines = folder_ / "lines.jsonl";
  arguments.insert(arguments.end(), {"--jsonl", lines.string()});
  EXPECT_EQ(signal_program(arguments, SIGINT, [&] { return fs::exists(lines); }), 130);
  std::string text = file_text(lines);
  EXPECT_TRUE(text.empty() || text.back() == '\n');
}

TEST_F(BadInput, AProgramThatCannotBeReadDoesNotKeepTheOthersFromTheirVerdicts) {
  write("good.json", R"({"format": "reprise-conformance/1", "name": "good", "main": []})");
  write("typo.json", R"({"format": "reprise-conformance/1", "name": "typo", "main": [{"do": "sinn"}]})");
  write("cut.json", "{");
  const std::string files = word("cut.json") + " " + word("good.json") + " " + word("typo.json");
  expect_mistake(
      "conform " + files,
      {"good", "ran", "cut.json:1:2: expected a program as JSON, got the end of the file", "typo.json at /main/0/do"});
}

}  // namespace
}  // namespace reprise
