// What a source file defines, found by counting braces: functions (members and lambdas of tables too) and classes.
//
// Used by sizes_test.cpp and style_test.cpp. Not a parser: it leans on the house format, where a body opens after a
// space and an initialiser does not. Comments, literals and preprocessor lines are blank to it, so that only code is
// counted.
#pragma once

#include <cctype>
#include <regex>
#include <string>
#include <vector>

namespace reprise::source_tree {

struct Function {
  std::size_t first = 0, last = 0;  // line numbers, from 1
  std::size_t lines() const { return last - first + 1; }
};

struct Class {
  std::string name;  // "reprise::internal::Foo"
  std::size_t line = 0;
  bool local = false;  // in an unnamed namespace or a function
};

struct Scopes {
  std::vector<Function> functions;
  std::vector<Class> classes;
  bool balanced = true;
};

/// The lines joined, with everything that is no code replaced by blanks; line breaks stay.
class CodeOnly {
 public:
  explicit CodeOnly(const std::vector<std::string>& lines) {
    bool continued = false;
    for (const std::string& line : lines) {
      in_literal_.push_back(!raw_end_.empty());
      std::size_t first = line.find_first_not_of(' ');
      bool directive = continued || (first != std::string::npos && line[first] == '#' && raw_end_.empty());
      if (!directive) take(line);
      continued = directive && line.ends_with('\\');
      text_ += '\n';
    }
  }

  const std::string& text() const { return text_; }
  /// Whether the line begins inside a raw literal; `at` from 0.
  bool in_literal(std::size_t at) const { return in_literal_[at]; }

 private:
  void take(const std::string& line) {
    for (std::size_t i = 0; i < line.size();) {
      if (!raw_end_.empty()) {
        std::size_t end = line.find(raw_end_, i);
        if (end == std::string::npos) return;
        i = end + raw_end_.size();
        raw_end_.clear();
        text_ += '"';
      } else if (in_comment_) {
        std::size_t end = line.find("*/", i);
        if (end == std::string::npos) return;
        i = end + 2;
        in_comment_ = false;
      } else if (line.compare(i, 2, "//") == 0) {
        return;
      } else if (line.compare(i, 2, "/*") == 0) {
        in_comment_ = true;
        i += 2;
      } else if (line.compare(i, 2, "R\"") == 0) {
        std::size_t open = line.find('(', i);
        raw_end_ = ")" + line.substr(i + 2, open - i - 2) + "\"";
        i = open + 1;
      } else if (line[i] == '"' || (line[i] == '\'' && !separates_digits(line, i))) {
        i = past_literal(line, i);
        text_ += '"';
      } else {
        text_ += line[i++];
      }
    }
  }

  static bool separates_digits(const std::string& line, std::size_t at) {
    return at > 0 && std::isalnum(static_cast<unsigned char>(line[at - 1])) != 0;
  }

  static std::size_t past_literal(const std::string& line, std::size_t at) {
    char quote = line[at++];
    while (at < line.size() && line[at] != quote) at += line[at] == '\\' ? 2 : 1;
    return at + 1;
  }

  std::string text_, raw_end_;
  std::vector<bool> in_literal_;
  bool in_comment_ = false;
};

/// Walks the braces. A scope is what its head, the text since the last statement, says.
class ScopeReader {
 public:
  explicit ScopeReader(const std::vector<std::string>& lines) {
    const CodeOnly code(lines);
    std::size_t line = 1;
    for (char c : code.text()) {
      if (c == '\n') ++line;
      take(c == '\n' ? ' ' : c, line);
    }
    found_.balanced = found_.balanced && open_.empty();
  }

  const Scopes& found() const { return found_; }

 private:
  enum class Kind { names, type, function, initialiser, inner };

  struct Open {
    Kind kind;
    std::string name;
    std::size_t first;
    int parentheses;  // of the scope around
  };

  void take(char c, std::size_t line) {
    if (c == '(') ++parentheses_;
    if (c == ')') --parentheses_;
    if (c == '{') return open(line);
    if (c == '}') return close(line);
    bool list = !open_.empty() && open_.back().kind == Kind::initialiser;
    bool label = c == ':' && (head_ == "public" || head_ == "private" || head_ == "protected");
    if ((c == ';' && parentheses_ == 0) || (c == ',' && list && parentheses_ == 0) || label) return restart();
    if (head_.empty()) {
      if (c == ' ') return;
      head_line_ = line;
    }
    head_ += c;
  }

  void restart() { head_.clear(); }

  void open(std::size_t line) {
    Open scope{kind(), "", head_.empty() ? line : head_line_, parentheses_};
    if (scope.kind == Kind::names || scope.kind == Kind::type) scope.name = name();
    if (scope.kind == Kind::type) {
      std::string prefix;
      bool local = false;
      for (const Open& around : open_) {
        local = local || around.kind == Kind::function || (around.kind == Kind::names && around.name.empty());
        if (!around.name.empty()) prefix += around.name + "::";
      }
      if (!scope.name.empty()) found_.classes.push_back({prefix + scope.name, scope.first, local});
    }
    // An initialiser is a part of its statement, whose head goes on behind it.
    heads_.push_back(scope.kind == Kind::initialiser ? head_ + "{}" : "");
    head_lines_.push_back(head_line_);
    open_.push_back(scope);
    parentheses_ = 0;
    restart();
  }

  void close(std::size_t line) {
    if (open_.empty()) {
      found_.balanced = false;
      return;
    }
    Open scope = open_.back();
    open_.pop_back();
    if (scope.kind == Kind::function) found_.functions.push_back({scope.first, line});
    parentheses_ = scope.parentheses;
    head_ = heads_.back();
    head_line_ = head_lines_.back();
    heads_.pop_back();
    head_lines_.pop_back();
  }

  bool in_function() const {
    for (const Open& scope : open_) {
      if (scope.kind == Kind::function) return true;
    }
    return false;
  }

  Kind kind() const {
    static const std::regex kType(R"(^(template\b.*>\s*)?(typedef )?(class|struct|union|enum)\b[^=]*)");
    static const std::regex kNames(R"(^(inline )?(namespace\b|extern\b\s*")[^;(]*)");
    if (in_function() && !std::regex_match(head_, kType)) return Kind::inner;
    if (std::regex_match(head_, kNames)) return Kind::names;
    if (std::regex_match(head_, kType) && head_.find('(') == std::string::npos) return Kind::type;
    std::size_t last = head_.find_last_not_of(' ');
    bool spaced = last != std::string::npos && head_.back() == ' ';
    if (!spaced || std::string("=,({").find(head_[last]) != std::string::npos) return Kind::initialiser;
    return head_.find('(') == std::string::npos ? Kind::initialiser : Kind::function;
  }

  /// The last part of `namespace a::b`, `class alignas(8) Foo final : public Bar`; a specialisation has no name here.
  std::string name() const {
    static const std::regex kName(
        R"(^(?:template\b.*>\s*)?(?:inline )?(?:namespace|class|struct|union|enum class|enum)\s+)"
        R"((?:\[\[.*\]\]\s*)?([A-Za-z_][\w:]*\w|[A-Za-z_])\s*(<?).*)");
    std::smatch match;
    if (!std::regex_match(head_, match, kName) || match[2] == "<") return "";
    return match[1];
  }

  Scopes found_;
  std::vector<Open> open_;
  std::vector<std::string> heads_;
  std::vector<std::size_t> head_lines_;
  std::string head_;
  std::size_t head_line_ = 0;
  int parentheses_ = 0;
};

inline Scopes scopes_of(const std::vector<std::string>& lines) { return ScopeReader(lines).found(); }

}  // namespace reprise::source_tree
