// Training on a disk that is full or read-only: exit code 1, a message that names file and cause, the last good
// checkpoint loads, nothing half-written is left, and the run goes on when there is room again.
#include "tests/models/tiny_run.h"
#include "tests/support/program.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

/// A folder with a configuration in it, and the shell's words for runs under it.
class Disk : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(scratch_ / "tiny.yaml") << kTinyQueue;
    fs::create_directory(scratch_ / "disk");
  }

  std::string train(const std::string& run, const std::string& more = "") const {
    return program_word() + " train " + word("tiny.yaml") + " run.dir=" + word(run) +
           " train.checkpoint_every=1 train.log_every=1 " + more + " 2>&1";
  }
  std::string resume(const std::string& run, const std::string& more = "") const {
    return program_word() + " train --resume " + word(run) + " " + more + " 2>&1";
  }
  std::string word(const std::string& name) const { return shell_word((scratch_ / name).string()); }

  /// Runs a script with a small file system of its own at "disk", which nobody else sees and which ends with it.
  Outcome on_small_disk(const std::string& size, const std::string& script) const {
    std::ofstream(scratch_ / "script.sh")
        << "mount -t tmpfs -o size=" + size + " tmpfs " + word("disk") + " 2>/dev/null || exit 99\n" + script;
    return run_shell("unshare --mount --map-root-user sh " + word("script.sh") + " 2>/dev/null || exit $?");
  }
  bool small_disks_work() const { return on_small_disk("64k", "exit 0").code == 0; }

  /// The part of a script's output behind the line "== NAME".
  static std::string part(const std::string& text, const std::string& name) {
    std::size_t at = text.find("== " + name + "\n");
    if (at == std::string::npos) return "";
    at += name.size() + 4;
    return text.substr(at, text.find("== ", at) - at);
  }

  TempFolder scratch_;
};

TEST_F(Disk, AFullOneKeepsTheLastCheckpointAndTheRunGoesOnWithRoom) {
  if (!small_disks_work()) GTEST_SKIP() << "this process may not mount a file system of its own";
  std::string script = train("disk/run", "train.max_steps=3") + "; echo code $?\n" +                      //
                       "cat /dev/zero > " + word("disk/filler") + " 2>/dev/null\n" +                      //
                       "echo == full; " + resume("disk/run", "train.max_steps=0") + "; echo code $?\n" +  //
                       "echo == files; ls -A " + word("disk/run") + "\n" +                                //
                       "echo == begun; " + train("disk/other") + "; echo code $?; ls -A " + word("disk/other") + "\n" +
                       "rm " + word("disk/filler") + "\n" +                                                         //
                       "echo == eval; " + program_word() + " eval " + word("disk/run") + " 2>&1; echo code $?\n" +  //
                       "echo == again; " + resume("disk/run", "train.max_steps=0") + "; echo code $?\n" +           //
                       "cp -r " + word("disk/run") + " " + word("kept") + "\n";
  Outcome all = on_small_disk("2m", script);
  ASSERT_EQ(all.code, 0) << all.text;
  std::string full = part(all.text, "full");
  EXPECT_PRED2(contains, full, "code 1\n");
  EXPECT_PRED2(contains, full, "error (io): ");
  EXPECT_PRED2(contains, full, "disk/run/");
  EXPECT_PRED2(contains, full, "No space left on device");
  std::string files = part(all.text, "files");
  EXPECT_PRED2(contains, files, "checkpoint-00000003.safetensors\n");
  EXPECT_FALSE(contains(files, "partial") || contains(files, "00000004")) << files;
  std::string begun = part(all.text, "begun");
  EXPECT_PRED2(contains, begun, "code 1\n");
  EXPECT_PRED2(contains, begun, "disk/other");
  EXPECT_PRED2(contains, begun, "No space left on device");
  EXPECT_FALSE(contains(begun, "partial") || contains(begun, "config.yaml\n")) << begun;
  EXPECT_PRED2(contains, part(all.text, "eval"), "code 0\n");
  EXPECT_PRED2(contains, part(all.text, "again"), "code 0\n") << all.text;

  run_tiny(kTinyQueue, scratch_ / "whole", {"train.checkpoint_every=1", "train.log_every=1"});
  EXPECT_EQ(deterministic_lines(scratch_ / "kept"), deterministic_lines(scratch_ / "whole"));
  EXPECT_EQ(Json::parse(file_text(scratch_ / "kept" / "summary.json"))["hash"],
            Json::parse(file_text(scratch_ / "whole" / "summary.json"))["hash"]);
}

TEST_F(Disk, AReadOnlyOneIsNamedAndNothingChanges) {
  if (!small_disks_work()) GTEST_SKIP() << "this process may not mount a file system of its own";
  std::string script = train("disk/run", "train.max_steps=2") + "; echo code $?\n" +                        //
                       "mount -o remount,ro " + word("disk") + " || exit 98\n" +                            //
                       "echo == resume; " + resume("disk/run", "train.max_steps=0") + "; echo code $?\n" +  //
                       "echo == begun; " + train("disk/other") + "; echo code $?\n" +                       //
                       "cp -r " + word("disk/run") + " " + word("kept") + "\n";
  Outcome all = on_small_disk("2m", script);
  if (all.code == 98) GTEST_SKIP() << "this process may not make a file system read-only";
  ASSERT_EQ(all.code, 0) << all.text;
  for (const char* name : {"resume", "begun"}) {
    std::string text = part(all.text, name);
    EXPECT_PRED2(contains, text, "code 1\n") << name;
    EXPECT_PRED2(contains, text, "error (io): ") << name;
    EXPECT_PRED2(contains, text, "Read-only file system") << name;
    EXPECT_PRED2(contains, text, "disk/") << name;
  }
  // What was on it is a run that goes on elsewhere.
  EXPECT_EQ(run_program({"train", "--resume", (scratch_ / "kept").string(), "train.max_steps=0"}).code, 0);
}

TEST_F(Disk, AFileThatMayNotGrowEndsTheRunWithItsNameAndNothingHalfWritten) {
  // A limit on the size of files refuses a write as a full disk does, on any machine. The unit is 512 bytes.
  ASSERT_EQ(run_shell(train("run", "train.max_steps=2")).code, 0);
  auto limited = [](const std::string& command) { return run_shell("trap '' XFSZ; ulimit -f 4; " + command); };
  Outcome resumed = limited(resume("run", "train.max_steps=0 tensorboard=false"));
  EXPECT_EQ(resumed.code, 1) << resumed.text;
  EXPECT_PRED2(contains, resumed.text, "checkpoint-00000003.safetensors: File too large");
  for (const auto& entry : fs::directory_iterator(scratch_ / "run")) {
    std::string name = entry.path().filename().string();
    EXPECT_FALSE(contains(name, "partial") || contains(name, "00000003")) << name;
  }
  EXPECT_EQ(run_shell(resume("run", "train.max_steps=0")).code, 0);

  Outcome first = limited(train("first"));
  EXPECT_EQ(first.code, 1) << first.text;
  EXPECT_PRED2(contains, first.text, "File too large");
}

TEST_F(Disk, AFileInPlaceOfTheFolderIsNamed) {
  std::ofstream(scratch_ / "file") << "x";
  Outcome inside = run_shell(train("file/run"));
  EXPECT_EQ(inside.code, 2) << inside.text;
  EXPECT_PRED2(contains, inside.text, "file/run: Not a directory");
  Outcome nowhere = run_shell(program_word() + " train " + word("tiny.yaml") + " run.dir=/proc/no/such 2>&1");
  EXPECT_EQ(nowhere.code, 1) << nowhere.text;
  EXPECT_PRED2(contains, nowhere.text, "/proc/no/such");
}

}  // namespace
}  // namespace reprise
