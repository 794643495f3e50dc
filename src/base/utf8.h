// UTF-8 text and JSON text: validation, escaping, and strings and objects that any JSON reader accepts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::base {

/// Returns the length in bytes of the UTF-8 character at the start of `text`; 0 if there is no valid one.
std::size_t utf8_length(std::string_view text);

inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// Returns `content` without a leading byte order mark.
std::string_view without_byte_order_mark(std::string_view content);

/// Checks that `content` is text. The Error is at the first byte that is not UTF-8 or is an ASCII control character
/// other than a tab or line end.
Status check_characters(std::string_view content, const std::string& path);

/// Whether a terminal or an editor may interpret the character instead of showing it: a control (C0, DEL, C1), a line
/// or paragraph separator, or a bidirectional control.
bool is_control(char32_t code);

/// Whether `text` has a control character, including line ends, or a byte that is not UTF-8. Names and displayed text
/// must not contain these.
bool has_controls(std::string_view text);

/// Returns `text` with control characters (is_control) escaped as `\u001B` and bytes that are not UTF-8 as `\xFF`. The
/// ASCII characters of `kept` ("\n\t") are not escaped. The `\u` escapes are valid inside JSON strings.
std::string visible(std::string_view text, std::string_view kept = {});

/// Returns `text` in double quotes, escaped so that JSON and YAML readers return the same text. A byte that is not
/// UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);

/// Builds a JSON object on one line, member by member, for files with a fixed layout.
class JsonObject {
 public:
  /// Appends a member. `value` is JSON text. REQUIRES: `key` needs no escaping.
  void add(std::string_view key, std::string_view value);
  bool empty() const { return text_.empty(); }
  /// Returns the members without braces: `"key": value, "key": value`.
  const std::string& members() const { return text_; }
  /// Returns the object in braces.
  std::string text() const;

 private:
  std::string text_;
};

}  // namespace dovetail::base
