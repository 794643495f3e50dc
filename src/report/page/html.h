// Renders a Page as a self-contained HTML file that loads no fonts, scripts or other files.
#pragma once

#include <string>
#include <string_view>

#include "report/page/page.h"

namespace dovetail::report {

/// Returns the page with its script, style sheet and data (page_to_json) embedded. Its content security policy blocks
/// all loading. '<' in the data is escaped, so names cannot end the script element.
std::string render_html(const Page& page);

/// Name and version of the format.
inline constexpr const char* page_format = "dovetail/report@1";

/// Returns the JSON object that the page's script reads (schemas/report@1.json). Bars are stored as columns of integers
/// (gap to the previous bar of the lane, length, category, and one column per field), so 100,000 bars take a few
/// megabytes. Times are in ticks, or in ns if the chart has a time unit.
std::string page_to_json(const Page& page);

/// Returns web/index.html, which contains @TITLE@, @STYLE@, @DATA@ and @SCRIPT@ in this order. cmake/EmbedWeb.cmake
/// generates the source of these three functions.
std::string_view html_template();
/// Returns web/report.css, minified.
std::string_view html_style();
/// Returns the modules of web/src, bundled into one script.
std::string_view html_script();

}  // namespace dovetail::report
