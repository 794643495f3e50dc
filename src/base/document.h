// A parsed YAML or JSON file in which every value knows its line and column.
//
// Compact (20 bytes a node), because a schedule of a million ops has seven million values.
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

/// The values of one file. Nodes point into it; it must outlive them. Immutable once parsed, so safe to share.
class Document {
 public:
  /// The value that the file holds.
  Node root() const;
  const std::string& path() const { return path_; }

 private:
  friend class DocumentBuilder;
  friend class Node;

  enum class Kind : std::uint8_t { null, boolean, number, string, list, map };
  struct Record {
    std::uint32_t begin = 0;   // of the text in text_, or of the children in children_
    std::uint32_t length = 0;  // characters, or children (a map has keys and values in turn)
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

  /// The characters of a scalar: the decimal as written for a number, the decoded text of a string.
  std::string_view text() const;
  /// How many items a list, or keys a map, has.
  std::size_t size() const;
  /// Item `index` of a list.
  Node item(std::size_t index) const;
  /// Key and value number `index` of a map.
  std::string_view key(std::size_t index) const;
  Node key_node(std::size_t index) const;
  Node value(std::size_t index) const;
  /// The value of `key` in a map, if it is there.
  std::optional<Node> find(std::string_view key) const;

  int line() const;
  int column() const;
  /// "a number", "a list", ...: what this is, for messages.
  std::string_view kind_name() const;
  /// The value itself where it is short enough for a message: "2.5", "the string `abc`"; else its kind.
  std::string describe() const;
  /// A bad_input Error at this value.
  Error error(std::string message) const;

 private:
  friend class Document;
  friend class DocumentBuilder;
  Node(const Document* document, std::uint32_t index) : document_(document), index_(index) {}
  const Document::Record& record() const;

  const Document* document_;
  std::uint32_t index_;
};

/// `text` in backquotes for a message: cut where it is long, what a terminal would obey made visible.
std::string quote(std::string_view text);

/// Parses JSON (RFC 8259). Duplicate keys are errors. `path` is only for messages.
Result<Document> parse_json(std::string_view content, const std::string& path);

/// Parses one YAML document. Duplicate keys are errors; anchors may be used, recursive ones not.
Result<Document> parse_yaml(std::string_view content, const std::string& path);

/// Parses content that is JSON if it looks like a JSON object, else YAML: for files that people write.
Result<Document> parse_yaml_or_json(std::string_view content, const std::string& path);

/// Errors at the first key of `map` that is not among `accepted`, naming the nearest accepted one.
/// `what` names the thing in the message ("a model"). Also an Error where `map` is no map.
Status check_keys(const Node& map, std::string_view what, const std::vector<std::string_view>& accepted);

/// The value of `key`; an Error at `map` where it is missing, which says `example` where there is one ("`format:
/// NAME`").
Result<Node> require(const Node& map, std::string_view what, std::string_view key, std::string_view example = {});

/// A whole number in [least, most]; else an Error at `node` that names `what` and the range.
Result<std::int64_t> read_whole(const Node& node, std::string_view what, std::int64_t least, std::int64_t most);

}  // namespace dovetail::base
