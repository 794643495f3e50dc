// A check that a text is a well-formed XML document of elements, attributes and text: what SVG needs.
#pragma once

#include <string>
#include <string_view>

namespace dovetail::report {

/// What is wrong, with the text around it; empty where the document is well-formed. Knows no comments, CDATA or
/// declarations.
std::string find_xml_fault(std::string_view document);

}  // namespace dovetail::report
