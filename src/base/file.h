// Reading input and writing results: whole files in, atomic files out.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::base {

/// The name in messages for what `path` reads: "-" is "<stdin>".
std::string display_path(const std::string& path);

/// The whole content of the file, or of standard input for "-". A missing or unreadable file is a Failure::io Error,
/// one that is larger than any input may be (max_input) a bad_input Error.
Result<std::string> read_file(const std::string& path);

/// The path by which this process has read the regular file that `path` names, in whatever way it is spelled and
/// through any links, if it has: whoever writes results asks first, so that no input is lost, also not one that another
/// input names.
std::optional<std::string> read_as(const std::string& path);
/// Counts the file among those that were read: an input that another one names, and that nobody reads.
void count_as_read(const std::string& path);

/// Writes `content` to a temporary file beside `path`, flushes it to disk and renames it over `path`, so that a reader
/// sees the old content or the new, never half. "-" writes to standard output; what is no regular file (a pipe,
/// /dev/null) is written directly.
Status write_file(const std::string& path, std::string_view content);

/// The same of content that lies in several places, one behind the other: large files need not be put together first.
Status write_file(const std::string& path, std::span<const std::string_view> parts);

/// A file that is one of a set.
struct FileContent {
  std::string path;
  std::string_view content;
};

/// Writes all files of a set, or none: each as write_file() does, but none is renamed before all are complete on the
/// disk, and where a rename fails what was there before is put back. Signals that end the program wait for the renames.
/// A reader may see some files of the old set beside some of the new for the moment in between, and a machine that
/// stops or a SIGKILL just then leaves such a mix, the old files beside it under names that begin with ".dovetail-".
/// What is no regular file is written as its turn comes.
Status write_files(std::span<const FileContent> files);

/// Whether write_file could begin to write to `path` now, before long work for what is to be written: its Error where
/// it could not. Nothing is left behind, and what is there stays as it is.
Status check_writable(const std::string& path);
/// Removes the temporary files in `folder` and those below it that processes of this machine have left which were ended
/// while they wrote. What is still written stays.
void remove_abandoned_files(const std::string& folder);

}  // namespace dovetail::base
