#include "predict/closed_form/intra_stage.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dovetail::predict {
namespace {

/// A schedule, and whether the memory for activations limits it.
struct FoundSchedule {
  FusedSchedule schedule;
  bool limited = false;
};

/// Returns the best schedule within the memory, otherwise the best of all. nullopt if none was found.
std::optional<FoundSchedule> schedule_of(const Scenario& scenario, const plan::Plan& plan) {
  const plan::TrainPair pair = *plan.fusion.training;
  const TrainTask first{pair[0], plan.tasks[pair[0]]};
  const TrainTask second{pair[1], plan.tasks[pair[1]]};
  const auto free = fused_schedule(scenario, first, second, fused_iterations);
  if (!free.ok()) return std::nullopt;
  const std::optional<std::int64_t> headroom = average_activation_headroom(scenario, plan);
  if (!headroom || free->activations <= *headroom) return FoundSchedule{*free, !headroom};
  const auto within = fused_schedule(scenario, first, second, fused_iterations, headroom);
  return FoundSchedule{within.ok() ? *within : *free, true};
}

/// Returns the phase as if both trainings ran in sequence. Sets all fields that need no schedule.
IntraStage without_schedule(const Scenario& scenario, const plan::Plan& plan) {
  IntraStage fused;
  fused.pair = plan.fusion.training.value();
  fused.overhead = fused_overhead(scenario, plan);
  for (const std::size_t task : fused.pair) {
    const double seconds = task_seconds(scenario, task, plan.tasks[task]).seconds;
    fused.apart += seconds;
    fused.schedule_seconds += seconds - overhead_seconds(scenario, task, plan.tasks[task]).host_transfers;
  }
  fused.schedule_seconds -= fused.overhead.hand_over;
  fused.bound = fused.schedule_seconds;
  return fused;
}

}  // namespace

ActivitySeconds fused_training_seconds(double schedule_seconds, const OverheadSeconds& overhead) {
  return sum_of({{SecondsOf::fused_schedule, schedule_seconds},
                 {SecondsOf::host_transfers, overhead.host_transfers},
                 {SecondsOf::hand_over, overhead.hand_over}});
}

std::int64_t activation_headroom(const Scenario& scenario, const plan::Plan& plan) {
  const TaskMemory memory = task_memory(scenario, plan, 0)[(*plan.fusion.training)[0]];
  // If nothing is left within the margin, use the margin as well.
  const std::int64_t left = memory.headroom() > 0 ? memory.headroom() : memory.margin();
  return static_cast<std::int64_t>(static_cast<double>(left) /
                                   std::max(1.0, scenario.software.conventions.reserved_factor));
}

std::optional<std::int64_t> average_activation_headroom(const Scenario& scenario, const plan::Plan& plan) {
  const double fullest = fullest_over_average(scenario, *plan.fusion.training, plan);
  const auto headroom = static_cast<std::int64_t>(static_cast<double>(activation_headroom(scenario, plan)) / fullest);
  return headroom > 0 ? std::optional(headroom) : std::nullopt;
}

OverheadSeconds fused_overhead(const Scenario& scenario, const plan::Plan& plan) {
  OverheadSeconds both;
  for (const std::size_t task : plan.fusion.training.value()) {
    const OverheadSeconds own = overhead_seconds(scenario, task, plan.tasks[task]);
    both.host_transfers += own.host_transfers;
    both.hand_over = own.hand_over;
  }
  return both;
}

IntraStage intra_stage(const Scenario& scenario, const plan::Plan& plan) {
  IntraStage fused = without_schedule(scenario, plan);
  auto found = schedule_of(scenario, plan);
  if (!found) return fused;
  const double fullest = fullest_over_average(scenario, fused.pair, plan);
  fused.schedule = std::move(found->schedule.schedule);
  fused.schedule_seconds = found->schedule.seconds;
  fused.bound = found->schedule.bound;
  fused.activations = std::llround(fullest * static_cast<double>(found->schedule.activations));
  fused.limited = found->limited;
  return fused;
}

IntraStage intra_stage_over_bound(const Scenario& scenario, const plan::Plan& plan, double over_bound) {
  IntraStage fused = without_schedule(scenario, plan);
  const auto [first, second] = fused.pair;
  const auto bound = fused_training_bound(scenario, {first, plan.tasks[first]}, {second, plan.tasks[second]});
  if (!bound.ok()) return fused;
  fused.bound = *bound;
  fused.schedule_seconds = *bound * over_bound;
  return fused;
}

std::optional<IntraStage> intra_stage_floor(const Scenario& scenario, const plan::Plan& plan) {
  const auto [first, second] = plan.fusion.training.value();
  const base::Result<double> floor =
      fused_training_floor(scenario, {first, plan.tasks[first]}, {second, plan.tasks[second]});
  if (!floor.ok()) return std::nullopt;
  IntraStage fused;
  fused.pair = {first, second};
  fused.overhead = fused_overhead(scenario, plan);
  fused.schedule_seconds = fused.bound = *floor;
  return fused;
}

IntraStage intra_stage_like(const Scenario& scenario, const plan::Plan& plan, const IntraStage& like) {
  if (like.schedule == nullptr) return without_schedule(scenario, plan);
  IntraStage fused = intra_stage_over_bound(scenario, plan, 1);
  fused.schedule_seconds = like.schedule_seconds * (fused.bound / like.bound);
  fused.activations = like.activations;
  fused.limited = like.limited;
  return fused;
}

}  // namespace dovetail::predict
