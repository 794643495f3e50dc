#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/document_builder.h"
#include "base/input_size.h"
#include "base/utf8.h"

namespace dovetail::base {

namespace {

using Json = nlohmann::json;

/// The offset of the character after the string that begins at `begin`. REQUIRES: the string is sound.
std::size_t end_of_string(std::string_view content, std::size_t begin) {
  std::size_t i = begin + 1;
  while (content[i] != '"') i += content[i] == '\\' ? 2U : 1U;
  return i + 1;
}

/// Takes nlohmann's events, which come without places, and follows them through the content to know where each value
/// stands.
class JsonReader {
 public:
  JsonReader(std::string_view content, std::string path) : content_(content), builder_(std::move(path)) {
    // Every value but the first stands behind one of these. What is reserved in vain is never touched.
    const auto begins_value = [](char c) { return c == ',' || c == ':' || c == '[' || c == '{'; };
    builder_.reserve(1 + static_cast<std::size_t>(std::count_if(content.begin(), content.end(), begins_value)),
                     content.size());
  }

  bool null() {
    const FilePlace place = go_to_value();
    take("null");
    builder_.add_null(place);
    return true;
  }
  bool boolean(bool value) {
    const FilePlace place = go_to_value();
    builder_.add_boolean(place, take(value ? "true" : "false"));
    return true;
  }
  bool number_integer(Json::number_integer_t) { return number(); }
  bool number_unsigned(Json::number_unsigned_t) { return number(); }
  bool number_float(Json::number_float_t, const std::string&) { return number(); }
  bool string(const std::string& text) {
    const FilePlace place = go_to_value();
    cursor_ = end_of_string(content_, cursor_);
    builder_.add_string(place, text);
    return true;
  }
  bool key(const std::string& text) { return string(text); }
  bool binary(const Json::binary_t&) { return false; }
  bool start_object(std::size_t) {
    const FilePlace place = go_to_value();
    ++cursor_;
    builder_.begin_map(place);
    return true;
  }
  bool start_array(std::size_t) {
    const FilePlace place = go_to_value();
    ++cursor_;
    builder_.begin_list(place);
    return true;
  }
  bool end_object() { return end(); }
  bool end_array() { return end(); }
  bool parse_error(std::size_t position, const std::string& last_token, const Json::exception& exception);

  Result<Document> finish() && { return std::move(builder_).finish(); }

 private:
  bool number() {
    const FilePlace place = go_to_value();
    const std::size_t end = std::min(content_.find_first_not_of("+-.0123456789eE", cursor_), content_.size());
    const std::string_view text = content_.substr(cursor_, end - cursor_);
    cursor_ = end;
    builder_.add_number(place, text);
    return true;
  }
  bool end() {
    go_to_value();
    ++cursor_;
    builder_.end();
    return !builder_.failed();
  }
  /// Moves over blanks and separators to the next value, or the bracket that ends a list or map.
  FilePlace go_to_value() {
    while (cursor_ < content_.size() &&
           std::string_view(" \t\r\n,:").find(content_[cursor_]) != std::string_view::npos) {
      if (content_[cursor_] == '\n') {
        ++line_;
        line_begin_ = cursor_ + 1;
      }
      ++cursor_;
    }
    return {.line = line_, .column = 1 + static_cast<int>(cursor_ - line_begin_)};
  }
  std::string_view take(std::string_view word) {
    cursor_ += word.size();
    return word;
  }

  std::string_view content_;
  DocumentBuilder builder_;
  std::size_t cursor_ = 0;  ///< after the last event's characters
  int line_ = 1;
  std::size_t line_begin_ = 0;
};

/// nlohmann's words without its prefix, its place and the characters that it read last, which often begin before the
/// mistake.
std::string reason_of(std::string_view text) {
  if (const std::size_t prefix = text.find("] "); prefix != std::string_view::npos) text.remove_prefix(prefix + 2);
  if (text.starts_with("parse error at")) {
    if (const std::size_t place = text.find(": "); place != std::string_view::npos) text.remove_prefix(place + 2);
  }
  const std::size_t last_read = text.find("; last read: ");
  const std::size_t expected = text.rfind("; expected ");
  std::string reason(text.substr(0, last_read));
  if (last_read != std::string_view::npos && expected != std::string_view::npos && expected > last_read)
    reason += text.substr(expected);
  constexpr std::size_t longest = 200;
  if (reason.size() > longest) reason = reason.substr(0, longest) + "...";
  return reason;
}

bool JsonReader::parse_error(std::size_t position, const std::string&, const Json::exception& exception) {
  const std::string_view text = exception.what();
  const auto says = [&](std::string_view words) { return text.find(words) != std::string_view::npos; };
  // `position` counts the characters read. A broken token is shown where it breaks, a sound one out of place at its
  // start.
  FilePlace place;
  if (says("unexpected end of input")) {
    place = place_at(content_, content_.size());
  } else if (says("; last read: ") || says("unexpected '")) {
    place = place_at(content_, std::min(std::max<std::size_t>(position, 1) - 1, content_.size()));
  } else {
    place = go_to_value();
  }
  builder_.fail(place, says("number overflow")
                           ? "the number is too large; accepted: numbers below 1.8e308"
                           : fmt::format("not valid JSON: {}; accepted: JSON (RFC 8259)", reason_of(text)));
  return false;
}

}  // namespace

Result<Document> parse_json(std::string_view content, const std::string& path) {
  DOVETAIL_CHECK(check_input_size(InputKind::json, content.size(), path));
  DOVETAIL_CHECK(check_text(content, path, "a JSON document"));
  const std::string_view text = without_byte_order_mark(content);
  JsonReader reader(text, path);
  Json::sax_parse(text.data(), text.data() + text.size(), &reader);
  return std::move(reader).finish();
}

}  // namespace dovetail::base
