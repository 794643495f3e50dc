// Generation and inference of one draw of samples, with whatever threshold.
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

}  // namespace dovetail::simulate
