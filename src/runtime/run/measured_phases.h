// What the ranks measured of their training phases.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <vector>

#include "execute/op_medians.h"
#include "execute/replay.h"
#include "records/training_phases.h"
#include "runtime/run/phase_programs.h"
#include "workflow/workflow.h"

namespace dovetail::runtime {

/// Rank 0 keeps the latest runs of each phase.
class MeasuredPhases {
 public:
  /// Adds a run of a phase of these tasks, each rank's times by its own clock. `phase` stays, and has all programs.
  void add(const std::vector<std::size_t>& tasks, const PhaseProgram& phase, execute::ReplayTimes times);

  /// Of the latest runs; none of a phase that has none.
  execute::OpMedians medians(const std::vector<std::size_t>& tasks) const;

  /// All phases that ran, for the run's folder.
  std::vector<records::TrainingPhase> phases(const workflow::Workflow& workflow) const;

 private:
  struct Runs {
    const PhaseProgram* last = nullptr;
    execute::ReplayTimes last_times;
    std::deque<execute::OpMedians> latest;  // the last run's behind the others'
  };
  std::map<std::vector<std::size_t>, Runs> runs_;  // of tasks
};

}  // namespace dovetail::runtime
