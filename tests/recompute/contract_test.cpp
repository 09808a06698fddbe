// Contracts say what a segment needs from outside, in the same bytes each time, and survive being written and read.
#include "recompute/contract.h"

#include <gtest/gtest.h>

#include "core/parallel.h"
#include "ops/arithmetic.h"
#include "ops/draws.h"
#include "ops/row_state.h"
#include "ops/rows.h"
#include "ops/select.h"
#include "ops/state.h"
#include "ops/unary.h"
#include "recompute/context.h"
#include "recompute/contract_diff.h"
#include "recompute/contract_json.h"
#include "tests/support/lab.h"
#include "tests/support/text.h"

namespace reprise {
namespace {

using testing::contains;
using testing::Lab;

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

struct ProgramOptions {
  Method method = Method::region;
  int rows = 2;  // rows of the table that are overwritten after the read
  bool extra_node = false;
  bool second_segment = true;
  double scale = 2.0;
  std::uint64_t position = 0;
};

/// A segment with an argmax, a draw, a read of state, a write of state and a tail that no backward needs; then the
/// state that it read is overwritten, and a second segment reads it anew.
class Program {
 public:
  explicit Program(const ProgramOptions& options = {})
      : lab(options.method), stream_{"dropout", 7, 3, options.position} {
    Tape& t = *lab.tape;
    x = lab.leaf({4, 3}, {.1, .2, .3, .4, .5, .6, .7, .8, .9, 1, 1.1, 1.2}, "x");
    table = lab.state({6, 3}, std::vector<double>(18, 0.5));
    table.storage().set_name("table");
    counter = lab.state({1}, {0.0});
    counter.storage().set_name("counter");
    std::vector<double> written;
    for (int i = 0; i < options.rows; ++i) written.push_back(2 * i);
    y = segment(t, "first", [&] {
      Value h = sin(t, mul(t, x, options.scale));
      Value rows = gather_rows(t, table, argmax(t, h));
      Value k = mul(t, dropout(t, stream_, h, 0.5), rows);
      if (options.extra_node) k = tanh(t, k);
      add_into(t, counter, 1.0);
      return add(t, k, 1.0);
    });
    assign_rows(t, table, lab.indices(written), 3.0);
    if (options.second_segment) {
      y = segment(t, "second", [&] {
        Value rows = gather_rows(t, table, lab.indices({0, 1, 2, 3}));
        return mul(t, sin(t, y), rows);
      });
    }
  }

  std::vector<ReplayContract> contracts() { return read_contracts(*lab.tape).contracts; }
  ContractDocument document() { return make_document(contracts(), {{"rows", "2"}}); }

  Lab lab;
  LeafRef x;
  Tensor table, counter;
  Value y;

 private:
  Stream stream_;
};

template <class T, class Is>
const T* find(const std::vector<T>& list, Is&& is) {
  for (const T& item : list) {
    if (is(item)) return &item;
  }
  return nullptr;
}

TEST(Contract, SaysWhatASegmentReadsDrawsKeepsAndDoes) {
  Program program;
  std::vector<ReplayContract> contracts = program.contracts();
  ASSERT_EQ(contracts.size(), 3u);
  const ReplayContract& first = contracts[0];
  EXPECT_EQ(first.segment, "first");
  EXPECT_EQ(first.values, "replay");
  EXPECT_EQ(first.state, "region");
  const ContractRead* table = find(first.reads, [](const ContractRead& r) { return r.storage == "table"; });
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->kind, "state");
  EXPECT_EQ(table->operand, "table");
  EXPECT_EQ(table->version, 1) << "written once, by the host";
  EXPECT_EQ(describe(table->writer), "host before this forward");
  EXPECT_TRUE(table->for_replay);
  ASSERT_EQ(first.draws.size(), 1u);
  EXPECT_EQ(first.draws[0].seed, 7u);
  EXPECT_EQ(first.draws[0].count, 12u);
  const KeptValue* decision = find(first.kept, [](const KeptValue& k) { return k.op == "argmax"; });
  ASSERT_NE(decision, nullptr);
  EXPECT_TRUE(decision->decision);
  EXPECT_STREQ(decision->holder(), "decision");
  const ContractEffect* write = find(first.effects, [](const ContractEffect& e) { return e.storage == "counter"; });
  ASSERT_NE(write, nullptr);
  EXPECT_EQ(write->what, "write");
  EXPECT_EQ(write->region.bytes, 8);
  EXPECT_EQ(first.context[0].key, "threads");
  EXPECT_EQ(first.context[0].value, std::to_string(thread_count()));
  EXPECT_EQ(first.nodes.back().op, "add");
  EXPECT_FALSE(first.nodes.back().needed) << "no backward reads the sum";
  EXPECT_LT(first.needed_count(), static_cast<std::int64_t>(first.nodes.size()));
  for (const ContractNode& node : first.nodes) EXPECT_FALSE(node.why.empty()) << node.op;
}

TEST(Contract, NamesTheWriterOfWhatALaterSegmentReads) {
  Program program;
  std::vector<ReplayContract> contracts = program.contracts();
  EXPECT_EQ(contracts[1].segment, "(outside)");
  const ReplayContract& second = contracts[2];
  const ContractRead* table = find(second.reads, [](const ContractRead& r) { return r.storage == "table"; });
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->version, 2);
  EXPECT_EQ(describe(table->writer), "assign_rows at (outside)#0");
  const ContractRead* value = find(second.reads, [](const ContractRead& r) { return r.kind == "value"; });
  ASSERT_NE(value, nullptr);
  EXPECT_TRUE(value->storage.starts_with("first#"));
}

TEST(Contract, NeededNodesAreThoseThatAReplayRuns) {
  Program program;
  std::vector<ReplayContract> contracts = program.contracts();
  Tape& t = *program.lab.tape;
  t.backward(program.y);
  std::size_t at = 0;
  for (const ReplayContract& contract : contracts) {
    for (const ContractNode& node : contract.nodes) {
      EXPECT_EQ(t.data().nodes[at++].runs, node.needed ? 2u : 1u)
          << contract.segment << " #" << node.number << " " << node.op;
    }
  }
}

TEST(Contract, InstancesOfOneNameAreToldApart) {
  Lab lab(Method::whole);
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({2}, {0.4, 0.7});
  Value y = segment(t, "S", [&] { return sin(t, x); });
  y = segment(t, "S", [&] { return sin(t, y); });
  std::vector<ReplayContract> contracts = read_contracts(t).contracts;
  ASSERT_EQ(contracts.size(), 2u);
  EXPECT_EQ(contracts[0].segment, "S");
  EXPECT_EQ(contracts[1].segment, "S/2");
  EXPECT_EQ(contracts[1].reads[0].storage, "S#0");
}

TEST(Contract, TwoRunsGiveTheSameBytesAndReadBackToTheSame) {
  std::string first = to_json(Program().document()), second = to_json(Program().document());
  EXPECT_EQ(first, second);
  EXPECT_EQ(to_json(parse_contracts(first, "first.json")), first);
  EXPECT_TRUE(diff_contracts(parse_contracts(first, "a"), parse_contracts(second, "b")).empty());
}

TEST(Contract, FingerprintsFollowWhatTheyAreOf) {
  ContractDocument region = Program().document(), whole = Program({.method = Method::whole}).document();
  EXPECT_EQ(region.trace_fingerprint, whole.trace_fingerprint) << "an option does not change the trace";
  EXPECT_NE(region.contracts_fingerprint, whole.contracts_fingerprint);
  EXPECT_NE(region.trace_fingerprint, Program({.scale = 3.0}).document().trace_fingerprint);
  EXPECT_EQ(region.build_fingerprint, whole.build_fingerprint);
}

TEST(ContractDiff, SaysInWordsWhatChanged) {
  auto difference = [](const ProgramOptions& a, const ProgramOptions& b) {
    return joined(diff_contracts(Program(a).document(), Program(b).document()));
  };
  EXPECT_PRED2(contains, difference({}, {.method = Method::whole}),
               "option: replay, state region -> replay, state whole");
  std::string node = difference({}, {.extra_node = true});
  EXPECT_PRED2(contains, node, "segment first:\n");
  EXPECT_PRED2(contains, node, "node added: #6 tanh");
  EXPECT_PRED2(contains, node, "op tanh: now used");
  EXPECT_PRED2(contains, difference({.extra_node = true}, {}), "node removed: #6 tanh");
  EXPECT_PRED2(contains, difference({}, {.second_segment = false}), "segment second removed: it had 3 nodes");
  EXPECT_PRED2(contains, difference({.second_segment = false}, {}), "segment second added: replay, state region");
  EXPECT_PRED2(contains, difference({}, {.scale = 3.0}), "node #0 mul: operand number 2 -> number 3");
  std::string draw = difference({}, {.position = 100});
  EXPECT_PRED2(contains, draw, "(seed 7) from position 0");
  EXPECT_PRED2(contains, draw, "-> 12 numbers of stream 0000000000000003 (seed 7) from position 100");
  std::string retained = difference({}, {.method = Method::retain});
  EXPECT_PRED2(contains, retained, "no longer runs in a replay");
  EXPECT_PRED2(contains, retained, "kept value added: ");
  EXPECT_PRED2(contains, retained, "read removed: ");
}

TEST(ContractDiff, NamesBuildConfigurationAndContext) {
  ContractDocument a = Program().document(), b = a;
  b.version = "9.9";
  b.build_fingerprint = "0000000000000000";
  b.ops[0].fingerprint = "0000000000000000";
  b.config = {{"rows", "3"}};
  for (ReplayContract& contract : b.contracts) contract.context[0].value = "64";
  std::string words = joined(diff_contracts(a, b));
  for (const std::string& part :
       {"build: version " + a.version + " -> 9.9", "build: fingerprint " + a.build_fingerprint,
        "op " + a.ops[0].name + ": its contract differs", std::string("config rows: 2 -> 3"),
        "context threads: " + a.contracts[0].context[0].value + " -> 64\n"}) {
    EXPECT_PRED2(contains, words, part);
  }
}

TEST(ContractDiff, NamesRegionsVersionsAndWriters) {
  ContractDocument a = Program().document(), b = a;
  for (ContractRead& read : b.contracts[2].reads) {
    if (read.storage != "table") continue;
    read.region.end += 8;
    read.version = 5;
    read.writer = {"add_rows", "(outside)#7"};
  }
  std::string words = joined(diff_contracts(a, b));
  EXPECT_PRED2(contains, words, "read of state table by #0: region [0, 96) -> [0, 104)");
  EXPECT_PRED2(contains, words, "version 2 -> 5");
  EXPECT_PRED2(contains, words, "last writer assign_rows at (outside)#0 -> add_rows at (outside)#7");
}

// ---- documents that were not written by this program

TEST(ContractDocument, HostileInputIsAnErrorOfTheUser) {
  std::string good = to_json(Program().document());
  auto refused = [](const std::string& text) -> std::string {
    try {
      parse_contracts(text, "file.json");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::user);
      return error.message();
    }
    return "";
  };
  auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  EXPECT_PRED2(contains, refused(""), "file.json:1:1: expected JSON");
  EXPECT_PRED2(contains, refused("[1, 2]"), "expected a document of format reprise-contract/1");
  EXPECT_PRED2(contains, refused(with("reprise-contract/1", "reprise-contract/9")),
               "expected format reprise-contract/1, got 'reprise-contract/9'");
  EXPECT_PRED2(contains, refused(with("\"number\": 0", "\"number\": -1")),
               "contracts[0].nodes[0].number: expected a whole number");
  EXPECT_PRED2(contains, refused(with("\"number\": 0", "\"number\": 1e300")), "expected a whole number");
  EXPECT_PRED2(contains, refused(with("\"number\": 0", "\"number\": 18446744073709551615")), "below 2^63");
  EXPECT_PRED2(contains, refused(with("\"number\": 0", "\"nomber\": 0")), "unknown key 'nomber'");
  EXPECT_PRED2(contains, refused(with("\"values\": \"replay\"", "\"values\": \"maybe\"")),
               "expected one of retain, replay, got 'maybe'");
  EXPECT_PRED2(contains, refused(with("\"needed\": true", "\"needed\": \"yes\"")), "expected true or false");
  EXPECT_PRED2(contains, refused(with("\"count\": 12", "\"count\": 13")), "It was changed after it was written");
  EXPECT_PRED2(contains, refused(std::string(200000, '[')), "nested deeper");
  std::size_t ops = good.find("\"ops\": [") + 8, last = good.find(']', ops);
  EXPECT_PRED2(contains, refused(good.substr(0, last) + "," + good.substr(ops, last - ops) + good.substr(last)),
               "stands twice");
  EXPECT_PRED2(contains,
               refused("{\"format\": \"reprise-contract/1\", \"contracts\": " + std::string(50000, '[') +
                       std::string(50000, ']') + "}"),
               "file.json");
}

TEST(ContractDocument, NoByteOfItMayBreakTheReader) {
  std::string good = to_json(Program().document());
  for (std::size_t at = 0; at < good.size(); at += 1 + at % 13) {
    for (char c : {'"', '{', ']', '9', '\0', '\xff'}) {
      std::string text = good;
      text[at] = c;
      try {
        parse_contracts(text, "x");
      } catch (const Error& error) {
        ASSERT_EQ(error.kind(), ErrorKind::user);
      }
    }
    if (at % 7 == 0) {
      EXPECT_THROW(parse_contracts(good.substr(0, at), "x"), Error);
    }
  }
}

// ---- context

struct PutBackThreads {
  int threads = thread_count();
  ~PutBackThreads() { set_thread_count(threads); }
};

TEST(Context, AnotherThreadCountAtTheReplayIsRefusedAndNothingHasMoved) {
  PutBackThreads put_back;
  set_thread_count(2);
  for (Method method : {Method::whole, Method::region}) {
    Program program({.method = method});
    std::vector<double> table = program.table.to_doubles();
    auto live = program.lab.memory.meter().live(Category::activations);
    set_thread_count(3);
    try {
      program.lab.tape->backward(program.y);
      FAIL() << "expected an error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::replay);
      EXPECT_PRED2(contains, error.what(), "the context of segment 'second' as in its forward, threads = 2, got 3");
      EXPECT_PRED2(contains, error.what(), "while replaying segment 1 (second)");
    }
    EXPECT_EQ(program.table.to_doubles(), table);
    EXPECT_EQ(program.lab.memory.meter().live(Category::activations), live);
    set_thread_count(2);
    program.lab.tape->backward(program.y);
    Program undisturbed({.method = method});
    undisturbed.lab.tape->backward(undisturbed.y);
    EXPECT_EQ(Lab::gradient(program.x), Lab::gradient(undisturbed.x));
  }
}

TEST(Context, AChangeWithinASegmentIsRefusedToo) {
  PutBackThreads put_back;
  set_thread_count(1);
  Lab lab(Method::region);
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({2}, {0.4, 0.7});
  Value y = segment(t, "S", [&] {
    Value h = sin(t, x);
    set_thread_count(2);
    return sin(t, sin(t, h));
  });
  try {
    t.backward(y);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_PRED2(contains, error.what(), "threads = 1, later 2, got 2");
  }
}

TEST(Context, RetainedSegmentsDoNotCare) {
  PutBackThreads put_back;
  set_thread_count(1);
  Program program({.method = Method::retain});
  set_thread_count(2);
  EXPECT_NO_THROW(program.lab.tape->backward(program.y));
}

TEST(Context, TheListIsClosed) {
  Lab lab;
  try {
    read_context("phase_of_the_moon", *lab.tape);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_PRED2(contains, error.what(), "expected one of the keys threads, onednn");
    EXPECT_PRED2(contains, error.what(), "register_context_key");
  }
  EXPECT_THROW(register_context_key({"threads", "again", [](const Tape&) { return std::string(); }}), Error);
}

TEST(Context, AKeyOfTheProgramsOwnIsCheckedToo) {
  static std::string mode = "fast";
  static bool registered = false;
  if (!registered) register_context_key({"test_mode", "how the test's kernels run", [](const Tape&) { return mode; }});
  registered = true;
  Program program;
  EXPECT_EQ(program.contracts()[0].context.back().value, "fast");
  mode = "exact";
  EXPECT_THROW(program.lab.tape->backward(program.y), Error);
  mode = "fast";
  EXPECT_NO_THROW(program.lab.tape->backward(program.y));
}

}  // namespace
}  // namespace reprise
