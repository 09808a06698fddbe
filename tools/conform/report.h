// What `reprise conform` prints and writes: a row per program with a verdict per method, and counts at the end.
// The exit code follows from it: fine() is true if nothing is wrong.
#pragma once

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

class Report {
 public:
  /// `quiet`: only rows in which something is not fine, and the counts.
  Report(std::vector<Method> methods, bool quiet) : methods_(std::move(methods)), quiet_(quiet) {}

  void add(const Program& program, const std::vector<Judgement>& judgements);
  void print_summary() const;
  bool fine() const { return fine_; }

 private:
  std::vector<Method> methods_;
  bool quiet_;
  bool fine_ = true;
  std::map<Method, std::map<std::string, int>> counts_;
};

}  // namespace reprise::conform
