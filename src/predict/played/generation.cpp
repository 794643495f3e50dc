#include "predict/played/generation.h"

#include <algorithm>

#include "cost/machine.h"
#include "predict/closed_form/activity_seconds.h"

namespace dovetail::predict {

simulate::GenerationTask generation_task(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  const cost::Machine machine = cost::machine_of(scenario.job.cluster, planned.mesh, scenario.software.efficiency);
  const double room = key_value_room(facts_of(scenario, task), planned, machine.gpu, scenario.job.software.engine);
  return {.facts = facts_of(scenario, task),
          .cluster = scenario.job.cluster,
          .mesh = planned.mesh,
          .layout = planned.layout,
          .engine = engine_in_use(planned.engine),
          .key_value_room = std::clamp(room, 0.0, static_cast<double>(machine.gpu.memory)),
          .efficiency = scenario.software.efficiency,
          .options = {.longest_first = planned.engine.longest_first},
          .task = static_cast<std::int32_t>(task)};
}

simulate::Generation generation_of(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned,
                                   const Draw& draw) {
  const workflow::SequenceCount& sequences = scenario.job.workflow.tasks[task].sequences;
  return simulate::simulate_generation(
      generation_task(scenario, task, planned),
      simulate::draw_samples(scenario.job.workload, sequences, draw.seed, draw.number));
}

}  // namespace dovetail::predict
