// Files that grow. GrowingFile reads what another program appends. LineFile appends lines.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::base {

class Descriptor;

/// Reads what other programs append to the file at a path. If the file was renamed, reads it to its end and then the
/// new file at the path. If it was truncated or rewritten, reads it again from its beginning.
class GrowingFile {
 public:
  /// The file need not exist yet.
  explicit GrowingFile(std::string path);
  GrowingFile(GrowingFile&&) noexcept;
  GrowingFile& operator=(GrowingFile&&) noexcept;
  ~GrowingFile();

  /// New content since the last call.
  struct NewContent {
    std::string bytes;
    /// Whether the file was replaced or rewritten since the last call. `bytes` then includes the new content from its
    /// beginning. A line feed precedes it if the old content ended in an incomplete line.
    bool restarted = false;
  };
  /// Returns the new content, which may be empty. A file that exists but cannot be read is a Failure::io Error.
  Result<NewContent> read_new();
  /// Whether read_new() has found the file at least once.
  bool exists() const { return file_ != nullptr; }

 private:
  Status read_rest(std::string& bytes);
  /// Continues at the beginning of a file. If the previous content ended in an incomplete line, appends a line feed to
  /// `bytes`.
  void restart(std::string& bytes);
  /// Whether the bytes that were read last are still in the file.
  bool is_unchanged() const;

  std::string path_;
  std::unique_ptr<Descriptor> file_;
  std::uint64_t node_ = 0;
  std::uint64_t device_ = 0;
  std::int64_t offset_ = 0;
  std::string last_;  // the last few bytes that were read
};

/// A file to which complete lines or records are appended, while other programs may read it.
class LineFile {
 public:
  /// Opens or creates the file. Returns a Failure::io Error if that fails.
  static Result<LineFile> open(const std::string& path);

  /// Appends complete lines or records. If not all bytes can be written, tries to truncate the file to its previous
  /// size and returns a Failure::io Error.
  Status append(std::string_view bytes);
  /// Flushes appended bytes to disk.
  Status flush();

  LineFile(LineFile&&) noexcept;
  LineFile& operator=(LineFile&&) noexcept;
  ~LineFile();

 private:
  explicit LineFile(std::string path);

  std::string path_;
  std::unique_ptr<Descriptor> file_;
};

}  // namespace dovetail::base
