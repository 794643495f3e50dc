// A measured run beside what is predicted of its job and plan: phase by phase, what differs most and why it may.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/measured.h"
#include "measure/measurement.h"
#include "planner/advice/comparison.h"
#include "predict/closed_form/estimate.h"

namespace dovetail::measure {

/// A phase that was measured and is predicted.
struct MeasuredAgainst {
  std::string phase;                 ///< its name: that of its kind or of a task, or "iteration"
  std::optional<PhaseKind> kind;     ///< nothing of the iteration
  bool alone = false;                ///< a task that the log times by itself
  std::vector<std::string> keys;     ///< the log's
  TimeSpread measured;               ///< of the keys' sum
  double seconds = 0;                ///< that of the run's statistic
  double predicted = 0;              ///< seconds
  bool with_weight_sync = false;     ///< the log times no refit: it is in this phase, in both columns
  bool whole = true;                 ///< the phase is measured as plans have it, so that it can go into a measurement
  std::vector<std::string> reasons;  ///< why the two may differ, the likeliest first; empty where they hardly do

  double difference() const { return seconds - predicted; }
};

/// Seconds that only one side has.
struct OneSided {
  std::string name;
  double seconds = 0;
};

struct MeasuredComparison {
  std::vector<MeasuredAgainst> phases;  ///< in the order of phase_kinds
  std::optional<MeasuredAgainst> iteration;
  std::vector<OneSided> only_measured;   ///< times of the log within the iteration that are in no phase of the plan
  std::vector<OneSided> only_predicted;  ///< tasks and refits of the plan that the log does not time

  /// Phases by how many seconds they differ, the most first.
  std::vector<const MeasuredAgainst*> by_difference() const;
};

/// A phase differs where it is off by more than this fraction of itself, and by more than a fiftieth of the iteration.
inline constexpr double noticed_difference = 0.1;
inline constexpr double noticed_part = 0.02;

/// Tasks are compared one by one where the log times each by itself, else all of their kind together. Of keys whose
/// tasks the job does not have the seconds stand among those that are only measured. REQUIRES: `estimate` is of this
/// job and plan.
MeasuredComparison compare_measured(const MeasuredRun& run, const plan::Job& job,
                                    const planner::EstimatedPlan& predicted);

}  // namespace dovetail::measure
