#include "data/cifar100.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "core/error.h"
#include "data/synthetic.h"
#include "tests/data/make_archive.h"
#include "tests/support/errors.h"
#include "tests/support/surroundings.h"

namespace reprise {
namespace {

using namespace testing;

Dataset small_set() {
  SyntheticOptions options;
  options.train = 30;
  options.test = 20;
  return make_synthetic(options);
}

std::string name_lines(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  return text;
}

void expect_same(const Dataset& read, const Dataset& written) {
  EXPECT_EQ(read.train.records, written.train.records);
  EXPECT_EQ(read.test.records, written.test.records);
  EXPECT_EQ(read.fine_names, written.fine_names);
  EXPECT_EQ(read.coarse_names, written.coarse_names);
}

FileBytes text_bytes(const std::string& text) { return FileBytes(text.begin(), text.end()); }

std::vector<TestMember> official_members(const Dataset& set) {
  return {{"cifar-100-binary/fine_label_names.txt", text_bytes(name_lines(set.fine_names))},
          {"cifar-100-binary/train.bin", set.train.records},
          {"cifar-100-binary/test.bin", set.test.records},
          {"cifar-100-binary/coarse_label_names.txt", text_bytes(name_lines(set.coarse_names))}};
}

TEST(Cifar100, ReadsWhatWasWritten) {
  TempFolder folder;
  const Dataset set = small_set();
  write_cifar100(set, folder / "made/here");
  expect_same(read_cifar100(folder / "made/here"), set);
  EXPECT_EQ(std::filesystem::file_size(folder / "made/here/train.bin"), 30u * 3074u);
}

TEST(Cifar100, ReadsTheOfficialArchiveAndItsFolder) {
  TempFolder folder;
  const Dataset set = small_set();
  make_tar(folder / "cifar-100-binary.tar.gz", Filter::gzip, official_members(set));
  expect_same(read_cifar100(folder / "cifar-100-binary.tar.gz"), set);
  expect_same(read_cifar100(folder.path()), set);  // the folder that holds the archive
  make_tar(folder / "any.tar.xz", Filter::xz, official_members(set));
  expect_same(read_cifar100(folder / "any.tar.xz"), set);
  write_cifar100(set, folder / "cifar-100-binary");
  expect_same(read_cifar100(folder.path()), set);  // the folder that holds the unpacked folder
}

TEST(Cifar100, ReadsCompressedFilesInAFolder) {
  TempFolder folder;
  const Dataset set = small_set();
  make_compressed(folder / "train.bin.xz", Filter::xz, set.train.records);
  make_compressed(folder / "test.bin.gz", Filter::gzip, set.test.records);
  const Dataset read = read_cifar100(folder.path());
  EXPECT_EQ(read.train.records, set.train.records);
  EXPECT_EQ(read.test.records, set.test.records);
  EXPECT_EQ(read.fine_names.size(), 100u);  // numbers, as there are no files of names
  EXPECT_EQ(read.coarse_names.size(), 20u);
}

TEST(Cifar100, ALimitKeepsTheFirstTrainingImages) {
  TempFolder folder;
  const Dataset set = small_set();
  const FileBytes first(set.train.records.begin(), set.train.records.begin() + 7 * kRecordBytes);
  write_cifar100(set, folder / "plain");
  make_tar(folder / "a.tar.gz", Filter::gzip, official_members(set));
  std::filesystem::create_directory(folder / "xz");
  make_compressed(folder / "xz/train.bin.xz", Filter::xz, set.train.records);
  make_compressed(folder / "xz/test.bin.xz", Filter::xz, set.test.records);
  for (const char* name : {"plain", "a.tar.gz", "xz"}) {
    const Dataset read = read_cifar100(folder / name, 7);
    EXPECT_EQ(read.train.records, first) << name;
    EXPECT_EQ(read.test.size(), 20) << name;
    EXPECT_EQ(read_cifar100(folder / name, 1000).train.size(), 30) << name;
  }
  expect_error(ErrorKind::user, {"at least 1"}, [&] { read_cifar100(folder / "plain", 0); });
}

TEST(Cifar100, AMissingPathSaysWhatToDownloadAndHowToNameIt) {
  expect_error(ErrorKind::user, {"/no/such/place", "cifar-100-binary.tar.gz", "data.path="},
               [] { read_cifar100("/no/such/place"); });
}

TEST(Cifar100, AFolderWithoutTheFilesListsWhatIsThere) {
  TempFolder folder;
  write_text(folder / "holiday.jpg", "x");
  expect_error(ErrorKind::user, {"train.bin", "holiday.jpg", "cifar-100-binary.tar.gz"},
               [&] { read_cifar100(folder.path()); });
}

TEST(Cifar100, AWrongArchiveListsWhatIsInIt) {
  TempFolder folder;
  make_tar(folder / "cifar-100-python.tar.gz", Filter::gzip,
           {{"cifar-100-python/train", {1}}, {"cifar-100-python/meta", {2}}});
  expect_error(ErrorKind::user, {"train.bin", "cifar-100-python/train", "cifar-100-python/meta", "binary"},
               [&] { read_cifar100(folder / "cifar-100-python.tar.gz"); });
  expect_error(ErrorKind::user, {"tar archive"}, [&] {
    write_text(folder / "page.tar", "<html>not found</html>");
    read_cifar100(folder / "page.tar");
  });
  std::vector<TestMember> twice = official_members(small_set());
  twice.push_back(twice[1]);
  make_tar(folder / "twice.tar", Filter::none, twice);
  expect_error(ErrorKind::user, {"one train.bin", "two"}, [&] { read_cifar100(folder / "twice.tar"); });
}

TEST(Cifar100, ARecordsFileGivenAsTheArchiveIsExplained) {
  TempFolder folder;
  write_cifar100(small_set(), folder.path());
  expect_error(ErrorKind::user, {"train.bin", "Name the folder"}, [&] { read_cifar100(folder / "train.bin"); });
  expect_error(ErrorKind::user, {"device"}, [&] { read_cifar100("/dev/null"); });
}

TEST(Cifar100, ACutFileSaysTheBytesExpectedAndFound) {
  TempFolder folder;
  const Dataset set = small_set();
  write_cifar100(set, folder.path());
  FileBytes cut = set.train.records;
  cut.resize(30 * 3074 - 100);
  write_bytes(folder / "train.bin", cut);
  const std::initializer_list<std::string> words = {"train.bin", "92120", "92220", "89146"};
  expect_error(ErrorKind::user, words, [&] { read_cifar100(folder.path()); });
  expect_error(ErrorKind::user, words, [&] { read_cifar100(folder.path(), 5); });
  std::vector<TestMember> members = official_members(set);
  members[1].bytes = cut;
  make_tar(folder / "a.tar", Filter::none, members);
  expect_error(ErrorKind::user, words, [&] { read_cifar100(folder / "a.tar", 5); });
  std::filesystem::remove(folder / "train.bin");
  make_compressed(folder / "train.bin.xz", Filter::xz, cut);
  expect_error(ErrorKind::user, words, [&] { read_cifar100(folder.path()); });
}

TEST(Cifar100, AnEmptyFileIsRefused) {
  TempFolder folder;
  const Dataset set = small_set();
  write_cifar100(set, folder.path());
  write_bytes(folder / "test.bin", {});
  expect_error(ErrorKind::user, {"test.bin", "empty"}, [&] { read_cifar100(folder.path()); });
  std::vector<TestMember> members = official_members(set);
  members[1].bytes.clear();
  make_tar(folder / "a.tar", Filter::none, members);
  expect_error(ErrorKind::user, {"train.bin", "empty"}, [&] { read_cifar100(folder / "a.tar"); });
}

TEST(Cifar100, AHugeFileIsRefusedBeforeItIsRead) {
  TempFolder folder;
  write_cifar100(small_set(), folder.path());
  std::filesystem::resize_file(folder / "train.bin", std::uintmax_t{2'000'000} * 3074);  // holes only
  expect_error(ErrorKind::user, {"train.bin", "at most", "1000000 records"}, [&] { read_cifar100(folder.path()); });
}

TEST(Cifar100, ALabelOutOfRangeIsNamedWithItsPlace) {
  TempFolder folder;
  Dataset set = small_set();
  set.train.records[12 * 3074 + 1] = 137;
  write_cifar100(set, folder.path());
  expect_error(ErrorKind::user, {"fine label", "0 to 99", "137", "Record 12 ", "byte 36889"},
               [&] { read_cifar100(folder.path()); });
  EXPECT_EQ(read_cifar100(folder.path(), 12).train.size(), 12);  // the bad one is not among the first
  set.train.records[12 * 3074 + 1] = 1;
  set.test.records[0] = 20;
  write_cifar100(set, folder.path());
  expect_error(ErrorKind::user, {"coarse label", "0 to 19", "got 20", "Record 0 ", "test.bin", "byte 0"},
               [&] { read_cifar100(folder.path()); });
}

TEST(Cifar100, CorruptCompressionIsNoticed) {
  TempFolder folder;
  make_tar(folder / "a.tar.gz", Filter::gzip, official_members(small_set()));
  FileBytes bytes = file_bytes(folder / "a.tar.gz");
  bytes[bytes.size() / 2] ^= 0x20;
  write_bytes(folder / "a.tar.gz", bytes);
  expect_error(ErrorKind::user, {"a.tar.gz"}, [&] { read_cifar100(folder / "a.tar.gz"); });
}

TEST(Cifar100, AWrongNumberOfLabelNamesIsRefused) {
  TempFolder folder;
  write_cifar100(small_set(), folder.path());
  write_text(folder / "coarse_label_names.txt", "one\ntwo\r\n\n");
  expect_error(ErrorKind::user, {"20 label names", "coarse_label_names.txt", "got 2"},
               [&] { read_cifar100(folder.path()); });
}

std::string sha256(const FileBytes& bytes, const std::filesystem::path& result) {
  FILE* pipe = ::popen(("sha256sum > " + result.string()).c_str(), "w");
  std::fwrite(bytes.data(), 1, bytes.size(), pipe);
  ::pclose(pipe);
  return file_text(result).substr(0, 64);
}

TEST(Cifar100, ReadsTheRealSet) {
  const std::filesystem::path real = shared_folder() / "cifar100";
  if (!std::filesystem::exists(real / "train.bin.xz")) GTEST_SKIP() << "no real data at " << real;
  const Dataset set = read_cifar100(real);
  ASSERT_EQ(set.train.size(), 50'000);
  ASSERT_EQ(set.test.size(), 10'000);
  std::array<int, 100> train{}, test{}, group;
  group.fill(-1);
  for (std::int64_t i = 0; i < set.train.size(); ++i) {
    ++train[static_cast<std::size_t>(set.train.fine(i))];
    int& coarse = group[static_cast<std::size_t>(set.train.fine(i))];
    if (coarse < 0) coarse = set.train.coarse(i);
    ASSERT_EQ(coarse, set.train.coarse(i));
  }
  for (std::int64_t i = 0; i < set.test.size(); ++i) ++test[static_cast<std::size_t>(set.test.fine(i))];
  for (std::size_t c = 0; c < 100; ++c) {
    EXPECT_EQ(train[c], 500);
    EXPECT_EQ(test[c], 100);
  }
  EXPECT_EQ(set.fine_names[0], "apple");
  EXPECT_EQ(set.coarse_names[0], "aquatic_mammals");
  TempFolder folder;
  EXPECT_EQ(sha256(set.train.records, folder / "sum"),
            "2c47ce9922ff241ebde73089b72ad0273e4b07e438bebc4a5cd23a2c4f8e7f7e");
  EXPECT_EQ(sha256(set.test.records, folder / "sum"),
            "e685f15745c31f2e12cef79be67f3d48cf67acf68b63b8eb9a5b824b6f17ef2b");
}

}  // namespace
}  // namespace reprise
