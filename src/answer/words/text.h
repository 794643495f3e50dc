// Texts of others (names, titles) made safe for what they are written into, and their width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dovetail::answer {

/// How many code points `text` has: its width in a terminal, where no character is wide or combining.
std::size_t count_code_points(std::string_view text);

/// `text` with everything that a terminal would obey (base::has_controls) and every byte that is no UTF-8 replaced by
/// U+FFFD.
std::string clean_text(std::string_view text);

/// `text` with everything but printable ASCII replaced by '?', one for each code point.
std::string ascii_text(std::string_view text);

/// `text`, cut off to `width` code points; where something was, the last of them are `ellipsis` (left out where it does
/// not fit).
std::string shorten(std::string_view text, std::size_t width, std::string_view ellipsis);

/// "1 device", "2 devices", "3 micro-batches": a number with what is counted, which is given in the singular.
std::string counted(std::int64_t number, std::string_view noun);

/// clean_text, escaped for the content of an XML element or an attribute in double quotes.
std::string escape_xml(std::string_view text);

}  // namespace dovetail::answer
