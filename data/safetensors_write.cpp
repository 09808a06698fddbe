#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "data/atomic_file.h"
#include "data/safetensors.h"

namespace reprise {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian, and bytes are written as they lie");

const char* safetensors_name(DType dtype) {
  switch (dtype) {
    case DType::f32: return "F32";
    case DType::f64: return "F64";
    case DType::bf16: return "BF16";
    case DType::i32: return "I32";
    case DType::i64: return "I64";
    case DType::u8: return "U8";
    case DType::boolean: return "BOOL";
  }
  fail(ErrorKind::internal, "[safetensors] expected a dtype with a name in the format, got {}",
       static_cast<int>(dtype));
}

namespace {

std::int64_t bytes_of(const SafetensorsEntry& e) { return element_count(e.shape) * size_of(e.dtype); }

/// The header, padded with spaces so that the data begins at a multiple of 8.
std::string make_header(const std::vector<const SafetensorsEntry*>& order,
                        const std::map<std::string, std::string>& metadata, const std::string& path) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::set<std::string> names;
  std::int64_t offset = 0;
  for (const SafetensorsEntry* e : order) {
    if (e->name == "__metadata__" || !names.insert(e->name).second) {
      fail(ErrorKind::user,
           "[safetensors] expected tensor names that differ from each other and from __metadata__, got "
           "{} for {}",
           e->name, path);
    }
    const std::int64_t end = offset + bytes_of(*e);
    nlohmann::ordered_json& item = header[e->name];
    item["dtype"] = safetensors_name(e->dtype);
    item["shape"] = std::vector<std::int64_t>(e->shape.begin(), e->shape.end());
    item["data_offsets"] = {offset, end};
    offset = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorKind::user, "[safetensors] expected names and metadata in UTF-8 for {}: {}", path, error.what());
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::span<const SafetensorsEntry> entries,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<const SafetensorsEntry*> order;
  for (const SafetensorsEntry& e : entries) order.push_back(&e);
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return size_of(a->dtype) > size_of(b->dtype); });
  const std::string header = make_header(order, metadata, path.string());
  write_file_atomically(path, [&](FileWriter& file) {
    const auto length = static_cast<std::uint64_t>(header.size());
    file.write(&length, sizeof length);
    file.write(header);
    for (const SafetensorsEntry* e : order) file.write(e->data, static_cast<std::size_t>(bytes_of(*e)));
  });
}

}  // namespace reprise
