// What `schedule --objective pareto` does: the front, its table, its picture and its file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/answer.h"
#include "cli/load.h"
#include "fuse/solution/solution.h"

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
  double seconds = 0;
  double iterations_per_second = 0;
};

/// Searches the front with progress on stderr. Its first schedule does not fit where none was found that does.
Front solve_front(const NamedProblem& named, const fuse::Bounds& bounds, const fuse::SolveOptions& options, const fuse::Solution* start);

/// Where the answer goes.
struct FrontOutput {
  std::optional<std::string> path;
  std::optional<std::string> format;
  int pick = 0;  ///< the number of the schedule to write, from 1; 0: the front itself
  bool json = false;
};

/// Whether the front could be written there: JSON or SVG, not together with the report on standard output.
base::Status check_front_output(const FrontOutput& output);

/// Prints and writes the front; gives the exit code.
base::Result<int> report_front(const NamedProblem& named, const Front& front, const FrontOutput& output);

}  // namespace dovetail::cli
