// Other processes that a bench starts: this program again, in fresh memory, and the peer's scripts.
// Called by benches that need a process of its own; its peak memory is then that of the work.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "core/error.h"
#include "models/run/json_text.h"
#include "tools/process/child.h"

namespace reprise::bench {

using Child = process::Ended;

/// Runs argv[0], which is looked for in PATH, with nothing on its input. Errors (user): it cannot be started.
Child run_child(const std::vector<std::string>& argv);

/// The same for this program. Errors (internal): it ended with another code than 0.
Child run_self(std::vector<std::string> arguments);

/// The last line of a child's output as JSON. Errors (`kind`: whose mistake it would be): it is none.
Json last_json_line(const Child& child, const std::string& what, ErrorKind kind = ErrorKind::internal);

/// What stands under `keys`, one inside the other, in what the peer's `script` printed; a list or a number there.
/// Errors (user): there is none.
const Json& item_at(const Json& printed, const std::string& script, std::initializer_list<const char*> keys);
const Json& list_at(const Json& printed, const std::string& script, const char* key);
double number_at(const Json& printed, const std::string& script, std::initializer_list<const char*> keys);

/// The interpreter and folder of the peer's scripts; `python` is empty when no peer was asked for.
struct Peer {
  std::string python, folder;

  bool asked() const { return !python.empty(); }
  /// Checks interpreter, scripts and library before anything is measured. Errors (user) say what is missing.
  void require(const std::string& script) const;
  /// Runs a script and gives the JSON line that it prints. `environment` ("NAME=value") is set beside what this process
  /// has. Errors (user): the script failed, or printed no JSON; with its last words.
  Json run(const std::string& script, const std::vector<std::string>& arguments,
           const std::vector<std::string>& environment = {}) const;
};

}  // namespace reprise::bench
