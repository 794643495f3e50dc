// How long each step of an iteration takes, and where its seconds go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cost/model_facts.h"
#include "place/software.h"
#include "plan/iteration_graph.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "workflow/lengths.h"

namespace dovetail::place {

/// What all steps of all plans of a job are calculated from, worked out once. The job must outlive it.
struct Ground {
  const plan::Job& job;
  Software software;
  std::vector<cost::ModelFacts> models;  ///< [role]
  workflow::LengthDistribution lengths;  ///< of prompt and response together
};
Ground ground_of(const plan::Job& job, const Software& software);

/// A part of a step's seconds.
struct SecondsPart {
  std::string_view name;
  double seconds = 0;
};

struct StepSeconds {
  double seconds = 0;
  std::vector<SecondsPart> parts;  ///< they add up to it
};

/// Bytes of an engine's weights on the device with the most. An engine without expert parallelism cuts its experts like all else, over its
/// tensor-parallel ranks (vLLM).
std::int64_t engine_weight_bytes(const cost::ModelFacts& facts, llm::Layout layout);

/// Bytes of each device that an engine has for keys and values: its share of the memory, less the weights and less 4 GB for activations,
/// graphs and buffers (reference/physics.md: 2 to 5 GB). Negative where there is no room; without
/// limit for an engine without weights of its own, whose cache is as large as its batch needs.
double key_value_room(const cost::ModelFacts& facts, const plan::TaskPlan& task, const cluster::Gpu& gpu);

/// The seconds of a task of the workflow: generation, a forward pass, training in optimizer steps, or a rule's time for each sequence one
/// after the other. An engine without room for keys and values decodes one sequence at a time; that it does not fit is for the memory to
/// say.
StepSeconds task_seconds(const Ground& ground, std::size_t task, const plan::TaskPlan& planned);

/// The seconds of step `step` of the plan's graph: a task's, or a reallocation's: into an engine at the speed and with the overhead that
/// efficiencies say, else by realloc's plan.
StepSeconds step_seconds(const Ground& ground, const plan::Plan& plan, const plan::Step& step);

}  // namespace dovetail::place
