#include "study/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "plan/fusion.h"
#include "planner/advice/changes.h"
#include "planner/advice/fit.h"
#include "study/staleness.h"

namespace dovetail::study {
namespace {

/// What of an estimate a sweep keeps.
SweepFigures figures_of(const predict::Scenario& scenario, const predict::Estimate& estimate) {
  SweepFigures figures;
  figures.iteration_seconds = estimate.iteration_seconds;
  figures.samples_per_second = estimate.samples_per_second;
  figures.tokens_per_second = estimate.tokens_per_second;
  figures.gpu_hours = estimate.gpu_hours;
  figures.price = estimate.price;
  figures.samples = scenario.job.workload.samples();
  figures.fit = estimate.fit();
  figures.fullest = planner::fullest_task(estimate.memory);
  const predict::TaskMemory& memory = estimate.memory[figures.fullest];
  figures.device = memory.device;
  figures.needed = memory.needed();
  figures.usable = memory.usable;
  figures.missing = planner::missing_of(estimate.memory).bytes;
  return figures;
}

Migrations migrations_of(const std::vector<std::optional<simulate::Migration>>& draws) {
  Migrations sum;
  for (const auto& migration : draws) {
    if (!migration) continue;
    ++sum.migrating;
    sum.samples += static_cast<double>(migration->moved);
    sum.instances += static_cast<double>(migration->destinations.size());
  }
  const int count = std::max(1, sum.migrating);
  return {sum.migrating, sum.samples / count, sum.instances / count};
}

/// From here on the figures are by what was played.
void add_played(const predict::Simulation& simulation, SweepFigures& figures) {
  const auto [least, most] = std::minmax_element(simulation.draws.begin(), simulation.draws.end());
  figures.simulated = PlayedSeconds{simulation.iteration_seconds, *least, *most, simulation.draws};
  if (!simulation.migrations.empty()) figures.migrations = migrations_of(simulation.migrations);
  const double factor = simulation.iteration_seconds / figures.iteration_seconds;
  figures.samples_per_second /= factor;
  figures.tokens_per_second /= factor;
  figures.gpu_hours *= factor;
  if (figures.price) *figures.price *= factor;
}

/// The figures of a point's plan; `training` as predict::estimate has it.
base::Status add_figures(const predict::Scenario& scenario, const SweepOptions& options,
                         const std::optional<predict::IntraStage>& training, SweepPoint& point) {
  point.figures = figures_of(scenario, predict::estimate(scenario, point.plan, training));
  if (!options.simulate) return {};
  predict::Simulator simulator(scenario, options.simulation);
  DOVETAIL_TRY(const predict::Simulation simulation, simulator.simulate(point.plan));
  add_played(simulation, *point.figures);
  return {};
}

/// The points of one plan.
class PlanSweep {
 public:
  PlanSweep(const predict::Scenario& scenario, const plan::Plan& plan, const SweepOptions& options)
      : scenario_(scenario), plan_(plan), options_(options), simulator_(scenario, options.simulation) {
    // A threshold leaves training as it is: its schedule is made once.
    if (options.over == SweepInput::threshold && plan.fusion.training) training_ = predict::intra_stage(scenario, plan);
  }

  base::Result<SweepPoint> point(std::optional<double> value) {
    if (options_.over == SweepInput::threshold) return threshold(value);
    SweepPoint point{value, plan_, std::nullopt};
    auto swept = with_value(options_.over, *value, scenario_.job, plan_, options_.cap);
    if (!swept.ok()) {
      point.problem = swept.error().message;
      return point;
    }
    point.plan = std::move(swept->plan);
    const predict::Scenario scenario = predict::scenario_of(swept->job, scenario_.software, scenario_.cancellation);
    DOVETAIL_CHECK(add_figures(scenario, options_, std::nullopt, point));
    return point;
  }

 private:
  /// All of them have the same job, and one simulator.
  base::Result<SweepPoint> threshold(std::optional<double> value) {
    SweepPoint point{value, plan_, std::nullopt};
    point.plan.fusion.threshold = value;
    point.figures = figures_of(scenario_, predict::estimate(scenario_, point.plan, training_));
    if (!options_.simulate) return point;
    DOVETAIL_TRY(const predict::Simulation simulation, simulator_.simulate(point.plan));
    add_played(simulation, *point.figures);
    return point;
  }

  const predict::Scenario& scenario_;
  const plan::Plan& plan_;
  const SweepOptions& options_;
  predict::Simulator simulator_;
  std::optional<predict::IntraStage> training_;
};

/// The best plan on so many nodes; as many points share what is left of the time.
base::Result<SweepPoint> nodes_point(const predict::Scenario& scenario, double nodes, const SweepOptions& options,
                                     std::size_t points) {
  SweepPoint point{nodes, {}, std::nullopt};
  plan::Job job = scenario.job;
  job.cluster = planner::with_nodes(job.cluster, static_cast<int>(nodes));
  if (cluster::device_count(job.cluster) > cluster::max_device_count) {
    point.problem = fmt::format("more than {} devices", cluster::max_device_count);
    return point;
  }
  if (!planner::has_what_is_fixed(job)) {
    point.problem = "what the job fixes cannot be had on so many nodes";
    return point;
  }
  const predict::Scenario there = predict::scenario_of(job, scenario.software, scenario.cancellation);
  auto ranking = planner::rank_plans(there, planner::with_share_of_time(options.rank, scenario, points));
  if (!ranking.ok()) {
    if (ranking.error().failure != base::Failure::infeasible) return ranking.error();
    point.problem = ranking.error().message;
    return point;
  }
  if (!ranking->plans.empty()) {
    point.plan = std::move(ranking->plans.front().plan);
  } else if (ranking->nearest) {
    point.plan = std::move(ranking->nearest->plan);
  } else {
    point.problem = "none of the placements that may be looked at can be had";
    return point;
  }
  DOVETAIL_CHECK(add_figures(there, options, std::nullopt, point));
  return point;
}

/// Why no point of the sweep can be had.
std::optional<std::string> find_sweep_fault(const predict::Scenario& scenario, const plan::Plan* plan,
                                            SweepInput over) {
  constexpr double any = 0.5;
  if (over == SweepInput::threshold) return plan::find_threshold_fault(any, scenario.job, plan->tasks);
  if (over == SweepInput::staleness && !policy_task(scenario.job.workflow))
    return fmt::format("{} generates nothing: there is no policy that could be old; accepted: another input to vary",
                       scenario.job.workflow.name);
  if (over == SweepInput::bandwidth && cluster::node_count(scenario.job.cluster) == 1)
    return "the cluster has one node, nothing crosses a network; accepted: a cluster of more, or another input to vary";
  return std::nullopt;
}

void find_best(Sweep& sweep) {
  // What there is now, or what is the fastest, stays the best where another point is so by rounding alone.
  constexpr double noticed = 1 + 1e-9;
  const auto better = [&sweep](std::optional<std::size_t>& best, std::size_t point, const auto& cost) {
    if (!best || cost(*sweep.points[point].figures) * noticed < cost(*sweep.points[*best].figures)) best = point;
  };
  const auto can_be = [&sweep](std::size_t point) {
    return sweep.points[point].figures && sweep.points[point].figures->fits();
  };
  // Not migrating is the simpler of equals.
  const bool keeps_own = is_choice(sweep.over) && sweep.over != SweepInput::threshold;
  if (keeps_own && sweep.own && can_be(*sweep.own)) sweep.fastest = sweep.own;
  bool fitted = false;
  for (std::size_t index = 0; index < sweep.points.size(); ++index) {
    const std::optional<SweepFigures>& figures = sweep.points[index].figures;
    if (!figures) continue;
    if (!figures->fits() && fitted && !sweep.overflow) sweep.overflow = index;
    fitted |= figures->fits();
    if (figures->fits() && is_choice(sweep.over))
      better(sweep.fastest, index, [](const SweepFigures& of) { return 1 / of.samples_per_second; });
  }
  sweep.cheapest = sweep.fastest;
  for (std::size_t index = 0; sweep.fastest && index < sweep.points.size(); ++index)
    if (can_be(index)) better(sweep.cheapest, index, [](const SweepFigures& of) { return of.gpu_hours_per_sample(); });
}

}  // namespace

base::Result<Sweep> sweep(const predict::Scenario& given, const plan::Plan* plan, const SweepOptions& options) {
  const parallel::Cancellation limit(given.cancellation, options.rank.search.time_limit_seconds);
  const predict::Scenario scenario = predict::stopped_by(given, limit);
  DOVETAIL_ASSERT(plan != nullptr || options.over == SweepInput::nodes);
  if (const auto fault = find_sweep_fault(scenario, plan, options.over)) return base::bad_input(*fault);
  std::vector<std::optional<double>> values;
  if (options.over == SweepInput::threshold) values.push_back(std::nullopt);
  const std::vector<double>& asked =
      options.values.empty() ? default_values(options.over, scenario.job, plan) : options.values;
  values.insert(values.end(), asked.begin(), asked.end());
  const std::optional<double> own = own_value(options.over, scenario.job, plan);

  Sweep sweep;
  sweep.cap = options.cap;
  sweep.over = options.over;
  std::optional<PlanSweep> of_plan;
  if (options.over != SweepInput::nodes) of_plan.emplace(scenario, *plan, options);
  for (std::size_t index = 0; index < values.size(); ++index) {
    if (scenario.is_stopped()) break;
    if (options.on_point) options.on_point(index, values.size());
    auto point =
        of_plan ? of_plan->point(values[index]) : nodes_point(scenario, *values[index], options, values.size() - index);
    // What was cut short cannot stand beside others; but a search has had its share of the time.
    const auto ended_by = limit.ended_by();
    if (ended_by && !(point.ok() && !of_plan && ended_by == parallel::EndedBy::time)) break;
    if (!point.ok()) return point.error();
    if (values[index] == own) sweep.own = index;
    sweep.points.push_back(std::move(point).value());
  }
  sweep.complete = sweep.points.size() == values.size();
  if (sweep.points.empty()) return parallel::stopped_before("a value was looked at", *limit.ended_by());
  if (sweep.complete) find_best(sweep);
  return sweep;
}

bool ties_with_fastest(const Sweep& sweep, const SweepPoint& point) {
  DOVETAIL_ASSERT(sweep.over == SweepInput::threshold && sweep.fastest);
  const std::optional<SweepFigures>& fastest = sweep.points[*sweep.fastest].figures;
  if (!point.figures || !point.figures->simulated || !fastest->simulated) return false;
  const std::vector<double>& draws = point.figures->simulated->draws;
  DOVETAIL_ASSERT(draws.size() == fastest->simulated->draws.size());
  for (std::size_t draw = 0; draw < draws.size(); ++draw)
    if (draws[draw] <= fastest->simulated->draws[draw]) return true;
  return false;
}

std::string label_of(const Sweep& sweep, const SweepPoint& point) {
  return point.value ? value_text(sweep.over, *point.value) : "do not migrate";
}

bool is_simulated(const Sweep& sweep) {
  return std::any_of(sweep.points.begin(), sweep.points.end(),
                     [](const SweepPoint& point) { return point.figures && point.figures->simulated; });
}

}  // namespace dovetail::study
