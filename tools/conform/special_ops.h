// Ops that only conformance programs have: `hook`, `unsteady` and `fail`. They are ordinary ops with contracts of their
// own, defined outside the framework, as a user's would be.
#pragma once

#include <functional>

#include "autograd/tape.h"

namespace reprise::conform {

/// What `fail` raises.
class InjectedFailure : public Error {
 public:
  InjectedFailure() : Error(ErrorKind::device, "[fail] an injected failure") {}
};

/// Identity; each backward that passes calls `body` once. `body` must outlive the tape's nodes.
Value hook(Tape& tape, Arg x, const std::function<void()>& body);

/// x + k * step, where k counts how often this node has run before. Says that it does not repeat itself.
Value unsteady(Tape& tape, Arg x, Arg step);

/// Identity; its second physical run raises an InjectedFailure.
Value fail_once(Tape& tape, Arg x);

}  // namespace reprise::conform
