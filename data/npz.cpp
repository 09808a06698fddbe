#include "data/npz.h"

#include <archive.h>
#include <archive_entry.h>

#include <cerrno>
#include <exception>
#include <memory>
#include <set>

#include "core/error.h"
#include "data/atomic_file.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

const char* numpy_name(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::bf16: return "<f4";
    case DType::f64: return "<f8";
    case DType::i32: return "<i4";
    case DType::i64: return "<i8";
    case DType::u8: return "|u1";
    case DType::boolean: return "|b1";
  }
  fail(ErrorKind::internal, "[npz] expected a dtype with a name in NumPy, got {}", static_cast<int>(dtype));
}

/// What the callbacks of libarchive need; an error of the disk is kept here, since it may not pass through C code.
struct Sink {
  FileWriter* file;
  std::exception_ptr error;
};

la_ssize_t write_block(struct archive* zip, void* context, const void* bytes, std::size_t size) {
  auto* sink = static_cast<Sink*>(context);
  try {
    sink->file->write(bytes, size);
    return static_cast<la_ssize_t>(size);
  } catch (...) {
    sink->error = std::current_exception();
    archive_set_error(zip, EIO, "cannot write");
    return -1;
  }
}

class ZipWriter {
 public:
  ZipWriter(FileWriter& file, const fs::path& path, bool compress)
      : sink_{&file, nullptr}, path_(path), zip_(archive_write_new(), archive_write_free) {
    check(archive_write_set_format_zip(zip_.get()));
    check(compress ? archive_write_zip_set_compression_deflate(zip_.get())
                   : archive_write_zip_set_compression_store(zip_.get()));
    check(archive_write_set_bytes_in_last_block(zip_.get(), 1));
    check(archive_write_open(zip_.get(), &sink_, nullptr, write_block, nullptr));
  }

  void begin_member(const std::string& name, std::int64_t size) {
    std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(), archive_entry_free);
    archive_entry_set_pathname_utf8(entry.get(), name.c_str());
    archive_entry_set_size(entry.get(), size);
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    archive_entry_set_mtime(entry.get(), 315532800,
                            0);  // 1980, where the time of zip begins: equal arrays, equal files
    check(archive_write_header(zip_.get(), entry.get()));
  }
  void write(const void* bytes, std::size_t size) {
    auto* at = static_cast<const char*>(bytes);
    while (size > 0) {
      la_ssize_t done = archive_write_data(zip_.get(), at, size);
      if (done <= 0) check(ARCHIVE_FATAL);
      at += done;
      size -= static_cast<std::size_t>(done);
    }
  }
  void finish() { check(archive_write_close(zip_.get())); }

 private:
  void check(int result) {
    if (result == ARCHIVE_OK || result == ARCHIVE_WARN) return;
    if (sink_.error) std::rethrow_exception(sink_.error);
    const char* text = archive_error_string(zip_.get());
    fail(ErrorKind::io, "[npz] cannot write {}: {}", path_.string(), text ? text : "unknown error");
  }

  Sink sink_;
  const fs::path& path_;
  std::unique_ptr<archive, int (*)(archive*)> zip_;
};

void check_names(const std::vector<NpzEntry>& entries) {
  std::set<std::string> seen;
  for (const NpzEntry& entry : entries) {
    bool fine = !entry.name.empty();
    for (char c : entry.name) fine = fine && c != '/' && c != '\\' && static_cast<unsigned char>(c) >= 0x20;
    if (!fine)
      fail(ErrorKind::user, "[npz] expected a name without slashes and control characters, got '{}'", entry.name);
    if (!seen.insert(entry.name).second)
      fail(ErrorKind::user, "[npz] expected names that differ, got '{}' twice", entry.name);
  }
}

std::vector<float> widened(const void* data, std::int64_t count) {
  const auto* from = static_cast<const BFloat16*>(data);
  std::vector<float> out(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(from[i]);
  return out;
}

}  // namespace

std::string npy_header(DType dtype, const Shape& shape) {
  std::string dims;
  for (std::int64_t size : shape) dims += std::to_string(size) + ", ";
  if (shape.size() == 1) dims.pop_back();  // a tuple of one keeps its comma
  if (shape.size() > 1) dims.resize(dims.size() - 2);
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", numpy_name(dtype), dims);
  constexpr std::size_t kBefore = 10, kAlign = 64;  // magic, version and length; the data begins at a multiple of 64
  text.append((kAlign - (kBefore + text.size() + 1) % kAlign) % kAlign, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header.push_back(static_cast<char>(text.size() & 0xff));
  header.push_back(static_cast<char>(text.size() >> 8));
  return header + text;
}

std::int64_t write_npz(const fs::path& path, const std::vector<NpzEntry>& entries, bool compress) {
  check_names(entries);
  return write_output(path, [&](FileWriter& file) {
    ZipWriter zip(file, path, compress);
    for (const NpzEntry& entry : entries) {
      std::string header = npy_header(entry.dtype, entry.shape);
      std::int64_t count = element_count(entry.shape);
      bool wide = entry.dtype == DType::bf16;
      std::int64_t bytes = count * (wide ? size_of(DType::f32) : size_of(entry.dtype));
      zip.begin_member(entry.name + ".npy", static_cast<std::int64_t>(header.size()) + bytes);
      zip.write(header.data(), header.size());
      if (count == 0) continue;
      const void* data = entry.data();
      if (wide) {
        zip.write(widened(data, count).data(), static_cast<std::size_t>(bytes));
      } else {
        zip.write(data, static_cast<std::size_t>(bytes));
      }
    }
    zip.finish();
  });
}

}  // namespace reprise
