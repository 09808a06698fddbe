// What a bench found: rows of figures with their spread, the machine's limit, the peer's figure and the target, as a
// table for people and as JSON. A row says its unit once; limit and peer are in the same unit.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/run/json_text.h"
#include "tools/bench/measure.h"

namespace reprise::bench {

struct Row {
  std::string what;
  std::string unit;  // "ms", "us", "ns", "x" (a ratio), "img/s", "MiB", "GB/s", "%", "" (a count)
  Samples ours;
  double bound = 0;      // the best the machine could do, in the same unit; 0: not known
  std::string bound_by;  // "FLOP/s", "copy": which limit
  Samples peer;
  bool more_is_better = false;
  std::string target;  // as the project states it; empty: none
  std::string note;
  bool show_upper_limit = false;  // the upper 95 % limit of the median, for paired ratios
};

class Report {
 public:
  /// `title` is one line about what is measured; `header` says machine and how.
  Report(std::string title, std::vector<std::string> header) : title_(std::move(title)), header_(std::move(header)) {}

  void add(Row row) { rows_.push_back(std::move(row)); }
  /// A line below the table.
  void remark(std::string line) { remarks_.push_back(std::move(line)); }
  const std::vector<Row>& rows() const { return rows_; }

  std::string table() const;
  Json json() const;

 private:
  std::string title_;
  std::vector<std::string> header_, remarks_;
  std::vector<Row> rows_;
};

/// "12.3 ms": three significant digits with the unit.
std::string figure(double value, const std::string& unit);

}  // namespace reprise::bench
