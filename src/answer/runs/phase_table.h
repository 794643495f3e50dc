// A training phase of a run: how long it took beside what its schedule says, and what fusion saved.
#pragma once

#include <optional>

#include "answer/question/section.h"
#include "pipeline/schedule/schedule.h"
#include "records/training_phases.h"

namespace dovetail::answer {

/// A schedule of several models beside those of each alone.
struct FusionGain {
  base::Ticks fused;
  base::Ticks serial;  ///< one model after the other under 1F1B, on the same devices

  /// The share of the serial time that fusion saves; negative where it takes longer.
  double saved() const;
};

/// Both REQUIRE valid schedules.

/// Nothing where the schedule is of one model, or where 1F1B does not apply to its problem.
std::optional<FusionGain> fusion_gain(const pipeline::Schedule& schedule);

/// Rows of makespans, as predicted, by the measured times of ops, and as the ranks took in the last run; of a fused
/// phase also what both take one after the other, and what fusion saves.
Table phase_table(const records::TrainingPhase& phase);

}  // namespace dovetail::answer
