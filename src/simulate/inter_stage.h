// Generation and inference together: inference begins on devices that the long tail of generation leaves (RLHFuse, NSDI
// 2025, section 4).
//
// - The threshold is a fraction of the samples. When no more than floor(threshold x samples), at least 1, are
// unfinished on all instances,
//   each instance ends its step, and what is left moves to the fewest instances that take it without slowing down
//   (migration.h). If these are all, or what is left is no tail (min_tail), or no replica of a model that scores fits
//   on what they leave, or some replica neither there nor on these, nothing migrates.
// - The devices of the other instances drop the actor and become workers that score finished samples as they come
// (inference.h). How they
//   are shared among the models is tried out (inference_split.h): a worker has the devices of a replica of the model
//   that it loads first, and then scores for every model of which a replica fits. Devices are taken in their order; a
//   worker is there when all its devices are.
// - Instances that have generated their last sample become workers, too, together with what was too little for one
// before.
// - Where nothing migrates nothing is fused: inference waits for all of generation, and then one task after the other
// has all devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/quantity.h"
#include "simulate/sample.h"
#include "simulate/stages.h"
#include "simulate/trace.h"

namespace dovetail::simulate {

/// What happened. Lane::memory: keys and values and what the task holds beside them, then what the infer task holds
/// that they score for.
struct InterStage {
  Trace trace;  ///< of all devices of the mesh
  base::Ticks generation_end;
  base::Ticks end;                               ///< of generation and inference
  std::vector<base::Ticks> finished;             ///< [sample] generated
  std::vector<std::vector<base::Ticks>> scored;  ///< [infer task][sample]
  GenerationCounts counts;
  std::optional<Migration> migration;  ///< nothing: nothing migrated
  base::Ticks without;                 ///< the end where nothing migrates

  /// What migrating gains; below 0 where it loses.
  base::Ticks gain() const { return without - end; }
};

/// Plays generation and inference of `samples`, with inter-stage fusion at this threshold; nothing: without. REQUIRES:
/// as simulate_generation; threshold in (0, 1); no replica of an infer task has more devices than the mesh; at least
/// one sample.
InterStage simulate_inter_stage(const InterStageTask& task, const std::vector<Sample>& samples,
                                std::optional<double> threshold);

}  // namespace dovetail::simulate
