// Stored plans and profiles that somebody changed or made up: each is refused with the place in the document, and none
// costs memory or time that its size does not warrant.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "recompute/planning/plan.h"
#include "recompute/planning/profile.h"
#include "tests/support/errors.h"

namespace reprise {
namespace {

using Json = nlohmann::ordered_json;

Plan small_plan() {
  Plan plan;
  plan.method = "joint";
  plan.granularity = "node";
  plan.made_for = {"t", "c", "b", 2};
  plan.predicted_peak = 64;
  plan.nodes = 10;
  plan.segments = {{.id = "a", .option = "replay, 1 kept", .replay = true, .kept = {{3, 0}}},
                   {.id = "b", .option = "replay in a run", .replay = true, .run = 1},
                   {.id = "c", .option = "replay, ends a run", .replay = true, .run = 1, .run_ends = true}};
  plan.classes = {{.storage = "queue", .node = 9, .update = 1, .readers = {"a"}}};
  return plan;
}

Profile small_profile() {
  Profile profile;
  profile.machine = "m";
  profile.forward_ns = {5, 7};
  profile.replay_ns = {-1, 6};
  profile.backward_ns = {9, -1};
  profile.copy = {10, 0.5, 0};
  return profile;
}

template <class Read>
std::string refused(const std::string& text, Read&& read) {
  ErrorKind kind = ErrorKind::internal;
  std::string said = testing::error_of([&] { read(text, "mine.json"); }, &kind);
  EXPECT_EQ(exit_code(kind), 2) << said << " of: " << text;
  return said;
}

/// Sets the value at a pointer and expects the refusal to name `place` and hold `part`.
template <class Read>
void expect_refused(const std::string& good, const char* pointer, const Json& value, const std::string& part,
                    Read&& read) {
  Json json = Json::parse(good);
  json[Json::json_pointer(pointer)] = value;
  std::string text = refused(json.dump(), read);
  EXPECT_NE(text.find(part), std::string::npos) << pointer << ": " << text;
  EXPECT_NE(text.find("mine.json"), std::string::npos) << text;
}

TEST(PlanJson, ChangedValuesAreRefusedWithTheirPlace) {
  const std::string good = to_json(small_plan());
  ASSERT_EQ(plan_from_json(good, "x"), small_plan());
  auto expect = [&](const char* pointer, const Json& value, const std::string& part) {
    expect_refused(good, pointer, value, part, plan_from_json);
  };
  expect("/budget", 1.5, "budget: expected a whole number");
  expect("/budget", -1, "budget: expected a whole number from 0");
  expect("/budget", true, "budget: ");
  expect("/budget", UINT64_MAX, "budget: ");
  expect("/predicted_ns", 1e300, "predicted_ns: ");
  expect("/nodes", 100'000'000, "nodes: expected a whole number from 0 to 1048576");  // a list is made of that many
  expect("/made_for/threads", std::int64_t{1} << 40, "made_for.threads: ");
  expect("/proven", 1, "proven: expected true or false");
  expect("/fallback", "half", "fallback: expected one of whole, region, got 'half'");
  expect("/segments/0/kept/0/0", 10, "segments[0].kept[0][0]: expected a node below 10");
  expect("/segments/0/kept/0/1", 64, "segments[0].kept[0][1]: ");
  expect("/segments/0/kept/0", Json::array({1}), "segments[0].kept[0]: expected a node and a result");
  expect("/classes/0/update", -1, "classes[0].update: ");
  expect("/classes/0/more", 1, "classes[0]: unknown key 'more'");
}

TEST(PlanJson, WhatNoPlannerMakesIsRefusedWithItsPlace) {
  const std::string good = to_json(small_plan());
  auto expect = [&](const char* pointer, const Json& value, const std::string& part) {
    expect_refused(good, pointer, value, part, plan_from_json);
  };
  for (const char* method : {"unchecked", "best", ""})
    expect("/method", method, "method: expected one of retain, whole, region, ");
  expect("/granularity", "half", "granularity: expected one of segment, node");
  expect("/predicted_peak", 0, "predicted_peak: expected a whole number from 1");
  expect("/budget", 32, "predicted_peak: expected a whole number from 1 to 32");
  expect("/method", "retain", "segments[0].replay: expected what retain allows, got true");
  expect("/method", "whole+region", "segments[0].kept: expected none of a segment that is replayed whole, got 1");
  expect("/granularity", "segment", "segments[0].kept: expected none of a segment that is replayed whole");
  expect("/segments/0/replay", false, "segments[0].kept: expected none of a segment that is retained");
  expect("/segments/1/id", "(no nodes)", "segments[1].id: expected a retained segment, since it has no nodes");
  Json again = Json::parse(good)["classes"][0];
  again["state"] = "region";
  expect("/classes/1", again, "classes[1].update: expected each write once, got update 1 of node 9 again");
  expect("/method", "retain+region", "classes[0].state: expected what retain+region allows, got whole");
  Json bare = Json::parse(good);
  bare["classes"] = Json::array();
  expect_refused(bare.dump(), "/method", "retain+region", "fallback: expected what retain+region allows",
                 plan_from_json);
}

TEST(PlanJson, RunsThatAreNoneAreRefusedWithTheirPlace) {
  const std::string good = to_json(small_plan());
  auto expect = [&](const char* pointer, const Json& value, const std::string& part) {
    expect_refused(good, pointer, value, part, plan_from_json);
  };
  expect("/segments/1/kept", Json::array({Json::array({5, 0})}),
         "segments[1].kept: expected none of a segment that is in a run, got 1");
  expect("/segments/0/run_ends", true, "segments[0].run_ends: expected false of a segment in no run");
  expect("/segments/1/run_ends", true, "segments[1].run_ends: expected a run of two segments at least");
  expect("/segments/2/run_ends", false, "segments: expected a segment that ends run 1, got none");
  expect("/segments/2/run", 2, "segments[2].run: expected 1, which has not ended, got 2");
  expect("/segments/2/run", 0, "segments[2].run: expected 1, which has not ended, got 0");
  expect("/segments/2/replay", false, "segments[2].replay: expected true of a segment in a run");
  Json one_method = Json::parse(good);
  one_method["segments"][0]["kept"] = Json::array();
  expect_refused(one_method.dump(), "/method", "whole", "segments[1].run: expected no run under whole", plan_from_json);
  Json twice = Json::parse(good);
  for (int s : {1, 2}) twice["segments"].push_back(twice["segments"][s]);
  EXPECT_NE(refused(twice.dump(), plan_from_json).find("segments[3].run: run 1 has ended before"), std::string::npos);
}

TEST(PlanJson, TextThatIsNoDocumentIsRefusedAtOnce) {
  for (const auto& read : {+[](const std::string&t, const std::string&o) { plan_from_json(t, o); },
                           +[](const std::string&t, const std::string&o) { profile_from_json(t, o); }}) {
    EXPECT_NE(refused("{", read).find("expected JSON written by `reprise plan"), std::string::npos);
    EXPECT_NE(refused("[1]", read).find("expected a document of format"), std::string::npos);
    EXPECT_NE(refused(R"({"format": 1})", read).find("format: expected text"), std::string::npos);
    EXPECT_NE(refused(R"({"format": "a", "format": "b"})", read).find("'format' comes twice"), std::string::npos);
    EXPECT_NE(refused(std::string(100'000, '['), read).find("nested deeper"), std::string::npos);
  }
}

TEST(ProfileJson, ChangedValuesAreRefusedWithTheirPlace) {
  const std::string good = to_json(small_profile());
  ASSERT_EQ(profile_from_json(good, "x"), small_profile());
  auto expect = [&](const char* pointer, const Json& value, const std::string& part) {
    expect_refused(good, pointer, value, part, profile_from_json);
  };
  expect("/forward_ns/1", INT64_MAX, "forward_ns[1]: ");  // sums of such times would overflow
  expect("/forward_ns/0", 1.25, "forward_ns[0]: ");
  expect("/micro_batches", 0, "micro_batches: ");
  expect("/copy/fixed_ns", -1.0, "copy.fixed_ns: expected a number from 0");
  expect("/copy/ns_per_byte", "fast", "copy.ns_per_byte: expected a number");
  expect("/spread", nullptr, "spread: ");
}

}  // namespace
}  // namespace reprise
