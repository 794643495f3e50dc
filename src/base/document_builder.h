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

  /// Reserves memory for about this many values and bytes of text, because buffers that grow step by step could take
  /// twice the memory.
  void reserve(std::size_t values, std::size_t text_bytes);

  // Each add_ and begin_ function returns the index of the new value, for share().

  std::uint32_t add_null(FilePlace place);
  std::uint32_t add_boolean(FilePlace place, std::string_view text);
  std::uint32_t add_number(FilePlace place, std::string_view text);
  std::uint32_t add_string(FilePlace place, std::string_view text);
  std::uint32_t begin_list(FilePlace place);
  std::uint32_t begin_map(FilePlace place);
  /// Ends the innermost list or map.
  void end();

  /// Adds the existing value with index `value` again, for a YAML alias at `place`. The value keeps its original place.
  /// Records an error at `place` if the value is a list or map that has not ended.
  void share(FilePlace place, std::uint32_t value);

  /// Records an error, unless there already is one.
  void fail(FilePlace place, std::string message);
  bool failed() const { return error_.has_value(); }

  /// Returns the document or the first error. REQUIRES: unless failed(), a value was added and all lists and maps have
  /// ended.
  Result<Document> finish() &&;

 private:
  using Kind = Document::Kind;
  struct OpenValue {
    std::uint32_t index;
    std::size_t first_child;  ///< in pending_
  };

  std::uint32_t add(Kind kind, FilePlace place, std::string_view text);
  std::uint32_t begin(Kind kind, FilePlace place);
  /// Adds a value to the innermost open list or map, or makes it the root. `place` is for the error about a key that is
  /// null, a list or a map.
  void attach(std::uint32_t index, FilePlace place);
  bool expects_key() const;
  void check_duplicate_keys(std::uint32_t map);

  Document document_;
  std::vector<OpenValue> open_;
  std::vector<std::uint32_t> pending_;  ///< children of the open values, innermost last
  std::optional<Error> error_;
};

/// Checks that a file is not blank, is UTF-8, and has no control characters except tabs and line ends. It may start
/// with one byte order mark, not two. `accepted` names the expected content for the Error about a blank file.
Status check_text(std::string_view content, const std::string& path, std::string_view accepted);

/// Returns the line and column of the byte at `offset`. Both count from 1, columns in bytes.
FilePlace place_at(std::string_view content, std::size_t offset);

}  // namespace dovetail::base
