// Checks that a text is a well-formed XML document of elements, attributes and text, which is all that SVG needs.
#pragma once

#include <string>
#include <string_view>

namespace dovetail::report {

/// Returns the first fault with the text around it; empty if the document is well-formed. Does not support comments,
/// CDATA and declarations.
std::string find_xml_fault(std::string_view document);

}  // namespace dovetail::report
