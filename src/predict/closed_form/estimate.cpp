#include "predict/closed_form/estimate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/assert.h"
#include "plan/framework.h"
#include "plan/timing.h"

namespace dovetail::predict {
namespace {

/// Merges `leader` and `members` into one activity.
void make_one(TimedIteration& result, std::size_t leader, const std::vector<std::size_t>& members,
              ActivitySeconds seconds) {
  plan::put_within(result.graph, leader, members);
  result.activities[leader] = std::move(seconds);
  for (const std::size_t member : members) result.activities[member] = sum_of({{SecondsOf::nothing, 0}});
}

void fuse_generation(const Scenario& scenario, const plan::Plan& plan, TimedIteration& result) {
  const InterStage fused = inter_stage(scenario, plan.tasks, *plan.fusion.threshold);
  make_one(result, fused.stage.generate, fused.stage.infer, activity_seconds(fused));
  plan::release(result.graph, fused.stage.generate, fused.early());
  result.inter_stage = fused;
}

void fuse_training(const Scenario& scenario, const plan::Plan& plan, const IntraStage* known, TimedIteration& result) {
  result.intra_stage = known != nullptr ? *known : intra_stage(scenario, plan);
  const auto [first, second] = result.intra_stage->pair;
  make_one(result, first, {second},
           fused_training_seconds(result.intra_stage->schedule_seconds, result.intra_stage->overhead));
}

/// Sets the times of activities within another activity.
void place_members(TimedIteration& result) {
  std::vector<plan::ActivityTime>& times = result.timing.activities;
  if (const auto& fused = result.intra_stage) times[fused->pair[1]] = times[fused->pair[0]];
  if (const auto& fused = result.inter_stage) {
    plan::ActivityTime& generation = times[fused->stage.generate];
    const base::Ticks inference = base::ticks_of_seconds(fused->inference_begins());
    for (const std::size_t task : fused->stage.infer) times[task] = {generation.begin + inference, generation.end};
    generation.end = generation.begin + base::ticks_of_seconds(fused->generation_ends());
  }
}

void prefetch_transfers(const Scenario& scenario, const plan::Plan& plan, const std::vector<TaskMemory>* memory,
                        TimedIteration& result) {
  std::vector<TaskMemory> own;
  if (memory == nullptr)
    own = task_memory(scenario, plan, result.intra_stage ? result.intra_stage->activations : std::nullopt);
  prefetch(scenario, plan, memory != nullptr ? *memory : own, result.graph, result.activities);
}

}  // namespace

TimedIteration timed_iteration(const Scenario& scenario, const plan::Plan& plan, const plan::IterationOrder& requested,
                               const KnownParts& known) {
  TimedIteration result;
  const plan::IterationOrder order = requested.empty() ? plan::order_of(scenario.job) : requested;
  result.graph = plan::iteration_graph(scenario.job, plan);
  plan::add_order(result.graph, order);
  for (const plan::Activity& activity : result.graph.activities)
    result.activities.push_back(activity_seconds(scenario, plan, activity));
  if (plan.fusion.threshold) fuse_generation(scenario, plan, result);
  if (plan.fusion.training) fuse_training(scenario, plan, known.training, result);
  DOVETAIL_ASSERT(order.empty() || !plan::has_cycle(result.graph));
  if (scenario.job.software.prefetch) prefetch_transfers(scenario, plan, known.memory, result);
  result.timing = plan::time_iterations(result.graph, scenario.job, plan, durations_of(result.activities));
  place_members(result);
  result.iteration_seconds = iteration_seconds(scenario, base::seconds_of_ticks(result.timing.period));
  return result;
}

double iteration_seconds(const Scenario& scenario, double period) {
  return period + scenario.software.efficiency.iteration;
}

namespace {

using plan::Activity;
using plan::HostTransfer;

/// An iteration in which some transfers are separate activities.
struct Variant {
  plan::IterationGraph graph;
  std::vector<ActivitySeconds> activities;
  base::Ticks period;
};

bool is_fused(const plan::IterationGraph& graph, std::size_t task) {
  const auto is_member = [task](const Activity& activity) { return activity.within == task; };
  return graph.activities[task].within || std::any_of(graph.activities.begin(), graph.activities.end(), is_member);
}

/// Returns the bytes that each task may load from and unload to host memory while other tasks run: [task].
std::vector<std::int64_t> moving_bytes(const Scenario& scenario, const plan::Plan& plan,
                                       const plan::IterationGraph& graph) {
  std::vector<std::int64_t> bytes;
  for (std::size_t task = 0; task < plan.tasks.size(); ++task)
    bytes.push_back(is_fused(graph, task) ? 0 : loaded_bytes(scenario, task, plan.tasks[task]));
  return bytes;
}

void subtract(double seconds, ActivitySeconds& from) {
  for (SecondsPart& part : from.parts)
    if (part.of == SecondsOf::host_transfers) part.seconds -= seconds;
  from = sum_of(std::move(from.parts));
}

/// Builds variants of an iteration in which transfers are separate from the tasks' activities.
class Variants {
 public:
  Variants(const Scenario& scenario, const plan::Plan& plan, const std::vector<TaskMemory>& memory, Variant inside)
      : scenario_(scenario),
        plan_(plan),
        conflicts_(transfer_conflicts(scenario, plan, inside.graph, memory)),
        inside_(std::move(inside)) {
    inside_.period = period_of(inside_);
  }

  const Variant& inside() const { return inside_; }

  Variant with(const std::vector<HostTransfer>& transfers) const {
    Variant variant{
        plan::with_host_transfers(inside_.graph, scenario_.job, plan_, transfers, conflicts_), inside_.activities, {}};
    for (std::size_t activity = inside_.activities.size(); activity < variant.graph.activities.size(); ++activity) {
      variant.activities.push_back(activity_seconds(scenario_, plan_, variant.graph.activities[activity]));
      subtract(variant.activities.back().seconds, variant.activities[variant.graph.activities[activity].task]);
    }
    variant.period = period_of(variant);
    return variant;
  }

 private:
  base::Ticks period_of(const Variant& variant) const {
    return plan::time_iterations(variant.graph, scenario_.job, plan_, durations_of(variant.activities)).period;
  }

  const Scenario& scenario_;
  const plan::Plan& plan_;
  const plan::Conflicts conflicts_;
  Variant inside_;
};

/// Returns all transfers that may become separate activities.
std::vector<HostTransfer> transfers_of(const Scenario& scenario, const plan::Plan& plan,
                                       const plan::IterationGraph& graph) {
  const std::vector<std::int64_t> bytes = moving_bytes(scenario, plan, graph);
  std::vector<HostTransfer> transfers;
  for (std::size_t task = 0; task < bytes.size(); ++task) {
    if (bytes[task] == 0) continue;
    transfers.push_back({Activity::Kind::load, task});
    if (scenario.job.workflow.tasks[task].kind == workflow::TaskKind::train)
      transfers.push_back({Activity::Kind::unload, task});
  }
  return transfers;
}

}  // namespace

plan::Conflicts transfer_conflicts(const Scenario& scenario, const plan::Plan& plan, const plan::IterationGraph& graph,
                                   const std::vector<TaskMemory>& memory) {
  const std::size_t tasks = plan.tasks.size();
  const std::vector<std::int64_t> bytes = moving_bytes(scenario, plan, graph);
  plan::Conflicts conflicts(tasks, std::vector<bool>(tasks, false));
  for (std::size_t running = 0; running < tasks; ++running) {
    std::vector<std::size_t> overlapping;
    for (std::size_t distance = 1; distance < tasks; ++distance) {
      const std::size_t task = (running + distance) % tasks;
      if (bytes[task] == 0 || !cluster::overlap(plan.tasks[task].mesh, plan.tasks[running].mesh)) continue;
      std::int64_t needed = bytes[task];
      for (const std::size_t other : overlapping)
        if (cluster::overlap(plan.tasks[task].mesh, plan.tasks[other].mesh)) needed += bytes[other];
      if (needed <= memory[running].margin())
        overlapping.push_back(task);
      else
        conflicts[task][running] = true;
    }
  }
  return conflicts;
}

void prefetch(const Scenario& scenario, const plan::Plan& plan, const std::vector<TaskMemory>& memory,
              plan::IterationGraph& graph, std::vector<ActivitySeconds>& activities) {
  const std::vector<HostTransfer> transfers = transfers_of(scenario, plan, graph);
  if (transfers.empty()) return;
  const Variants variants(scenario, plan, memory, {graph, activities, {}});
  Variant best = variants.inside();
  std::vector<HostTransfer> apart;
  for (const HostTransfer& transfer : transfers) {
    apart.push_back(transfer);
    Variant tried = variants.with(apart);
    if (tried.period > best.period)
      apart.pop_back();
    else
      best = std::move(tried);
  }
  graph = std::move(best.graph);
  activities = std::move(best.activities);
}

Fit Estimate::fit() const {
  Fit worst = Fit::fits;
  for (const TaskMemory& task : memory) worst = std::max(worst, task.fit());
  return worst;
}

Estimate estimate(const Scenario& scenario, const plan::Plan& plan, const std::optional<IntraStage>& training,
                  const plan::IterationOrder& order) {
  std::optional<IntraStage> fused;
  if (plan.fusion.training) fused = training ? *training : intra_stage(scenario, plan);
  Estimate result;
  result.memory = task_memory(scenario, plan, fused ? fused->activations : std::nullopt);
  static_cast<TimedIteration&>(result) =
      timed_iteration(scenario, plan, order, {fused ? &*fused : nullptr, &result.memory});
  const auto samples = static_cast<double>(scenario.job.workload.samples());
  const double devices = cluster::device_count(scenario.job.cluster);
  result.samples_per_second = samples / result.iteration_seconds;
  result.tokens_per_second =
      sequences_of_iteration(scenario.job) * scenario.lengths.mean() / result.iteration_seconds / devices;
  result.gpu_hours = devices * result.iteration_seconds / 3600;
  if (scenario.job.cluster.price) result.price = *scenario.job.cluster.price * result.gpu_hours;
  return result;
}

Estimate estimate_like(const Scenario& scenario, const plan::Plan& plan, std::optional<double> over_bound) {
  if (!over_bound || !plan.fusion.training) return estimate(scenario, plan);
  return estimate(scenario, plan, intra_stage_over_bound(scenario, plan, *over_bound));
}

}  // namespace dovetail::predict
