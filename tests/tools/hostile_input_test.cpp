// Paths that a careful program must survive: folders, pipes and devices where files belong, files without end, files
// that may not be read, deep nesting, archives that reach outside, a folder in use. Each is refused as a mistake with
// the path and the reason, soon and in little memory, and nothing is written where nothing belongs.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "tests/data/make_archive.h"
#include "tests/support/program.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT
namespace fs = std::filesystem;

constexpr const char* kConfig = R"(threads: 1
model: {type: classifier, encoder: {widths: [4], blocks: 1}}
data: {limit: 16, prefetch: 1, synthetic: {train: 100, test: 100}}
train: {epochs: 1, batch: 16, max_steps: 1, warmup_steps: 0}
)";

class HostileInput : public ::testing::Test {
 protected:
  void SetUp() override {
    write_text(folder_ / "tiny.yaml", kConfig);
    ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
    fs::create_directory(folder_ / "dir");
    fs::create_symlink("loop", folder_ / "loop");
    write_text(folder_ / "huge", "x");
    std::error_code error;
    fs::resize_file(folder_ / "huge", std::uintmax_t{1} << 40, error);
    huge_ = !error;
    write_text(folder_ / "deep.json", std::string(100'000, '['));
    write_text(folder_ / "deep_objects.json", deep_objects());
  }
  static std::string deep_objects() {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += "{\"a\":";
    return text;
  }

  std::string word(const std::string& name) const { return shell_word((folder_ / name).string()); }
  /// Paths that are no files, or no files of a sensible size.
  std::vector<std::string> odd_paths() const {
    std::vector<std::string> all = {(folder_ / "pipe").string(), (folder_ / "dir").string(),
                                    (folder_ / "loop").string(), "/dev/zero"};
    if (huge_) all.push_back((folder_ / "huge").string());
    return all;
  }

  void expect_mistake(const std::string& arguments, const std::vector<std::string>& parts,
                      const std::string& before = "") const {
    Measured m = measure_shell(before + program_word() + " " + arguments);
    const std::string& text = m.outcome.text;
    EXPECT_EQ(m.outcome.code, 2) << arguments << "\n" << text.substr(0, 2000);
    EXPECT_PRED2(contains, text.substr(0, 2000), "error (") << arguments;
    EXPECT_LT(text.size(), 20'000u) << arguments;
    for (const std::string& part : parts) EXPECT_PRED2(contains, text.substr(0, 4000), part) << arguments;
    EXPECT_LT(m.seconds, 60) << arguments;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(m.peak_bytes, 600 << 20) << arguments;
#endif
    EXPECT_FALSE(fs::exists(folder_ / "run")) << arguments;
  }
  std::string train(const std::string& config, const std::string& more = "") const {
    return "train " + shell_word(config) + " --quiet run.dir=" + word("run") + " " + more;
  }

  TempFolder folder_;
  bool huge_ = false;
};

TEST_F(HostileInput, ConfigurationsThatAreNoFiles) {
  for (const std::string& path : odd_paths()) expect_mistake(train(path), {path});
  write_text(folder_ / "large.yaml", std::string(100 << 20, '#'));
  expect_mistake(train((folder_ / "large.yaml").string()), {"large.yaml", "at most 262144 bytes"});
}

TEST_F(HostileInput, ConfigurationsThatAreNestedDeeply) {
  std::string flow = "a: " + std::string(100'000, '['), maps, blocks = "a:\n  ", keys;
  for (int i = 0; i < 80'000; ++i) maps += "{a:", blocks += "- ", keys += "? ";
  for (const std::string& text : {flow, "a: " + maps, blocks, keys}) {
    write_text(folder_ / "deep.yaml", text);
    expect_mistake(train((folder_ / "deep.yaml").string()), {"deep.yaml:"});
  }
  expect_mistake(train((folder_ / "tiny.yaml").string(), "model.encoder.widths=" + std::string(50'000, '[')),
                 {"command line argument", "nested deeper"});
}

TEST_F(HostileInput, DataThatAreNoFiles) {
  const std::string config = (folder_ / "tiny.yaml").string();
  for (const std::string& path : odd_paths()) expect_mistake(train(config, "data.path=" + shell_word(path)), {path});
  fs::create_directory(folder_ / "data");
  write_bytes(folder_ / "data" / "test.bin", FileBytes(3074));
  for (const std::string& path : odd_paths()) {
    fs::remove(folder_ / "data" / "train.bin");
    fs::create_symlink(path, folder_ / "data" / "train.bin");
    expect_mistake(train(config, "data.path=" + word("data")), {"data"});
  }
}

TEST_F(HostileInput, DocumentsThatAreNoFiles) {
  const std::string config = (folder_ / "tiny.yaml").string();
  std::vector<std::string> paths = odd_paths();
  paths.push_back((folder_ / "deep.json").string());
  paths.push_back((folder_ / "deep_objects.json").string());
  for (const std::string& path : paths) {
    const std::string p = shell_word(path);
    expect_mistake("contract --diff " + p + " " + p, {path});
    expect_mistake(train(config, "recompute.method=joint recompute.plan=" + p), {path});
    if (path != (folder_ / "dir").string()) expect_mistake("conform " + p, {path});
    if (path != (folder_ / "dir").string()) expect_mistake(train(config, "model.init=" + p), {path});
  }
}

TEST_F(HostileInput, RunFoldersWithOtherThingsInPlaceOfFiles) {
  ASSERT_EQ(reprise("train " + word("tiny.yaml") + " --quiet run.dir=" + word("good")).code, 0);
  std::vector<std::string> paths = odd_paths();
  paths.push_back((folder_ / "deep.json").string());
  for (const char* name : {"state.json", "config.yaml", "checkpoint-00000001.safetensors"}) {
    fs::rename(folder_ / "good" / name, folder_ / "aside");
    for (const std::string& path : paths) {
      // Tensors that are gone are taken from checkpoint.safetensors.
      if (std::string(name).starts_with("checkpoint") && path.ends_with("loop")) continue;
      fs::create_symlink(path, folder_ / "good" / name);
      expect_mistake("eval " + word("good"), {"good"});
      expect_mistake("train --quiet --resume " + word("good"), {"good"});
      fs::remove(folder_ / "good" / name);
    }
    fs::rename(folder_ / "aside", folder_ / "good" / name);
  }
  // The log of a run is the program's own; what stands in its place is a failure of the folder.
  fs::rename(folder_ / "good" / "metrics.jsonl", folder_ / "aside");
  for (const char* other : {"pipe", "dir", "loop"}) {
    fs::create_symlink(folder_ / other, folder_ / "good" / "metrics.jsonl");
    Measured m = measure_shell(program_word() + " train --quiet --resume " + word("good"));
    EXPECT_TRUE(m.outcome.code == 1 || m.outcome.code == 2) << m.outcome.text;
    EXPECT_PRED2(contains, m.outcome.text, "metrics.jsonl: ");
    fs::remove(folder_ / "good" / "metrics.jsonl");
  }
  fs::rename(folder_ / "aside", folder_ / "good" / "metrics.jsonl");
  EXPECT_EQ(reprise("train --quiet --resume " + word("good")).code, 0);
}

TEST_F(HostileInput, FilesThatMayNotBeRead) {
  std::string as_other;
  if (::geteuid() == 0) {
    as_other = "setpriv --reuid 65534 --regid 65534 --clear-groups ";
    if (run_shell(as_other + program_word() + " --version >/dev/null 2>&1").code != 0)
      GTEST_SKIP() << "another user cannot run the program here";
  }
  fs::permissions(folder_.path(), fs::perms::all);
  fs::create_directory(folder_ / "data");
  for (const char* name : {"data/train.bin", "data/test.bin"}) write_bytes(folder_ / name, FileBytes(3074));
  for (const char* name : {"closed.yaml", "data/train.bin"}) {
    write_bytes(folder_ / name, FileBytes(3074));
    fs::permissions(folder_ / name, fs::perms::none);
  }
  expect_mistake(train((folder_ / "closed.yaml").string()), {"closed.yaml: Permission denied"}, as_other);
  expect_mistake(train((folder_ / "tiny.yaml").string(), "data.path=" + word("data")), {"train.bin"}, as_other);
  expect_mistake("contract --diff " + word("closed.yaml") + " " + word("closed.yaml"),
                 {"closed.yaml: Permission denied"}, as_other);
  fs::permissions(folder_ / "data", fs::perms::none);
  expect_mistake(train((folder_ / "tiny.yaml").string(), "data.path=" + word("data")), {"data"}, as_other);
  fs::permissions(folder_ / "data", fs::perms::all);
}

TEST_F(HostileInput, AnArchiveThatReachesOutsideWritesNothing) {
  FileBytes record(3074), two(2 * 3074);
  const std::string outside = (folder_ / "outside").string();
  fs::create_directories(folder_ / "here" / "below");
  make_tar(folder_ / "here" / "evil.tar.gz", Filter::gzip,
           {{"../../outside", {1, 2, 3}},
            {outside, {1, 2, 3}},
            {"link", {}, outside},
            {"link/inside", {4}},
            {"../train.bin", two},
            {"/etc/reprise/test.bin", record},
            {"fine_label_names.txt", {}, "/etc/passwd"}});
  auto listing = [&] {
    std::vector<std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      std::string path = entry.path().string();
      if (!path.starts_with((folder_ / "run").string())) all.push_back(path);
    }
    std::sort(all.begin(), all.end());
    return all;
  };
  std::vector<std::string> before = listing();
  Measured m =
      measure_shell("cd " + word("here/below") + " && " + program_word() + " " +
                    train((folder_ / "tiny.yaml").string(), "data.path=../evil.tar.gz train.batch=2 data.limit=2"));
  EXPECT_EQ(m.outcome.code, 0) << m.outcome.text;
  EXPECT_EQ(listing(), before);
  EXPECT_FALSE(fs::exists(outside));
  EXPECT_FALSE(fs::exists("/etc/reprise"));
}

TEST_F(HostileInput, AnArchiveThatSpeaksOfMoreThanItHoldsCostsNoMemory) {
  make_tar(folder_ / "a.tar", Filter::none, {{"train.bin", {}}});
  FileBytes bytes = file_bytes(folder_ / "a.tar");
  auto number = [&](std::size_t at, std::size_t digits, std::int64_t value) {
    std::string text = fmt::format("{:0{}o}", value, digits);
    std::copy(text.begin(), text.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
  };
  number(124, 11, 3074 * 900'000LL);
  std::fill(bytes.begin() + 148, bytes.begin() + 156, ' ');
  std::int64_t sum = 0;
  for (int i = 0; i < 512; ++i) sum += bytes[static_cast<std::size_t>(i)];
  number(148, 6, sum);
  write_bytes(folder_ / "a.tar", bytes);
  expect_mistake(train((folder_ / "tiny.yaml").string(), "data.path=" + word("a.tar")),
                 {"expected 2766600000 bytes of train.bin"});
}

TEST_F(HostileInput, NamesFromFilesDoNotReachTheTerminalAsCommands) {
  std::string header = R"({"a\u001b[2Jb":{"dtype":"X\u0007","shape":[],"data_offsets":[0,4]}})", file(8, '\0');
  file[0] = static_cast<char>(header.size());
  write_text(folder_ / "evil.safetensors", file + header + "abcd");
  expect_mistake(train((folder_ / "tiny.yaml").string(), "model.init=" + word("evil.safetensors")), {"a\\x1b[2Jb"});
}

TEST_F(HostileInput, ASecondProcessOnARunFolderIsRefused) {
  std::string endless = kConfig;
  endless.replace(endless.find("max_steps: 1"), 12, "max_steps: 0, log_every: 1");
  write_text(folder_ / "long.yaml", endless);
  std::string script =
      program_word() + " train " + word("long.yaml") + " --quiet train.epochs=1000000 run.dir=" + word("busy") +
      " & first=$!\n" + "while ! [ -s " + word("busy/metrics.jsonl") + " ]; do sleep 0.05; done\n" +  //
      program_word() + " train --resume " + word("busy") + " 2>&1; echo resume $? of $first\n" +      //
      program_word() + " train " + word("tiny.yaml") + " run.dir=" + word("busy") + " 2>&1; echo train $?\n" +
      "kill -TERM $first; wait $first; echo first $?\n" +  //
      program_word() + " train --resume " + word("busy") + " --quiet train.epochs=1 2>&1; echo again $?\n";
  write_text(folder_ / "script.sh", script);
  Outcome all = run_shell("timeout 120 sh " + word("script.sh") + " 2>&1");
  EXPECT_PRED2(contains, all.text, "resume 2 of ");
  std::size_t at = all.text.find("resume 2 of ");
  std::string pid = all.text.substr(at + 12, all.text.find('\n', at) - at - 12);
  EXPECT_PRED2(contains, all.text, "is in use by process " + pid);
  EXPECT_PRED2(contains, all.text, "train 2\n");
  EXPECT_PRED2(contains, all.text, "first 130\n");
  EXPECT_PRED2(contains, all.text, "again 0\n");
}

}  // namespace
}  // namespace reprise
