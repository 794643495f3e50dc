#include "study/device_split.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "planner/search/placements.h"
#include "predict/closed_form/estimate.h"

namespace dovetail::study {
namespace {

using workflow::TaskKind;

/// Where the first task of that kind runs.
std::int32_t mesh_of(const planner::SearchSpace& space, const planner::Selection& selection, TaskKind kind) {
  const std::vector<workflow::Task>& tasks = space.scenario->job.workflow.tasks;
  const auto found =
      std::find_if(tasks.begin(), tasks.end(), [kind](const workflow::Task& task) { return task.kind == kind; });
  return found == tasks.end() ? -1 : selection[static_cast<std::size_t>(found - tasks.begin())].mesh;
}

/// Moves infer tasks, one after the other, to where training is, each where that gains.
void move_inference(const planner::SearchSpace& space, planner::Trial& trial, planner::Selection& selection) {
  const std::vector<workflow::Task>& tasks = space.scenario->job.workflow.tasks;
  const std::int32_t training = mesh_of(space, selection, TaskKind::train);
  const std::int64_t usable = planner::min_memory(space);
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    if (tasks[task].kind != TaskKind::infer || !space.links[task].empty() || !space.is_open(task, training)) continue;
    planner::Selection moved = selection;
    moved[task] = {training, 0};
    if (planner::improve_choices(space, trial, moved, planner::Aim::cost).cost(usable) <
        trial.score(selection).cost(usable))
      selection = std::move(moved);
  }
}

}  // namespace

std::vector<DeviceSplit> device_splits(const planner::SearchSpace& space) {
  planner::Trial trial(space);
  std::vector<DeviceSplit> splits;
  for (planner::Selection& selection : planner::selection_of(space, planner::Placement::disaggregated)) {
    const std::int32_t training = mesh_of(space, selection, TaskKind::train);
    const std::int32_t rollout = mesh_of(space, selection, TaskKind::generate);
    if (training < 0 || rollout < 0) continue;
    const cluster::Mesh& trains = space.meshes[static_cast<std::size_t>(training)];
    const cluster::Mesh& generates = space.meshes[static_cast<std::size_t>(rollout)];
    // What the job fixes may have left them together.
    if (cluster::overlap(trains, generates)) continue;
    move_inference(space, trial, selection);
    DeviceSplit split{trains.count, generates.count, trains.first,
                      planner::plan_of(space, selection, std::string(name_of(planner::Placement::disaggregated)))};
    const predict::Estimate closed = predict::estimate(*space.scenario, split.plan);
    if (!closed.keeps_margin()) continue;
    split.iteration_seconds = closed.iteration_seconds;
    splits.push_back(std::move(split));
  }
  std::sort(splits.begin(), splits.end(), [](const DeviceSplit& a, const DeviceSplit& b) {
    return std::tie(a.iteration_seconds, a.training, a.training_first) <
           std::tie(b.iteration_seconds, b.training, b.training_first);
  });
  return splits;
}

}  // namespace dovetail::study
