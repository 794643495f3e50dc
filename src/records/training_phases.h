// Files in the folder training/ of a run. They describe the training phases in which the run's ranks follow a schedule:
//
//   PHASE.schedule.json   schedule that the ranks follow, with the times that the plan predicts   (dovetail/schedule@1)
//   PHASE.measured.json   the same order of ops, with their measured durations                    (dovetail/schedule@1)
//   PHASE.trace.json      activities of the ranks in the latest run of the phase                  (Chrome trace)
//
// In all three files, a device is a rank.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "pipeline/schedule/schedule.h"
#include "timeline/timeline.h"

namespace dovetail::records {

struct TrainingPhase {
  std::string name;  ///< names of its tasks, joined by "+": "actor_train", "actor_train+critic_train"
  pipeline::Schedule planned;
  pipeline::Schedule measured;  ///< same order of ops, with their median durations over the latest runs of the phase
  timeline::Timeline trace;     ///< activities of the ranks in the latest run
};

/// Writes the files of `phases` into the folder of a run, all or none, and removes those of other phases. REQUIRES:
/// `phases` is not empty.
base::Status write_training_phases(const std::string& folder, const std::vector<TrainingPhase>& phases);

/// Removes the files of all phases. A run that continues on one rank writes none.
base::Status remove_training_phases(const std::string& folder);

/// Reads the phases in the folder of a run, sorted by name; empty if it has none. Returns an Error if a file cannot be
/// read or a schedule is invalid. The bars of the traces have only names; their kinds and tasks are unknown.
base::Result<std::vector<TrainingPhase>> read_training_phases(const std::string& folder);

}  // namespace dovetail::records
