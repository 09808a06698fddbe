// Images in memory, in CIFAR-100's own record layout, and what their labels mean.
//
// A record is one byte coarse label, one byte fine label and 3,072 bytes of pixels: three planes (red, green, blue) of
// 32 x 32, row-major. A set is its records one after the other, exactly as in train.bin. Made by data/cifar100.h and
// data/synthetic.h; read by the loader. Immutable once made, so any thread may read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reprise {

constexpr int kImageSide = 32;
constexpr int kImagePixels = kImageSide * kImageSide;
constexpr int kImageChannels = 3;
constexpr int kImageBytes = kImageChannels * kImagePixels;
constexpr int kRecordBytes = 2 + kImageBytes;
constexpr int kFineLabels = 100;
constexpr int kCoarseLabels = 20;

struct ImageSet {
  std::vector<std::uint8_t> records;

  std::int64_t size() const { return static_cast<std::int64_t>(records.size()) / kRecordBytes; }
  const std::uint8_t* record(std::int64_t i) const { return records.data() + i * kRecordBytes; }
  int coarse(std::int64_t i) const { return record(i)[0]; }
  int fine(std::int64_t i) const { return record(i)[1]; }
  /// The three planes of image i.
  const std::uint8_t* planes(std::int64_t i) const { return record(i) + 2; }
};

struct Dataset {
  ImageSet train, test;
  std::vector<std::string> fine_names;    // always kFineLabels of them
  std::vector<std::string> coarse_names;  // always kCoarseLabels of them
  std::string origin;                     // for people: "synthetic images, seed 1" or the path that was read
};

}  // namespace reprise
