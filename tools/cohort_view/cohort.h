// The records of a cohort, one conformance program run in one mode each, as tools/cohort/run leaves them. Read for
// `reprise cohort`: every file is checked against the hash in the manifest, every record against what a record holds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "models/run/json_text.h"

namespace reprise::cohort {

struct Record {
  std::string id, program, group, verdict, detail;  // group: the root-cause class
  std::string text;                                 // the line
};

struct Mode {
  std::string name, framework, about;
  std::vector<Record> records;
};

struct Cohort {
  std::filesystem::path folder;
  Json manifest;
  std::vector<Mode> modes;  // as the manifest orders them
};

struct Verdict {
  const char* name;
  const char* about;
};
/// The verdicts a record may have, from right to wrong, and what they mean.
const std::vector<Verdict>& verdicts();
/// Match, or a rejection that is allowed.
bool is_right(const std::string& verdict);
bool is_wrong(const std::string& verdict);  // neither right nor unsupported

/// `path`: a folder with manifest.json, the folder above one named "report", or the manifest itself.
/// Errors (user): no manifest; a file, that of the programs too, whose hash or number of lines is another; a bad record
/// or one of a program that is not there, as FILE:LINE; other counts of verdicts than the manifest says.
Cohort read_cohort(const std::filesystem::path& path);

/// The JSON text of one program. Errors (user): its file differs from the manifest; no such program.
Json read_program(const Cohort& cohort, const std::string& name);

/// Tables as text: verdicts of each mode; programs of each class that each mode gets wrong; and between any two modes
/// how many programs have another verdict.
std::string verdict_table(const Cohort& cohort);
std::string class_table(const Cohort& cohort);
std::string difference_table(const Cohort& cohort);
/// Programs on whose verdict two modes differ, a line each. Errors (user): no such mode.
std::string difference_list(const Cohort& cohort, const std::string& first, const std::string& second);
/// The same counts for other programs.
Json summary(const Cohort& cohort);

}  // namespace reprise::cohort
