#include "base/utf8.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace dovetail::base {
namespace {

bool is_rejected_control(char c) {
  const auto code = static_cast<unsigned char>(c);
  return (code < 0x20 && c != '\t' && c != '\n' && c != '\r') || code == 0x7F;
}

/// YAML readers drop it.
constexpr char32_t byte_order_mark_code = 0xFEFF;

/// Returns the JSON escape of a character of the basic multilingual plane.
std::string escape(char32_t code) { return fmt::format("\\u{:04X}", static_cast<unsigned>(code)); }

/// Returns the code point of a valid UTF-8 character.
char32_t decode(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return lead;
  char32_t code = lead & (0x7FU >> character.size());
  for (const char c : character.substr(1)) code = (code << 6U) | (static_cast<unsigned char>(c) & 0x3FU);
  return code;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned lead = byte(0);
  if (lead < 0x80U) return 1;
  if (lead >= 0xC2U && lead <= 0xDFU) return continues(1) ? 2 : 0;
  if (lead >= 0xE0U && lead <= 0xEFU) {
    // Neither an overlong encoding nor half of a surrogate pair.
    const bool allowed = !(lead == 0xE0U && byte(1) < 0xA0U) && !(lead == 0xEDU && byte(1) > 0x9FU);
    return allowed && continues(1) && continues(2) ? 3 : 0;
  }
  if (lead >= 0xF0U && lead <= 0xF4U) {
    const bool allowed = !(lead == 0xF0U && byte(1) < 0x90U) && !(lead == 0xF4U && byte(1) > 0x8FU);
    return allowed && continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

std::string_view without_byte_order_mark(std::string_view content) {
  return content.starts_with(byte_order_mark) ? content.substr(byte_order_mark.size()) : content;
}

Status check_characters(std::string_view content, const std::string& path) {
  int line = 1;
  std::size_t line_begin = 0;
  for (std::size_t i = 0; i < content.size();) {
    const auto error = [&](std::string message) {
      return Error{Failure::bad_input, path, line, static_cast<int>(i - line_begin) + 1, std::move(message)};
    };
    const auto code = static_cast<unsigned char>(content[i]);
    if (is_rejected_control(content[i]))
      return error(fmt::format("control character 0x{:02X}; accepted: text, tab and line ends", code));
    const std::size_t length = utf8_length(content.substr(i, 4));
    if (length == 0) return error(fmt::format("byte 0x{:02X} is not UTF-8; accepted: UTF-8 text", code));
    i += length;
    if (code != '\n') continue;
    ++line;
    line_begin = i;
  }
  return {};
}

bool is_control(char32_t code) {
  const auto within = [code](char32_t first, char32_t last) { return code >= first && code <= last; };
  const bool is_separator = within(0x2028, 0x2029);
  const bool turns_direction =
      code == 0x061C || within(0x200E, 0x200F) || within(0x202A, 0x202E) || within(0x2066, 0x2069);
  return code < 0x20 || within(0x7F, 0x9F) || is_separator || turns_direction;
}

bool has_controls(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text.substr(0, 4));
    if (length == 0 || is_control(decode(text.substr(0, length)))) return true;
    text.remove_prefix(length);
  }
  return false;
}

std::string visible(std::string_view text, std::string_view kept) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text.substr(0, 4));
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0) {
      shown += fmt::format("\\x{:02X}", static_cast<unsigned char>(character.front()));
    } else if (const char32_t code = decode(character);
               is_control(code) && kept.find(character) == std::string_view::npos) {
      shown += escape(code);
    } else {
      shown += character;
    }
    text.remove_prefix(character.size());
  }
  return shown;
}

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text.substr(i, 4));
    const std::string_view character = text.substr(i, std::max<std::size_t>(length, 1));
    if (length == 0) {
      quoted += "\uFFFD";
    } else if (character == "\"" || character == "\\") {
      quoted += fmt::format("\\{}", character);
    } else if (const char32_t code = decode(character); is_control(code) || code == byte_order_mark_code) {
      quoted += escape(code);
    } else {
      quoted += character;
    }
    i += character.size();
  }
  return quoted + "\"";
}

void JsonObject::add(std::string_view key, std::string_view value) {
  text_ += fmt::format("{}\"{}\": {}", text_.empty() ? "" : ", ", key, value);
}

std::string JsonObject::text() const { return fmt::format("{{{}}}", text_); }

}  // namespace dovetail::base
