// The refusal of a replay says everything that finds the culprit.
#include <gtest/gtest.h>

#include "ops/arithmetic.h"
#include "ops/state.h"
#include "ops/unary.h"
#include "tests/support/errors.h"
#include "tests/support/lab.h"
#include "tests/support/text.h"

namespace reprise {
namespace {

using testing::contains;
using testing::Lab;

TEST(ReplayError, AForeignWriteIsNamedInFull) {
  Lab lab(Method::region);
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({2}, {0.4, 0.7});
  Tensor state = lab.state({2}, {2.0, 3.0});
  state.storage().set_name("scale");
  add_into(t, state, 1.0);
  Value y = segment(t, "S", [&] { return sin(t, mul(t, x, state)); });
  *state.view().as<double>() = 9.0;  // no door
  try {
    t.backward(y);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::replay);
    for (const char* part : {"[mul]", "operand b", "segment 'S'", "scale, bytes [0, 16)",
                             "as at version 2 (last written by add_into at node 0 of step 1)",
                             "the storage is at version 2", "host_write()", "while replaying segment 0 (S)"}) {
      EXPECT_PRED2(contains, error.what(), std::string(part));
    }
  }
}

/// Node numbers begin anew with each step, so the step of the last write must be said too.
TEST(ReplayError, ALastWriteOfAnEarlierStepIsNamedWithItsStep) {
  Lab lab(Method::region);
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({2}, {0.4, 0.7});
  Tensor ours = lab.state({2}, {2.0, 3.0}), theirs = lab.state({2}, {4.0, 5.0});
  t.clear();  // nothing was recorded: no step
  add_into(t, ours, 1.0);
  t.clear();
  for (Tensor* state : {&ours, &theirs}) {
    Value y = segment(t, "S", [&] { return sin(t, mul(t, x, *state)); });
    *state->view().as<double>() = 9.0;  // no door
    const char* writer =
        state == &ours ? "(last written by add_into at node 0 of step 1)" : "(last written by host, outside the tape)";
    std::string text = testing::error_of_kind(ErrorKind::replay, [&] { t.backward(y); });
    EXPECT_PRED2(contains, text, std::string(writer));
    y.reset();
    t.clear();
    x->clear_grad();
    add_into(t, ours, 1.0);  // the next round's node 0 is another write
    t.clear();
  }
}

}  // namespace
}  // namespace reprise
