// Files: size limits, whole files read into memory or mapped, and atomic writes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::base {

/// Kinds of text input, each with its own size limit. The limits let any input be read with 4 GB of memory. A list of
/// ones, two bytes per value, takes 14 bytes of memory per byte of JSON and 25 per byte of YAML; CSV of empty cells
/// takes 80. `lines` is text that is read line by line: logs, JSON lines, FlexFusion traces.
enum class InputKind { json, yaml, csv, lines };

/// Returns the maximum size of an input of that kind, in bytes.
std::size_t max_input(InputKind kind);

/// Returns the maximum size of any input, in bytes.
std::size_t max_input();

/// Returns a bad_input Error if an input of that kind is too large. `path` is for messages.
Status check_input_size(InputKind kind, std::size_t bytes, const std::string& path);

/// Maximum length of a line of YAML, in bytes. Until a line ends, any of it may turn out to be a key, which takes 250
/// bytes of memory per byte.
inline constexpr std::size_t max_yaml_line = std::size_t{1} << 20;

/// Like check_input_size above, for an input whose kind is not known yet.
Status check_input_size(std::size_t bytes, const std::string& path);

/// Returns the name of an input for messages: "-" is "<stdin>".
std::string display_path(const std::string& path);

/// Reads a whole file, or standard input for "-". A missing or unreadable file is a Failure::io Error; one larger than
/// max_input() is a bad_input Error.
Result<std::string> read_file(const std::string& path);

/// Returns the path under which this process has read the regular file at `path`, however it is spelled or linked.
/// nullopt if the file was not read. Check this before writing results, so that no input is overwritten.
std::optional<std::string> read_as(const std::string& path);
/// Records a file as read without reading it: an input that another input names.
void count_as_read(const std::string& path);

/// Writes `content` atomically: to a temporary file next to `path`, which is flushed to disk and renamed over `path`. A
/// reader sees either the old or the new content. "-" writes to standard output. A pipe, device or other special file
/// is written directly.
Status write_file(const std::string& path, std::string_view content);

/// Writes the concatenation of `parts`, so that large content need not be assembled in memory.
Status write_file(const std::string& path, std::span<const std::string_view> parts);

/// One file of a set.
struct FileContent {
  std::string path;
  std::string_view content;
};

/// Writes all files of a set or none, each like write_file(). No file is renamed before all are complete on disk. If a
/// rename fails, the old files are restored. Signals that end the program are held back during the renames.
///
/// Between two renames a reader may see a mix of old and new files. A crash or SIGKILL at that moment leaves such a
/// mix, with the old files next to it under names that begin with ".dovetail-". Special files are written in their
/// turn.
Status write_files(std::span<const FileContent> files);

/// Checks before long work that write_file could write to `path`; otherwise returns its Error. Changes no file.
Status check_writable(const std::string& path);
/// Removes temporary files in and below `folder` that interrupted processes of this machine left. Files that are still
/// being written stay.
void remove_abandoned_files(const std::string& folder);

/// A regular file mapped into memory for reading. Must outlive pointers into it. If the file shrinks while it is
/// mapped, accessing it ends the program.
class MappedFile {
 public:
  /// A file that is missing, unreadable or not a regular file is a Failure::io Error.
  static Result<MappedFile> open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace dovetail::base
