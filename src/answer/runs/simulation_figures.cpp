#include "answer/runs/simulation_figures.h"

#include "cluster/cluster.h"

namespace dovetail::answer {

std::string task_name(const SimulationAnswer& answer, std::int32_t task) {
  return task < 0 ? "" : answer.scenario.job.workflow.tasks[static_cast<std::size_t>(task)].name;
}

std::int64_t usable_memory(const SimulationAnswer& answer, const simulate::Lane& lane) {
  return cluster::gpu_of(answer.scenario.job.cluster, base::DeviceId(lane.devices.front())).usable_memory;
}

double mean_seconds(const SimulationAnswer& answer, base::Ticks of_all) {
  return base::seconds_of_ticks(of_all) / cluster::device_count(answer.scenario.job.cluster);
}

}  // namespace dovetail::answer
