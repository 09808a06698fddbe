#include "data/archive.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include "core/error.h"
#include "core/philox.h"
#include "tests/data/make_archive.h"
#include "tests/support/errors.h"

namespace reprise {
namespace {

using namespace testing;

/// FileBytes that hardly compress, like pixels.
FileBytes noise(std::size_t size) {
  FileBytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(philox_word(7, 1, i) >> 24);
  return bytes;
}

std::int64_t everything(const std::string&, std::int64_t size) { return size; }

TEST(ReadBytes, GivesTheSameBytesPlainAndCompressed) {
  TempFolder folder;
  const FileBytes bytes = noise(300'000);
  make_compressed(folder / "a", Filter::none, bytes);
  make_compressed(folder / "a.gz", Filter::gzip, bytes);
  make_compressed(folder / "a.xz", Filter::xz, bytes);
  for (const char* name : {"a", "a.gz", "a.xz"}) {
    EXPECT_EQ(read_bytes(folder / name, 300'000), bytes) << name;
    EXPECT_EQ(read_bytes(folder / name, 300'000, 1000), FileBytes(bytes.begin(), bytes.begin() + 1000)) << name;
    expect_error(ErrorKind::user, {"at most 299999", name}, [&] { read_bytes(folder / name, 299'999); });
  }
}

TEST(ReadBytes, AnEmptyFileHasNoBytes) {
  TempFolder folder;
  write_bytes(folder / "empty", {});
  EXPECT_TRUE(read_bytes(folder / "empty", 10).empty());
}

TEST(ReadBytes, RefusesWhatIsNoFile) {
  TempFolder folder;
  expect_error(ErrorKind::user, {"nothing there"}, [&] { read_bytes(folder / "missing", 10); });
  expect_error(ErrorKind::user, {"regular file"}, [&] { read_bytes(folder.path(), 10); });
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_error(ErrorKind::user, {"regular file"}, [&] { read_bytes(folder / "pipe", 10); });
  expect_error(ErrorKind::user, {"regular file"}, [&] { read_bytes("/dev/zero", 10); });
}

TEST(ReadBytes, RefusesANameThatPromisesACompressionTheBytesDoNotHave) {
  TempFolder folder;
  write_bytes(folder / "a.xz", noise(1000));
  make_compressed(folder / "b.gz", Filter::xz, noise(1000));
  expect_error(ErrorKind::user, {"a.xz", "compressed"}, [&] { read_bytes(folder / "a.xz", 10'000); });
  expect_error(ErrorKind::user, {"b.gz", "compressed"}, [&] { read_bytes(folder / "b.gz", 10'000); });
}

TEST(ReadBytes, NoticesACutAndEveryFlippedByte) {
  TempFolder folder;
  const FileBytes bytes = noise(5000);
  for (const Filter filter : {Filter::gzip, Filter::xz}) {
    const std::string name = filter == Filter::gzip ? "a.gz" : "a.xz";
    make_compressed(folder / name, filter, bytes);
    const FileBytes good = file_bytes(folder / name);
    for (const std::size_t keep : {good.size() - 1, good.size() / 2, std::size_t{30}}) {
      write_bytes(folder / name, FileBytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(keep)));
      expect_error(ErrorKind::user, {name}, [&] { read_bytes(folder / name, 1 << 20); });
    }
    // From byte 40 on all bytes of both formats are content or checksums; the steps keep the test short.
    for (std::size_t at = 40; at < good.size(); at += 97) {
      FileBytes bad = good;
      bad[at] ^= 0x10;
      write_bytes(folder / name, bad);
      expect_error(ErrorKind::user, {name}, [&] { read_bytes(folder / name, 1 << 20); });
    }
  }
}

TEST(ReadBytes, ASmallFileThatUnpacksToVeryMuchIsRefused) {
  TempFolder folder;
  make_compressed(folder / "bomb.gz", Filter::gzip, FileBytes(20'000'000, 0));
  EXPECT_LT(std::filesystem::file_size(folder / "bomb.gz"), 100'000u);
  expect_error(ErrorKind::user, {"at most 1000000"}, [&] { read_bytes(folder / "bomb.gz", 1'000'000); });
}

TEST(ReadArchive, ChoosesMembersAndListsAll) {
  TempFolder folder;
  const FileBytes bytes = noise(100'000);
  for (const Filter filter : {Filter::none, Filter::gzip, Filter::xz}) {
    make_tar(folder / "a.tar", filter, {{"x/one", bytes}, {"two", {1, 2, 3}}, {"empty", {}}});
    const ArchiveContent content =
        read_archive(folder / "a.tar", 1 << 20, [](const std::string& name, std::int64_t size) {
          return name == "x/one" ? std::int64_t{10} : name == "two" ? size : 0;
        });
    EXPECT_EQ(content.names, (std::vector<std::string>{"x/one", "two", "empty"}));
    ASSERT_EQ(content.members.size(), 2u);
    EXPECT_EQ(content.members[0].size, 100'000);
    EXPECT_EQ(content.members[0].bytes, FileBytes(bytes.begin(), bytes.begin() + 10));
    EXPECT_EQ(content.members[1].bytes, (FileBytes{1, 2, 3}));
  }
}

TEST(ReadArchive, LinksAndPathsThatPointOutsideTouchNothing) {
  TempFolder folder;
  write_text(folder / "secret", "before");
  make_tar(folder / "a.tar", Filter::none,
           {{"train.bin", {}, (folder / "secret").string()}, {"../secret", {1}}, {(folder / "secret").string(), {2}}});
  const ArchiveContent content = read_archive(folder / "a.tar", 1 << 20, everything);
  ASSERT_EQ(content.members.size(), 2u);  // the link is left out, the others are bytes in memory
  EXPECT_EQ(content.members[0].bytes, FileBytes{1});
  EXPECT_EQ(file_text(folder / "secret"), "before");
  EXPECT_EQ(folder.names().size(), 2u);
}

TEST(ReadArchive, AMemberWithHolesIsRefused) {
  TempFolder folder;
  ::archive* a = archive_write_new();
  archive_write_set_format_pax(a);
  ASSERT_EQ(archive_write_open_filename(a, (folder / "a.tar").c_str()), ARCHIVE_OK);
  ::archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, "train.bin");
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_entry_set_size(entry, std::int64_t{1} << 31);
  archive_entry_sparse_add_entry(entry, 0, 512);
  archive_write_header(a, entry);
  const FileBytes bytes(512, 1);
  archive_write_data(a, bytes.data(), bytes.size());
  archive_entry_free(entry);
  archive_write_close(a);
  archive_write_free(a);
  EXPECT_LT(std::filesystem::file_size(folder / "a.tar"), 100'000u);
  expect_error(ErrorKind::user, {"train.bin", "holes"},
               [&] { read_archive(folder / "a.tar", std::int64_t{1} << 32, everything); });
  EXPECT_TRUE(read_archive(folder / "a.tar", std::int64_t{1} << 32, [](const std::string&, std::int64_t) {
                return std::int64_t{0};
              }).members.empty());
}

TEST(ReadArchive, RefusesWhatIsNoTarArchive) {
  TempFolder folder;
  write_text(folder / "page.tar.gz", "<html>404</html>");
  expect_error(ErrorKind::user, {"page.tar.gz"}, [&] { read_archive(folder / "page.tar.gz", 1 << 20, everything); });
  write_text(folder / "page.tar", "<html>404</html>");
  expect_error(ErrorKind::user, {"tar archive"}, [&] { read_archive(folder / "page.tar", 1 << 20, everything); });
  write_bytes(folder / "empty.tar", {});
  expect_error(ErrorKind::user, {"tar archive"}, [&] { read_archive(folder / "empty.tar", 1 << 20, everything); });
}

TEST(ReadArchive, NoticesACutWhereverItIs) {
  TempFolder folder;
  make_tar(folder / "a.tar.gz", Filter::gzip, {{"one", noise(50'000)}, {"two", noise(50'000)}});
  const FileBytes good = file_bytes(folder / "a.tar.gz");
  for (const std::size_t keep : {good.size() - 4, good.size() * 3 / 4, good.size() / 4, std::size_t{100}}) {
    write_bytes(folder / "a.tar.gz", FileBytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(keep)));
    expect_error(ErrorKind::user, {"a.tar.gz"}, [&] { read_archive(folder / "a.tar.gz", 1 << 20, everything); });
  }
}

TEST(ReadArchive, HasALimitOnWhatIsUnpacked) {
  TempFolder folder;
  make_tar(folder / "a.tar.gz", Filter::gzip, {{"one", FileBytes(5'000'000, 0)}});
  expect_error(ErrorKind::user, {"at most 1000000"}, [&] {
    read_archive(folder / "a.tar.gz", 1'000'000, [](const std::string&, std::int64_t) { return std::int64_t{0}; });
  });
}

}  // namespace
}  // namespace reprise
