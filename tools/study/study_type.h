// StudyType: what differs between studies, behind one interface: the keys of its file, the list of its tasks, doing one
// task in a fresh process, and the analysis of the records. The runner (runner.h) does the rest: processes, records,
// order, resuming, progress. A new type is a file with a function and one line in types.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/config/config.h"
#include "models/run/json_text.h"
#include "tools/study/record.h"

namespace reprise::study {

/// One thing to do, with one record to leave.
struct Task {
  std::string id, kind;  // of the record
  std::string label;     // for the line of progress: "row_memory tight segment joint, block 3"
  std::int64_t order = 0, block = 0;
  int lanes = 1;           // how many such tasks may run at once; with 1 a task has the machine for itself
  double expected_s = 0;   // of the whole process
  std::string infeasible;  // why there is no process; empty: there is one
  Json fields;             // what the record says besides, known before the process
  Json work;               // what run() gets
};

struct Planned {
  Json about;                      // fields of the record of kind `study`: fingerprints, budgets, ...
  std::vector<Task> tasks;         // in the order in which they are begun
  std::vector<std::string> notes;  // lines for people, printed before the first task
};

/// What planning may use. Everything planned is stored by the runner, so plan() is called once in a study's life.
class Workshop {
 public:
  Workshop(const Config& study, std::filesystem::path folder) : study_(study), folder_(std::move(folder)) {}
  const Config& study() const { return study_; }
  const std::filesystem::path& folder() const { return folder_; }
  /// Does `work` by run() of the study's type in a fresh process and gives its answer. Errors (internal): it failed;
  /// with its last words. Interrupted when somebody asked to stop.
  Json run_fresh(const Json& work) const;
  /// Writes a file of the study's folder; `name` is relative to it, such as "plans/a.json".
  void store(const std::string& name, const std::string& text) const;
  void note(const std::string& text) const;  // on stderr

 private:
  const Config& study_;
  std::filesystem::path folder_;
};

struct Analysis {
  Json summary;       // summary.json
  std::string text;   // the table for people
  std::string wrong;  // in words, where the results contradict what must hold (bytes that differ); empty: nothing
};

class StudyType {
 public:
  virtual ~StudyType() = default;
  /// Checks the file as far as can be done at once. Errors (config): with the place.
  virtual void check(const Config& study) const = 0;
  virtual Planned plan(const Workshop& workshop) const = 0;
  /// The tasks without anything measured: ids and labels, in order. Empty where they only follow from planning.
  virtual std::vector<Task> outline(const Config& /*study*/) const { return {}; }
  /// Kinds of the tasks where outline() cannot name them.
  virtual std::vector<std::string> kinds() const { return {}; }
  /// In a fresh process: does one piece of work and returns what it found, fields of its record. What is thrown becomes
  /// a record of status `failed`. `folder` is the study's; files of earlier tasks and of plan() are there.
  virtual Json run(const Json& work, const std::filesystem::path& folder) const = 0;
  /// From the records alone. `study` is the file as resolved.
  virtual Analysis analyse(const Config& study, const std::vector<Record>& records) const = 0;
  /// Errors (config): the workloads are others than those whose fingerprints stand in the file. plan() sees to it too;
  /// the runner asks before it goes on with what was planned.
  virtual void require_frozen(const Config& study) const = 0;
  /// The lines to put under `fingerprints:` in the file, made anew.
  virtual std::string fingerprints(const Config& study) const = 0;
  /// What the sizes meant for a GPU come to, recorded without being run; empty where the file has none. Errors
  /// (config): far from what the file says.
  virtual std::string gpu_sizes(const Config& /*study*/) const { return ""; }
};

struct RegisteredType {
  ModelType keys;  // name as `type`, summary, its keys
  std::function<std::unique_ptr<StudyType>()> make;
};
/// All types, in types.cpp.
const std::vector<RegisteredType>& study_types();

/// The schema of study files: `type`, `name`, `seed`, `threads`, `limit` and the keys of each type.
Schema study_schema();
/// Errors: config, user.
Config load_study(const std::string& file, const std::vector<OverrideText>& overrides = {});
std::unique_ptr<StudyType> make_study_type(const std::string& type);
/// Which file `name` in the study's file means: relative to the folder of that file.
std::string beside_study(const Config& study, const std::string& name);

}  // namespace reprise::study
