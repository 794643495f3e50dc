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

/// An Error at the first control character (but tabs and line ends), or the first byte that is not UTF-8: `content` is
/// no text.
Status check_characters(std::string_view content, const std::string& path);

/// Whether a terminal or an editor may obey the character in place of showing it: a control (C0, DEL, C1), a line or
/// paragraph separator, or one that turns the direction of writing (Unicode's bidirectional controls).
bool is_control(char32_t code);

/// Whether `text` has a control, line ends among them, or a byte that is no UTF-8: no name may, and nothing that is
/// shown does.
bool has_controls(std::string_view text);

/// `text` with what has_controls() looks for made visible: `\u001B` for a character, `\xFF` for a byte that is no
/// UTF-8. The ASCII characters of `kept` ("\n\t") stay as they are. Within a JSON string the result is an escape that
/// JSON reads back.
std::string visible(std::string_view text, std::string_view kept = {});

/// `text` in double quotes, escaped so that JSON and YAML read the same back. A byte that is no UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);

}  // namespace dovetail::base
