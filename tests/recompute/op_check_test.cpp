// The op checks as a library: an honest op passes, and each kind of lie is found in some column with a text that says
// what to declare.
#include "recompute/op_check.h"

#include <gtest/gtest.h>

#include "../autograd/lying_ops.h"
#include "ops/arithmetic.h"
#include "ops/implementation.h"
#include "ops/registry.h"

namespace reprise {
namespace {

class OpCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    register_builtin_ops();
    lying::hidden = {};
  }

  static CheckRow row_of(const Op& op) {
    CheckRow row;
    row.op = op.name;
    row.label = "a vector";
    row.build = [&op](CheckCase& c) -> CheckApply {
      auto x = c.leaf({6}, CheckFill{0.5, 2});
      return [x, &op](Tape& t) { return t.apply_one(op, {x(t)}); };
    };
    return row;
  }

  /// Some finding of `column` has all `parts`.
  static void expect_found(const CheckReport& report, const std::string& column, std::vector<std::string> parts) {
    for (const CheckFinding& finding : report.findings) {
      bool all = finding.column == column;
      for (const std::string& part : parts) all &= finding.text.find(part) != std::string::npos;
      if (all) return;
    }
    ADD_FAILURE() << "no finding of " << column << " with " << parts.front() << " in:\n" << report.describe();
  }
};

TEST_F(OpCheckTest, AnHonestOpPassesEveryColumn) {
  CheckRow row = row_of(lying::kHonest);
  row.reference = [](const CheckNumbers& in) {
    std::vector<double> twice;
    for (double x : in[0]) twice.push_back(2 * x);
    return CheckNumbers{twice};
  };
  CheckReport report = check_op(row);
  EXPECT_TRUE(report.ok()) << report.describe();
  EXPECT_EQ(report.wanted, 1u);
}

TEST_F(OpCheckTest, AWrongResultIsFoundAgainstTheReference) {
  CheckRow row = row_of(lying::kHonest);
  row.reference = [](const CheckNumbers& in) { return CheckNumbers{std::vector<double>(in[0].size(), 0.0)}; };
  expect_found(check_op(row), "value", {"honest (a vector)", "result 0", "the row's reference"});
}

TEST_F(OpCheckTest, AWrongGradientIsFound) {
  expect_found(check_op(row_of(lying::kWrongGradient)), "gradient",
               {"wrong_gradient", "leaf0[", "central differences"});
}

TEST_F(OpCheckTest, AnUndeclaredWriteIsFound) {
  expect_found(check_op(row_of(lying::kWritesInput)), "effects", {"input x", "Add it to .updates"});
}

TEST_F(OpCheckTest, ASaveTooFewIsFound) {
  expect_found(check_op(row_of(lying::kSavesTooFew)), "gradient", {"operand 0", ".saves", "Add in(\"x\")"});
}

TEST_F(OpCheckTest, AnUndeclaredDrawIsFound) {
  Stream stream{"global", 1, 1, 0};
  lying::hidden.stream = &stream;
  CheckRow row = row_of(lying::kTakesNumbers);
  row.build = [&stream](CheckCase& c) -> CheckApply {
    auto x = c.leaf({6});
    Stream& watched = c.stream();
    return [&watched, x](Tape& t) {
      lying::hidden.stream = &watched;
      return t.apply_one(lying::kTakesNumbers, {x(t)});
    };
  };
  expect_found(check_op(row), "effects", {"3 numbers of stream", ".draws"});
}

TEST_F(OpCheckTest, NumbersFromNowhereAreFound) {
  CheckReport report = check_op(row_of(lying::kNeverTheSame));
  expect_found(report, "effects", {".nondeterministic"});
  expect_found(report, "determinism", {"output 0 has other bytes in a second run"});
  expect_found(report, "replay", {"other bytes"});
}

TEST_F(OpCheckTest, AReadOfAStateThatTheOpDoesNotNameIsFoundByGuardAndReplay) {
  CheckRow row = row_of(lying::kReadsHidden);
  row.build = [](CheckCase& c) -> CheckApply {
    auto x = c.leaf({6});
    Tensor state = c.state({6});
    bool f32 = c.dtype() == DType::f32;
    return [=](Tape& t) {
      lying::hidden.data = f32 ? reinterpret_cast<float*>(state.storage().raw()) : nullptr;
      return t.apply_one(lying::kReadsHidden, {x(t)});
    };
  };
  CheckReport report = check_op(row);
  expect_found(report, "effects", {"reads storage 'state1'", ".inputs"});
  expect_found(report, "replay", {"other bytes in a segment under whole"});
}

/// Between the read of a state and the backward that owes its bytes; no column but this one hashes them.
TEST_F(OpCheckTest, AWritePastTheDoorsIsFoundByTheHashOfWhatIsOwed) {
  CheckRow row;
  row.op = "mul";
  row.label = "a state written past the doors";
  row.build = [](CheckCase& c) -> CheckApply {
    auto x = c.leaf({6});
    Tensor state = c.state({6});
    return [=](Tape& t) {
      Value y = mul(t, x(t), state);
      *state.view().data ^= std::byte{1};
      return y;
    };
  };
  expect_found(check_op(row), "effects", {"[mul] expected operand b", "state1", "without passing a door"});
}

TEST_F(OpCheckTest, AGradientNotFilledIsFound) {
  expect_found(check_op(row_of(lying::kGradientNotFilled)), "effects", {"gradient of input x", "grad(i)"});
}

/// Stands for a library's kernel that is wrong.
TEST_F(OpCheckTest, AnImplementationThatDisagreesWithThePortableOneIsFound) {
  static Op op = lying::kHonest;
  op.name = "two_ways";
  op.forward = [](ForwardContext& c) {
    float factor = PortableOnly::active() ? 2.0f : 2.001f;
    for (std::int64_t i = 0; i < c.in(0).size(); ++i) c.out(0).as<float>()[i] = factor * c.in(0).as<float>()[i];
  };
  CheckRow row = row_of(op);
  row.columns = kCheckParity;
  expect_found(check_op(row), "parity", {"two_ways (a vector)", "result 0", "the portable implementation"});
  op.forward = lying::kHonest.forward;
  op.backward = [](BackwardContext& c) {
    float factor = PortableOnly::active() ? 2.0f : 3.0f;
    for (std::int64_t i = 0; i < c.grad(0).size(); ++i)
      c.grad(0).as<float>()[i] = factor * c.grad_out(0).as<float>()[i];
  };
  expect_found(check_op(row), "parity", {"two_ways (a vector)", "gradient of"});
}

TEST_F(OpCheckTest, ARegionTooSmallIsFoundByGuardAndReplay) {
  CheckRow row = row_of(lying::kRegionTooSmall);
  row.build = [](CheckCase& c) -> CheckApply {
    Tensor state = c.state({4});
    return [=](Tape& t) {
      t.apply_none(lying::kRegionTooSmall, {state});
      return CheckOutputs();
    };
  };
  CheckReport report = check_op(row);
  expect_found(report, "effects", {"update to", ".region"});
  expect_found(report, "replay", {"under region"});
}

TEST_F(OpCheckTest, ARowThatAppliesAnotherOpIsFound) {
  CheckRow row = row_of(lying::kHonest);
  row.op = "relu";
  expect_found(check_op(row), "value", {"does not apply the op relu"});
}

TEST_F(OpCheckTest, ARowWithoutItsFunctionIsFound) {
  CheckRow row;
  row.op = "relu";
  expect_found(check_op(row), "row", {"relu", "expected a function .build"});
}

TEST_F(OpCheckTest, ASlowOpIsFound) {
  CheckRow row = row_of(lying::kHonest);
  row.columns = kCheckSpeed;
  row.ns_per_element = 1e-6;
  expect_found(check_op(row), "speed", {"expected at most"});
}

}  // namespace
}  // namespace reprise
