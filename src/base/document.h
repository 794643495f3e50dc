// Parsed YAML or JSON that stores the line and column of every value.
//
// A node takes only 20 bytes, because a schedule of a million ops has seven million values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::base {

class DocumentBuilder;
class Node;

/// The values of one file. It must outlive the Nodes that point into it. Immutable after parsing, so it may be shared
/// between threads.
class Document {
 public:
  /// Returns the top-level value.
  Node root() const;
  const std::string& path() const { return path_; }

 private:
  friend class DocumentBuilder;
  friend class Node;

  enum class Kind : std::uint8_t { null, boolean, number, string, list, map };
  struct Record {
    std::uint32_t begin = 0;   // offset of the text in text_, or of the children in children_
    std::uint32_t length = 0;  // number of characters or children (in a map, keys and values alternate)
    std::int32_t line = 0;
    std::int32_t column = 0;
    Kind kind = Kind::null;
  };

  std::string path_;
  std::string text_;
  std::vector<std::uint32_t> children_;
  std::vector<Record> records_;
  std::uint32_t root_ = 0;
};

/// One value of a Document: a cheap cursor, copied by value.
class Node {
 public:
  bool is_null() const;
  bool is_boolean() const;
  bool is_number() const;
  bool is_string() const;
  bool is_list() const;
  bool is_map() const;

  /// Returns the characters of a scalar: a number as written, a string decoded.
  std::string_view text() const;
  /// Returns the number of items of a list, or of keys of a map.
  std::size_t size() const;
  /// Returns item `index` of a list.
  Node item(std::size_t index) const;
  /// Returns key number `index` of a map.
  std::string_view key(std::size_t index) const;
  Node key_node(std::size_t index) const;
  /// Returns the value of key number `index` of a map.
  Node value(std::size_t index) const;
  /// Returns the value of `key` in a map; nullopt if the key is missing.
  std::optional<Node> find(std::string_view key) const;

  int line() const;
  int column() const;
  /// Returns the kind of value for messages: "a number", "a list", ...
  std::string_view kind_name() const;
  /// Returns the value itself if it is short enough for a message ("2.5", "the string `abc`"), otherwise its kind.
  std::string describe() const;
  /// Returns a bad_input Error at this value.
  Error error(std::string message) const;

 private:
  friend class Document;
  friend class DocumentBuilder;
  Node(const Document* document, std::uint32_t index) : document_(document), index_(index) {}
  const Document::Record& record() const;

  const Document* document_;
  std::uint32_t index_;
};

/// Returns `text` in backquotes for a message. Long text is truncated, and control characters are escaped.
std::string quote(std::string_view text);

/// Parses JSON (RFC 8259). Duplicate keys are Errors. `path` is for messages.
Result<Document> parse_json(std::string_view content, const std::string& path);

/// Parses one YAML document. Duplicate keys and recursive anchors are Errors. `path` is for messages.
Result<Document> parse_yaml(std::string_view content, const std::string& path);

/// Parses content as JSON if it looks like a JSON object, otherwise as YAML. For files that people write.
Result<Document> parse_yaml_or_json(std::string_view content, const std::string& path);

/// Checks that `map` is a map with only `accepted` keys. The Error is at the first unknown key and suggests the nearest
/// accepted one. `what` names the map in messages ("a model").
Status check_keys(const Node& map, std::string_view what, const std::vector<std::string_view>& accepted);

/// Returns the value of `key`. If it is missing, the Error at `map` shows `example` ("`format: NAME`"), unless that is
/// empty.
Result<Node> require(const Node& map, std::string_view what, std::string_view key, std::string_view example = {});

/// Reads an integer in [min, max]. An Error at `node` names `what` and the range.
Result<std::int64_t> read_integer(const Node& node, std::string_view what, std::int64_t min, std::int64_t max);

}  // namespace dovetail::base
