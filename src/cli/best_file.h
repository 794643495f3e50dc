// The -o file while a search that shares its work out is on: a lost process ends the job, and leaves what was written.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace dovetail::cli {

/// Whether a file at `path` can be written again and again: what is no file, such as a pipe or standard output, can be
/// written to only once.
bool can_be_rewritten(const std::string& path);

/// Writes the best answer so far, the more rarely the longer that takes.
class BestFile {
 public:
  /// Takes how an answer that is better than those before is written. Where that fails, so will the last one, which
  /// says why.
  void take(std::function<void()> write);
  /// Writes what was taken and not yet written, where the last time is long enough ago.
  void catch_up();

 private:
  using Clock = std::chrono::steady_clock;

  std::function<void()> waiting_;
  Clock::time_point next_ = Clock::now();
};

}  // namespace dovetail::cli
