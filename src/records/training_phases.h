// What a run's folder tells of the training phases that its ranks run by a schedule, in training/:
//
//   PHASE.schedule.json   the schedule that ranks keep, with the times that the plan predicts   (dovetail/schedule@1)
//   PHASE.measured.json   the same order, each op as long as such ops were measured             (dovetail/schedule@1)
//   PHASE.trace.json      what the ranks did when they ran it last                              (a Chrome trace)
//
// A device of all three is a rank.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "pipeline/schedule/schedule.h"
#include "timeline/timeline.h"

namespace dovetail::records {

struct TrainingPhase {
  std::string name;  ///< of its tasks: "actor_train", "actor_train+critic_train"
  pipeline::Schedule planned;
  pipeline::Schedule measured;  ///< by medians of the latest runs
  timeline::Timeline trace;     ///< of the last run
};

/// Writes them into the folder of the run, all or none, and removes those of other names. REQUIRES: there is one.
base::Status write_training_phases(const std::string& folder, const std::vector<TrainingPhase>& phases);

/// Removes all of them: the run goes on without ranks.
base::Status remove_training_phases(const std::string& folder);

/// Those in the folder of a run, by name; none where it has no such folder. An Error where a file cannot be read. Bars
/// of the traces are known by their names alone.
base::Result<std::vector<TrainingPhase>> read_training_phases(const std::string& folder);

}  // namespace dovetail::records
