// RecordParts: the bytes that one write kills, parted by who owes them: a part for each set of reads that owe some of
// the bytes together, as the preserver will make a record of each.
//
// Used by problems. Remembers what it was asked, since problems with two-level runs differ in options alone and part
// the same bytes again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/region.h"

namespace reprise {

struct RecordPart {
  std::vector<std::size_t> owners;  // places in what was asked, ascending
  std::int64_t bytes = 0;
  std::int64_t charged = 0;  // with its list of rows, rounded as blocks are
  std::int64_t runs = 0;
};

class RecordParts {
 public:
  /// `owed`: what each read owes of the bytes of the write. Valid until this object ends.
  const std::vector<RecordPart>& of(const std::vector<Region>& owed);

 private:
  struct Known {
    std::vector<Region> owed;
    std::vector<RecordPart> parts;
  };
  std::multimap<std::vector<std::int64_t>, Known> known_;  // by sizes of the regions
};

}  // namespace reprise
