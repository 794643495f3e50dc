// What `schedule --objective pareto` does: the front, its table, its picture and its file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/answer.h"
#include "cli/load.h"
#include "cli/schedule_format.h"
#include "fuse/pareto.h"

namespace dovetail::cli {

/// A schedule of the front with what is proven of it.
struct FrontSchedule {
  Solved solved;
  base::Ticks makespan_bound;  ///< of any schedule with at most its peak
  base::Memory peak_bound;     ///< of any schedule that ends by its makespan

  /// Whether no schedule is shorter with at most this peak, or lower by this makespan.
  bool shortest() const { return solved.solution.evaluation.makespan == makespan_bound; }
  bool lowest() const { return solved.solution.evaluation.peak_activation == peak_bound; }
};

/// A construction that the front is shown beside.
struct ReferenceSchedule {
  std::string solver;
  base::Ticks makespan;
  base::Memory peak;
  bool fits = true;
  bool is_baseline = false;
};

struct Front {
  fuse::Bounds bounds;
  std::vector<FrontSchedule> schedules;  ///< by rising makespan and falling peak
  std::vector<ReferenceSchedule> references;
  std::vector<fuse::PeakBoundStep> peak_bound;  ///< over the makespans of the schedules, where the output shows it
  double seconds = 0;
  double iterations_per_second = 0;
};

/// Where the answer goes.
struct FrontOutput {
  std::optional<std::string> path;
  ScheduleFormat format = ScheduleFormat::json;  ///< of the front (front_format), or of the schedule that is picked
  int pick = 0;                                  ///< the number of the schedule to write, from 1; 0: the front itself
  bool json = false;
};

/// Searches the front with progress on stderr, and the constructions beside it; a time limit is that of both. Its first schedule does not
/// fit where the search was stopped, or another process lost, before one was found that does.
Front solve_front(const NamedProblem& named, const fuse::Bounds& bounds, const fuse::SolveOptions& options, const FrontOutput& output);

/// The format to write a front to `path` in: format_to_write, where that is one that a front has.
base::Result<ScheduleFormat> front_format(const std::string& path, const std::optional<std::string>& name);

/// Prints and writes the front; gives the exit code. Where there is no schedule with the number to write the front is printed before that
/// is an Error.
base::Result<int> report_front(const NamedProblem& named, const Front& front, const FrontOutput& output);

}  // namespace dovetail::cli
