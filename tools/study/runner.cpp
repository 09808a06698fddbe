#include "tools/study/runner.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "core/interrupt.h"
#include "core/text.h"
#include "data/atomic_file.h"
#include "models/run/progress.h"
#include "recompute/fingerprint.h"
#include "tools/study/fresh_process.h"
#include "tools/study/statistics.h"
#include "tools/study/surroundings.h"
#include "tools/study/tasks.h"

namespace reprise::study {

namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf()))
    fail(ErrorKind::user, "[study] expected the file {} of the study, cannot read it", file.string());
  return std::move(text).str();
}

Json job_of(const Config& study, const fs::path& folder, const Json& work) {
  return {{"type", study.get_string("type")}, {"folder", folder.string()}, {"work", work}};
}

using Clock = std::chrono::steady_clock;

const std::vector<std::string> kJobArguments = {"study", "--job"};

/// The id under which a task that has failed before is done again.
std::string id_of_attempt(const std::string& id, int attempt) {
  return attempt == 1 ? id : fmt::format("{}#{}", id, attempt);
}

}  // namespace

Json Workshop::run_fresh(const Json& work) const {
  FreshProcess process(kJobArguments, job_of(study_, folder_, work));
  while (!process.poll()) {
    if (stop_requested()) throw Interrupted{"planning the study; the same command begins that again"};
    wait_for_any({&process});
  }
  const Ended& ended = process.ended();
  if (ended.code == kInterruptedExitCode) throw Interrupted{"planning the study; the same command begins that again"};
  if (!ended.ok()) fail(ErrorKind::internal, "[study] a process that prepares the study ended with {}", ended.error());
  return ended.answer;
}

void Workshop::store(const std::string& name, const std::string& text) const {
  fs::path path = folder_ / name;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) fail(ErrorKind::io, "[study] cannot make the folder {}: {}", path.parent_path().string(), error.message());
  write_file_atomically(path, text);
}

void Workshop::note(const std::string& text) const { fmt::print(stderr, "{}\n", text); }

namespace {

class Runner {
 public:
  Runner(const Config& study, const RunnerOptions& options)
      : study_(study),
        options_(options),
        type_(make_study_type(study.get_string("type"))),
        yaml_(study.to_yaml()),
        records_(made_folder() / "records.jsonl", study.get_string("name")) {}

  int go() {
    type_->check(study_);
    check_kind();
    if (records_.cut_off() > 0)
      fmt::print(stderr, "{} bytes of an unfinished record were cut off\n", records_.cut_off());
    if (records_.records().empty())
      begin();
    else
      resume();
    list_pending();
    announce();
    if (options_.plan_only) return 0;
    if (!do_pending()) {
      fmt::print(stderr, "stopped with {} of {} tasks done; the same command goes on\n", finished_, tasks_.size());
      return kInterruptedExitCode;
    }
    return finish();
  }

 private:
  struct Attempt {
    const Task* task;
    int attempt;
  };
  struct Running {
    Attempt what;
    std::unique_ptr<FreshProcess> process;
    Json record;  // begun
  };

  fs::path made_folder() {
    std::error_code error;
    make_output_folder(options_.folder, "study");
    bool known =
        fs::exists(options_.folder / "study.yaml", error) || fs::exists(options_.folder / "records.jsonl", error);
    if (!known && !fs::is_empty(options_.folder, error)) {
      fail(ErrorKind::user, "[study] expected an empty folder or one of this study, {} has other files in it",
           options_.folder.string());
    }
    return options_.folder;
  }

  void begin() {
    write_file_atomically(options_.folder / "study.yaml", yaml_);
    Planned planned = type_->plan(Workshop(study_, options_.folder));
    for (const std::string& note : planned.notes) fmt::print("{}\n", note);
    write_file_atomically(options_.folder / "tasks.json", tasks_to_json(planned.tasks));
    Json record = begin_record(study_, "study", "study", 0, 0);
    record["fingerprint"] = fingerprint(yaml_);
    for (auto& [key, value] : planned.about.items()) record[key] = value;
    std::map<std::string, std::int64_t> counts;  // so that the records alone tell whether the study is at its end
    for (const Task& task : planned.tasks) ++counts[task.kind];
    record["tasks"] = counts;
    end_record(record, "ok", "", 0);
    records_.append(std::move(record));
    tasks_ = std::move(planned.tasks);
  }

  /// What is there must be of this very study, on this machine.
  void resume() {
    const Record& first = records_.records().front();
    std::string where = (options_.folder / "records.jsonl").string() + ":1";
    if (first.kind != "study")
      fail(ErrorKind::user, "[study] {}: expected the record of the study's start, got kind '{}'", where, first.kind);
    if (first.json["fingerprint"] != fingerprint(yaml_)) {
      fail(
          ErrorKind::user,
          "[study] {}: expected the records of this study, got those of another file or other keys: {}. Choose another folder: -o DIR",
          where, differing_line());
    }
    tasks_ = tasks_from_json(text_of(options_.folder / "tasks.json"), (options_.folder / "tasks.json").string());
    std::string other = differing_versions(first.json["versions"]);
    list_pending();
    if (!other.empty() && !pending_.empty()) {
      fail(
          ErrorKind::user,
          "[study] {}: expected the program and machine that began the study, got others: {}. Choose another folder: -o DIR",
          where, other);
    }
    if (!pending_.empty()) type_->require_frozen(study_);
  }

  /// Before anything is measured, where the type can tell.
  void check_kind() const {
    std::set<std::string> known;
    for (const Task& task : type_->outline(study_)) known.insert(task.kind);
    for (const std::string& kind : type_->kinds()) known.insert(kind);
    if (options_.kind.empty() || known.empty() || known.contains(options_.kind)) return;
    fail(ErrorKind::user, "[study] --kind expected one of {}, got '{}'", fmt::join(known, ", "), options_.kind);
  }

  bool wanted(const Task& task) const { return options_.kind.empty() || options_.kind == task.kind; }

  std::string differing_line() const {
    std::istringstream then(text_of(options_.folder / "study.yaml")), now(yaml_);
    std::string a, b;
    while (std::getline(then, a) && std::getline(now, b)) {
      if (a != b) return fmt::format("study.yaml there says '{}', this one '{}'", a, b);
    }
    return "one has more keys";
  }

  /// Errors (user): a record of something that is no task of this study, or that says otherwise than its task.
  void list_pending() {
    struct Seen {
      const Task* task = nullptr;
      int attempts = 0;
      bool failed = false;
    };
    std::map<std::string, Seen> seen;
    for (const Task& task : tasks_) seen[task.id].task = &task;
    for (const Record& record : records_.records()) {
      if (record.kind == "study") continue;
      auto found = seen.find(record.id.substr(0, record.id.find('#')));
      std::string where = fmt::format("{}:{}", (options_.folder / "records.jsonl").string(), record.line);
      if (found == seen.end())
        fail(ErrorKind::user, "[study] {}: expected a record of a task of this study, got id '{}'", where, record.id);
      if (std::string differs = differing_field(record.json, *found->second.task); !differs.empty())
        fail(ErrorKind::user, "[study] {}: expected {}", where, differs);
      ++found->second.attempts;
      found->second.failed = record.status == "failed";
    }
    pending_.clear();
    finished_ = 0;
    for (const Task& task : tasks_) {
      const Seen& at = seen[task.id];
      bool again = at.failed && options_.retry_failed;
      if (at.attempts > 0 && !again)
        ++finished_;
      else if (wanted(task))
        pending_.push_back({&task, at.attempts + 1});
    }
  }

  double expected_left() const {
    double seconds = 0;
    for (const Attempt& attempt : pending_) {
      if (attempt.task->infeasible.empty()) seconds += attempt.task->expected_s / attempt.task->lanes;
    }
    return seconds;
  }

  void announce() {
    std::size_t processes = 0;
    for (const Attempt& attempt : pending_) processes += attempt.task->infeasible.empty();
    double seconds = expected_left(), limit = study_.get_seconds("limit");
    fmt::print("{} of {} tasks to do, {} of them processes; about {} expected (limit {})\n", pending_.size(),
               tasks_.size(), processes, readable_seconds(seconds), readable_seconds(limit));
    if (seconds > limit) fmt::print(stderr, "warning: longer than limit = {}\n", readable_seconds(limit));
    std::fflush(stdout);
  }

  /// False when somebody asked to stop. What runs then is killed and leaves no record.
  bool do_pending() {
    Clock::time_point start = Clock::now();
    while (!pending_.empty() || !running_.empty()) {
      if (stop_requested()) return false;
      if (may_start()) {
        Attempt next = pending_.front();
        pending_.pop_front();
        if (next.task->infeasible.empty())
          running_.push_back(start_task(next));
        else
          note_infeasible(next);
        continue;
      }
      std::vector<const FreshProcess*> all;
      for (const Running& running : running_) all.push_back(running.process.get());
      wait_for_any(all);
      if (!collect(start)) return false;
    }
    return true;
  }

  bool may_start() const {
    if (pending_.empty()) return false;
    auto room = static_cast<std::size_t>(pending_.front().task->lanes);
    for (const Running& running : running_) room = std::min(room, static_cast<std::size_t>(running.what.task->lanes));
    return running_.size() < room;
  }

  Json begun(const Attempt& attempt) const {
    const Task& task = *attempt.task;
    Json record = begin_record(study_, task.kind, id_of_attempt(task.id, attempt.attempt), task.order, task.block);
    for (auto& [key, value] : task.fields.items()) record[key] = value;
    return record;
  }

  Running start_task(const Attempt& attempt) {
    Json record = begun(attempt);
    return {attempt, std::make_unique<FreshProcess>(kJobArguments, job_of(study_, options_.folder, attempt.task->work)),
            std::move(record)};
  }

  void note_infeasible(const Attempt& attempt) {
    Json record = begun(attempt);
    end_record(record, "infeasible", attempt.task->infeasible, 0);
    records_.append(std::move(record));
    ++finished_;
    fmt::print("[{:>{}}/{}] {}: infeasible\n", finished_, std::to_string(tasks_.size()).size(), tasks_.size(),
               attempt.task->label);
  }

  /// Takes in what has ended. False where a process says that it was asked to stop.
  bool collect(Clock::time_point start) {
    for (auto at = running_.begin(); at != running_.end();) {
      if (!at->process->poll()) {
        ++at;
        continue;
      }
      const Ended& ended = at->process->ended();
      if (ended.code == kInterruptedExitCode) return false;
      Json record = record_of(at->record, ended);
      const Task& task = *at->what.task;
      records_.append(record);
      ++finished_;
      done_s_ += task.expected_s / task.lanes;
      report(task, record, std::chrono::duration<double>(Clock::now() - start).count());
      at = running_.erase(at);
    }
    return true;
  }

  /// An answer that no record could hold is a failure as well: a process never ends without a record.
  Json record_of(const Json& begun, const Ended& ended) const {
    auto with = [&](const Json& answer, const std::string& error) {
      Json record = begun;
      for (const auto& [key, value] : answer.items()) record[key] = value;
      end_record(record, error.empty() ? "ok" : "failed", error, ended.elapsed_s);
      return record;
    };
    Json record = with(ended.answer, ended.ok() ? "" : ended.error());
    std::string refused = records_.refusal(record);
    return refused.empty() ? record : with(Json::object(), "its answer is no record: " + refused);
  }

  void report(const Task& task, const Json& record, double elapsed) const {
    double left = expected_left();
    for (const Running& running : running_) left += 0.5 * running.what.task->expected_s / running.what.task->lanes;
    if (done_s_ > 0) left *= elapsed / done_s_;
    std::string found = record["status"] == "ok" ? "done" : "FAILED: " + std::string(record["error"]);
    if (record["status"] == "ok" && record.contains("wall_s")) {
      found = fmt::format("{:.4f} s a step", median(record["wall_s"].get<std::vector<double>>()));
    }
    fmt::print("[{:>{}}/{}] {}: {}, {} left\n", finished_, std::to_string(tasks_.size()).size(), tasks_.size(),
               task.label, found, readable_seconds(left));
    std::fflush(stdout);
  }

  int finish() {
    Analysis analysis = type_->analyse(study_, records_.records());
    write_file_atomically(options_.folder / "summary.json", json_pretty(analysis.summary));
    fmt::print("\n{}", analysis.text);
    std::set<std::string> failed;
    std::size_t infeasible = 0;
    for (const Record& record : records_.records()) {
      std::string id = record.id.substr(0, record.id.find('#'));
      if (record.status == "failed") failed.insert(id);
      if (record.ok()) failed.erase(id);
      infeasible += record.status == "infeasible";
    }
    auto number = [](std::size_t count, const char* what) { return counted(static_cast<std::int64_t>(count), what); };
    fmt::print("{}, {} infeasible, {} failed; {}\n", number(records_.records().size(), "record"), infeasible,
               number(failed.size(), "task"), (options_.folder / "summary.json").string());
    for (const std::string& id : failed) fmt::print(stderr, "failed: {} (--retry-failed does it again)\n", id);
    if (!analysis.wrong.empty()) fmt::print(stderr, "error: {}\n", analysis.wrong);
    return analysis.wrong.empty() && failed.empty() ? 0 : 1;
  }

  const Config& study_;
  RunnerOptions options_;
  std::unique_ptr<StudyType> type_;
  std::string yaml_;
  RecordFile records_;
  std::vector<Task> tasks_;
  std::deque<Attempt> pending_;
  std::vector<Running> running_;
  std::size_t finished_ = 0;
  double done_s_ = 0;  // expected time of what was done in this call
};

}  // namespace

int list_tasks(const Config& study) {
  std::unique_ptr<StudyType> type = make_study_type(study.get_string("type"));
  type->check(study);
  std::vector<Task> tasks = type->outline(study);
  if (tasks.empty()) {
    fail(
        ErrorKind::user,
        "[study] expected a study whose tasks are known before it is planned, got one of type {}. --plan-only plans it and stops",
        study.get_string("type"));
  }
  for (const Task& task : tasks) fmt::print("{}\n", task.id);
  fmt::print("{} tasks\n", tasks.size());
  return 0;
}

int run_study(const Config& study, const RunnerOptions& options) { return Runner(study, options).go(); }

int run_job() {
  Json job = read_work();
  for (const char* field : {"type", "folder", "work"}) {
    if (!job.contains(field)) fail(ErrorKind::user, "[study] expected a job with '{}', got none", field);
  }
  print_answer(make_study_type(job["type"])->run(job["work"], fs::path(std::string(job["folder"]))));
  return 0;
}

fs::path default_folder(const Config& study) { return fs::path("runs") / ("study-" + study.get_string("name")); }

}  // namespace reprise::study
