#include "place/estimate.h"

#include <algorithm>
#include <cmath>

namespace dovetail::place {

bool Estimate::fits() const {
  return std::all_of(memory.begin(), memory.end(), [](const TaskMemory& task) { return task.fits(); });
}

Estimate estimate(const Ground& ground, const plan::Plan& plan) {
  Estimate result;
  result.graph = plan::iteration_graph(ground.job, plan);
  std::vector<base::Ticks> durations;
  for (const plan::Step& step : result.graph.steps) {
    result.steps.push_back(step_seconds(ground, plan, step));
    durations.emplace_back(std::llround(result.steps.back().seconds * 1e9));
  }
  result.timing = plan::time_iterations(result.graph, ground.job, plan, durations);
  result.memory = task_memory(ground, plan);
  result.iteration_seconds = static_cast<double>(result.timing.period.count()) * 1e-9 + ground.software.efficiency.iteration;
  const auto samples = static_cast<double>(ground.job.workload.samples());
  const double devices = cluster::device_count(ground.job.cluster);
  result.samples_per_second = samples / result.iteration_seconds;
  result.tokens_per_second = result.samples_per_second * ground.lengths.mean() / devices;
  result.gpu_hours = devices * result.iteration_seconds / 3600;
  if (ground.job.cluster.price) result.price = *ground.job.cluster.price * result.gpu_hours;
  return result;
}

}  // namespace dovetail::place
