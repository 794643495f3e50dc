// UTF-8: what is a character, and strings that any reader of JSON or YAML takes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::base {

/// How many bytes the UTF-8 character at the start of `text` has; 0 where there is none.
std::size_t utf8_length(std::string_view text);

inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// `content` without a byte order mark at its start.
std::string_view without_byte_order_mark(std::string_view content);

/// An Error at the first control character (but tabs and line ends), or the first byte that is not UTF-8: `content` is no text.
Status check_characters(std::string_view content, const std::string& path);

/// `text` in double quotes, escaped so that JSON and YAML read the same back. A byte that is no UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);

}  // namespace dovetail::base
