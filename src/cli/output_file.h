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

/// Returns an Error if writing `path` would overwrite an input: a file that was read, including files that other inputs
/// name (base::read_as), or one of `to_be_read`. write_output() makes the same check; call this before long work to
/// fail early. nullopt is always accepted.
base::Status check_no_input(const std::optional<std::string>& path,
                            const std::vector<std::optional<std::string>>& to_be_read = {});

/// Writes `content` to `path` and returns the name of the destination, which is "<stdout>" for standard output. Returns
/// an Error if that would overwrite an input.
base::Result<std::string> write_output(const std::string& path, std::string_view content);

/// A file to write.
struct OutputFile {
  std::string path;
  std::string content;
};

/// Writes a set of files, either all or none of them (base::write_files), and returns the names of the destinations.
/// REQUIRES: if there are several files, none of them is standard output.
base::Result<std::vector<std::string>> write_outputs(const std::vector<OutputFile>& files);

/// Prints `text` about an answer that is written to `path`: on stderr if `path` is standard output, otherwise on
/// stdout.
void print_unless_stdout(const std::optional<std::string>& path, std::string_view text);

/// Whether the file at `path` can be written repeatedly. Standard output, pipes and devices can be written only once.
bool can_be_rewritten(const std::string& path);

/// Keeps the -o file of a distributed search up to date, so that its best answer survives the loss of a process. The
/// slower the writes, the rarer they are.
class BestFile {
 public:
  /// Schedules a call of `write`, which writes a better answer than any before it. Its failures are ignored: the final
  /// write of the answer reports them.
  void take(std::function<void()> write);
  /// Writes the pending answer, if any, unless the last write was too recent.
  void catch_up();

 private:
  using Clock = std::chrono::steady_clock;

  std::function<void()> pending_;
  Clock::time_point next_ = Clock::now();
};

}  // namespace dovetail::cli
