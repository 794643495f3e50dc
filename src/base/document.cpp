#include "base/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/document_builder.h"
#include "base/enum_names.h"
#include "base/file.h"
#include "base/quantity.h"
#include "base/utf8.h"

namespace dovetail::base {

namespace {

std::string unknown_key_message(std::string_view key, std::string_view what,
                                const std::vector<std::string_view>& accepted) {
  std::string message = fmt::format("unknown key {} in {}; ", quote(key), what);
  const std::vector<std::string_view> nearest = nearest_names(key, accepted, 1);
  if (!nearest.empty()) message += fmt::format("did you mean {}? ", quote(nearest.front()));
  return message + fmt::format("accepted: {}", fmt::join(accepted, ", "));
}

}  // namespace

Node Document::root() const { return Node(this, root_); }

const Document::Record& Node::record() const { return document_->records_[index_]; }

bool Node::is_null() const { return record().kind == Document::Kind::null; }
bool Node::is_boolean() const { return record().kind == Document::Kind::boolean; }
bool Node::is_number() const { return record().kind == Document::Kind::number; }
bool Node::is_string() const { return record().kind == Document::Kind::string; }
bool Node::is_list() const { return record().kind == Document::Kind::list; }
bool Node::is_map() const { return record().kind == Document::Kind::map; }

std::string_view Node::text() const {
  DOVETAIL_ASSERT(!is_list() && !is_map());
  return std::string_view(document_->text_).substr(record().begin, record().length);
}

std::size_t Node::size() const {
  DOVETAIL_ASSERT(is_list() || is_map());
  return is_map() ? record().length / 2 : record().length;
}

Node Node::item(std::size_t index) const {
  DOVETAIL_ASSERT(is_list() && index < size());
  return Node(document_, document_->children_[record().begin + index]);
}

Node Node::key_node(std::size_t index) const {
  DOVETAIL_ASSERT(is_map() && index < size());
  return Node(document_, document_->children_[record().begin + 2 * index]);
}

std::string_view Node::key(std::size_t index) const { return key_node(index).text(); }

Node Node::value(std::size_t index) const {
  DOVETAIL_ASSERT(is_map() && index < size());
  return Node(document_, document_->children_[record().begin + 2 * index + 1]);
}

std::optional<Node> Node::find(std::string_view wanted) const {
  for (std::size_t i = 0; i < size(); ++i) {
    if (key(i) == wanted) return value(i);
  }
  return std::nullopt;
}

int Node::line() const { return record().line; }
int Node::column() const { return record().column; }

std::string_view Node::kind_name() const {
  switch (record().kind) {
    case Document::Kind::null:
      return "null";
    case Document::Kind::boolean:
      return "true or false";
    case Document::Kind::number:
      return "a number";
    case Document::Kind::string:
      return "a string";
    case Document::Kind::list:
      return "a list";
    case Document::Kind::map:
      return "a map";
  }
  DOVETAIL_ASSERT(false);
}

std::string Node::describe() const {
  constexpr std::size_t max_number = 40;
  if (is_string()) return "the string " + quote(text());
  if (is_boolean() || (is_number() && text().size() <= max_number)) return std::string(text());
  return std::string(kind_name());
}

Error Node::error(std::string message) const {
  return Error{.failure = Failure::bad_input,
               .path = document_->path_,
               .line = record().line,
               .column = record().column,
               .message = std::move(message)};
}

std::string quote(std::string_view text) {
  constexpr std::size_t max_length = 60;
  std::size_t end = std::min(text.size(), max_length);
  // Do not cut within a UTF-8 character.
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return fmt::format("`{}{}`", visible(text.substr(0, end)), end < text.size() ? "..." : "");
}

Result<Document> parse_yaml_or_json(std::string_view content, const std::string& path) {
  const std::string_view text = without_byte_order_mark(content);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool looks_like_json = first != std::string_view::npos && text[first] == '{';
  if (!looks_like_json) return parse_yaml(content, path);
  Result<Document> json = parse_json(content, path);
  if (json.ok() || path.ends_with(".json") || content.size() > max_input(InputKind::yaml)) return json;
  // It may be a YAML flow map, whose parser also finds duplicate keys. Report the error of the parser that read
  // further: the file was probably meant to be in that format.
  Result<Document> yaml = parse_yaml(content, path);
  if (yaml.ok()) return yaml;
  const auto place_of = [](const Result<Document>& result) {
    return std::pair(result.error().line, result.error().column);
  };
  return place_of(json) > place_of(yaml) ? std::move(json) : std::move(yaml);
}

Status check_keys(const Node& map, std::string_view what, const std::vector<std::string_view>& accepted) {
  if (!map.is_map()) {
    return map.error(
        fmt::format("{} must be a map, not {}; accepted keys: {}", what, map.describe(), fmt::join(accepted, ", ")));
  }
  for (std::size_t i = 0; i < map.size(); ++i) {
    const std::string_view key = map.key(i);
    const bool known = std::find(accepted.begin(), accepted.end(), key) != accepted.end();
    if (!known) return map.key_node(i).error(unknown_key_message(key, what, accepted));
  }
  return {};
}

Result<Node> require(const Node& map, std::string_view what, std::string_view key, std::string_view example) {
  if (!map.is_map())
    return map.error(
        fmt::format("{} must be a map, not {}; accepted: a map with the key {}", what, map.describe(), quote(key)));
  if (const std::optional<Node> value = map.find(key)) return *value;
  return map.error(
      fmt::format("{} needs the key {}{}{}", what, quote(key), example.empty() ? "" : "; accepted: ", example));
}

Result<std::int64_t> read_integer(const Node& node, std::string_view what, std::int64_t min, std::int64_t max) {
  const auto error = [&] {
    return node.error(fmt::format("{} must be an integer from {} to {}, not {}", what, min, max, node.describe()));
  };
  if (!node.is_number()) return error();
  const std::optional<ScaledDecimal> scaled = scale_decimal(node.text(), 0);
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!scaled || !scaled->exact || scaled->too_large || scaled->integer > largest) return error();
  const auto absolute = static_cast<std::int64_t>(scaled->integer);
  const std::int64_t value = scaled->negative ? -absolute : absolute;
  if (value < min || value > max) return error();
  return value;
}

}  // namespace dovetail::base
