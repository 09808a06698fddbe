// The negative control: a replay that preserves nothing must be wrong wherever preserving matters, else the conformance
// programs would prove nothing. Where it matters is found from what the tape owes, and committed by name.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "tests/support/surroundings.h"
#include "tools/conform/machine.h"
#include "tools/conform/report.h"
#include "tools/conform/verdict.h"

namespace reprise::conform {
namespace {

using reprise::testing::shared_programs;

/// Programs of the classes below in which bytes that a gradient depends on are overwritten between their read and the
/// backward that needs them. c04_counter, c04_ema, c04_renorm_stats and c20_two_iterations are not among them: what
/// they overwrite no backward needs any more.
const std::set<std::string> kOverwritten = {
    "c01_copy",          "c01_matmul",     "c01_rows",         "c01_strided",  "c01_view",      "c01_whole",
    "c03_queue_copy",    "c03_queue_live", "c03_renorm",       "c04_codebook", "c07_recurrent", "c07_three_versions",
    "c20_copied_weight", "c20_fused_step", "c20_step_between", "c20_tied"};

bool of_stateful_class(const std::string& name) {
  for (const char* prefix : {"c01_", "c03_", "c04_", "c07_", "c20_"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

/// Sees, when a node is about to run again or its formula is about to run, whether bytes that it is owed for that have
/// been overwritten.
class OverwriteFinder final : public TapeObserver {
 public:
  explicit OverwriteFinder(const Preserver& preserver) : preserver_(preserver) {}
  bool found() const { return found_; }

  void before_replay(const Tape& tape, std::uint32_t node) override {
    look(tape.data(), tape.data().nodes[node], tape.data().nodes[node].replay_operands);
  }
  void before_backward(const Tape& tape, std::uint32_t node) override {
    const TapeData& data = tape.data();
    look(data, data.nodes[node], data.nodes[node].owed_operands);
    for (std::uint32_t r = 0; r < data.nodes[node].results; ++r) {
      if (data.nodes[node].owed_results >> r & 1) note(data.values[data.nodes[node].first_value + r].read);
    }
  }

 private:
  void look(const TapeData& data, const NodeRecord& node, Mask owed) {
    for (std::uint32_t i = 0; i < node.inputs + node.updates; ++i) {
      const OperandRecord& operand = data.operands[node.first_operand + i];
      if (owed >> i & 1) note(operand.kind == OperandKind::value ? data.values[operand.value].read : operand.read);
    }
  }
  void note(ReadId read) { found_ |= read != kNoRead && preserver_.broken(read); }

  const Preserver& preserver_;
  bool found_ = false;
};

/// Whether `program` overwrites, with every segment replayed, what one of its backwards needs.
bool overwrites_what_is_owed(const Program& program) {
  for (bool keep_all : {false, true}) {
    Memory memory;
    OverwriteFinder finder(memory.preserver());
    try {
      Machine(program, memory, {.method = Method::region, .keep_all = keep_all, .observer = &finder}).run();
    } catch (const NeedsKeep&) {
      continue;
    }
    return finder.found();
  }
  return false;
}

TEST(Unchecked, GivesWrongGradientsWhereverWhatABackwardNeedsIsOverwritten) {
  if (!std::filesystem::exists(shared_programs())) GTEST_SKIP() << "no conformance programs at " << shared_programs();
  std::set<std::string> found;
  for (const std::string& file : find_programs({shared_programs()})) {
    if (!of_stateful_class(std::filesystem::path(file).filename().string())) continue;
    Program program = load_program(file);
    if (overwrites_what_is_owed(program)) found.insert(program.name);
  }
  EXPECT_EQ(found, kOverwritten);
  for (const std::string& name : kOverwritten) {
    Program program = load_program(shared_programs() + "/" + name + ".json");
    EXPECT_EQ(judge(program, run_program(program, Method::unchecked, 1)).verdict, Verdict::silent) << name;
  }
}

/// Whatever is overwritten elsewhere, the control is as right as any method where nothing owed is.
TEST(Unchecked, IsRightWhereNothingOwedIsOverwritten) {
  if (!std::filesystem::exists(shared_programs())) GTEST_SKIP() << "no conformance programs at " << shared_programs();
  int right = 0;
  for (const std::string& file : find_programs({shared_programs()})) {
    if (!of_stateful_class(std::filesystem::path(file).filename().string())) continue;
    Program program = load_program(file);
    if (kOverwritten.contains(program.name)) continue;
    EXPECT_EQ(judge(program, run_program(program, Method::unchecked, 1)).verdict, Verdict::match) << program.name;
    ++right;
  }
  EXPECT_GE(right, 4);
}

}  // namespace
}  // namespace reprise::conform
