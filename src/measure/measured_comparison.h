// Compares a measured run with the prediction for its job and plan, phase by phase, with possible reasons for
// differences.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/measured.h"
#include "measure/measurement.h"
#include "planner/advice/comparison.h"
#include "predict/closed_form/estimate.h"

namespace dovetail::measure {

/// Measured and predicted time of a phase.
struct MeasuredAgainst {
  std::string phase;              ///< name of its kind or task, or "iteration"
  std::optional<PhaseKind> kind;  ///< nullopt for the iteration
  bool alone = false;             ///< whether this is a task that the log times separately
  std::vector<std::string> keys;  ///< keys in the log
  TimeSpread measured;            ///< sum over the keys
  double seconds = 0;             ///< measured seconds by the run's statistic
  double predicted = 0;           ///< seconds
  bool with_weight_sync = false;  ///< both times include the weight sync, because the log does not time it separately
  bool whole = true;  ///< whether the measured phase matches a phase of the plan, so that it can go into a measurement
  std::vector<std::string> reasons;  ///< possible reasons for the difference, the likeliest first; empty if it is small

  double difference() const { return seconds - predicted; }
};

/// A time that only the log or only the prediction has.
struct OneSided {
  std::string name;
  double seconds = 0;
};

struct MeasuredComparison {
  std::vector<MeasuredAgainst> phases;  ///< in the order of phase_kinds
  std::optional<MeasuredAgainst> iteration;
  std::vector<OneSided> only_measured;   ///< logged times within the iteration that belong to no phase of the plan
  std::vector<OneSided> only_predicted;  ///< tasks and weight syncs of the plan that the log does not time

  /// Returns the phases sorted by absolute difference in seconds, the largest first.
  std::vector<const MeasuredAgainst*> by_difference() const;
};

/// A difference gets reasons if it exceeds both the fraction notable_difference of the phase's predicted time and the
/// fraction notable_share of the predicted iteration time.
inline constexpr double notable_difference = 0.1;
inline constexpr double notable_share = 0.02;

/// Compares a run with its prediction. Compares the tasks of a kind separately if each of their logged times covers one
/// task (and, for training, the log does not time offload), otherwise together. Times of tasks that the job lacks go to
/// only_measured. REQUIRES: `predicted` is the prediction for this job and the plan that the run used.
MeasuredComparison compare_measured(const MeasuredRun& run, const plan::Job& job,
                                    const planner::EstimatedPlan& predicted);

}  // namespace dovetail::measure
