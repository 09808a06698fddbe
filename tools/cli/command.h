// The options of one verb, as its setup declares them: a plain face of CLI11, whose header takes seconds to compile and
// is therefore known to tools/cli alone. Called by every verb; targets outlive the parsing of the command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace reprise {

/// An option that was just declared; each call says one more thing about it.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option* option) : option_(option) {}

  /// What stands behind the name in the help, for instance "FILE".
  CommandOption option_text(const std::string& text);
  CommandOption required();
  /// How many words it takes; any number up from `least` where `most` is negative.
  CommandOption expected(int least, int most);
  CommandOption expected(int count) { return expected(count, count); }
  CommandOption range(std::int64_t least, std::int64_t most);
  CommandOption one_of(const std::vector<std::string>& words);
  /// Words that completion offers; others are for the verb to judge.
  CommandOption suggest(const std::vector<std::string>& words);
  /// Left out of the help.
  CommandOption hidden();

 private:
  CLI::Option* option_;
};

class Command {
 public:
  explicit Command(CLI::App& app) : app_(app) {}

  /// A name without dashes is a positional argument. A list takes one word or more unless it says otherwise.
  CommandOption add_option(const std::string& name, std::string& target, const std::string& help = "");
  CommandOption add_option(const std::string& name, std::vector<std::string>& target, const std::string& help = "");
  CommandOption add_option(const std::string& name, int& target, const std::string& help = "");
  CommandOption add_option(const std::string& name, std::int64_t& target, const std::string& help = "");
  CommandOption add_option(const std::string& name, std::uint64_t& target, const std::string& help = "");
  CommandOption add_flag(const std::string& name, bool& target, const std::string& help = "");

 private:
  CLI::App& app_;
};

}  // namespace reprise
