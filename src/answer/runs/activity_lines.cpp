#include "answer/runs/activity_lines.h"

#include <utility>

#include "answer/words/plan_words.h"
#include "cluster/mesh.h"

namespace dovetail::answer {

std::vector<ActivityLine> activity_lines(const predict::Scenario& scenario, const plan::Plan& plan,
                                         const predict::Simulation& simulation) {
  const plan::Job& job = scenario.job;
  const std::vector<plan::Activity>& activities = simulation.closed.graph.activities;
  const simulate::Iteration& iteration = simulation.iteration;
  std::vector<ActivityLine> lines;
  for (std::size_t index = 0; index < activities.size(); ++index) {
    if (activities[index].within) continue;
    ActivityLine line{index, activity_words(job, activities[index].kind, activities[index].task), {}, 0, 0, 0};
    for (const plan::Activity& other : activities)
      if (other.within == index) line.name += " + " + activity_words(job, other.kind, other.task);
    if (const cluster::Mesh mesh = plan.tasks[activities[index].task].mesh; mesh.count > 0)
      line.devices = cluster::name_of(job.cluster, mesh);
    const plan::ActivityTime& time = iteration.activities[index];
    line.begin = base::seconds_of_ticks(
        plan::with_overheads(time.begin, iteration.stretch, iteration.trace.end - iteration.stretch));
    line.simulated = base::seconds_of_ticks(time.end - time.begin);
    line.closed = simulation.closed.activities[index].seconds;
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace dovetail::answer
