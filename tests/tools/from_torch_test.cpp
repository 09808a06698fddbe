// tools/from_torch.py: what is no file of weights, or cannot be written, ends in a message and an exit code.
#include <filesystem>
#include <utility>
#include <vector>

#include "tests/tools/tiny_runs.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

namespace fs = std::filesystem;

class FromTorch : public TinyRuns {
 protected:
  void SetUp() override {
    TinyRuns::SetUp();
    if (std::string reason = python_lacks("json"); !reason.empty()) GTEST_SKIP() << reason;
    ASSERT_EQ(train("like", "train.max_steps=1").code, 0);
  }
  /// Runs the script; `before` comes before it on the shell's line.
  Outcome convert(const std::string& arguments, const std::string& before = "") const {
    const std::string script = shell_word(REPRISE_SOURCE_DIR "/tools/from_torch.py");
    return run_shell("{ " + before + python() + " -B " + script + " " + arguments + "; } 2>&1");
  }
  const std::string like_ = path("like/checkpoint.safetensors");
};

TEST_F(FromTorch, MistakesAreNamed) {
  const std::string z = " " + path("z"), like = " " + like_;
  fs::copy_file(folder_ / "like" / "checkpoint.safetensors", folder_ / "weights.safetensors");
  EXPECT_EQ(convert("--help").code, 0);
  write_text(folder_ / "cut.safetensors", file_text(folder_ / "weights.safetensors").substr(0, 3000));
  const std::string weights = path("weights.safetensors");
  for (const auto& [arguments, says] : std::vector<std::pair<std::string, std::string>>{
           {weights, "expected weights.pt, a checkpoint and a file"},
           {path("none.pt") + like + z, "none.pt: No such file"},
           {weights + " " + path("tiny.yaml") + z, "expected a safetensors file at "},
           {path("cut.safetensors") + like + z, "expected a safetensors file at "},
           {path("tiny.yaml") + like + z, "tiny.yaml"},
           {weights + like + " " + weights, "weights.safetensors: it is read from"},
           {weights + like + like, "checkpoint.safetensors: it is read from"}}) {
    Outcome refused = convert(arguments);
    expect_refused(refused, says);
    EXPECT_PRED2(contains, refused.text, "error: ");
    EXPECT_FALSE(contains(refused.text, "Traceback")) << refused.text;
  }
  EXPECT_FALSE(fs::exists(folder_ / "z"));
  EXPECT_EQ(convert(weights + like + " " + path("same")).text, (folder_ / "same").string() + ": 70 tensors\n");
}

TEST_F(FromTorch, AFullDiskIsAFailureAndLeavesTheOldFile) {
  Outcome full = convert(like_ + " " + like_ + " /dev/full");
  EXPECT_EQ(full.code, 1);
  EXPECT_PRED2(contains, full.text, "error: cannot write /dev/full: ");
  write_text(folder_ / "init", "old");
  full = convert(like_ + " " + like_ + " " + path("init"), "ulimit -f 4; ");  // files may grow to some kilobytes only
  EXPECT_EQ(full.code, 1);
  EXPECT_PRED2(contains, full.text, "error: cannot write ");
  EXPECT_EQ(file_text(folder_ / "init"), "old");
  EXPECT_FALSE(fs::exists(folder_ / "init.partial"));
  // A link stays one.
  fs::create_symlink("init", folder_ / "link");
  EXPECT_EQ(convert(like_ + " " + like_ + " " + path("link")).code, 0);
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_GT(fs::file_size(folder_ / "init"), 3000u);
}

}  // namespace
}  // namespace reprise
