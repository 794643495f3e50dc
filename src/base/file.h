// Files: size limits, whole files read into memory or mapped, and atomic writes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::base {

/// Kinds of text input. Each has its own size limit, so that 4 GB of memory suffice to read any input. In the worst
/// case, a byte of JSON takes 14 bytes of memory, a byte of YAML 25 and a byte of CSV 80. `lines` is text that is read
/// line by line: logs, JSON lines, FlexFusion traces.
enum class InputKind { json, yaml, csv, lines };

/// Returns the maximum size of an input of that kind, in bytes.
std::size_t max_input(InputKind kind);

/// Returns the highest of these limits, the one for JSON, in bytes.
std::size_t max_input();

/// Returns a bad_input Error if an input of that kind is too large. `path` is for messages.
Status check_input_size(InputKind kind, std::size_t bytes, const std::string& path);

/// Maximum length of a line of YAML, in bytes. The parser must treat an unfinished line as a possible key, which takes
/// 250 bytes of memory per byte of the line.
inline constexpr std::size_t max_yaml_line = std::size_t{1} << 20;

/// Like check_input_size above with the limit max_input(), for an input whose kind is not known yet.
Status check_input_size(std::size_t bytes, const std::string& path);

/// Returns the name of an input for messages: "<stdin>" for "-", otherwise `path`.
std::string display_path(const std::string& path);

/// Reads a whole file, or standard input for "-". A missing or unreadable file is a Failure::io Error; one larger than
/// max_input() is a bad_input Error.
Result<std::string> read_file(const std::string& path);

/// Returns the path by which this process has read the regular file at `path`; nullopt if it has not, or if there is no
/// such file. `path` itself may be a different spelling or a link. Check this before writing results, so that no input
/// is overwritten.
std::optional<std::string> read_as(const std::string& path);
/// Records a file as read, for read_as(), without reading it. For files that an input names.
void count_as_read(const std::string& path);

/// Writes `content` atomically: to a temporary file next to `path`, which is flushed to disk and renamed over `path`. A
/// reader sees either the old or the new content. Follows symbolic links and keeps the permissions of an existing file.
/// "-" writes to standard output. A pipe, device or other special file is written directly.
Status write_file(const std::string& path, std::string_view content);

/// Writes the concatenation of `parts`, so that large content need not be assembled in memory.
Status write_file(const std::string& path, std::span<const std::string_view> parts);

/// A file to write.
struct FileContent {
  std::string path;
  std::string_view content;
};

/// Writes all of the files or none, each like write_file(). No file is renamed before all are complete on disk. If a
/// rename fails, the old files are restored. SIGINT, SIGTERM, SIGHUP and SIGQUIT are blocked during the renames. Two
/// paths that lead to the same file are an Error.
///
/// Between two renames a reader may see a mix of old and new files. A crash or SIGKILL at that moment leaves such a
/// mix, with the old files next to it under names that begin with ".dovetail-". Pipes, devices and other special files
/// are written directly, before the renames.
Status write_files(std::span<const FileContent> files);

/// Checks that write_file() can write to `path`, and otherwise returns the Error that it would return. Leaves all files
/// as they are. Call this before long work.
Status check_writable(const std::string& path);
/// Removes the temporary files that interrupted processes left in `folder` and its subfolders. Keeps files whose
/// process still runs on this machine.
void remove_abandoned_files(const std::string& folder);

/// A regular file mapped into memory for reading. Must outlive pointers into it. If the file shrinks while it is
/// mapped, accessing the missing bytes ends the program.
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
