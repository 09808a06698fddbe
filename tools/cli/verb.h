// A verb of the program: `reprise NAME ...`. Each lives in its own file tools/verbs/NAME.cpp, as a function
// NAME_verb(), and has one line in tools/verbs/table.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/config/config.h"
#include "tools/cli/command.h"

namespace reprise {

/// Runs the verb after the command line was read; the result is the exit code. Errors are thrown.
using VerbAction = std::function<int()>;

struct Verb {
  std::string name;
  std::string summary;  // one line, for the list of verbs
  std::string help;     // what it does, and an example that works
  /// Declares options and says what to run. Options live in an object that the action shares.
  std::function<VerbAction(Command& app)> setup;
  /// The keys of its key=value arguments, where it takes some.
  std::function<Schema()> schema = standard_schema;
};

/// All verbs, in the order they are listed.
std::vector<Verb> all_verbs();

/// The positional arguments [CONFIG] [key=value...] that verbs on a configuration take.
class ConfigArguments {
 public:
  void add_to(Command& app);
  /// Empty when no file was given: all defaults.
  std::string file() const;
  /// Numbered as typed.
  std::vector<OverrideText> overrides() const;
  Config load() const;
  bool empty() const { return words_.empty(); }

 private:
  bool starts_with_file() const;
  std::vector<std::string> words_;
};

/// The arguments of this process, as error texts number them: 1 is the first after the program's name.
void set_command_line(int argc, const char* const* argv);
/// Gives words that stand in this order on the command line their numbers.
std::vector<OverrideText> number_as_typed(const std::vector<std::string>& words);

}  // namespace reprise
