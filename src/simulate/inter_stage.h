// Inter-stage fusion: inference begins on devices that the tail of generation frees (RLHFuse, NSDI 2025, section 4).
//
// - The threshold is a fraction of the samples. When at most max(1, floor(threshold x samples)) samples are unfinished
//   on all instances together, each instance ends its step. The unfinished samples move to the fewest instances that
//   can take them without slowing down (migration.h).
// - Nothing migrates if the unfinished samples would need all instances, if they are not a tail (min_tail), if no
//   replica of any inference model fits on the freed devices, or if some model's replica fits neither on the freed
//   devices nor on the devices of the destinations.
// - The devices of all instances except the destinations drop the actor and become workers that score finished samples
//   as they arrive (inference.h). The split among models is found by trial (inference_split.h). A worker has as many
//   devices as a replica of one of the models, and serves every model whose replica fits. Devices are assigned in
//   order. A worker is available when all its devices are.
// - The devices of the destinations become workers too, once they have generated their last samples, together with
//   freed devices that were left over.
// - Without a migration nothing is fused. Inference waits for all of generation, then one task after the other gets all
//   devices.
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

/// Minimum length of the tail as a fraction of generation. In a shorter tail, the last samples end almost together, and
/// nothing migrates.
inline constexpr double min_tail = 0.01;

/// A generate task and the inference tasks that score its samples on the same devices.
struct InterStageTask {
  GenerationTask generation;
  std::vector<InferTask> infer;   ///< inference tasks; those whose results others read come first
  base::Ticks drop;               ///< time to drop the actor's weights from the devices of an ended instance
  std::int64_t held = 0;          ///< bytes on each device in addition to the KV cache while its instance has the actor
  std::int64_t max_sequence = 0;  ///< maximum tokens of a sequence including its prompt; 0: the longest sample
  std::int64_t row = 0;           ///< tokens that each sample is padded to for inference; 0: not padded
};

/// Times of generation and inference in one simulation.
struct StageTimes {
  std::vector<InstanceLog> logs;     ///< [instance] its history
  std::vector<base::Ticks> stopped;  ///< [instance] time at which it stopped decoding or idling
  std::vector<base::Ticks> left;  ///< [instance] time at which it had sent its samples; its devices then drop the actor
  std::vector<base::Ticks> finished;  ///< [sample] end of its generation
  base::Ticks generation_end;
  std::optional<Migration> migration;
  std::vector<Worker> workers;
  Inference inference;
  base::Ticks end;
};

/// Simulates one draw of samples with any number of thresholds. Work common to all thresholds is done once. `task` and
/// `samples` must outlive this object.
class Stages {
 public:
  Stages(const InterStageTask& task, const std::vector<Sample>& samples);
  Stages(const Stages&) = delete;
  Stages& operator=(const Stages&) = delete;

  const Fleet& fleet() const { return fleet_; }
  /// Returns the result without migration.
  const StageTimes& plain() const { return plain_; }
  /// Returns the result with this threshold, or nullopt if nothing migrates.
  std::optional<StageTimes> with_threshold(double threshold);
  /// Returns the end of generation and inference without migration if the inference tasks run side by side after
  /// generation, split by infer_best(). A single task gets all devices.
  base::Ticks side_by_side() const;

 private:
  base::Ticks time_of(std::size_t left) const;
  StageTimes finish(const std::vector<Instance>& instances) const;
  void simulate_plain();
  void infer_alone(const InferTask& infer);
  StageTimes simulate_fused(base::Ticks at, std::size_t destinations);

  const InterStageTask& task_;
  const std::vector<Sample>& samples_;
  std::vector<Sample> rows_;  // padded samples, as inference sees them
  Fleet fleet_;
  StageTimes plain_;
};

/// Result of a simulation. Lane::memory is the KV cache and the other memory of the generate task, later the memory of
/// the inference task in progress.
struct InterStage {
  Trace trace;  ///< trace of all devices of the mesh
  base::Ticks generation_end;
  base::Ticks end;                               ///< end of generation and inference
  std::vector<base::Ticks> finished;             ///< [sample] end of its generation
  std::vector<std::vector<base::Ticks>> scored;  ///< [infer task][sample] time at which it is scored
  GenerationCounts counts;
  std::optional<Migration> migration;  ///< nullopt: nothing migrated
  base::Ticks without;                 ///< end without migration

  /// Returns the time that migration saves. Negative if it loses time.
  base::Ticks gain() const { return without - end; }
};

/// Simulates generation and inference of `samples` with inter-stage fusion at this threshold; nullopt: without fusion.
/// REQUIRES: the conditions of simulate_generation hold, there is at least one sample, the threshold is in (0, 1), and
/// no replica of an infer task has more devices than the mesh.
InterStage simulate_inter_stage(const InterStageTask& task, const std::vector<Sample>& samples,
                                std::optional<double> threshold);

/// Returns the trace of all devices. Each lane has the devices that an instance and a worker have in common. Idle time
/// counts as tail until generation has ended everywhere. After that it counts as imbalance after a worker's last sample
/// and on devices without a worker, and as a dependency while a worker waits for other devices or for another task's
/// results.
Trace trace_of(const InterStageTask& task, const Fleet& fleet, const StageTimes& times);

}  // namespace dovetail::simulate
