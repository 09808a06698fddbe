// The registry walk: every registered op has rows, and every row passes every column. An op without rows, without a
// timed row, or with a gradient that no row checks fails here by its name.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "autograd/op.h"
#include "ops/registry.h"
#include "registry_rows.h"

namespace reprise::walk {
namespace {

std::vector<CheckRow> all_rows() {
  std::vector<CheckRow> rows;
  for (auto* family : {arithmetic_rows, unary_rows, choice_rows, reduce_rows, shape_rows, index_rows, state_rows,
                       draw_rows, matmul_rows, window_rows, normalize_rows, loss_rows}) {
    for (CheckRow& each : family()) rows.push_back(std::move(each));
  }
  return rows;
}

/// Names of the ops that have rows, in order; each is one test.
std::vector<std::string> ops_with_rows() {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const CheckRow& each : all_rows()) {
    if (seen.insert(each.op).second) names.push_back(each.op);
  }
  return names;
}

bool sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

class RegistryWalk : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { register_builtin_ops(); }
};

TEST_P(RegistryWalk, EveryRowPassesEveryColumn) {
  bool print = std::getenv("REPRISE_PRINT_SPEED");
  Mask wanted = 0;
  unsigned columns = 0;
  for (const CheckRow& each : all_rows()) {
    if (each.op != GetParam()) continue;
    CheckOptions options;
    if (sanitized()) options.columns &= ~kCheckSpeed;
    CheckReport report = check_op(each, options);
    EXPECT_TRUE(report.ok()) << report.describe();
    wanted |= report.wanted;
    columns |= each.columns;
    if (print && report.ns_per_element > 0) {
      std::printf("%s (%s): %.3g ns, bound %.3g\n", each.op.c_str(), each.label.c_str(), report.ns_per_element,
                  each.ns_per_element);
    }
  }
  const Op* op = find_op(GetParam());
  ASSERT_TRUE(op) << GetParam() << " has rows, but is not registered";
  EXPECT_EQ(columns, kCheckAllButSpeed | kCheckSpeed) << op->name << " has no row for some column";
  const OpInfo& info = info_of(*op);
  for (int i = 0; i < op->input_count() + op->update_count(); ++i) {
    if (!(info.differentiable >> i & 1)) continue;
    const char* name = i < op->input_count() ? op->inputs[i] : op->updates[i - op->input_count()];
    EXPECT_TRUE(wanted >> i & 1) << op->name << ": no row checks the gradient of " << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, RegistryWalk, testing::ValuesIn(ops_with_rows()),
                         [](const auto& info) { return info.param; });

TEST(RegistryWalkCoverage, EveryRegisteredOpHasRows) {
  register_builtin_ops();
  std::vector<std::string> named = ops_with_rows();
  std::set<std::string> names(named.begin(), named.end());
  EXPECT_GE(registered_ops().size(), 60u);
  for (const Op* op : registered_ops()) {
    EXPECT_TRUE(names.count(op->name)) << op->name
                                       << " has no rows in tests/ops/registry_rows_*: add some (ops/README.md)";
  }
}

TEST(RegistryWalkCoverage, EveryOpSaysWhatItDoes) {
  register_builtin_ops();
  for (const Op* op : registered_ops()) EXPECT_STRNE(op->about, "") << op->name;
}

}  // namespace
}  // namespace reprise::walk
