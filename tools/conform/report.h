// What `reprise conform` prints and writes: a row per program with a verdict per method, and counts at the end.
// The exit code follows from it: fine() is true if nothing is wrong.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/conform/verdict.h"

namespace reprise::conform {

/// All program files named by `paths`: files as given, and the *.json files of folders in order of name.
/// Errors: io (no such path), user (a folder without programs).
std::vector<std::string> find_programs(const std::vector<std::string>& paths);

/// Which programs get a row: those in which something is not fine, or none where the output is for other things.
enum class Rows : std::uint8_t { all, not_fine, none };

class Report {
 public:
  Report(std::vector<Method> methods, Rows rows) : methods_(std::move(methods)), rows_(rows) {}

  void add(const Program& program, const std::vector<Judgement>& judgements);
  /// The counts, unless rows are none.
  void print_summary() const;
  bool fine() const { return fine_; }

 private:
  std::vector<Method> methods_;
  Rows rows_;
  bool fine_ = true;
  std::map<Method, std::map<std::string, int>> counts_;
};

}  // namespace reprise::conform
