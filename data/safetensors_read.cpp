#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "data/safetensors.h"

namespace reprise {
namespace {

using nlohmann::json;

constexpr std::int64_t kMaxHeaderBytes = 16 << 20;
constexpr std::size_t kLargestRead = std::size_t{1} << 30;

struct TypeRow {
  const char* name;
  std::int64_t bytes;
  std::optional<DType> dtype;
};
constexpr TypeRow kTypes[] = {{"F32", 4, DType::f32},      {"F64", 8, DType::f64},       {"BF16", 2, DType::bf16},
                              {"I32", 4, DType::i32},      {"I64", 8, DType::i64},       {"U8", 1, DType::u8},
                              {"BOOL", 1, DType::boolean}, {"F16", 2, std::nullopt},     {"I8", 1, std::nullopt},
                              {"I16", 2, std::nullopt},    {"U16", 2, std::nullopt},     {"U32", 4, std::nullopt},
                              {"U64", 8, std::nullopt},    {"F8_E5M2", 1, std::nullopt}, {"F8_E4M3", 1, std::nullopt}};

const TypeRow* find_type(const std::string& name) {
  for (const TypeRow& row : kTypes) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

std::string type_names() {
  std::string names;
  for (const TypeRow& row : kTypes) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

/// For error texts: a header may be megabytes long.
std::string shortened(const json& item) {
  constexpr std::size_t kShown = 60;
  std::string text = item.dump(-1, ' ', true);
  return text.size() > kShown ? text.substr(0, kShown) + "..." : text;
}

void read_at(int descriptor, const std::filesystem::path& path, std::int64_t offset, void* out, std::int64_t bytes) {
  auto* p = static_cast<char*>(out);
  while (bytes > 0) {
    const ssize_t n = ::pread(descriptor, p, std::min(static_cast<std::size_t>(bytes), kLargestRead), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno("safetensors", "read", path.native(), errno);
    if (n == 0)
      fail(ErrorKind::io, "[safetensors] expected {} more bytes of {}, got the end: it became shorter", bytes,
           path.string());
    p += n;
    offset += n;
    bytes -= n;
  }
}

/// Refuses a key that comes twice in one object, which the JSON library would let pass, and deep nesting.
class KeyCheck {
 public:
  bool operator()(int depth, json::parse_event_t event, json& value) {
    if (depth > 3) throw std::runtime_error("objects nested too deeply");
    if (event == json::parse_event_t::object_start) {
      keys_.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      keys_.pop_back();
    } else if (event == json::parse_event_t::key) {
      const auto key = value.get<std::string>();
      if (!keys_.back().insert(key).second) throw std::runtime_error("the name " + key + " stands twice");
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> keys_;
};

/// A JSON number that is a whole number from 0 to 2^62; -1 for anything else.
std::int64_t whole_number(const json& value) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 62;
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMax) return -1;
  return value.get<std::int64_t>();
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// One entry of the header. Errors name `where` (file and tensor).
SafetensorsInfo parse_entry(const json& item, const std::string& where) {
  if (!item.is_object() || item.size() != 3 || !item.contains("dtype") || !item.contains("shape") ||
      !item.contains("data_offsets")) {
    fail(ErrorKind::user, "[safetensors] {}: expected an object of dtype, shape and data_offsets, got {}", where,
         shortened(item));
  }
  SafetensorsInfo info;
  if (item["dtype"].is_string()) info.dtype_name = item["dtype"].get<std::string>();
  const TypeRow* type = find_type(info.dtype_name);
  if (!type)
    fail(ErrorKind::user, "[safetensors] {}: expected one of the dtypes {}, got {}", where, type_names(),
         shortened(item["dtype"]));
  info.dtype = type->dtype;
  const json& offsets = item["data_offsets"];
  if (!item["shape"].is_array() || !offsets.is_array() || offsets.size() != 2) {
    fail(ErrorKind::user, "[safetensors] {}: expected shape as a list and data_offsets as two numbers, got {}", where,
         shortened(item));
  }
  info.begin = whole_number(offsets[0]);
  info.end = whole_number(offsets[1]);
  if (info.begin < 0 || info.end < info.begin) {
    fail(ErrorKind::user, "[safetensors] {}: expected data_offsets [begin, end] with 0 <= begin <= end, got {}", where,
         offsets.dump());
  }
  std::int64_t bytes = type->bytes;
  bool overflow = false;
  for (const json& extent : item["shape"]) {
    const std::int64_t n = whole_number(extent);
    if (n < 0)
      fail(ErrorKind::user, "[safetensors] {}: expected whole numbers of at least 0 in shape, got {}", where,
           extent.dump());
    info.shape.push_back(n);
    overflow |= __builtin_mul_overflow(bytes, n, &bytes);
  }
  if (overflow || bytes != info.end - info.begin) {
    fail(ErrorKind::user, "[safetensors] {}: expected data_offsets of the size of {} {}, got {} bytes, {}", where,
         info.dtype_name, shape_text(info.shape), info.end - info.begin, offsets.dump());
  }
  return info;
}

/// The tensors must cover the data exactly: sorted by place, each begins where the one before ended.
void check_layout(const std::map<std::string, SafetensorsInfo>& tensors, std::int64_t data_bytes,
                  const std::string& file) {
  std::vector<std::pair<const std::string*, const SafetensorsInfo*>> order;
  for (const auto& [name, info] : tensors) order.emplace_back(&name, &info);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->begin, a.second->end) < std::pair(b.second->begin, b.second->end);
  });
  std::int64_t at = 0;
  for (const auto& [name, info] : order) {
    if (info->end > data_bytes) {
      fail(
          ErrorKind::user,
          "[safetensors] {}: expected tensor {} at bytes {} to {} of the data, got a file with only {}. It was cut short "
          "or its header is wrong",
          file, *name, info->begin, info->end, data_bytes);
    }
    if (info->begin != at) {
      fail(ErrorKind::user, "[safetensors] {}: expected tensor {} to begin at byte {} of the data, got {}: {}", file,
           *name, at, info->begin, info->begin < at ? "it overlaps the one before" : "there is a gap before it");
    }
    at = info->end;
  }
  if (at != data_bytes) {
    fail(ErrorKind::user, "[safetensors] {}: expected {} bytes of data as the header says, got {}", file, at,
         data_bytes);
  }
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : path_(path) {
  const std::string file = path.string();
  // O_NONBLOCK: a named pipe must not hang the program; it has no effect on a regular file.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) {
    const ErrorKind kind = errno == EIO ? ErrorKind::io : ErrorKind::user;
    fail(kind, "[safetensors] cannot open {}: {}", file, std::strerror(errno));
  }
  try {
    struct ::stat status {};
    if (::fstat(descriptor_, &status) != 0) fail_errno("safetensors", "look at", file, errno);
    if (!S_ISREG(status.st_mode))
      fail(ErrorKind::user, "[safetensors] expected a regular file at {}, got a folder, a device or a pipe", file);
    const auto size = static_cast<std::int64_t>(status.st_size);
    if (size < 8) fail(ErrorKind::user, "[safetensors] expected at least 8 bytes in {}, got {}", file, size);
    std::uint64_t length = 0;
    read_at(descriptor_, path_, 0, &length, 8);
    if (length > static_cast<std::uint64_t>(size - 8)) {
      fail(ErrorKind::user,
           "[safetensors] {}: expected {} bytes of header, as its first 8 bytes say, got only {}. The file "
           "was cut short or is no safetensors file",
           file, length, size - 8);
    }
    if (length > static_cast<std::uint64_t>(kMaxHeaderBytes)) {
      fail(ErrorKind::user, "[safetensors] {}: expected a header of at most {} bytes, got {}", file, kMaxHeaderBytes,
           length);
    }
    std::string header(static_cast<std::size_t>(length), '\0');
    read_at(descriptor_, path_, 8, header.data(), static_cast<std::int64_t>(length));
    data_start_ = 8 + static_cast<std::int64_t>(length);
    parse(header, size - data_start_);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

SafetensorsFile::~SafetensorsFile() { ::close(descriptor_); }

void SafetensorsFile::parse(const std::string& header, std::int64_t data_bytes) {
  const std::string file = path_.string();
  json root;
  try {
    KeyCheck check;
    root = json::parse(header,
                       [&](int depth, json::parse_event_t event, json& value) { return check(depth, event, value); });
  } catch (const std::exception& error) {
    fail(ErrorKind::user, "[safetensors] {}: expected a header of JSON, got what cannot be read: {}", file,
         error.what());
  }
  if (!root.is_object())
    fail(ErrorKind::user, "[safetensors] {}: expected the header to be a JSON object, got {}", file, root.type_name());
  for (const auto& [name, item] : root.items()) {
    if (name != "__metadata__") {
      tensors_.emplace(name, parse_entry(item, file + ", tensor " + name));
      continue;
    }
    if (!item.is_object())
      fail(ErrorKind::user, "[safetensors] {}: expected __metadata__ to be an object, got {}", file, item.type_name());
    for (const auto& [key, value] : item.items()) {
      if (!value.is_string())
        fail(ErrorKind::user, "[safetensors] {}: expected a text for {} in __metadata__, got {}", file, key,
             value.type_name());
      metadata_.emplace(key, value.get<std::string>());
    }
  }
  check_layout(tensors_, data_bytes, file);
}

const SafetensorsInfo& SafetensorsFile::info(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return found->second;
  auto near = tensors_.lower_bound(name);
  if (near == tensors_.end() && !tensors_.empty()) --near;
  fail(ErrorKind::user, "[safetensors] expected a tensor {} in {}, got none of that name among {}{}", name,
       path_.string(), tensors_.size(), near == tensors_.end() ? "" : "; near it is " + near->first);
}

void SafetensorsFile::read_into(const std::string& name, DType dtype, const Shape& shape, void* out) const {
  const SafetensorsInfo& found = info(name);
  if (found.dtype != dtype) {
    fail(ErrorKind::user, "[safetensors] {}, tensor {}: expected dtype {}, got {}", path_.string(), name,
         safetensors_name(dtype), found.dtype_name);
  }
  if (!std::equal(shape.begin(), shape.end(), found.shape.begin(), found.shape.end())) {
    fail(ErrorKind::user, "[safetensors] {}, tensor {}: expected shape {}, got {}", path_.string(), name,
         to_string(shape), shape_text(found.shape));
  }
  read_at(descriptor_, path_, data_start_ + found.begin, out, found.end - found.begin);
}

}  // namespace reprise
