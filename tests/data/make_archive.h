// Makes small archives and compressed files with libarchive, as a person's tools would.
// Called by tests of readers; nothing is read from outside the test.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"

namespace reprise::testing {

struct TestMember {
  std::string name;
  FileBytes bytes;
  std::string symlink_to = {};  // makes it a link
};

enum class Filter { none, gzip, xz };

inline void add_filter(::archive* a, Filter filter) {
  if (filter == Filter::gzip) archive_write_add_filter_gzip(a);
  if (filter == Filter::xz) archive_write_add_filter_xz(a);
}

inline void write_members(::archive* a, const std::filesystem::path& path, const std::vector<TestMember>& members) {
  if (archive_write_open_filename(a, path.c_str()) != ARCHIVE_OK) throw std::runtime_error(archive_error_string(a));
  for (const TestMember& member : members) {
    ::archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, member.name.c_str());
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_filetype(entry, member.symlink_to.empty() ? AE_IFREG : AE_IFLNK);
    if (!member.symlink_to.empty()) archive_entry_set_symlink(entry, member.symlink_to.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(member.bytes.size()));
    archive_write_header(a, entry);
    archive_write_data(a, member.bytes.data(), member.bytes.size());
    archive_entry_free(entry);
  }
  archive_write_close(a);
  archive_write_free(a);
}

inline void make_tar(const std::filesystem::path& path, Filter filter, const std::vector<TestMember>& members) {
  ::archive* a = archive_write_new();
  add_filter(a, filter);
  archive_write_set_format_ustar(a);
  write_members(a, path, members);
}

inline void make_compressed(const std::filesystem::path& path, Filter filter, const FileBytes& bytes) {
  ::archive* a = archive_write_new();
  add_filter(a, filter);
  archive_write_set_format_raw(a);
  write_members(a, path, {{"data", bytes}});
}

}  // namespace reprise::testing
