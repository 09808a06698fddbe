// The conformance language: programs with known results under every method, the negative control, and hostile files.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/errors.h"
#include "tests/support/surroundings.h"
#include "tests/support/text.h"
#include "tools/conform/machine.h"
#include "tools/conform/report.h"
#include "tools/conform/verdict.h"

namespace reprise::conform {
namespace {

using reprise::testing::contains;
using reprise::testing::error_of_kind;
using reprise::testing::shared_programs;

constexpr Method kReplaying[] = {Method::retain, Method::whole, Method::region, Method::mixed};

std::string own_programs() { return std::string(REPRISE_SOURCE_DIR) + "/tests/conformance"; }

#define SKIP_WITHOUT_SHARED_PROGRAMS() \
  if (!std::filesystem::exists(shared_programs())) GTEST_SKIP() << "no conformance programs at " << shared_programs()

Judgement judged(const Program& program, Method method, std::uint64_t seed = 1) {
  return judge(program, run_program(program, method, seed));
}

void expect_all_fine(const std::string& folder, Method method, std::uint64_t seed = 1) {
  for (const std::string& file : find_programs({folder})) {
    Program program = load_program(file);
    Judgement judgement = judged(program, method, seed);
    EXPECT_TRUE(judgement.fine) << program.name << " under " << to_string(method) << ": "
                                << to_string(judgement.verdict) << ": " << judgement.detail;
    // Of the programs that allow an error only foreign writers may use it; the rest can be honoured, so it is.
    bool may_reject =
        program.name.starts_with("c16_") || program.name == "c22_foreign" || (program.expect && program.expect->error);
    if (!may_reject) {
      EXPECT_EQ(judgement.verdict, Verdict::match) << program.name << ": " << judgement.detail;
    }
  }
}

class PublicPrograms : public ::testing::TestWithParam<Method> {};

TEST_P(PublicPrograms, Match) {
  SKIP_WITHOUT_SHARED_PROGRAMS();
  EXPECT_GE(find_programs({shared_programs()}).size(), 296U);
  expect_all_fine(shared_programs(), GetParam());
}

TEST_P(PublicPrograms, OwnProgramsMatch) {
  EXPECT_GE(find_programs({own_programs()}).size(), 40U);
  expect_all_fine(own_programs(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Methods, PublicPrograms, ::testing::ValuesIn(kReplaying),
                         [](const auto& method) { return std::string(to_string(method.param)); });

TEST(Conform, MixedMatchesWithOtherSeeds) {
  for (std::uint64_t seed : {2, 3, 4, 5}) expect_all_fine(own_programs(), Method::mixed, seed);
}

TEST(Conform, IndicesOutsideAreRefusedInTheForward) {
  SKIP_WITHOUT_SHARED_PROGRAMS();
  for (const char* name : {"c11_outside", "c11_read_outside"}) {
    Program program = load_program(shared_programs() + "/" + name + ".json");
    for (Method method : kReplaying) {
      Outcome outcome = run_program(program, method, 1);
      EXPECT_TRUE(outcome.failed && !outcome.in_backward) << name << " under " << to_string(method);
    }
  }
}

/// Programs in which bytes that a gradient depends on are overwritten between their read and the backward.
// ---- the language, on small programs

/// A program around `main`, with a leaf x = [1], a buffer B = [2], a list `log` and a number `n`.
Program small(const std::string& main, const std::string& more = "") {
  return read_program(R"({"format": "reprise-conformance/1", "name": "small", "class": "RND", "about": "",
    "inputs": {"x": {"kind": "leaf", "shape": [1], "data": [1.0]}}, "buffers": {"B": {"shape": [1], "data": [2.0]}},
    "cells": {"log": [], "n": 0}, "main": [)" +
                          main + "]" + more + "}",
                      "small.json");
}

std::string refusal(const std::string& text) {
  return error_of_kind(ErrorKind::user, [&] { read_program(text, "bad.json"); });
}

TEST(Conform, ReplayHappensAndIsCounted) {
  Program program = small(R"({"do": "call", "seg": "S", "in": ["x"], "out": ["y"]}, {"do": "backward", "of": ["y"]})",
                          R"(, "segments": {"S": {"args": ["x"], "out": ["y"], "body": [
                            {"do": "sin", "in": ["x"], "out": "t"}, {"do": "mul", "in": ["t", "t"], "out": "t"},
                            {"do": "sin", "in": ["t"], "out": "y"}]}})");
  EXPECT_EQ(run_program(program, Method::retain, 1).replays.at("S"), 0);
  EXPECT_EQ(run_program(program, Method::whole, 1).replays.at("S"), 1);
  EXPECT_EQ(judged(program, Method::whole).verdict, Verdict::ran);
}

TEST(Conform, AnInjectedFailureReachesTheProgramThatDoesNotRetry) {
  Program program =
      small(R"({"do": "call", "seg": "S", "in": ["x"], "out": ["y"]}, {"do": "backward", "of": ["y"]})",
            R"(, "segments": {"S": {"args": ["x"], "out": ["y"], "body": [{"do": "mul", "in": ["x", "B"], "out": "t"},
                            {"do": "fail", "in": ["t"], "out": "t"}, {"do": "sin", "in": ["t"], "out": "y"}]}})");
  EXPECT_FALSE(run_program(program, Method::retain, 1).failed);
  Outcome outcome = run_program(program, Method::region, 1);
  EXPECT_TRUE(outcome.failed && outcome.in_backward);
  EXPECT_PRED2(contains, outcome.error, "injected");
}

TEST(Conform, AWrongExpectationIsSeen) {
  std::string main = R"({"do": "mul", "in": ["x", "B"], "out": "y"}, {"do": "backward", "of": ["y"]})";
  auto expecting = [&](const std::string& grad, const std::string& buffer) {
    return judged(small(main, R"(, "expect": {"grads": {"x": {"shape": [1], "data": [)" + grad +
                                  R"(]}}, "buffers": {"B": {"shape": [1], "data": [)" + buffer + R"(]}}})"),
                  Method::retain)
        .verdict;
  };
  EXPECT_EQ(expecting("2.0", "2.0"), Verdict::match);
  EXPECT_EQ(expecting("2.01", "2.0"), Verdict::silent);
  EXPECT_EQ(expecting("2.0", "2.01"), Verdict::state);
}

/// Changes a byte of each state that a node has read, past every door, once its formula has run.
class Spoiler final : public TapeObserver {
 public:
  void after_backward(const Tape& tape, std::uint32_t index, std::span<const TensorView>) override {
    const TapeData& data = tape.data();
    const NodeRecord& node = data.nodes[index];
    for (std::uint32_t i = 0; i < node.inputs; ++i) {
      const OperandRecord& operand = data.operands[node.first_operand + i];
      if (operand.kind == OperandKind::state) *operand.tensor.storage().raw() ^= std::byte{1};
    }
  }
};

TEST(Conform, ABackwardThatChangesABufferIsCaught) {
  Program program = small(R"({"do": "mul", "in": ["x", "B"], "out": "y"}, {"do": "backward", "of": ["y"]})");
  Memory memory;
  Spoiler spoiler;
  Machine machine(program, memory, {.method = Method::retain, .observer = &spoiler});
  std::string text = error_of_kind(ErrorKind::internal, [&] { machine.run(); });
  EXPECT_PRED2(contains, text, "'B' has other bytes");
}

TEST(Conform, ResultLinesHoldAllValues) {
  Program program = small(R"({"do": "mul", "in": ["x", 0.1], "out": "y"}, {"do": "backward", "of": ["y"]},
                             {"do": "append", "cell": "log", "value": "n"}, {"do": "append", "cell": "log", "value": "word"})");
  Outcome outcome = run_program(program, Method::region, 1);
  Json line = Json::parse(result_line(program, Method::region, outcome, judge(program, outcome)));
  EXPECT_EQ(line["verdict"], "ran");
  EXPECT_EQ(line["method"], "region");
  EXPECT_EQ(static_cast<float>(line["grads"]["x"]["data"][0].get<double>()), 0.1F);
  EXPECT_EQ(line["buffers"]["B"]["data"], Json::parse("[2.0]"));
  EXPECT_EQ(line["cells"]["log"], Json::parse(R"([0, "word"])"));
}

TEST(Conform, UnknownThingsAreRefusedWithTheirPlace) {
  auto with_main = [](const std::string& main, const std::string& more = "") {
    return R"({"format": "reprise-conformance/1", "name": "n", "main": [)" + main + "]" + more + "}";
  };
  EXPECT_PRED2(contains, refusal(with_main(R"({"do": "frobnicate", "in": [], "out": "y"})")), "bad.json at /main/0/do");
  EXPECT_PRED2(contains, refusal(with_main(R"({"do": "sin", "in": [1.0], "out": "y", "axes": 1})")),
               "unknown key 'axes'");
  EXPECT_PRED2(contains, refusal(with_main("", R"(, "color": 1)")), "unknown key 'color'");
  EXPECT_PRED2(contains, refusal(with_main("", R"(, "about": 1)")), "bad.json at /about");
  EXPECT_PRED2(contains, refusal(with_main(R"({"do": "sin", "in": [1.0, 2.0], "out": "y"})")), "takes 1 operands");
  EXPECT_PRED2(contains, refusal(with_main(R"({"do": "call", "seg": "S", "in": [], "out": []})")), "not declared");
  EXPECT_PRED2(contains, refusal(with_main("", R"(, "cells": {"a": 1}, "contexts": {"a": 1})")), "declared twice");
  EXPECT_PRED2(contains, refusal(with_main("", R"(, "expect": {"grads": {"z": {"shape": [], "data": [1]}}})")),
               "/expect/grads");
}

TEST(Conform, HostileFilesAreRefused) {
  auto with_buffer = [](const std::string& buffer) {
    return R"({"format": "reprise-conformance/1", "name": "n", "main": [], "buffers": {"B": )" + buffer + "}}";
  };
  EXPECT_PRED2(contains, refusal("{"), "bad.json:1:2: expected a program as JSON, got the end of the file");
  EXPECT_PRED2(contains, refusal(std::string(100'000, '[')), "nested deeper");
  EXPECT_PRED2(contains, refusal(R"({"name": "a", "name": "b"})"), "comes twice");
  EXPECT_PRED2(contains, refusal("[]"), "expected an object");
  EXPECT_PRED2(contains, refusal(with_buffer(R"({"shape": [-1], "data": []})")), "/buffers/B/shape/0");
  EXPECT_PRED2(contains, refusal(with_buffer(R"({"shape": [9999999, 9999999], "data": []})")), "elements");
  EXPECT_PRED2(contains, refusal(with_buffer(R"({"shape": [1,1,1,1,1,1,1,1], "data": [1]})")), "axes");
  EXPECT_PRED2(contains, refusal(with_buffer(R"({"shape": [2], "data": [1]})")), "expected 2 numbers");
  EXPECT_PRED2(contains, refusal(with_buffer(R"({"shape": [1], "data": ["a"]})")), "/buffers/B/data/0");
  EXPECT_PRED2(contains, refusal(with_buffer(R"({"shape": [1], "data": [1e999]})")),
               "expected a program as JSON, got ");
  EXPECT_PRED2(contains, refusal(with_buffer(R"({"shape": [1], "data": [1.5], "dtype": "i64"})")), "whole number");
  EXPECT_PRED2(contains, refusal(R"({"format": "reprise-conformance/1", "name": "n", "main": [], "segments": {
    "A": {"args": [], "out": [], "body": [{"do": "call", "seg": "B", "in": [], "out": []}]},
    "B": {"args": [], "out": [], "body": [{"do": "call", "seg": "A", "in": [], "out": []}]}}})"),
               "calls itself");
}

TEST(Conform, RunawayProgramsEndInAVerdict) {
  // Twenty segments, each of which calls the next one twice: a million calls.
  std::string segments = R"("S20": {"args": [], "out": [], "body": [{"do": "bump", "cell": "n", "by": 1}]})";
  for (int i = 0; i < 20; ++i) {
    std::string next = R"({"do": "call", "seg": "S)" + std::to_string(i + 1) + R"(", "in": [], "out": []})";
    segments += R"(, "S)" + std::to_string(i) + R"(": {"args": [], "out": [], "body": [)" + next + ", " + next + "]}";
  }
  Program calls = small(R"({"do": "call", "seg": "S0", "in": [], "out": []})", ", \"segments\": {" + segments + "}");
  EXPECT_EQ(judged(calls, Method::retain).verdict, Verdict::unsupported);
  // A tensor of 2^44 elements by broadcasting.
  Program grows = small(R"({"do": "reshape", "in": ["x"], "out": "a", "shape": [1, 1]},
    {"do": "draw", "stream": "r", "shape": [4194304, 1], "out": "u"}, {"do": "transpose", "in": ["u"], "out": "v"},
    {"do": "mul", "in": ["u", "v"], "out": "w"})",
                        R"(, "streams": {"r": {"seed": 1, "kind": "default"}})");
  Judgement judgement = judged(grows, Method::retain);
  EXPECT_EQ(judgement.verdict, Verdict::reject);
  EXPECT_PRED2(contains, judgement.detail, "memory");
  Program outside = small("", R"(, "views": {"V": {"of": "B", "region": {"span": [0, 2]}}})");
  EXPECT_PRED2(contains, judged(outside, Method::retain).detail, "at /views/V");
  // Things of the wrong kind.
  for (const char* main :
       {R"({"do": "bump", "cell": "B", "by": 1})", R"({"do": "write", "to": "x", "value": 1.0})",
        R"({"do": "set", "cell": "log", "value": 1})",
        R"({"do": "write", "to": "B", "value": 1.0, "region": {"span": [0, 2]}})",
        R"({"do": "read", "of": "B", "out": "b", "region": {"block": {"offset": 0, "shape": [2], "stride": [-1]}}})"}) {
    Judgement refused = judged(small(main), Method::retain);
    EXPECT_EQ(refused.verdict, Verdict::reject) << main;
    EXPECT_PRED2(contains, refused.detail, "at /main/0");
  }
}

}  // namespace
}  // namespace reprise::conform
