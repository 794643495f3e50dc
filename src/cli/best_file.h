// The -o file while a search that shares its work out is on: a lost process ends the job, and leaves what was written.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/schedule_format.h"
#include "fuse/bounds/bounds.h"
#include "fuse/solution/solution.h"

namespace dovetail::cli {

/// Writes the best schedule so far, the more rarely the longer it takes. It has the bound on the makespan only, and does not say what
/// stopped the search.
class BestFile {
 public:
  /// `title` is the schedule's in pictures.
  BestFile(std::string path, ScheduleFormat format, std::string title, const fuse::Bounds& bounds);

  /// Takes a schedule that is better than those before. REQUIRES: it breaks no rule.
  void take(const fuse::Solution& solution);
  /// Writes what was taken and not yet written, where the last time is long enough ago. Where that fails, so will the last one, which
  /// says why.
  void catch_up();

 private:
  using Clock = std::chrono::steady_clock;

  std::string path_;
  ScheduleFormat format_;
  std::string title_;
  fuse::Bounds bounds_;
  std::optional<pipeline::Schedule> waiting_;
  Clock::time_point next_ = Clock::now();
};

}  // namespace dovetail::cli
