// Fingerprints: 64-bit hashes (XXH3) as 16 hexadecimal digits, of texts and of what a build's ops mean. Two builds of
// one fingerprint have the same version and the same contracts of ops, so their traces and plans can be exchanged.
#pragma once

#include <string>
#include <string_view>

#include "autograd/op.h"

namespace reprise {

std::string fingerprint(std::string_view bytes);

/// The contract of an op as one line of text: all that tape and replay read of it.
std::string contract_text(const Op& op);

const char* build_version();
/// Of the version and the contracts of all registered ops.
std::string build_fingerprint();

}  // namespace reprise
