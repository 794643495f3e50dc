// Builds a Document from the events of a parser. Private to base.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/result.h"

namespace dovetail::base {

/// Collects the values of a file in order. Keeps the first error and ignores all later events.
class DocumentBuilder {
 public:
  explicit DocumentBuilder(std::string path) { document_.path_ = std::move(path); }

  /// Reserves memory for about this many values and bytes of text. Growing step by step would need twice the memory.
  void reserve(std::size_t values, std::size_t text_bytes);

  /// Each add_ and begin_ function returns the index of the new value, for share().
  std::uint32_t add_null(FilePlace place);
  std::uint32_t add_boolean(FilePlace place, std::string_view text);
  std::uint32_t add_number(FilePlace place, std::string_view text);
  std::uint32_t add_string(FilePlace place, std::string_view text);
  std::uint32_t begin_list(FilePlace place);
  std::uint32_t begin_map(FilePlace place);
  /// Ends the innermost list or map.
  void end();

  /// Adds an existing value again at this place. Fails if it is a list or map that is still open.
  void share(FilePlace place, std::uint32_t value);

  void fail(FilePlace place, std::string message);
  bool failed() const { return error_.has_value(); }

  /// Returns the document or the first error. REQUIRES: a value was added and all lists and maps have ended, or
  /// failed().
  Result<Document> finish() &&;

 private:
  using Kind = Document::Kind;
  struct OpenValue {
    std::uint32_t index;
    std::size_t first_child;  ///< in pending_
  };

  std::uint32_t add(Kind kind, FilePlace place, std::string_view text);
  std::uint32_t begin(Kind kind, FilePlace place);
  /// Adds a value to the open list or map, or makes it the root.
  void attach(std::uint32_t index, FilePlace place);
  bool expects_key() const;
  void check_duplicate_keys(std::uint32_t map);

  Document document_;
  std::vector<OpenValue> open_;
  std::vector<std::uint32_t> pending_;  ///< children of the open values, innermost last
  std::optional<Error> error_;
};

/// Checks the characters of a file: not empty, no control characters, UTF-8, at most one byte order mark. `accepted`
/// names the expected content for the Error about an empty file.
Status check_text(std::string_view content, const std::string& path, std::string_view accepted);

/// Returns the line and column of the byte at `offset`.
FilePlace place_at(std::string_view content, std::size_t offset);

}  // namespace dovetail::base
