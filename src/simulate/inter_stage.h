// Generation and inference of one draw of samples, with whatever threshold.
//
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
//
// What devices did in generation and inference, as one trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/quantity.h"
#include "simulate/generation.h"
#include "simulate/infer_task.h"
#include "simulate/inference.h"
#include "simulate/migration.h"
#include "simulate/sample.h"
#include "simulate/trace.h"

namespace dovetail::simulate {

/// What is left when all but this part of generation is over is no tail: the last samples end together, and nothing
/// migrates.
inline constexpr double min_tail = 0.01;

/// A generate task and those that score its samples on the same devices.
struct InterStageTask {
  GenerationTask generation;
  std::vector<InferTask> infer;   ///< those that others read before these
  base::Ticks drop;               ///< until a device of an instance that has ended is without the actor's weights
  std::int64_t held = 0;          ///< bytes on each device beside keys and values while its instance has the actor
  std::int64_t max_sequence = 0;  ///< tokens that there can be in one, prompt included; 0: the longest of the samples
  std::int64_t row = 0;           ///< tokens that each sample is padded to where it is scored; 0: not padded
};

/// Both stages, played.
struct PlayedStages {
  std::vector<InstanceLog> logs;      ///< [instance]
  std::vector<base::Ticks> stopped;   ///< [instance] when it decoded or idled no more
  std::vector<base::Ticks> left;      ///< [instance] when it had sent what it had; its devices drop the actor then
  std::vector<base::Ticks> finished;  ///< [sample]
  base::Ticks generation_end;
  std::optional<Migration> migration;
  std::vector<Worker> workers;
  Inference inference;
  base::Ticks end;
};

/// Plays the rules of inter_stage.h; what all thresholds share is played once. Task and samples must outlive it. It
/// must not be moved.
class Stages {
 public:
  Stages(const InterStageTask& task, const std::vector<Sample>& samples);
  Stages(const Stages&) = delete;
  Stages& operator=(const Stages&) = delete;

  const Fleet& fleet() const { return fleet_; }
  /// Where nothing migrates.
  const PlayedStages& plain() const { return plain_; }
  /// Nothing where nothing migrates at this threshold.
  std::optional<PlayedStages> with_threshold(double threshold);
  /// The end where nothing migrates, but behind generation the tasks share the devices out as infer_best() does; one
  /// alone has them all.
  base::Ticks side_by_side() const;

 private:
  base::Ticks time_of(std::size_t left) const;
  PlayedStages finish(const std::vector<Instance>& instances) const;
  void play_plain();
  void infer_alone(const InferTask& infer);
  PlayedStages play_fused(base::Ticks at, std::size_t destinations);

  const InterStageTask& task_;
  const std::vector<Sample>& samples_;
  std::vector<Sample> rows_;  ///< the samples as they are scored
  Fleet fleet_;
  PlayedStages plain_;
};

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

/// A lane for the devices that an instance and a worker have in common. Idling is the tail until generation has ended
/// everywhere; then imbalance behind a worker's last sample, and on devices that are no worker's; a dependency where a
/// worker waits for other devices or for another task's answers.
Trace trace_of(const InterStageTask& task, const Fleet& fleet, const PlayedStages& played);

}  // namespace dovetail::simulate
