// MemoryFile: an anonymous file in memory that is the input or an output of a child process, so that nobody has to
// read while it runs. Called by what starts processes; a program that the child becomes inherits copies only.
#pragma once

#include <string>

namespace reprise::process {

class MemoryFile {
 public:
  /// `who` heads the errors. Errors (io): none can be made.
  MemoryFile(const char* name, const char* who);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }
  /// All that was written, by whom ever; the place where a child goes on writing stays.
  std::string text() const;
  /// At the beginning; a child that inherits the file reads from there. Errors (io).
  void write(const std::string& text);

 private:
  const char* who_;
  int descriptor_;
};

}  // namespace reprise::process
