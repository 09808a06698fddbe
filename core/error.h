// The one exception type of the project, with a kind and stacked context lines.
//
// Every room throws Error through fail() or REPRISE_INVARIANT. Only the program (tools/) turns an Error into an exit
// code; library code never aborts or exits. Text has the form "[op or stage] expected ..., got ... . Hint".
#pragma once

#include <fmt/core.h>

#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace reprise {

enum class ErrorKind {
  user,      // a wrong argument, path, shape or call
  config,    // a wrong key or value in a configuration
  io,        // the disk or a stream failed
  device,    // an accelerator or a library under it failed
  memory,    // the budget or the machine ran out of memory
  replay,    // a recomputation could not be shown what its forward saw
  internal,  // a broken invariant of this project
};

const char* to_string(ErrorKind kind);

/// The exit code of a program that ends with an error of this kind: 2 for the user's mistakes (user, config), else 1.
int exit_code(ErrorKind kind);

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message);

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const std::vector<std::string>& context() const { return context_; }

  /// Adds an outer context line, for instance "while replaying segment 3 (layer2.1)".
  void add_context(std::string line);

  /// The message followed by one indented line per context, innermost first.
  const char* what() const noexcept override { return full_.c_str(); }

 private:
  ErrorKind kind_;
  std::string message_;
  std::vector<std::string> context_;
  std::string full_;
};

/// An index outside of what it picks from: a mistake of the user that callers may have to tell from others.
class IndexError : public Error {
 public:
  explicit IndexError(std::string message) : Error(ErrorKind::user, std::move(message)) {}
};

template <class... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws an io error with the system's word for `error`, an errno: "[stage] cannot `what` `path`: ...".
[[noreturn]] void fail_errno(const char* stage, const char* what, const std::string& path, int error);

/// Throws an internal error when an invariant of the project does not hold.
#define REPRISE_INVARIANT(condition)                                                                                   \
  do {                                                                                                                 \
    if (!(condition))                                                                                                  \
      ::reprise::fail(::reprise::ErrorKind::internal, "[{}:{}] broken invariant: {}", __FILE__, __LINE__, #condition); \
  } while (false)

}  // namespace reprise
