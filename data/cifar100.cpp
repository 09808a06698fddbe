#include "data/cifar100.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/error.h"
#include "data/archive.h"
#include "data/atomic_file.h"
#include "data/folder.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

// Far above the 50,000 records of the official set, and small enough to hold in memory.
constexpr std::int64_t kMaxRecords = 1'000'000;
constexpr std::int64_t kMaxFileBytes = kMaxRecords * kRecordBytes;
constexpr std::int64_t kMaxNameFileBytes = 1 << 16;
constexpr const char* kTrainFile = "train.bin";
constexpr const char* kTestFile = "test.bin";
constexpr const char* kFineFile = "fine_label_names.txt";
constexpr const char* kCoarseFile = "coarse_label_names.txt";
constexpr const char* kOfficialFolder = "cifar-100-binary";
constexpr const char* kOfficialArchive = "cifar-100-binary.tar.gz";

constexpr const char* kHowToGet =
    "Download the binary version, cifar-100-binary.tar.gz, from the CIFAR page (https://www.cs.toronto.edu/~kriz/"
    "cifar.html), put it anywhere and name it: data.path=/where/it/is/cifar-100-binary.tar.gz . "
    "Without data.path the program trains on images that it makes itself";

std::string join(const std::vector<std::string>& names, std::size_t most) {
  if (names.empty()) return "nothing";
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += (i ? ", " : "") + names[i];
  if (names.size() > most) text += ", ...";
  return text;
}

std::vector<std::string> numbered(const char* word, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(fmt::format("{}_{}", word, i));
  return names;
}

std::vector<std::string> parse_names(const std::vector<std::uint8_t>& bytes, int count, const std::string& where) {
  std::vector<std::string> names;
  std::string line;
  const auto end_line = [&] {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) names.push_back(line);
    line.clear();
  };
  for (const std::uint8_t byte : bytes) {
    if (byte == '\n')
      end_line();
    else
      line.push_back(static_cast<char>(byte));
  }
  end_line();
  if (static_cast<int>(names.size()) != count) {
    fail(ErrorKind::user, "[cifar100] expected {} label names in {}, one a line, got {}", count, where, names.size());
  }
  return names;
}

/// The size of a records file, known before all of it is read.
void check_size(std::int64_t bytes, const std::string& where) {
  if (bytes == 0)
    fail(ErrorKind::user, "[cifar100] expected records of {} bytes in {}, got an empty file", kRecordBytes, where);
  if (bytes > kMaxFileBytes) {
    fail(ErrorKind::user, "[cifar100] expected at most {} bytes ({} records) in {}, got {}", kMaxFileBytes, kMaxRecords,
         where, bytes);
  }
  if (bytes % kRecordBytes != 0) {
    const std::int64_t whole = bytes / kRecordBytes;
    fail(ErrorKind::user,
         "[cifar100] expected a multiple of {} bytes (records) in {}, got {} bytes: {} records and {} bytes more. "
         "{} or {} bytes would fit; the file was cut short or has bytes added",
         kRecordBytes, where, bytes, whole, bytes % kRecordBytes, whole * kRecordBytes, (whole + 1) * kRecordBytes);
  }
}

std::int64_t first_bytes(std::int64_t limit) { return limit < 0 || limit > kMaxRecords ? -1 : limit * kRecordBytes; }

ImageSet take_records(std::vector<std::uint8_t> bytes, const std::string& where) {
  ImageSet set{std::move(bytes)};
  check_records(set, where);
  return set;
}

/// `folder`/`name` as it is or with .xz or .gz.
std::optional<fs::path> find_file(const fs::path& folder, const std::string& name) {
  for (const char* suffix : {"", ".xz", ".gz"}) {
    std::error_code error;
    fs::path candidate = folder / (name + suffix);
    if (fs::exists(candidate, error)) return candidate;
  }
  return std::nullopt;
}

ImageSet read_split(const fs::path& file, std::int64_t limit) {
  std::error_code error;
  const bool plain = file.extension() == ".bin";
  if (plain && fs::is_regular_file(file, error)) {
    check_size(static_cast<std::int64_t>(fs::file_size(file, error)), file.string());
  }
  return take_records(read_bytes(file, kMaxFileBytes, first_bytes(limit)), file.string());
}

std::vector<std::string> read_names(const fs::path& file, const char* word, int count) {
  std::error_code error;
  if (!fs::exists(file, error)) return numbered(word, count);
  return parse_names(read_bytes(file, kMaxNameFileBytes), count, file.string());
}

std::vector<std::string> list_folder(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::path& path : paths_in(folder, error, 1000)) names.push_back(path.filename().string());
  if (error) fail(ErrorKind::user, "[cifar100] cannot list {}: {}", folder.string(), error.message());
  return names;
}

Dataset read_folder(const fs::path& folder, std::int64_t limit) {
  const auto train = find_file(folder, kTrainFile);
  const auto test = find_file(folder, kTestFile);
  if (!train || !test) {
    fail(ErrorKind::user, "[cifar100] expected {} and {} (plain, .xz or .gz) in {}, found {}. {}", kTrainFile,
         kTestFile, folder.string(), join(list_folder(folder), 10), kHowToGet);
  }
  Dataset set;
  set.fine_names = read_names(folder / kFineFile, "class", kFineLabels);
  set.coarse_names = read_names(folder / kCoarseFile, "group", kCoarseLabels);
  set.test = read_split(*test, -1);
  set.train = read_split(*train, limit);
  set.origin = folder.string();
  return set;
}

std::string base_name(const std::string& name) { return name.substr(name.find_last_of('/') + 1); }

Dataset read_tar(const fs::path& path, std::int64_t limit) {
  std::array<int, 4> seen{};
  const auto where = [&](const std::string& name) { return path.string() + ":" + name; };
  const auto choose = [&](const std::string& name, std::int64_t size) -> std::int64_t {
    const std::string base = base_name(name);
    const std::array<const char*, 4> wanted = {kTrainFile, kTestFile, kFineFile, kCoarseFile};
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (base != wanted[i]) continue;
      if (seen[i]++ > 0) fail(ErrorKind::user, "[cifar100] expected one {} in {}, got two", base, path.string());
      if (i >= 2) {
        if (size > kMaxNameFileBytes) {
          fail(ErrorKind::user, "[cifar100] expected at most {} bytes in {}, got {}", kMaxNameFileBytes, where(name),
               size);
        }
        return size;
      }
      check_size(size, where(name));
      const std::int64_t first = i == 0 ? first_bytes(limit) : -1;
      return first >= 0 ? std::min(first, size) : size;
    }
    return 0;
  };
  // Room for both splits, the names and the archive's own headers.
  ArchiveContent content = read_archive(path, 2 * kMaxFileBytes + (1 << 24), choose);
  Dataset set;
  set.fine_names = numbered("class", kFineLabels);
  set.coarse_names = numbered("group", kCoarseLabels);
  for (ArchiveMember& member : content.members) {
    const std::string base = base_name(member.name);
    if (base == kTrainFile) set.train = take_records(std::move(member.bytes), where(member.name));
    if (base == kTestFile) set.test = take_records(std::move(member.bytes), where(member.name));
    if (base == kFineFile) set.fine_names = parse_names(member.bytes, kFineLabels, where(member.name));
    if (base == kCoarseFile) set.coarse_names = parse_names(member.bytes, kCoarseLabels, where(member.name));
  }
  if (set.train.size() == 0 || set.test.size() == 0) {
    fail(ErrorKind::user, "[cifar100] expected {} and {} with records in {}, found in it: {}. {}", kTrainFile,
         kTestFile, path.string(), join(content.names, 10), kHowToGet);
  }
  set.origin = path.string();
  return set;
}

}  // namespace

void check_records(const ImageSet& set, const std::string& where) {
  check_size(static_cast<std::int64_t>(set.records.size()), where);
  const auto check_label = [&](const char* word, std::int64_t record, std::int64_t offset, int value, int count) {
    if (value < count) return;
    fail(ErrorKind::user, "[cifar100] expected a {} label of 0 to {}, got {}. Record {} (from 0) of {}, byte {}", word,
         count - 1, value, record, where, offset);
  };
  for (std::int64_t i = 0; i < set.size(); ++i) {
    check_label("coarse", i, i * kRecordBytes, set.coarse(i), kCoarseLabels);
    check_label("fine", i, i * kRecordBytes + 1, set.fine(i), kFineLabels);
  }
}

Dataset read_cifar100(const fs::path& path, std::int64_t limit) {
  if (limit == 0) fail(ErrorKind::user, "[cifar100] expected a limit of at least 1 training image, got 0");
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    fail(ErrorKind::user, "[cifar100] expected data at {}, found nothing there. {}", path.string(), kHowToGet);
  }
  if (error) fail(ErrorKind::user, "[cifar100] cannot look at {}: {}", path.string(), error.message());
  if (status.type() == fs::file_type::regular) {
    const std::string name = path.filename().string();
    if (name.starts_with(kTrainFile) || name.starts_with(kTestFile)) {
      fail(ErrorKind::user,
           "[cifar100] expected a folder or an archive, got the file {}. Name the folder that holds {} and {}",
           path.string(), kTrainFile, kTestFile);
    }
    return read_tar(path, limit);
  }
  if (status.type() != fs::file_type::directory) {
    fail(ErrorKind::user, "[cifar100] expected a folder or an archive at {}, got a device or a pipe", path.string());
  }
  if (!find_file(path, kTrainFile)) {
    if (fs::is_directory(path / kOfficialFolder, error)) return read_folder(path / kOfficialFolder, limit);
    if (fs::is_regular_file(path / kOfficialArchive, error)) return read_tar(path / kOfficialArchive, limit);
  }
  return read_folder(path, limit);
}

void write_cifar100(const Dataset& dataset, const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(ErrorKind::io, "[cifar100] cannot make the folder {}: {}", folder.string(), error.message());
  const auto write_records = [&](const char* name, const ImageSet& set) {
    write_file_atomically(folder / name, [&](FileWriter& w) { w.write(set.records.data(), set.records.size()); });
  };
  const auto write_names = [&](const char* name, const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& line : names) text += line + "\n";
    write_file_atomically(folder / name, text);
  };
  write_records(kTrainFile, dataset.train);
  write_records(kTestFile, dataset.test);
  write_names(kFineFile, dataset.fine_names);
  write_names(kCoarseFile, dataset.coarse_names);
}

}  // namespace reprise
