// Durations of an iteration's activities, and the parts that they consist of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/enum_names.h"
#include "cluster/collective.h"
#include "cost/generation.h"
#include "plan/iteration_graph.h"
#include "plan/plan.h"
#include "predict/closed_form/scenario.h"
#include "realloc/plan.h"

namespace dovetail::predict {

/// Kinds of work and waiting that make up an activity's seconds, and other uses of device time.
enum class SecondsOf {
  prefill,
  recompute,
  full_batch,        ///< decode steps with a full batch
  emptying_batch,    ///< decode steps of the tail
  slowest_instance,  ///< time by which the slowest instance ends after the average one
  compute,
  communication,
  launch,
  bubbles,
  gradients,
  optimizer,
  host_transfers,  ///< waiting for transfers from and to host memory
  hand_over,       ///< sending the task's data and collecting its results
  weight_sync,
  transfer,         ///< reallocation that is not a weight sync
  rule,             ///< scoring by a rule
  fused_schedule,   ///< passes and steps of two fused trainings
  until_threshold,  ///< fused generation until its threshold is reached
  migration,        ///< moving unfinished samples to the instances that continue
  tail,             ///< fused generation after the migration
  rest,             ///< fused inference after the tail
  nothing,          ///< the work is done within another activity
  // Uses of device time in comparisons of plans.
  moving_weights,      ///< all reallocations
  between_iterations,  ///< time outside all tasks
  /// Time by which fusion shortens the activities, as a negative number. Fused activities count with their unfused
  /// times, so that they can be compared with the activities of an unfused plan.
  hidden_by_fusion,
  idle
};
constexpr auto names_of(SecondsOf) {
  using Name = base::EnumName<SecondsOf>;
  return std::array{Name{"prefill", SecondsOf::prefill},
                    Name{"recompute", SecondsOf::recompute},
                    Name{"decode, full batch", SecondsOf::full_batch},
                    Name{"decode, emptying batch", SecondsOf::emptying_batch},
                    Name{"slowest instance", SecondsOf::slowest_instance},
                    Name{"compute", SecondsOf::compute},
                    Name{"communication", SecondsOf::communication},
                    Name{"launch", SecondsOf::launch},
                    Name{"bubbles", SecondsOf::bubbles},
                    Name{"gradients", SecondsOf::gradients},
                    Name{"optimizer", SecondsOf::optimizer},
                    Name{"host transfers", SecondsOf::host_transfers},
                    Name{"hand-over", SecondsOf::hand_over},
                    Name{"refit", SecondsOf::weight_sync, "weight sync"},
                    Name{"transfer", SecondsOf::transfer},
                    Name{"rule", SecondsOf::rule},
                    Name{"fused schedule", SecondsOf::fused_schedule},
                    Name{"until the threshold", SecondsOf::until_threshold},
                    Name{"migration", SecondsOf::migration},
                    Name{"tail, with inference", SecondsOf::tail},
                    Name{"inference of the rest", SecondsOf::rest},
                    Name{"within another activity", SecondsOf::nothing},
                    Name{"moving weights", SecondsOf::moving_weights},
                    Name{"between iterations", SecondsOf::between_iterations},
                    Name{"hidden by fusion", SecondsOf::hidden_by_fusion},
                    Name{"idle", SecondsOf::idle}};
}

/// A part of an activity's seconds.
struct SecondsPart {
  SecondsOf of = SecondsOf::compute;
  double seconds = 0;
};

struct ActivitySeconds {
  double seconds = 0;
  std::vector<SecondsPart> parts;  ///< add up to `seconds`
};

/// Returns the seconds of an activity that consists of these parts.
ActivitySeconds sum_of(std::vector<SecondsPart> parts);

/// Returns the durations, rounded to ns: [activity].
std::vector<base::Ticks> durations_of(const std::vector<ActivitySeconds>& activities);

/// Returns the bytes of an engine's weights, at its precision, on the device that holds the most. An engine without
/// expert parallelism shards experts over its tensor-parallel ranks, like all other weights (vLLM).
std::int64_t engine_weight_bytes(const cost::ModelFacts& facts, llm::Layout layout);

/// Bytes that an engine needs on each device for activations, graphs and buffers. Real engines need 2 to 5 GB
/// (docs/facts.md).
inline constexpr double engine_reserve = 4e9;

/// Returns the bytes on each device for an engine's KV cache. The share is Engine::memory_utilization:
/// - vLLM: the share of the device's memory, minus the weights and engine_reserve;
/// - SGLang: the share of the device's memory, minus the weights;
/// - TensorRT-LLM: the share of the memory that the weights and engine_reserve leave.
/// Negative if the memory is too small. Unlimited for an engine without separate weights, whose cache grows with its
/// batch.
double key_value_capacity(const cost::ModelFacts& facts, const plan::TaskPlan& task, const cluster::Gpu& gpu,
                          plan::EngineKind kind);

/// Returns the engine's effective settings. Without separate weights, the trainer itself generates (ReaL), and it
/// prefills all prompts in one pass.
plan::Engine engine_in_use(const plan::Engine& engine);

/// Returns the seconds of a generate task and its batch statistics. Without space for a KV cache, assumes that the
/// engine decodes one sequence at a time; task_memory reports that the task does not fit.
cost::GenerationSeconds generation_seconds(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

/// Returns the bytes that an infer or train task loads from host memory, on the device that loads most. A train task
/// unloads the same number of bytes. 0 for other tasks.
std::int64_t loaded_bytes(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

/// Seconds of a task outside its passes and steps: host transfers (infer tasks only load weights) and the hand-over
/// of its data and results. A generate task has no hand-over. It has host transfers only if its engine keeps the
/// weights in host memory while it sleeps.
struct OverheadSeconds {
  double host_transfers = 0;
  double hand_over = 0;

  double sum() const { return host_transfers + hand_over; }
};
OverheadSeconds overhead_seconds(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

/// Returns the seconds that a device in inter-stage fusion needs to receive its slice of the task's weights from
/// another device. The device does not have this slice already: in the fusion, neighboring devices form a replica, but
/// in the task's layout, the pipeline stages of a replica are on distant devices. 0 if a replica has one pipeline
/// stage, or if the weights come from host memory. REQUIRES: the task infers.
double gathering_seconds(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

/// Returns the seconds of a task: generation, a forward pass, training in optimizer steps, or a rule that scores
/// sequences one at a time. All tasks except rules include their overhead_seconds().
ActivitySeconds task_seconds(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

/// Weights that move from the task that trains a role to another task that uses it.
struct Reallocation {
  realloc::Plan moves;
  cluster::Links links;  ///< links among the devices of both meshes
};
/// Returns the moves and links of a reallocation. REQUIRES: the activity is a reallocation.
Reallocation reallocation(const Scenario& scenario, const plan::Plan& plan, const plan::Activity& activity);

/// Returns the seconds of an activity of the plan's graph, ignoring fusion. For a task, they include all its host
/// transfers. For a load or an unload, they are the time of this transfer alone. For a reallocation into an engine with
/// its own weights, they follow from the efficiencies (cost::weight_sync_seconds). For any other reallocation, they
/// follow from the transfers that realloc plans.
ActivitySeconds activity_seconds(const Scenario& scenario, const plan::Plan& plan, const plan::Activity& activity);

}  // namespace dovetail::predict
