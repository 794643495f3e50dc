// A Page as the JSON object that the report's script reads (schemas/report@1.json).
#pragma once

#include <string>

#include "report/page/page.h"

namespace dovetail::report {

/// The format's name and version.
inline constexpr const char* page_format = "dovetail/report@1";

/// One JSON object. Bars are columns of whole numbers: the gap to the bar before on the lane, the length, the category,
/// a column a field, so that a hundred thousand bars take a few megabytes. Times are ticks, or ns where the chart has a
/// unit.
std::string page_to_json(const Page& page);

}  // namespace dovetail::report
