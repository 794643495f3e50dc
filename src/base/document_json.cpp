#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/document_builder.h"
#include "base/file.h"
#include "base/utf8.h"

namespace dovetail::base {

namespace {

using Json = nlohmann::json;

/// Returns the offset after the string that begins at `begin`. REQUIRES: the string is valid.
std::size_t end_of_string(std::string_view content, std::size_t begin) {
  std::size_t i = begin + 1;
  while (content[i] != '"') i += content[i] == '\\' ? 2U : 1U;
  return i + 1;
}

/// Handles nlohmann's events. They have no positions, so this class follows them through the content to find the
/// position of each value.
class JsonReader {
 public:
  JsonReader(std::string_view content, std::string path) : content_(content), builder_(std::move(path)) {
    // Every value except the first follows one of these characters. Reserved memory that is not used is never touched.
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
  /// Skips blanks and separators up to the next value or closing bracket.
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
  std::size_t cursor_ = 0;  ///< offset after the characters of the last event
  int line_ = 1;
  std::size_t line_begin_ = 0;
};

/// Returns nlohmann's message without its prefix, its place and the characters that it read last, which often begin
/// before the error.
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
  constexpr std::size_t max_length = 200;
  if (reason.size() > max_length) reason = reason.substr(0, max_length) + "...";
  return reason;
}

bool JsonReader::parse_error(std::size_t position, const std::string&, const Json::exception& exception) {
  const std::string_view text = exception.what();
  const auto contains = [&](std::string_view phrase) { return text.find(phrase) != std::string_view::npos; };
  // `position` is the number of characters read. The place is where an invalid token breaks, or the start of a valid
  // but unexpected one.
  FilePlace place;
  if (contains("unexpected end of input")) {
    place = place_at(content_, content_.size());
  } else if (contains("; last read: ") || contains("unexpected '")) {
    place = place_at(content_, std::min(std::max<std::size_t>(position, 1) - 1, content_.size()));
  } else {
    place = go_to_value();
  }
  builder_.fail(place, contains("number overflow")
                           ? "the number is out of range; accepted: -1.79e308 to 1.79e308"
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
