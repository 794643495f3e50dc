#include "predict/simulated/inter_stage.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "cost/machine.h"
#include "predict/closed_form/activity_seconds.h"
#include "predict/simulated/memory.h"
#include "predict/simulated/task_traces.h"
#include "simulate/step_clock.h"

namespace dovetail::predict {
namespace {

/// Returns the infer tasks of the stage whose results `task` reads, as indices into the stage.
std::vector<std::size_t> read_before(const workflow::Workflow& workflow, const plan::GenerationStage& stage,
                                     std::size_t task) {
  std::vector<std::size_t> after;
  for (const workflow::TaskId before : workflow::predecessors(workflow, workflow::TaskId(task)))
    if (const auto known = std::find(stage.infer.begin(), stage.infer.end(), before.index());
        known != stage.infer.end())
      after.push_back(static_cast<std::size_t>(known - stage.infer.begin()));
  return after;
}

std::vector<simulate::Sample> samples_of(const Scenario& scenario, std::size_t task, const Draw& draw) {
  return simulate::draw_samples(scenario.job.workload, scenario.job.workflow.tasks[task].sequences, draw.seed,
                                draw.number);
}

}  // namespace

simulate::InterStageTask inter_stage_task(const Scenario& scenario, const plan::Plan& plan,
                                          const plan::GenerationStage& stage) {
  const StageMemory memory = stage_memory(scenario, plan, stage);
  simulate::InterStageTask task{.generation = generation_task(scenario, stage.generate, plan.tasks[stage.generate]),
                                .infer = {},
                                .drop = {},
                                .held = memory.engine,
                                .max_sequence = scenario.lengths.longest(),
                                .row = scenario.job.workload.packing ? 0 : scenario.rows.longest()};
  for (std::size_t index = 0; index < stage.infer.size(); ++index) {
    const std::size_t infer = stage.infer[index];
    const plan::TaskPlan& planned = plan.tasks[infer];
    const OverheadSeconds overhead = overhead_seconds(scenario, infer, planned);
    task.infer.push_back({.facts = facts_of(scenario, infer),
                          .layout = planned.layout,
                          .micro_batching = planned.micro_batching,
                          .machine = cost::machine_of(scenario.job.cluster, planned.mesh, scenario.software.efficiency),
                          .efficiency = scenario.software.efficiency,
                          .load = base::ticks_of_seconds(overhead.host_transfers),
                          .after = read_before(scenario.job.workflow, stage, infer),
                          .task = static_cast<std::int32_t>(infer),
                          .uncontended = inference_trace(scenario, infer, planned).end,
                          .held = memory.inference[index],
                          .hand_over = base::ticks_of_seconds(overhead.hand_over),
                          .gathering = base::ticks_of_seconds(gathering_seconds(scenario, infer, planned))});
  }
  return task;
}

simulate::InterStage inter_stage_of(const Scenario& scenario, const plan::Plan& plan, const Draw& draw) {
  const std::optional<plan::GenerationStage> stage = plan::fused_stage(scenario.job, plan);
  DOVETAIL_ASSERT(stage.has_value());
  return simulate::simulate_inter_stage(inter_stage_task(scenario, plan, *stage),
                                        samples_of(scenario, stage->generate, draw), plan.fusion.threshold);
}

std::optional<simulate::ThresholdChoice> simulated_thresholds(const Scenario& scenario, const plan::Plan& plan,
                                                              std::uint64_t seed, int draws) {
  const std::optional<plan::GenerationStage> stage = plan::generation_stage(scenario.job, plan.tasks);
  DOVETAIL_ASSERT(stage.has_value());
  std::vector<std::vector<simulate::Sample>> samples;
  for (int draw = 0; draw < draws; ++draw)
    samples.push_back(samples_of(scenario, stage->generate, {seed, static_cast<std::uint64_t>(draw)}));
  simulate::ThresholdOptions options;
  options.cancellation = scenario.cancellation;
  return simulate::choose_threshold(inter_stage_task(scenario, plan, *stage), samples, options);
}

std::string why_no_migration(const Scenario& scenario, const plan::Plan& plan) {
  const std::optional<plan::GenerationStage> stage = plan::generation_stage(scenario.job, plan.tasks);
  DOVETAIL_ASSERT(stage.has_value());
  const plan::TaskPlan& generate = plan.tasks[stage->generate];
  if (generate.layout.data == 1) return "only one instance generates, so none can be freed for inference";
  const auto replica_of = [&](std::size_t task) {
    return plan.tasks[task].layout.devices() / plan.tasks[task].layout.data;
  };
  const std::size_t largest =
      *std::max_element(stage->infer.begin(), stage->infer.end(),
                        [&](std::size_t a, std::size_t b) { return replica_of(a) < replica_of(b); });
  const int all_but_one = generate.mesh.count - generate.mesh.count / generate.layout.data;
  if (replica_of(largest) > all_but_one)
    return fmt::format("a replica of {} has {} devices, but at most {} can be freed",
                       scenario.job.workflow.tasks[largest].name, replica_of(largest), all_but_one);
  return "at each threshold, the remaining samples need all instances, finish within the last 1% of generation, or "
         "leave too few devices for any replica";
}

std::optional<std::string> find_migration_fault(const Scenario& scenario, const plan::Plan& plan,
                                                const simulate::ThresholdChoice& choice) {
  if (std::any_of(choice.points.begin(), choice.points.end(),
                  [](const simulate::ThresholdPoint& point) { return point.migrated > 0; }))
    return std::nullopt;
  return why_no_migration(scenario, plan);
}

}  // namespace dovetail::predict
