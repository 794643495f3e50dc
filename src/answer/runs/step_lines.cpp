#include "answer/runs/step_lines.h"

#include <utility>

#include "answer/words/plan_words.h"
#include "cluster/mesh.h"

namespace dovetail::answer {

std::vector<StepLine> step_lines(const predict::Scenario& scenario, const plan::Plan& plan, const predict::Simulation& simulation) {
  const plan::Job& job = scenario.job;
  const std::vector<plan::Step>& steps = simulation.closed.graph.steps;
  const simulate::Iteration& iteration = simulation.iteration;
  std::vector<StepLine> lines;
  for (std::size_t index = 0; index < steps.size(); ++index) {
    if (steps[index].within) continue;
    StepLine line{index, step_words(job, steps[index].kind, steps[index].task), {}, 0, 0, 0};
    for (const plan::Step& other : steps)
      if (other.within == index) line.name += " + " + step_words(job, other.kind, other.task);
    if (const cluster::Mesh mesh = plan.tasks[steps[index].task].mesh; mesh.count > 0) line.devices = cluster::name_of(job.cluster, mesh);
    const plan::StepTime& time = iteration.steps[index];
    line.begin = base::seconds_of_ticks(plan::with_overheads(time.begin, iteration.stretch, iteration.trace.end - iteration.stretch));
    line.simulated = base::seconds_of_ticks(time.end - time.begin);
    line.closed = simulation.closed.steps[index].seconds;
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace dovetail::answer
