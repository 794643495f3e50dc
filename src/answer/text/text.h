// Sanitizes, measures, shortens and compares text from outside (names, titles, files).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dovetail::answer {

/// Returns the number of code points, which is the width in a terminal unless characters are wide or combining.
std::size_t count_code_points(std::string_view text);

/// Replaces every character that a terminal interprets (base::has_controls) or that XML forbids, and every byte that is
/// not UTF-8, with U+FFFD.
std::string clean_text(std::string_view text);

/// Replaces each code point that is not printable ASCII with '?'.
std::string ascii_text(std::string_view text);

/// Cuts `text` to `width` code points, including `ellipsis`. A text that is cut ends with `ellipsis`, unless the
/// ellipsis alone is wider than `width`.
std::string shorten(std::string_view text, std::size_t width, std::string_view ellipsis);

/// Returns a number with its noun, which is given in the singular: "1 device", "3 micro-batches".
std::string counted(std::int64_t number, std::string_view noun);

/// Applies clean_text and escapes the result for XML element content or a double-quoted attribute.
std::string escape_xml(std::string_view text);

/// Returns the lines that differ: removed lines start with "- ", added lines with "+ ". The number of these lines is
/// minimal, unless thousands of lines lie between the first and the last change. In that case, all lines between these
/// changes are returned as removed and added.
std::string difference_of(std::string_view before, std::string_view after);

}  // namespace dovetail::answer
