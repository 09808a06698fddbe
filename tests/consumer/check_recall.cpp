// The project's op checks on the op of this folder, and on three versions of it whose contracts are wrong: each is
// found, with a text that says what to declare. Exit code 0: all as it should be.
#include <cstdio>
#include <string>
#include <vector>

#include "ops/registry.h"
#include "recall.h"
#include "recompute/op_check.h"

namespace {

using namespace reprise;

int failures = 0;

void expect(bool holds, const std::string& what, const std::string& detail) {
  std::printf("%s %s\n", holds ? "ok    " : "FAILED", what.c_str());
  if (holds) return;
  ++failures;
  std::printf("%s\n", detail.c_str());
}

CheckRow row(const Op& op, std::int64_t position) {
  CheckRow made;
  made.op = op.name;
  made.label = "position " + std::to_string(position);
  made.build = [&op, position](CheckCase& c) -> CheckApply {
    CheckOperand x = c.leaf({3, 4});
    Tensor memory = c.state({5, 4});
    return [&op, position, x, memory](Tape& tape) {
      return tape.apply_one(op, {x(tape), memory}, Attrs().add(position));
    };
  };
  return made;
}

/// What the op is to compute, in plain loops: out, then the memory's last bytes.
CheckNumbers reference(const CheckNumbers& operands, std::size_t position) {
  const std::vector<double>& x = operands[0];
  std::vector<double> out = x, memory = operands[1];
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::size_t m = ((position + i / 4) % 5) * 4 + i % 4;
    out[i] = x[i] * (1 + memory[m]);
    memory[m] = x[i];
  }
  return {out, memory};
}

/// As the README of the project writes it.
void check_as_in_the_readme() {
  CheckRow row{.op = "recall", .label = "5 rows", .build = [](CheckCase& c) -> CheckApply {
                 auto x = c.leaf({3, 4});
                 Tensor memory = c.state({5, 4});
                 return [=](Tape& t) { return recall::recall(t, x(t), memory, 1); };
               }};
  row.reference = [](const CheckNumbers& in) { return reference(in, 1); };
  for (const CheckFinding& finding : check_op(row).findings) std::puts(finding.text.c_str());
  expect(check_op(row).ok(), "the row of the README passes", "findings as above");
}

void check_the_op() {
  for (std::int64_t position : {0, 1, 3}) {  // 3 + 3 rows go round the end of 5
    CheckRow checked = row(recall::kRecall, position);
    checked.reference = [=](const CheckNumbers& in) { return reference(in, static_cast<std::size_t>(position)); };
    CheckReport report = check_op(checked);
    expect(report.ok() && report.wanted == 1, "recall passes all checks, " + checked.label, report.describe());
  }
}

/// Some finding holds all `parts`.
void expect_found(const CheckReport& report, const std::string& what, const std::vector<std::string>& parts) {
  bool found = false;
  for (const CheckFinding& finding : report.findings) {
    bool all = true;
    for (const std::string& part : parts) all &= finding.text.find(part) != std::string::npos;
    if (all && !found) std::printf("       %s\n", finding.text.c_str());
    found |= all;
  }
  expect(found, what, "no finding says so:\n" + report.describe());
}

/// The memory is called an input, and is written all the same.
Op undeclared_write() {
  Op op = recall::kRecall;
  op.name = "recall_undeclared_write";
  op.inputs = {"x", "memory"};
  op.updates = {};
  op.saves = {{"x", {in("memory")}}};
  op.forward = [](ForwardContext& c) {
    const Op& right = recall::kRecall;
    TensorView operands[] = {c.in(0), c.in(1)};
    ForwardContext declared = c;
    declared.inputs = declared.updates = 1;
    declared.operand_views = operands;
    right.forward(declared);
  };
  return op;
}

Stream* noise = nullptr;

/// Takes numbers from a stream behind the tape's back: a replay would take others.
Op undeclared_draw() {
  Op op = recall::kRecall;
  op.name = "recall_undeclared_draw";
  op.forward = [](ForwardContext& c) {
    recall::kRecall.forward(c);
    noise->take(static_cast<std::uint64_t>(c.in(0).size()));
  };
  return op;
}

/// Its backward reads the memory's old rows, which nobody was told to keep.
Op save_too_few() {
  Op op = recall::kRecall;
  op.name = "recall_save_too_few";
  op.saves = {{"x", {}}};
  return op;
}

void check_wrong_contracts() {
  static const Op kWrite = undeclared_write(), kDraw = undeclared_draw(), kSave = save_too_few();
  expect_found(check_op(row(kWrite, 1)), "an undeclared write is found",
               {"effects", "writes bytes [16, 64) of input memory", "Add it to .updates"});
  CheckRow draws = row(kDraw, 1);
  draws.build = [](CheckCase& c) -> CheckApply {
    CheckOperand x = c.leaf({3, 4});
    Tensor memory = c.state({5, 4});
    Stream& stream = c.stream();
    return [x, memory, &stream](Tape& tape) {
      noise = &stream;
      return tape.apply_one(kDraw, {x(tape), memory}, Attrs().add(std::int64_t{1}));
    };
  };
  expect_found(check_op(draws), "an undeclared draw is found",
               {"effects", "takes 12 numbers of stream", "Set .draws", "in infer (draws())"});
  expect_found(check_op(row(kSave, 1)), "a save too few is found",
               {"gradient", "recall_save_too_few", "which .saves does not name", "Add old(\"memory\")"});
}

}  // namespace

int main() {
  register_builtin_ops();
  recall::register_recall();
  check_as_in_the_readme();
  check_the_op();
  check_wrong_contracts();
  std::printf(failures == 0 ? "all as expected\n" : "%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
