// Writes NumPy's .npz: a zip archive with one .npy member (format 1.0, little endian, row-major) for each array, so
// that numpy.load(path)["name"] gives it. The archive replaces the old file in one step. Called by `reprise export`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"

namespace reprise {

struct NpzEntry {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  /// Contiguous, row-major bytes, asked for once when the member's turn comes; valid until the next call.
  std::function<const void*()> data;
};

/// The header of a .npy file for such an array. bf16, which NumPy does not have, is written as f32.
std::string npy_header(DType dtype, const Shape& shape);

/// Returns the bytes of the archive written. `compress`: deflate the members; else they are stored. Errors (user): a
/// name twice, empty, or with a slash, a backslash or a control character in it; (io): the disk is full, read-only or
/// failed.
std::int64_t write_npz(const std::filesystem::path& path, const std::vector<NpzEntry>& entries, bool compress);

}  // namespace reprise
