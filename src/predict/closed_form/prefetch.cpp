#include "predict/closed_form/prefetch.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "plan/timing.h"

namespace dovetail::predict {
namespace {

using plan::Activity;
using plan::HostTransfer;

/// An iteration with some transfers as activities of their own.
struct Variant {
  plan::IterationGraph graph;
  std::vector<ActivitySeconds> activities;
  base::Ticks period;
};

bool is_fused(const plan::IterationGraph& graph, std::size_t task) {
  const auto is_member = [task](const Activity& activity) { return activity.within == task; };
  return graph.activities[task].within || std::any_of(graph.activities.begin(), graph.activities.end(), is_member);
}

/// [task] bytes that may come from host memory beside other tasks, and go there.
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

/// Transfers in place of what the tasks' own activities have of them.
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

/// All that might be activities of their own.
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
    std::vector<std::size_t> beside;
    for (std::size_t distance = 1; distance < tasks; ++distance) {
      const std::size_t task = (running + distance) % tasks;
      if (bytes[task] == 0 || !cluster::overlap(plan.tasks[task].mesh, plan.tasks[running].mesh)) continue;
      std::int64_t needed = bytes[task];
      for (const std::size_t other : beside)
        if (cluster::overlap(plan.tasks[task].mesh, plan.tasks[other].mesh)) needed += bytes[other];
      if (needed <= memory[running].margin())
        beside.push_back(task);
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

}  // namespace dovetail::predict
