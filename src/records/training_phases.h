// Files in the folder training/ of a run, about the training phases that its ranks run according to a schedule:
//
//   PHASE.schedule.json   schedule that the ranks follow, with the times that the plan predicts   (dovetail/schedule@1)
//   PHASE.measured.json   the same order, with measured durations of ops                          (dovetail/schedule@1)
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
  pipeline::Schedule measured;  ///< same order, with median durations over the latest runs of the phase
  timeline::Timeline trace;     ///< activities of the ranks in the latest run
};

/// Writes the phases into the folder of the run, all or none, and removes other phases. REQUIRES: there is at least one
/// phase.
base::Status write_training_phases(const std::string& folder, const std::vector<TrainingPhase>& phases);

/// Removes all phases, for a run that continues without ranks.
base::Status remove_training_phases(const std::string& folder);

/// Reads the phases in the folder of a run, sorted by name; empty if it has none. Returns an Error if a file cannot be
/// read. The bars of the traces have only names; their kinds and tasks are unknown.
base::Result<std::vector<TrainingPhase>> read_training_phases(const std::string& folder);

}  // namespace dovetail::records
