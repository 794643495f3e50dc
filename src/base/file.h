// Reading input and writing results: whole files in, atomic files out.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::base {

/// The name in messages for what `path` reads: "-" is "<stdin>".
std::string display_path(const std::string& path);

/// The whole content of the file, or of standard input for "-". A missing or unreadable file is a Failure::io Error.
Result<std::string> read_file(const std::string& path);

/// Writes `content` to a temporary file beside `path`, flushes it to disk and renames it over `path`, so that a reader sees the
/// old content or the new, never half. "-" writes to standard output; what is no regular file (a pipe, /dev/null) is written directly.
Status write_file(const std::string& path, std::string_view content);

/// Whether write_file could begin to write to `path` now, before long work for what is to be written: its Error where it could not. Nothing
/// is left behind, and what is there stays as it is.
Status check_writable(const std::string& path);

}  // namespace dovetail::base
