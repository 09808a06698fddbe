// Reads and writes safetensors files: an 8-byte little-endian header length, a JSON header (name -> dtype, shape,
// data_offsets; __metadata__ of texts), then the bytes of the tensors without gaps.
//
// Checkpoints are written from live buffers without a copy and replace the old file in one step (data/atomic_file.h).
// A reader trusts nothing: the whole header is checked against the file before any tensor is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"

namespace reprise {

/// One tensor to write: contiguous, row-major bytes that stay alive and unchanged during the call.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  const void* data = nullptr;
};

/// Tensors of wider types come first in the file, so that each begins at a multiple of its item size.
/// Errors (io): the disk is full, read-only or failed; the old file is untouched then. (user): a name twice, or one
/// that is no valid UTF-8 or is __metadata__.
void write_safetensors(const std::filesystem::path& path, std::span<const SafetensorsEntry> entries,
                       const std::map<std::string, std::string>& metadata = {});

/// "F32" and so on; names of the format.
const char* safetensors_name(DType dtype);

struct SafetensorsInfo {
  std::string dtype_name;
  std::optional<DType> dtype;  // empty for a type of the format that this project does not have, such as F16
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0, end = 0;  // bytes from the start of the data
};

class SafetensorsFile {
 public:
  /// Opens and checks. Errors (user): missing, not such a file, header longer than the file or than 16 MiB, broken
  /// JSON, a name twice, an unknown dtype, a shape that does not fit its bytes, offsets that overlap, leave a gap or
  /// lie outside, a file cut short or with bytes added.
  explicit SafetensorsFile(const std::filesystem::path& path);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::map<std::string, SafetensorsInfo>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  bool has(const std::string& name) const { return tensors_.contains(name); }
  /// Errors (user): no such tensor; names the file and the nearest by spelling order.
  const SafetensorsInfo& info(const std::string& name) const;
  /// Copies a tensor's bytes. Errors (user): no such tensor, another dtype or shape; (io): the disk failed.
  void read_into(const std::string& name, DType dtype, const Shape& shape, void* out) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  void parse(const std::string& header, std::int64_t data_bytes);

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::int64_t data_start_ = 0;
  std::map<std::string, SafetensorsInfo> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace reprise
