// tools/from_torch.py: what is no file of weights, or cannot be written, ends in a message and an exit code.
#include <filesystem>
#include <utility>
#include <vector>

#include "tests/tools/tiny_runs.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

namespace fs = std::filesystem;

class FromTorch : public TinyRuns {};

TEST_F(FromTorch, MistakesAreNamed) {
  if (std::string reason = python_lacks("json"); !reason.empty()) GTEST_SKIP() << reason;
  ASSERT_EQ(train("like", "train.max_steps=1").code, 0);
  const std::string convert = python() + " -B " + shell_word(REPRISE_SOURCE_DIR "/tools/from_torch.py") + " ";
  fs::copy_file(folder_ / "like" / "checkpoint.safetensors", folder_ / "weights.safetensors");
  EXPECT_EQ(run_shell(convert + "--help").code, 0);
  write_text(folder_ / "cut.safetensors", file_text(folder_ / "weights.safetensors").substr(0, 3000));
  const std::string weights = path("weights.safetensors"), like = path("like/checkpoint.safetensors");
  for (const auto& [arguments, says] : std::vector<std::pair<std::string, std::string>>{
           {weights, "expected weights.pt, a checkpoint and a file"},
           {path("none.pt") + " " + like + " " + path("z"), "none.pt: No such file"},
           {weights + " " + path("tiny.yaml") + " " + path("z"), "expected a safetensors file at "},
           {path("cut.safetensors") + " " + like + " " + path("z"), "expected a safetensors file at "},
           {path("tiny.yaml") + " " + like + " " + path("z"), "tiny.yaml"}}) {
    Outcome refused = run_shell(convert + arguments + " 2>&1");
    EXPECT_EQ(refused.code, 2) << refused.text;
    EXPECT_PRED2(contains, refused.text, "error: ");
    EXPECT_PRED2(contains, refused.text, says);
    EXPECT_FALSE(contains(refused.text, "Traceback")) << refused.text;
  }
  EXPECT_FALSE(fs::exists(folder_ / "z"));
  EXPECT_EQ(run_shell(convert + weights + " " + like + " " + path("same") + " 2>&1").text,
            (folder_ / "same").string() + ": 70 tensors\n");
  Outcome full = run_shell(convert + weights + " " + like + " /dev/full 2>&1");
  EXPECT_EQ(full.code, 1);
  EXPECT_PRED2(contains, full.text, "error: cannot write /dev/full: ");
}

}  // namespace
}  // namespace reprise
