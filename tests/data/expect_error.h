// Expects a statement to throw Error of a kind, with given words in its text.
// Called by tests of readers; the text is part of what is promised.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <string>

#include "core/error.h"

namespace reprise::test {

inline void expect_error(ErrorKind kind, std::initializer_list<std::string> words, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.kind()), std::string(to_string(kind))) << error.what();
    for (const std::string& word : words) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << "no \"" << word << "\" in: " << error.what();
    }
    return;
  }
  ADD_FAILURE() << "nothing was thrown";
}

}  // namespace reprise::test
