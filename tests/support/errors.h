// What an error says: catchers for tests of refusals and failures, whose texts are part of what is promised.
// Called by tests of all rooms; each of them takes a call, and lets what is no Error of this project pass.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>

#include "core/error.h"

namespace reprise::testing {

/// The error that `call` ends with, if any.
template <class Call>
std::optional<Error> caught(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

/// The error's text with its contexts, and its kind in `kind`; empty when `call` ends without one.
template <class Call>
std::string error_of(Call&& call, ErrorKind* kind = nullptr) {
  std::optional<Error> error = caught(call);
  if (error && kind) *kind = error->kind();
  return error ? error->what() : "";
}

/// The error's text; a failure of the test when it is of another kind, or when there is none.
template <class Call>
std::string error_of_kind(ErrorKind kind, Call&& call) {
  std::optional<Error> error = caught(call);
  if (!error) {
    ADD_FAILURE() << "nothing was thrown";
    return "";
  }
  EXPECT_EQ(std::string(to_string(error->kind())), to_string(kind)) << error->what();
  return error->what();
}

/// The user's error, without contexts; empty when `call` ends without one. One of another kind fails the test.
template <class Call>
std::string user_error(Call&& call) {
  std::optional<Error> error = caught(call);
  if (!error) return "";
  EXPECT_EQ(error->kind(), ErrorKind::user) << error->what();
  return error->message();
}

/// Expects an error of a kind, with all of these words in its text.
inline void expect_error(ErrorKind kind, std::initializer_list<std::string> words, const std::function<void()>& call) {
  std::string text = error_of_kind(kind, call);
  for (const std::string& word : words) {
    EXPECT_NE(text.find(word), std::string::npos) << "no \"" << word << "\" in: " << text;
  }
}

}  // namespace reprise::testing
