// What changed between two contract documents, in words: between two builds, two configurations, two methods. Used by
// `reprise contract --diff` and where a stored plan is refused.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "recompute/contract_json.h"

namespace reprise {

/// One line a difference, those of one segment indented below its line; empty when the documents say the same. At most
/// `most` differences of each kind are listed in one segment, then they are counted.
std::vector<std::string> diff_contracts(const ContractDocument& a, const ContractDocument& b, std::size_t most = 4);

}  // namespace reprise
