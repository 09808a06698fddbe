// What guard mode says of an op whose contract lies: what it did, to which bytes, and what to declare. Used by
// autograd/guard.cpp only. `pass` is empty for a forward, else ": its backward".
#pragma once

#include "autograd/guard_frame.h"
#include "autograd/op.h"

namespace reprise {

/// `inputs`: how many operands of the node are inputs. Errors: internal, all of them.
[[noreturn]] void fail_undeclared_write(const Op& op, const char* pass, int inputs, const GuardDifference& at);
/// `block`: what was read; null where that is not known.
[[noreturn]] void fail_undeclared_read(const Op& op, const char* pass, const GuardBlock* block);
[[noreturn]] void fail_unwritten(const Op& op, const char* pass, const GuardDifference& at);

}  // namespace reprise
