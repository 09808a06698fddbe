#include "tools/cli/command.h"

#include <CLI/CLI.hpp>

namespace reprise {

CommandOption CommandOption::option_text(const std::string& text) {
  option_->option_text(text);
  return *this;
}

CommandOption CommandOption::required() {
  option_->required();
  return *this;
}

CommandOption CommandOption::expected(int least, int most) {
  if (least == most) {
    option_->expected(least);
  } else {
    option_->expected(least, most);
  }
  return *this;
}

CommandOption CommandOption::range(std::int64_t least, std::int64_t most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

CommandOption CommandOption::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

CommandOption CommandOption::suggest(const std::vector<std::string>& words) {
  std::string set;
  for (const std::string& word : words) set += (set.empty() ? "" : ",") + word;
  option_->type_name("{" + set + "}");  // as one_of() has it; the help shows option_text() instead
  return *this;
}

CommandOption CommandOption::hidden() {
  option_->group("");
  return *this;
}

CommandOption Command::add_option(const std::string& name, std::string& target, const std::string& help) {
  return CommandOption(app_.add_option(name, target, help));
}

CommandOption Command::add_option(const std::string& name, std::vector<std::string>& target, const std::string& help) {
  return CommandOption(app_.add_option(name, target, help));
}

CommandOption Command::add_option(const std::string& name, int& target, const std::string& help) {
  return CommandOption(app_.add_option(name, target, help));
}

CommandOption Command::add_option(const std::string& name, std::int64_t& target, const std::string& help) {
  return CommandOption(app_.add_option(name, target, help));
}

CommandOption Command::add_option(const std::string& name, std::uint64_t& target, const std::string& help) {
  return CommandOption(app_.add_option(name, target, help));
}

CommandOption Command::add_flag(const std::string& name, bool& target, const std::string& help) {
  return CommandOption(app_.add_flag(name, target, help));
}

}  // namespace reprise
