// `reprise ops` as a person meets it: the table, one op, JSON that a script can read, and the choice of a kernel.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "autograd/op.h"
#include "ops/registry.h"
#include "tests/support/program.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

Outcome ops(const std::string& arguments) { return testing::reprise("ops " + arguments); }

TEST(OpsVerb, TheTableHasEveryRegisteredOp) {
  register_builtin_ops();
  Outcome table = ops("");
  EXPECT_EQ(table.code, 0);
  for (const Op* op : registered_ops()) EXPECT_PRED2(contains, table.text, std::string("\n") + op->name + " ");
}

TEST(OpsVerb, OneOpShowsStateSavesAndAttributes) {
  Outcome one = ops("batch_norm");
  EXPECT_EQ(one.code, 0);
  for (const char* part : {"running_mean, running_var", "gradient of gamma", "needs x, mean, rstd", "momentum (real)",
                           "saved, taken over      x -> x"}) {
    EXPECT_PRED2(contains, one.text, part);
  }
}

TEST(OpsVerb, JsonSaysTheSame) {
  register_builtin_ops();
  nlohmann::json all = nlohmann::json::parse(ops("--json").text);
  EXPECT_EQ(all.size(), registered_ops().size());
  nlohmann::json one = nlohmann::json::parse(ops("mul_into --json").text);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0]["saves"]["value"][0], "old to");
  EXPECT_EQ(one[0]["updates"][0], "to");
}

TEST(OpsVerb, JsonHasAllThatContractsDeclareOfMemory) {
  register_builtin_ops();
  nlohmann::json all = nlohmann::json::parse(ops("--json").text);
  ASSERT_EQ(all.size(), registered_ops().size());
  std::size_t declared = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Op& op = *registered_ops()[i];
    EXPECT_EQ(all[i]["reuse"].size(), op.reuse.size()) << op.name;
    EXPECT_EQ(all[i]["grad_reuse"].size(), op.grad_reuse.size()) << op.name;
    EXPECT_EQ(all[i]["saved_reuse"].size(), op.saved_reuse.size()) << op.name;
    EXPECT_EQ(all[i]["passes"].size(), op.passes.size()) << op.name;
    declared += op.saved_reuse.size();
  }
  EXPECT_GT(declared, 0u);
  nlohmann::json one = nlohmann::json::parse(ops("batch_norm --json").text);
  EXPECT_EQ(one[0]["saved_reuse"], nlohmann::json({"x -> x"}));
}

TEST(OpsVerb, WhySaysWhatWasChosenAndWhyNotTheOthers) {
  Outcome why = ops("--why conv2d x=64,32,32,16 w=16,16,3,3 padding=1 dtype=f64");
  EXPECT_EQ(why.code, 0);
  for (const char* part : {"forward: im2col and Eigen", "gradient of weight", "not oneDNN: it takes f32 only"}) {
    EXPECT_PRED2(contains, why.text, part);
  }
}

TEST(OpsVerb, MistakesExitTwoAndSayWhatToWrite) {
  struct Mistake {
    const char* arguments;
    const char* text;
  };
  for (const Mistake& mistake :
       {Mistake{"convd", "Nearest is conv2d"}, Mistake{"--why conv2d x=64,a", "x=64,32,32,16"},
        Mistake{"--why", "--why expects an op"}, Mistake{"--why conv2d 5", "name=extents"},
        Mistake{"--why conv2d x=64,32,32,16 w=16,16,3,3 pading=1", "got \"pading\". Nearest is padding"},
        Mistake{"--why conv2d x=9999999999,9999999999,9999999999,16 w=16,16,3,3", "2^48 elements"},
        Mistake{"relu exp", "at most one op"}}) {
    expect_refused(ops(mistake.arguments), mistake.text);
  }
}

}  // namespace
}  // namespace reprise
