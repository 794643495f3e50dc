// Simulated traces of tasks: generation sample by sample, inference micro-batch by micro-batch through the pipeline
// stages of each replica, and training op by op in real schedules (training_phase.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"
#include "plan/task_plan.h"
#include "predict/closed_form/scenario.h"
#include "predict/closed_form/training_phase.h"
#include "simulate/generation.h"
#include "simulate/trace.h"

namespace dovetail::predict {

/// Identifies the sampled lengths of a simulation: draw number `number` of `seed`.
struct Draw {
  std::uint64_t seed = 1;
  std::uint64_t number = 0;
};

/// Returns the input of simulate::simulate_generation for a generate task. The size of the KV cache is
/// predict::key_value_capacity, but at most the device's memory. `scenario` must outlive the result.
simulate::GenerationTask generation_task(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

/// Simulates a generate task with all samples, drawn from the job's lengths.
simulate::Generation generation_of(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned,
                                   const Draw& draw);

/// Returns the trace of an infer task's forward passes. The slowest replica's share of the batch is divided into as
/// many equal micro-batches as in cost::inference_batches, rounded up. Their durations are reduced in proportion, so
/// that the slowest stage works as long as in cost::inference_seconds. If the software deals packs, the micro-batches
/// are those of distribute_packs. A micro-batch enters a stage when it has arrived and the previous one is done. There
/// is a lane for each stage and group of ranks (ranks.h). Overhead is not included.
simulate::Trace inference_trace(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

/// Returns the trace of a train task under the schedule of its layout, 1F1B or interleaved 1F1B. There is a lane for
/// each stage and group of ranks (ranks.h). Micro-batches are those of training_problem, or of distribute_packs if the
/// software deals packs. Idle devices wait for messages (`transfer`) or in bubbles. Lanes record activations. Overhead
/// is not included. Errors as in training_problem.
base::Result<simulate::Trace> training_trace(const Scenario& scenario, const TrainTask& train);

/// Options of the search for a fused schedule.
struct FusedSearch {
  std::int64_t iterations = 2'000;  ///< iterations of the search's only chain
  /// Maximum bytes of activations on a device, exceeded only if no schedule within the limit is found. nullopt: no
  /// limit.
  std::optional<std::int64_t> max_activations = std::nullopt;
  /// True: brief_search(iterations), as for estimates. False: the search of `dovetail schedule` with one chain.
  bool brief = false;
};

/// Two train tasks in one schedule.
struct FusedTraining {
  /// Device d of the fused problem is the d-th of the equal parts of the mesh. Groups of ranks (ranks.h) have separate
  /// lanes if both tasks have the same number of data-parallel ranks and of stages.
  simulate::Trace trace;
  KeptSchedule schedule;  ///< schedule of the trace
  base::Ticks bound;      ///< lower bound on every schedule of both tasks
  base::Ticks apart;      ///< duration of both tasks in sequence under 1F1B, in the fused problem's stages
  /// Duration with each pair of mini-batches fused separately, one pair after the other, without overlap between pairs.
  base::Ticks mini_by_mini;
  std::int64_t peak = 0;  ///< peak bytes of activations on a device
};

/// Returns the best schedule of both tasks that fuse::solve finds with "auto" and the options of `search`. Errors as in
/// fused_training_problem.
base::Result<FusedTraining> fused_training_trace(const Scenario& scenario, const TrainTask& first,
                                                 const TrainTask& second, const FusedSearch& search);

}  // namespace dovetail::predict
