// How long each activity of an iteration takes, and where its seconds go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cluster/collective.h"
#include "cost/generation.h"
#include "plan/iteration_graph.h"
#include "plan/plan.h"
#include "predict/closed_form/scenario.h"
#include "predict/closed_form/seconds_of.h"
#include "realloc/plan.h"

namespace dovetail::predict {

/// A part of an activity's seconds.
struct SecondsPart {
  SecondsOf of = SecondsOf::compute;
  double seconds = 0;
};

struct ActivitySeconds {
  double seconds = 0;
  std::vector<SecondsPart> parts;  ///< they add up to it
};

/// Of these parts.
ActivitySeconds sum_of(std::vector<SecondsPart> parts);

/// [activity] in whole ns.
std::vector<base::Ticks> durations_of(const std::vector<ActivitySeconds>& activities);

/// Bytes of an engine's weights on the device with the most, in the engine's own bits. An engine without expert
/// parallelism cuts its experts like all else, over its tensor-parallel ranks (vLLM).
std::int64_t engine_weight_bytes(const cost::ModelFacts& facts, llm::Layout layout);

/// Bytes of a device that an engine has for activations, graphs and buffers (docs/facts.md#room-for-keys-and-values: 2
/// to 5 GB).
inline constexpr double engine_reserve = 4e9;

/// Bytes of each device that an engine has for keys and values: its share of the memory, less the weights and less
/// engine_reserve, as far as that share has them (plan::EngineKind). Negative where there is no room; without limit for
/// an engine without weights of its own, whose cache is as large as its batch needs.
double key_value_room(const cost::ModelFacts& facts, const plan::TaskPlan& task, const cluster::Gpu& gpu,
                      plan::EngineKind kind);

/// The engine's settings as they count. One without weights of its own is the trainer (ReaL), which computes all
/// prompts in one pass.
plan::Engine engine_in_use(const plan::Engine& engine);

/// Seconds of a generate task with what its batch is like. An engine without room for keys and values decodes one
/// sequence at a time; that it does not fit is for the memory to say.
cost::GenerationSeconds generation_seconds(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

/// Bytes that come from host memory to the device with the most before a task, of what its offload keeps there; a train
/// task gives as many back. 0 of a task that is neither infer nor train.
std::int64_t loaded_bytes(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

/// What a task has before and behind its passes and steps: what comes from host memory and what goes back (weights that
/// do not change only come), and the hand-over to the next task. Generation has an engine's weights alone, where they
/// are in host memory while it sleeps.
struct OverheadSeconds {
  double host_transfers = 0;
  double hand_over = 0;

  double sum() const { return host_transfers + hand_over; }
};
OverheadSeconds overhead_seconds(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

/// Seconds until a device that scores in a fused stage has its slice of the task's weights from another one that holds
/// it: devices that work together there stand side by side, those of a replica's pipeline stages apart. 0 where a
/// replica has one stage, and where its weights come from host memory anyway. REQUIRES: the task infers.
double gathering_seconds(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

/// The seconds of a task of the workflow: generation, a forward pass, training in optimizer steps, or a rule's time for
/// each sequence one after the other; of infer and train tasks with their overhead.
ActivitySeconds task_seconds(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

/// Weights that go from where a role is trained to where another task of it uses them.
struct Reallocation {
  realloc::Plan moves;
  cluster::Links links;  ///< of both meshes together
};
/// REQUIRES: the activity is a reallocation.
Reallocation reallocation(const Scenario& scenario, const plan::Plan& plan, const plan::Activity& activity);

/// The seconds of activity `activity` of the plan's graph, whatever is fused: a task's with all its host transfers; a
/// load's or an unload's; or a reallocation's: into an engine at the speed and with the overhead that efficiencies say,
/// else by realloc's plan.
ActivitySeconds activity_seconds(const Scenario& scenario, const plan::Plan& plan, const plan::Activity& activity);

}  // namespace dovetail::predict
