// write_file_atomically() writes a file so that at any moment, also after SIGKILL or a power cut, its name holds all of
// the old or all of the new content: written under NAME.partial in the same folder, synced, renamed, and the folder
// synced.
//
// Callers: checkpoints, run folders, data/synthetic.h; write_output() is for files that a user names. One writer per
// name at a time. A failure removes the partial file and leaves the old one untouched; a partial file that a killed
// process left is replaced by the next write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

namespace reprise {

/// Where the content goes, in order, without copies of large pieces.
class FileWriter {
 public:
  /// Errors (io): the disk is full or failed.
  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  std::int64_t written() const { return written_; }

 private:
  friend void write_file_atomically(const std::filesystem::path&, const std::function<void(FileWriter&)>&);
  friend std::int64_t write_output(const std::filesystem::path&, const std::function<void(FileWriter&)>&);
  FileWriter(int descriptor, const std::filesystem::path& path) : descriptor_(descriptor), path_(path) {}

  int descriptor_;
  const std::filesystem::path& path_;
  std::int64_t written_ = 0;
};

/// Errors (io): the folder is missing or read-only, the disk is full or failed. What `fill` throws comes through.
void write_file_atomically(const std::filesystem::path& path, const std::function<void(FileWriter&)>& fill);
void write_file_atomically(const std::filesystem::path& path, std::string_view contents);

/// Writes what a user asked for with -o PATH and leaves what PATH is as it is: `-` is the standard output, links are
/// followed, a device or a pipe is written through (a pipe once somebody reads it), all else is written atomically.
/// Returns the bytes written. Errors: as check_output(); (io) the disk is full or failed; Interrupted while waiting.
std::int64_t write_output(const std::filesystem::path& path, const std::function<void(FileWriter&)>& fill);
std::int64_t write_output(const std::filesystem::path& path, std::string_view contents);
inline bool is_standard_output(const std::filesystem::path& path) { return path == "-"; }

/// Errors (user): write_output() could not write there, since the path is a folder, or its folder is missing or may not
/// be written, or it is a file among `inputs`, which would be lost. Called before the work whose result goes there;
/// `who` heads the error. An empty path is no output.
void check_output(const std::filesystem::path& path, std::string_view who,
                  const std::vector<std::filesystem::path>& inputs = {});

/// Makes a folder that a user named for results, and those above it. Errors, headed by `who`: (user) it is a file, no
/// folder can be there or it may not be made; (io) the disk failed.
void make_output_folder(const std::filesystem::path& path, std::string_view who);

/// Makes `path` a second name of the file `target` in the same folder, replacing what it named, in one step; a copy
/// where the file system has no links. Errors (io): as above, or the target cannot be read.
void name_file_atomically(const std::filesystem::path& target, const std::filesystem::path& path);

}  // namespace reprise
