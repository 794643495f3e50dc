// Writing the files that commands produce.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::cli {

/// Whether `path` names standard output: "-", "/dev/stdout", or another name of the same file.
bool is_standard_output(const std::string& path);

/// Returns an Error if `path` cannot be written or its folder does not exist.
base::Status check_output_path(const std::string& path);

/// Returns an Error if writing `path` would overwrite an input: a file that was read or recorded as read
/// (base::read_as), or one of `to_be_read`. A `path` of nullopt is always accepted. write_output() makes the same check
/// without `to_be_read`; call this before long work to fail early.
base::Status check_no_input(const std::optional<std::string>& path,
                            const std::vector<std::optional<std::string>>& to_be_read = {});

/// Checks each of a command's output files with check_output_path and check_no_input. Returns an Error if two of them
/// are the same file.
base::Status check_outputs(const std::vector<std::optional<std::string>>& paths);

/// Writes `content` to `path` and returns the name of the destination, which is "<stdout>" for standard output. Returns
/// an Error if `path` is an input or cannot be written.
base::Result<std::string> write_output(const std::string& path, std::string_view content);

/// A file to write.
struct OutputFile {
  std::string path;
  std::string content;
};

/// Writes a set of files, either all or none of them (base::write_files), and returns the names of the destinations.
/// Returns an Error if one of them would overwrite an input. REQUIRES: if there are several files, standard output is
/// not one of them.
base::Result<std::vector<std::string>> write_outputs(const std::vector<OutputFile>& files);

/// Prints `text` on stderr if `path`, the output file of the command, is standard output. Otherwise, or without an
/// output file (nullopt), prints it on stdout.
void print_unless_stdout(const std::optional<std::string>& path, std::string_view text);

/// Whether the file at `path` can be written repeatedly: a regular file, or one that does not exist yet. Standard
/// output, pipes and devices can be written only once.
bool can_be_rewritten(const std::string& path);

/// Keeps the -o file of a distributed search up to date, so that its best answer survives the loss of a process. After
/// each write, waits ten times as long as the write took, and at least half a second, before the next one.
class BestFile {
 public:
  /// Calls `write` now, or in a later catch_up() if the last write was too recent. `write` writes a better answer than
  /// any before it, so it replaces a pending one. Its failures are ignored: the final write of the answer reports them.
  void take(std::function<void()> write);
  /// Writes the pending answer, if any, unless the last write was too recent.
  void catch_up();

 private:
  using Clock = std::chrono::steady_clock;

  std::function<void()> pending_;
  Clock::time_point next_ = Clock::now();
};

}  // namespace dovetail::cli
