// The text of the user's error that a call ends with, for tests of what errors say.
// Called by tests of ops; a call that ends without one gives an empty text.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/error.h"

namespace reprise::testing {

/// Empty when `call` ends without an error; a failure of the test when it is not the user's.
template <class Call>
std::string user_error(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::user) << error.what();
    return error.message();
  }
  return "";
}

}  // namespace reprise::testing
