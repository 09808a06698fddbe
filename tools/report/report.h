// The report of a study, of a cohort or of benches: one page of HTML that stands alone, and the same as Markdown with
// its pictures beside it. Called by `reprise report`. Everything in it is computed anew from the records; the same
// records give the same bytes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/report/document.h"

namespace reprise::report {

/// `path`: the folder of a study or of a cohort's report, or a file of records of a study or of benches, plain or
/// compressed.
/// Errors (user): nothing of the kind, or without a record; a bad record, with FILE:LINE.
Document make_report(const std::filesystem::path& path);

/// Writes NAME.html, NAME.md and NAME.PICTURE.svg into the folder, which is made. Returns the paths of the first two.
/// Errors: io.
std::vector<std::filesystem::path> write_report(const Document& document, const std::filesystem::path& folder,
                                                const std::string& name);

}  // namespace reprise::report
