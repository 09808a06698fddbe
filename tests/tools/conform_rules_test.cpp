// Corners of the conformance language: foreign writes to values, live views of any stride, integers, bodies that run in
// the backward, and which errors a program may end with.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tools/conform/verdict.h"

namespace reprise::conform {
namespace {

constexpr Method kReplaying[] = {Method::retain, Method::whole, Method::region, Method::mixed};

/// A program with leaves g = [1, 2, 3] and b = [4, 5, 6], a buffer D = [7, 8, 9], a table M, integers, a list and a
/// number, and a segment S(h, c) = sin(h * c) besides what `sections` adds.
std::string text_of(const std::string& main, const std::string& sections = "", const std::string& segments = "") {
  return R"({"format": "reprise-conformance/1", "name": "rules", "class": "RND", "about": "", "inputs": {
    "g": {"kind": "leaf", "shape": [3], "data": [1, 2, 3]}, "b": {"kind": "param", "shape": [3], "data": [4, 5, 6]}},
    "buffers": {"D": {"shape": [3], "data": [7, 8, 9]}, "M": {"shape": [2, 3], "data": [1, -2, 3, -4, 5, -6]},
      "idx": {"shape": [2], "data": [3, 0], "dtype": "i64"},
      "big": {"shape": [2], "data": [16777216, 16777217], "dtype": "i64"},
      "huge": {"shape": [1], "data": [1152921504606846977], "dtype": "i64"}},
    "views": {"back": {"of": "D", "region": {"block": {"offset": 2, "shape": [3], "stride": [-1]}}},
      "column": {"of": "M", "region": {"block": {"offset": 0, "shape": [2, 2], "stride": [3, 1]}}}},
    "cells": {"log": [], "n": 0}, "segments": {"S": {"args": ["h", "c"], "out": ["y"], "body": [
      {"do": "mul", "in": ["h", "c"], "out": "u"}, {"do": "sin", "in": ["u"], "out": "y"}]})" +
         segments + R"(}, "main": [)" + main + "]" + sections + "}";
}

Program program_of(const std::string& main, const std::string& sections = "", const std::string& segments = "") {
  return read_program(text_of(main, sections, segments), "rules.json");
}

Outcome outcome_of(const std::string& main, Method method = Method::region, const std::string& segments = "") {
  return run_program(program_of(main, "", segments), method, 1);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string refusal(const std::string& text) {
  try {
    read_program(text, "bad.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::user);
    return error.what();
  }
  return "";
}

// ---- foreign writes to values

const char* const kForeign = R"({"do": "write", "to": "c", "value": 9.0, "foreign": true})";

/// Every method refuses it, with a text that says what and where.
void expect_seen(const std::string& main, const std::vector<std::string>& parts, const std::string& segments = "") {
  for (Method method : kReplaying) {
    Outcome outcome = outcome_of(main, method, segments);
    ASSERT_TRUE(outcome.failed) << to_string(method) << " says nothing of " << main;
    EXPECT_EQ(outcome.kind, ErrorKind::replay) << outcome.error;
    for (const std::string& part : parts) EXPECT_PRED2(contains, outcome.error, part);
  }
}

TEST(ConformRules, AForeignWriteToAConstantThatAFormulaReadsIsSeen) {
  expect_seen(std::string(R"({"do": "read", "of": "D", "out": "c"}, {"do": "mul", "in": ["g", "c"], "out": "y"},)") +
                  kForeign + R"(, {"do": "backward", "of": ["y"]})",
              {"[mul] expected operand", "(outside)", "bytes [0, 12)", "version 0", "without passing a door"});
}

TEST(ConformRules, AForeignWriteToWhatASegmentWasGivenIsSeen) {
  expect_seen(std::string(R"({"do": "read", "of": "D", "out": "c"},
                             {"do": "call", "seg": "S", "in": ["g", "c"], "out": ["y"]},)") +
                  kForeign + R"(, {"do": "backward", "of": ["y"]})",
              {"segment 'S'", "[mul]", "a value"});
  expect_seen(std::string(R"({"do": "sin", "in": ["g"], "out": "c"},
                             {"do": "call", "seg": "S", "in": ["c", 2.0], "out": ["y"]},
                             {"do": "mul", "in": ["c", "c"], "out": "z"},)") +
                  kForeign + R"(, {"do": "backward", "of": ["y", "z"]})",
              {"[mul] expected operand"});
}

TEST(ConformRules, AForeignWriteToWhatASegmentReturnedIsSeen) {
  expect_seen(std::string(R"({"do": "call", "seg": "S", "in": ["g", "D"], "out": ["c"]},
                             {"do": "mul", "in": ["c", "c"], "out": "z"},)") +
                  kForeign + R"(, {"do": "backward", "of": ["z"]})",
              {"[mul] expected operand"});
}

TEST(ConformRules, AForeignWriteToAResultThatItsOwnFormulaReadsIsSeen) {
  expect_seen(std::string(R"({"do": "exp", "in": ["g"], "out": "c"}, {"do": "add", "in": ["c", 1.0], "out": "y"},)") +
                  kForeign + R"(, {"do": "backward", "of": ["y"]})",
              {"[exp] expected operand"});
}

TEST(ConformRules, AReplayThatWouldMissAForeignWriteSaysSo) {
  std::string segment = std::string(R"(, "R": {"args": ["h"], "out": ["y"], "body": [
    {"do": "read", "of": "D", "out": "c"},)") +
                        kForeign + R"(, {"do": "mul", "in": ["h", "c"], "out": "u"},
    {"do": "sin", "in": ["u"], "out": "y"}]})";
  std::string main = R"({"do": "call", "seg": "R", "in": ["g"], "out": ["y"]}, {"do": "backward", "of": ["y"]})";
  EXPECT_FALSE(outcome_of(main, Method::retain, segment).failed);  // has kept what the forward read
  Outcome outcome = outcome_of(main, Method::whole, segment);
  ASSERT_TRUE(outcome.failed);
  EXPECT_EQ(outcome.kind, ErrorKind::replay);
  EXPECT_PRED2(contains, outcome.error, "segment 'R'");
  EXPECT_PRED2(contains, outcome.error, "a replay has made them anew");
}

TEST(ConformRules, AForeignWriteToAValueThatNobodyOwesIsNotRefused) {
  for (Method method : kReplaying) {
    Outcome outcome = outcome_of(std::string(R"({"do": "read", "of": "D", "out": "c"},
      {"do": "add", "in": ["g", "c"], "out": "y"},)") +
                                     kForeign + R"(, {"do": "mul", "in": ["y", "c"], "out": "z"},
      {"do": "backward", "of": ["z"]}, {"do": "write", "to": "c", "value": 2.0, "foreign": true},
      {"do": "write", "to": "D", "value": "c"})",
                                 method);
    ASSERT_FALSE(outcome.failed) << outcome.error;
    EXPECT_EQ(outcome.grads.at("g").reals, (std::vector<double>{9, 9, 9}));
    EXPECT_EQ(outcome.buffers.at("D").reals, (std::vector<double>{2, 2, 2}));
  }
}

TEST(ConformRules, AForeignWriteThatWouldHaveToBeDifferentiatedIsRefusedWhereItsResultIsUsed) {
  const std::string from = R"({"do": "sin", "in": ["g"], "out": "c"},)",
                    constant = R"({"do": "read", "of": "D", "out": "c"},)";
  const std::string leaf = R"({"do": "write", "to": "c", "value": "g", "foreign": true})";
  for (const std::string& start : {from + kForeign, constant + leaf}) {
    for (const char* use : {R"({"do": "backward", "of": ["c"]})", R"({"do": "mul", "in": ["c", "c"], "out": "y"})",
                            R"({"do": "write", "to": "c", "value": 1.0, "mode": "add"})",
                            R"({"do": "hook", "in": ["c"], "out": "y", "body": []})"}) {
      Outcome outcome = outcome_of(start + ", " + use);
      ASSERT_TRUE(outcome.failed) << use;
      EXPECT_EQ(outcome.kind, ErrorKind::replay);
      EXPECT_PRED2(contains, outcome.error, "the foreign write at /main/1 changed");
    }
    // Its bytes are as good as any others, and a write over all of them ends it.
    Outcome outcome = outcome_of(start + R"(, {"do": "write", "to": "D", "value": "c", "foreign": true},
      {"do": "write", "to": "c", "value": 2.0}, {"do": "mul", "in": ["c", "g"], "out": "y"},
      {"do": "backward", "of": ["y"]})");
    ASSERT_FALSE(outcome.failed) << outcome.error;
    EXPECT_EQ(outcome.grads.at("g").reals, (std::vector<double>{2, 2, 2}));
  }
}

TEST(ConformRules, NumbersMayBeWrittenWithPointOrExponent) {
  Program program = read_program(R"({"format": "reprise-conformance/1", "name": "n", "dtype": "f32",
    "buffers": {"B": {"shape": [2e0], "data": [1e16, -1e18], "dtype": "i64"}},
    "streams": {"r": {"seed": 7e0, "id": 0.0, "kind": "default"}},
    "main": [{"do": "draw", "stream": "r", "shape": [6.0], "out": "u"}], "expect": {"streams": {"r": 6.0}, "buffers": {
    "B": {"shape": [2], "data": [10000000000000000, -1000000000000000000], "dtype": "i64"}}}})",
                                 "n.json");
  EXPECT_EQ(program.streams.at("r").seed, 7U);
  Judgement judgement = judge(program, run_program(program, Method::retain, 1));
  EXPECT_EQ(judgement.verdict, Verdict::match) << judgement.detail;
  auto seed = [](const std::string& number) {
    return refusal(R"({"format": "reprise-conformance/1", "name": "n", "streams": {"r": {"kind": "default", "seed": )" +
                   number + "}}}");
  };
  for (const char* number : {"7.5", "-1.0", "1e20", "-1"}) EXPECT_PRED2(contains, seed(number), "/streams/r/seed");
  EXPECT_EQ(seed("18446744073709551615"), "");
}

TEST(ConformRules, WhatIsMissingIsEmpty) {
  Outcome outcome = outcome_of(R"({"do": "if", "test": ["eq", "n", 1], "else": [{"do": "bump", "cell": "n", "by": 2}]},
    {"do": "append", "cell": "log", "value": true}, {"do": "append", "cell": "log", "value": null})");
  ASSERT_FALSE(outcome.failed) << outcome.error;
  EXPECT_EQ(outcome.cells.at("n").number, 2);
  EXPECT_EQ(outcome.cells.at("log").list, (std::vector<Json>{true, nullptr}));
  EXPECT_EQ(refusal(R"({"format": "reprise-conformance/1", "name": "n"})"), "");
}

TEST(ConformRules, AForeignWriteToAReshapedValueLeavesTheOriginal) {
  Outcome outcome = outcome_of(R"({"do": "read", "of": "D", "out": "a"},
    {"do": "reshape", "in": ["a"], "shape": [3, 1], "out": "c"}, {"do": "write", "to": "c", "value": 0.0, "foreign": true},
    {"do": "mul", "in": ["g", "a"], "out": "y"}, {"do": "backward", "of": ["y"]})");
  ASSERT_FALSE(outcome.failed) << outcome.error;
  EXPECT_EQ(outcome.grads.at("g").reals, (std::vector<double>{7, 8, 9}));
}

// ---- live views

TEST(ConformRules, ALiveViewMayRunBackwards) {
  for (Method method : kReplaying) {
    Outcome outcome = outcome_of(R"({"do": "mul", "in": ["g", "back"], "out": "y"},
      {"do": "write", "to": "D", "value": 0.5, "mode": "mul"}, {"do": "backward", "of": ["y"]})",
                                 method);
    ASSERT_FALSE(outcome.failed) << outcome.error;
    EXPECT_EQ(outcome.grads.at("g").reals, (std::vector<double>{9, 8, 7}));
  }
}

TEST(ConformRules, BatchnormTakesALiveViewWithGaps) {
  Outcome outcome = outcome_of(R"({"do": "batchnorm", "in": ["column"], "out": "t"}, {"do": "backward", "of": ["g"]})");
  EXPECT_FALSE(outcome.failed) << outcome.error;
}

// ---- integers

TEST(ConformRules, AnIntegerBufferTakesTheTruncatedResultNotTheTruncatedNumber) {
  auto left = [](const std::string& write) {
    Outcome outcome = outcome_of(R"({"do": "write", "to": "idx", )" + write + "}");
    EXPECT_FALSE(outcome.failed) << outcome.error;
    return outcome.buffers.at("idx").integers;
  };
  using Integers = std::vector<std::int64_t>;
  EXPECT_EQ(left(R"("value": 0.5, "mode": "mul")"), (Integers{1, 0}));
  EXPECT_EQ(left(R"("value": 0.5, "mode": "mul", "foreign": true)"), (Integers{1, 0}));
  EXPECT_EQ(left(R"("value": -0.5, "mode": "add")"), (Integers{2, 0}));
  EXPECT_EQ(left(R"("value": 0.5, "mode": "mul", "region": {"rows": [0]})"), (Integers{1, 0}));
  EXPECT_EQ(left(R"("value": -1.5, "mode": "add", "region": {"rows": [1, 0]})"), (Integers{1, -1}));
  EXPECT_EQ(left(R"("value": 2, "mode": "mul")"), (Integers{6, 0}));
}

TEST(ConformRules, IntegersAreComparedExactly) {
  Outcome outcome = outcome_of(R"({"do": "argmax", "in": ["big"], "out": "i"},
    {"do": "topk", "in": ["big"], "k": 2, "out": "j"}, {"do": "write", "to": "idx", "value": "j"},
    {"do": "write", "to": "huge", "value": "i"})");
  ASSERT_FALSE(outcome.failed) << outcome.error;
  EXPECT_EQ(outcome.buffers.at("huge").integers, (std::vector<std::int64_t>{1}));
  EXPECT_EQ(outcome.buffers.at("idx").integers, (std::vector<std::int64_t>{1, 0}));
}

TEST(ConformRules, AForeignWriteOfIntegersIsExact) {
  Outcome outcome = outcome_of(R"({"do": "write", "to": "huge", "value": 1, "mode": "add", "foreign": true})");
  ASSERT_FALSE(outcome.failed) << outcome.error;
  EXPECT_EQ(outcome.buffers.at("huge").integers, (std::vector<std::int64_t>{1152921504606846978}));
}

// ---- operands

TEST(ConformRules, ConcatTakesAnyNumberOfInputs) {
  std::string many;
  for (int i = 0; i < 130; ++i) many += R"("g", )";
  Outcome outcome = outcome_of(R"({"do": "concat", "in": [)" + many + R"("D"], "out": "c"},
    {"do": "write", "to": "D", "value": 0.0}, {"do": "mul", "in": ["c", "c"], "out": "y"},
    {"do": "backward", "of": ["y"]})");
  ASSERT_FALSE(outcome.failed) << outcome.error;
  EXPECT_EQ(outcome.grads.at("g").reals, (std::vector<double>{260, 520, 780}));
}

TEST(ConformRules, ANumberThatACallWasGivenIsAValue) {
  std::string segments = R"(, "I": {"args": ["k"], "out": ["k"], "body": [{"do": "sum", "in": ["b"], "out": "s"},
      {"do": "write", "to": "k", "value": "s", "mode": "mul"}]},
    "R": {"args": ["h", "k"], "out": ["y", "k"], "body": [{"do": "mul", "in": ["h", "k"], "out": "u"},
      {"do": "call", "seg": "I", "in": ["k"], "out": ["o"]}, {"do": "write", "to": "o", "value": 1.0, "mode": "add"},
      {"do": "mul", "in": ["u", "k"], "out": "y"}]})";
  for (Method method : kReplaying) {
    Outcome outcome = outcome_of(R"({"do": "call", "seg": "R", "in": ["g", 2.0], "out": ["y", "k"]},
      {"do": "write", "to": "D", "value": "k"}, {"do": "backward", "of": ["y"]})",
                                 method, segments);
    ASSERT_FALSE(outcome.failed) << outcome.error;  // y = 2 g k with k = 2 sum(b) + 1
    EXPECT_EQ(outcome.grads.at("g").reals, (std::vector<double>{62, 62, 62}));
    EXPECT_EQ(outcome.grads.at("b").reals, (std::vector<double>{24, 24, 24}));
    EXPECT_EQ(outcome.buffers.at("D").reals, (std::vector<double>{31, 31, 31}));
  }
}

// ---- bodies that run in the backward

TEST(ConformRules, ABackwardPassesAWriteOverAllOfAValue) {
  for (const char* value : {"0.5", R"("b")"}) {
    Outcome outcome = outcome_of(std::string(R"({"do": "on_grad", "of": "g", "body": [
        {"do": "bump", "cell": "n", "by": 1}]}, {"do": "mul", "in": ["g", 2.0], "out": "t"},
      {"do": "hook", "in": ["t"], "out": "t", "body": [{"do": "append", "cell": "log", "value": "hook"}]},
      {"do": "write", "to": "t", "value": )") +
                                 value + R"(}, {"do": "mul", "in": ["t", "b"], "out": "y"},
      {"do": "backward", "of": ["y"]})");
    ASSERT_FALSE(outcome.failed) << outcome.error;
    EXPECT_EQ(outcome.cells.at("n").number, 1) << value;
    EXPECT_EQ(outcome.cells.at("log").list.size(), 1U) << value;
    EXPECT_EQ(outcome.grads.at("g").reals, (std::vector<double>{0, 0, 0}));
  }
}

TEST(ConformRules, BodiesSeeNamesAsTheyStandWhenTheyRun) {
  Outcome outcome = outcome_of(R"({"do": "read", "of": "D", "out": "c"}, {"do": "mul", "in": ["g", 2.0], "out": "t"},
    {"do": "hook", "in": ["t"], "out": "u", "body": [{"do": "write", "to": "D", "value": "c"}]},
    {"do": "read", "of": "b", "out": "c"}, {"do": "backward", "of": ["u"]})");
  ASSERT_FALSE(outcome.failed) << outcome.error;
  EXPECT_EQ(outcome.buffers.at("D").reals, (std::vector<double>{4, 5, 6}));
}

TEST(ConformRules, AWriteToAValueInABodyIsDifferentiable) {
  for (Method method : kReplaying) {
    Outcome outcome = outcome_of(R"({"do": "call", "seg": "S", "in": ["g", 1.0], "out": ["v"]},
      {"do": "on_grad", "of": "b", "body": [{"do": "write", "to": "v", "value": 3.0, "mode": "mul"}]},
      {"do": "mul", "in": ["v", "b"], "out": "y"}, {"do": "backward", "of": ["y"], "keep": true},
      {"do": "grad", "of": "g", "out": "first", "clear": true}, {"do": "backward", "of": ["v"]},
      {"do": "write", "to": "D", "value": "v"})",
                                 method);
    ASSERT_FALSE(outcome.failed) << outcome.error;
    for (std::size_t i = 0; i < 3; ++i) {
      double x = static_cast<double>(i) + 1;
      EXPECT_NEAR(outcome.grads.at("g").reals[i], 3 * std::cos(x), 1e-5) << to_string(method);
      EXPECT_NEAR(outcome.buffers.at("D").reals[i], 3 * std::sin(x), 1e-5) << to_string(method);
    }
  }
}

TEST(ConformRules, ALeafsBodyRunsAsSoonAsItsGradientIsComplete) {
  Outcome outcome = outcome_of(R"({"do": "on_grad", "of": "b", "body": [{"do": "append", "cell": "log", "value": "b"}]},
    {"do": "mul", "in": ["g", 2.0], "out": "t"},
    {"do": "hook", "in": ["t"], "out": "u", "body": [{"do": "append", "cell": "log", "value": "hook"}]},
    {"do": "mul", "in": ["u", "b"], "out": "y"}, {"do": "backward", "of": ["y"]})");
  ASSERT_FALSE(outcome.failed) << outcome.error;
  EXPECT_EQ(outcome.cells.at("log").list, (std::vector<Json>{"b", "hook"}));
}

// ---- which errors are allowed

Judgement judged(const std::string& main, const std::string& sections) {
  Program program = program_of(main, sections);
  return judge(program, run_program(program, Method::region, 1));
}

TEST(ConformRules, OnlyAReplayThatCannotBeHonouredIsAnHonestReject) {
  std::string honour = R"(, "honour_or_reject": true)";
  Judgement foreign = judged(std::string(R"({"do": "read", "of": "D", "out": "c"},
                               {"do": "mul", "in": ["g", "c"], "out": "y"},)") +
                                 kForeign + R"(, {"do": "backward", "of": ["y"]})",
                             honour);
  EXPECT_EQ(foreign.verdict, Verdict::reject);
  EXPECT_TRUE(foreign.fine) << foreign.detail;
  Judgement shapes = judged(R"({"do": "matmul", "in": ["M", "M"], "out": "y"})", honour);
  EXPECT_EQ(shapes.verdict, Verdict::reject);
  EXPECT_FALSE(shapes.fine) << shapes.detail;
}

TEST(ConformRules, OnlyAnIndexOutsideIsAProgramError) {
  std::string expects = R"(, "expect": {"error": "program"})";
  EXPECT_TRUE(judged(R"({"do": "gather", "in": ["g", 7], "out": "y"})", expects).fine);
  EXPECT_TRUE(judged(R"({"do": "read", "of": "g", "out": "y", "region": {"rows": [3]}})", expects).fine);
  EXPECT_TRUE(judged(R"({"do": "read", "of": "D", "out": "y", "region": {"span": [2, 4]}})", expects).fine);
  EXPECT_TRUE(
      judged(R"({"do": "write", "to": "D", "value": 0, "region": {"rows": [3]}, "foreign": true})", expects).fine);
  EXPECT_FALSE(judged(R"({"do": "matmul", "in": ["M", "M"], "out": "y"})", expects).fine);
}

TEST(ConformRules, NamesThatNothingHasAreRefusedBeforeTheRun) {
  auto main = [](const std::string& statement) { return refusal(text_of(statement)); };
  EXPECT_PRED2(contains, main(R"({"do": "mul", "in": ["g", "Dtypo"], "out": "y"})"),
               "the statement at /main/0 names 'Dtypo'");
  EXPECT_PRED2(contains, main(R"({"do": "write", "to": "nothing", "value": 1})"), "names 'nothing'");
  EXPECT_PRED2(contains, main(R"({"do": "bump", "cell": "nothing", "by": 1})"), "names 'nothing'");
  EXPECT_PRED2(contains, main(R"({"do": "if", "test": ["eq", "nothing", 0], "then": []})"), "names 'nothing'");
  EXPECT_PRED2(contains, main(R"({"do": "read", "of": "D", "out": "d", "region": {"rows": "nothing"}})"),
               "names 'nothing'");
  std::string segments = R"(, "R": {"args": ["h"], "out": ["lost"], "body": [{"do": "sin", "in": ["h"], "out": "y"}]})";
  EXPECT_PRED2(contains, refusal(text_of("", "", segments)), "/segments/R/out: 'lost'");
  // Bound later, or in a branch: only the run can tell.
  EXPECT_EQ(main(R"({"do": "if", "test": ["eq", "n", 0], "then": [{"do": "sin", "in": ["g"], "out": "s"}]},
                    {"do": "mul", "in": ["s", "g"], "out": "y"})"),
            "");
}

}  // namespace
}  // namespace reprise::conform
