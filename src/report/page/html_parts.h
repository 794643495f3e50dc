// The files of web/, which are part of the library: cmake/EmbedWeb.cmake makes the source of these when it is built.
#pragma once

#include <string_view>

namespace dovetail::report {

/// web/index.html: the page with @TITLE@, @STYLE@, @DATA@ and @SCRIPT@ in place of its parts, in this order.
std::string_view html_template();
/// web/report.css, minified.
std::string_view html_style();
/// The modules of web/src, bundled to one script.
std::string_view html_script();

}  // namespace dovetail::report
