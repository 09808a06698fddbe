// The commit that the program was built from: records of studies, `doctor` and bug reports name it. The build writes
// the source file (tools/cmake/commit.cmake).
#pragma once

namespace reprise {

/// Twelve digits of the commit, with "-dirty" behind them if files were changed; "unknown" where there is no history.
const char* build_commit();

}  // namespace reprise
