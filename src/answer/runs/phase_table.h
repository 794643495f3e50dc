// Compares a training phase with its schedule, and with training the models in sequence.
#pragma once

#include <optional>

#include "answer/question/section.h"
#include "pipeline/schedule/schedule.h"
#include "records/training_phases.h"

namespace dovetail::answer {

/// Makespans of a fused schedule and of the same models in sequence.
struct FusionGain {
  base::Ticks fused;
  base::Ticks serial;  ///< models in sequence under 1F1B, on the same devices

  /// Share of the serial time that fusion saves; negative if fusion takes longer.
  double saved() const;
};

// The functions below REQUIRE that all schedules are valid.

/// Returns the makespans of the schedule and of its models in sequence. nullopt if the schedule has a single model, or
/// if 1F1B does not apply to its problem.
std::optional<FusionGain> fusion_gain(const pipeline::Schedule& schedule);

/// Returns a table with the makespan of the phase's schedule, for predicted and for measured op times, and the time
/// that the ranks took in the last run of the phase. For a fused phase, the table also has the makespans of the models
/// in sequence and the share of time that fusion saves.
Table phase_table(const records::TrainingPhase& phase);

}  // namespace dovetail::answer
