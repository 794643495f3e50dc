// Builds a Document from the events of a parser. Private to base.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/file_place.h"

namespace dovetail::base {

/// Takes the values of a file in order. The first mistake is kept and everything after it ignored.
class DocumentBuilder {
 public:
  explicit DocumentBuilder(std::string path) { document_.path_ = std::move(path); }

  /// Takes the room at once for about as many values with so many bytes of text, which growing step by step would take
  /// twice.
  void reserve(std::size_t values, std::size_t text_bytes);

  /// Each returns the number of the new value, by which share() can repeat it.
  std::uint32_t add_null(FilePlace place);
  std::uint32_t add_boolean(FilePlace place, std::string_view text);
  std::uint32_t add_number(FilePlace place, std::string_view text);
  std::uint32_t add_string(FilePlace place, std::string_view text);
  std::uint32_t begin_list(FilePlace place);
  std::uint32_t begin_map(FilePlace place);
  /// Ends the innermost list or map.
  void end();

  /// Puts a value that is there already at this place too; an Error where it is a list or map that is still open.
  void share(FilePlace place, std::uint32_t value);

  void fail(FilePlace place, std::string message);
  bool failed() const { return error_.has_value(); }

  /// The document, or the first mistake. REQUIRES: a value was added and all lists and maps have ended, or failed().
  Result<Document> finish() &&;

 private:
  using Kind = Document::Kind;
  struct OpenValue {
    std::uint32_t index;
    std::size_t first_child;  ///< in pending_
  };

  std::uint32_t add(Kind kind, FilePlace place, std::string_view text);
  std::uint32_t begin(Kind kind, FilePlace place);
  /// Hands a value to the list or map that is open, or makes it the root.
  void attach(std::uint32_t index, FilePlace place);
  bool expects_key() const;
  void check_duplicate_keys(std::uint32_t map);

  Document document_;
  std::vector<OpenValue> open_;
  std::vector<std::uint32_t> pending_;  ///< children of the open values, the innermost last
  std::optional<Error> error_;
};

/// What is wrong with the characters of a file: empty, control characters, not UTF-8, two byte order marks. `accepted`
/// names what an empty file should hold.
Status check_text(std::string_view content, const std::string& path, std::string_view accepted);

/// Line and column of the byte at `offset`.
FilePlace place_at(std::string_view content, std::size_t offset);

}  // namespace dovetail::base
