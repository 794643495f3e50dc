// A Page as one HTML file that needs nothing else: no network, no fonts, no other file.
#pragma once

#include <string>

#include "report/page/page.h"

namespace dovetail::report {

/// The page with its script, its style sheet and its data (page_to_json) inside. Its content security policy lets it
/// load nothing. Names cannot leave their places: '<' in the data is written as an escape of JSON.
std::string render_html(const Page& page);

}  // namespace dovetail::report
