// Parsed YAML or JSON that stores the line and column of every value.
//
// The record of a value takes only 20 bytes: a schedule of a million ops has eight million values.
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

/// The values of one file. Nodes point to the Document, so it must outlive them and must not be moved while they are in
/// use. It is immutable after parsing, so threads may share it.
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

/// One value of a Document: a cheap cursor, copied by value. Calling a function for another kind of value, such as
/// item() on a map, fails an assertion.
class Node {
 public:
  bool is_null() const;
  bool is_boolean() const;
  bool is_number() const;
  bool is_string() const;
  bool is_list() const;
  bool is_map() const;

  /// Returns the characters of a scalar: a number or boolean as written, or a string decoded. Empty for null.
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
  /// Describes the value for messages: a boolean or a number of at most 40 characters as written, a string by its
  /// beginning ("the string `abc`"), and anything else by its kind.
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

/// Returns `text` in backquotes for a message, cut after 60 bytes, with control characters escaped.
std::string quote(std::string_view text);

/// Parses JSON (RFC 8259). Duplicate keys are Errors. `path` is for messages.
Result<Document> parse_json(std::string_view content, const std::string& path);

/// Parses one YAML document. A plain scalar is null, a boolean (true, false), a decimal number, or otherwise a string.
/// Duplicate keys, recursive anchors, tags and further documents are Errors. `path` is for messages.
Result<Document> parse_yaml(std::string_view content, const std::string& path);

/// Parses content that starts with a brace as JSON, and other content as YAML. If JSON fails, tries YAML, because the
/// content may be a flow map. If YAML fails too, returns the Error of the parser that read further. After JSON has
/// failed, YAML is not tried if `path` ends in .json or if the content exceeds YAML's size limit. Meant for files
/// that people write.
Result<Document> parse_yaml_or_json(std::string_view content, const std::string& path);

/// Checks that `map` is a map and that all its keys are in `accepted`. The Error is at the first unknown key and
/// suggests a similar accepted key if there is one. `what` names the map in messages ("a model").
Status check_keys(const Node& map, std::string_view what, const std::vector<std::string_view>& accepted);

/// Returns the value of `key` in `map`. Returns an Error at `map` if it is not a map or lacks the key. For a missing
/// key, the message shows `example` ("`format: NAME`"), unless it is empty. `what` names the map in messages.
Result<Node> require(const Node& map, std::string_view what, std::string_view key, std::string_view example = {});

/// Reads an integer in [min, max]; "2.0" and "1e3" are integers, too. An Error at `node` names `what` and the range.
Result<std::int64_t> read_integer(const Node& node, std::string_view what, std::int64_t min, std::int64_t max);

}  // namespace dovetail::base
