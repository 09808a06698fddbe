// Readers of binary files: safetensors, and CIFAR-100 in each of its forms.
#include <algorithm>

#include "core/error.h"
#include "data/archive.h"
#include "data/cifar100.h"
#include "data/safetensors.h"
#include "tests/fuzz/target.h"

namespace reprise::fuzz {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::vector<Bytes> all_tensors(const SafetensorsFile& file) {
  std::vector<Bytes> all;
  for (const auto& [name, info] : file.tensors()) {
    Bytes bytes(static_cast<std::size_t>(info.end - info.begin));
    if (info.dtype && info.shape.size() <= static_cast<std::size_t>(kMaxRank)) {
      file.read_into(name, *info.dtype, Shape(info.shape), bytes.data());
    }
    all.push_back(std::move(bytes));
  }
  return all;
}

/// A file of tensors that this project can hold, written anew: names, types, shapes, bytes and metadata stay.
void expect_round_trip(const SafetensorsFile& file) {
  std::vector<Bytes> tensors = all_tensors(file);
  std::vector<SafetensorsEntry> entries;
  for (const auto& [name, info] : file.tensors()) {
    if (!info.dtype || info.shape.size() > static_cast<std::size_t>(kMaxRank)) return;
    entries.push_back({name, *info.dtype, Shape(info.shape), tensors[entries.size()].data()});
  }
  const std::filesystem::path path = scratch_folder() / "again.safetensors";
  write_safetensors(path, entries, file.metadata());
  SafetensorsFile again(path);
  expect(again.metadata() == file.metadata(), "metadata changed when written again");
  expect(all_tensors(again) == tensors, "bytes changed when written again");
  auto same = [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.dtype == b.second.dtype && a.second.shape == b.second.shape;
  };
  expect(std::equal(file.tensors().begin(), file.tensors().end(), again.tensors().begin(), again.tensors().end(), same),
         "names, types or shapes changed when written again");
}

void expect_sound(const Dataset& set) {
  for (const ImageSet* images : {&set.train, &set.test}) {
    expect(images->size() > 0 && images->records.size() % kRecordBytes == 0, "a set of no whole records");
    for (std::int64_t i = 0; i < images->size(); ++i) {
      expect(images->fine(i) < kFineLabels && images->coarse(i) < kCoarseLabels, "a label out of range");
    }
  }
  expect(set.fine_names.size() == kFineLabels && set.coarse_names.size() == kCoarseLabels, "label names are missing");
}

}  // namespace

void run_safetensors(Input input) {
  const std::filesystem::path path = as_file(input);
  accepts(
      [&] {
        SafetensorsFile file(path);
        std::int64_t bytes = 0;
        for (const auto& [name, info] : file.tensors()) {
          expect(info.begin >= 0 && info.end >= info.begin, "offsets that run backwards");
          bytes += info.end - info.begin;
        }
        expect(bytes <= static_cast<std::int64_t>(input.size()), "tensors larger than their file");
        expect_round_trip(file);
      },
      path.string());
}

/// The first byte says how the rest is read: as an archive, as one compressed or plain file, or as records.
void run_cifar(Input input) {
  if (input.empty()) return;
  Input rest = input.subspan(1);
  constexpr std::int64_t kLimit = 1 << 20;
  const std::string path = as_file(rest).string();
  if (input[0] % 4 == 0) {
    accepts([&] { expect_sound(read_cifar100(path)); }, path);
  } else if (input[0] % 4 == 1) {
    accepts([&] { expect(read_bytes(path, kLimit).size() <= kLimit, "more bytes than the limit"); }, path);
  } else if (input[0] % 4 == 2) {
    accepts([&] { expect(read_bytes(path, kLimit, 100).size() <= 100, "more bytes than were asked for"); }, path);
  } else {
    accepts([&] { check_records(ImageSet{Bytes(rest.begin(), rest.end())}, kSource); });
  }
}

}  // namespace reprise::fuzz
