#include "study/sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/amount.h"
#include "base/assert.h"
#include "base/document.h"
#include "cluster/cluster.h"
#include "plan/fusion.h"
#include "planner/advice/changes.h"
#include "planner/advice/fit.h"
#include "simulate/threshold.h"
#include "study/staleness.h"
#include "workflow/lengths.h"

namespace dovetail::study {
namespace {

/// Type of an input's values.
enum class Values { share, integer, factor };

struct Facts {
  std::string_view axis;
  Values values;
  double least;
  double most;
  bool choice;
};

constexpr double max_factor = 1000;

const Facts& facts_of(SweepInput input) {
  static const std::vector<Facts> all{
      {"threshold: unfinished samples at migration", Values::share, 0, 1, true},
      {"prompts per iteration", Values::integer, 1, static_cast<double>(workflow::max_sample_count), true},
      {"samples per prompt", Values::integer, 1, static_cast<double>(workflow::max_sample_count), true},
      {"response lengths relative to the job", Values::factor, 1 / max_factor, max_factor, false},
      {"training micro-batch size relative to the plan", Values::factor, 1 / max_factor, max_factor, true},
      {"optimizer steps per epoch", Values::integer, 1, static_cast<double>(workflow::max_sample_count), true},
      {"steps off policy", Values::integer, 0, workflow::max_steps_off_policy, true},
      {"network bandwidth relative to the job", Values::factor, 1 / max_factor, max_factor, false},
      {"nodes", Values::integer, 1, cluster::max_device_count, true},
  };
  return all[static_cast<std::size_t>(input)];
}

/// Parses `text` as a value of that type, without checking its limits.
std::optional<double> read_value(Values values, std::string_view text) {
  double divisor = 1;  // division is exact: 35 / 100 equals 0.35, but 35 * 0.01 does not
  const auto drop = [&text](char suffix) {
    if (text.empty() || text.back() != suffix) return false;
    text.remove_suffix(1);
    return true;
  };
  if (values == Values::share && drop('%')) divisor = 100;
  if (values == Values::factor) drop('x');
  const auto number = base::parse_amount(text, base::Measure::number);
  if (!number.ok()) return std::nullopt;
  return number.value() / divisor;
}

std::vector<double> times(double own, const std::vector<double>& factors) {
  std::vector<double> values;
  for (const double factor : factors) values.push_back(std::max(1.0, std::round(own * factor)));
  return values;
}

/// Checks the limits: at most one optimizer step per sample, and at most max_sample_count samples.
std::optional<std::string> find_fault(const workflow::Workload& workload) {
  if (workload.prompts > workflow::max_sample_count / workload.samples_per_prompt)
    return fmt::format("{} prompts with {} samples each exceed the limit of {} samples per iteration", workload.prompts,
                       workload.samples_per_prompt, workflow::max_sample_count);
  if (workload.mini_batches > workload.samples())
    return fmt::format("{} optimizer steps per epoch need at least that many samples, but there are {}",
                       workload.mini_batches, workload.samples());
  if (workload.critic && workload.critic->mini_batches > workload.samples())
    return fmt::format("{} optimizer steps per epoch of the critic need at least that many samples, but there are {}",
                       workload.critic->mini_batches, workload.samples());
  return std::nullopt;
}

void scale_micro_batches(const plan::Job& job, double factor, plan::Plan& plan) {
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
    if (job.workflow.tasks[task].kind != workflow::TaskKind::train) continue;
    plan::MicroBatching& batching = plan.tasks[task].micro_batching;
    batching.sequences *= factor;
    batching.tokens *= factor;
    if (batching.count > 0) batching.count = std::max(1, static_cast<int>(std::lround(batching.count / factor)));
  }
}

void set(SweepInput input, double value, std::optional<std::int64_t> cap, SweptJob& swept) {
  workflow::Workload& workload = swept.job.workload;
  switch (input) {
    case SweepInput::threshold:
      swept.plan.fusion.threshold = value;
      return;
    case SweepInput::batch:
      workload.prompts = std::llround(value);
      return;
    case SweepInput::samples:
      workload.samples_per_prompt = std::llround(value);
      return;
    case SweepInput::length:
      workflow::set_responses(workload, workflow::scaled(workflow::responses_before_cap(workload), value,
                                                         cap.value_or(workflow::max_length)));
      return;
    case SweepInput::micro_batch:
      scale_micro_batches(swept.job, value, swept.plan);
      return;
    case SweepInput::mini_batch:
      workload.mini_batches = std::llround(value);
      return;
    case SweepInput::staleness:
      workload.steps_off_policy = static_cast<int>(std::lround(value));
      return;
    case SweepInput::bandwidth:
      for (cluster::NetworkLevel& level : swept.job.cluster.networks) level.bandwidth *= value;
      return;
    case SweepInput::nodes:
      break;
  }
  DOVETAIL_ASSERT(false);
}

}  // namespace

std::string_view axis_name(SweepInput input) { return facts_of(input).axis; }
bool is_choice(SweepInput input) { return facts_of(input).choice; }

std::string value_text(SweepInput input, double value) {
  switch (facts_of(input).values) {
    case Values::share:
      return fmt::format("{:.6g}%", value * 100);
    case Values::integer:
      return fmt::format("{:.0f}", value);
    case Values::factor:
      return fmt::format("{:.6g}x", value);
  }
  DOVETAIL_ASSERT(false);
}

std::optional<std::string> find_value_fault(SweepInput input, double value) {
  const Facts& facts = facts_of(input);
  switch (facts.values) {
    case Values::share:
      if (value > facts.least && value < facts.most) return std::nullopt;
      return "accepted: a share of the samples, above 0% and below 100%, such as 20% or 0.2";
    case Values::integer:
      if (value >= facts.least && value <= facts.most && value == std::floor(value)) return std::nullopt;
      return fmt::format("accepted: an integer from {:.0f} to {:.0f}", facts.least, facts.most);
    case Values::factor:
      if (value >= facts.least && value <= facts.most) return std::nullopt;
      return fmt::format("accepted: a factor from {:g} to {:g}, such as 0.5x or 2", facts.least, facts.most);
  }
  DOVETAIL_ASSERT(false);
}

base::Result<std::vector<double>> parse_values(SweepInput input, std::string_view text) {
  std::vector<double> values;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    begin = end + 1;
    const std::optional<double> value = read_value(facts_of(input).values, item);
    const std::optional<std::string> fault = find_value_fault(input, value.value_or(-1));
    if (!value || fault)
      return base::bad_input(fmt::format("{} is not a valid value of {}; {}", base::quote(item), base::enum_name(input),
                                         fault.value_or("accepted: numbers separated by commas")));
    values.push_back(*value);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::optional<double> own_value(SweepInput input, const plan::Job& job, const plan::Plan* plan) {
  switch (input) {
    case SweepInput::threshold:
      DOVETAIL_ASSERT(plan != nullptr);
      return plan->fusion.threshold;
    case SweepInput::batch:
      return static_cast<double>(job.workload.prompts);
    case SweepInput::samples:
      return static_cast<double>(job.workload.samples_per_prompt);
    case SweepInput::mini_batch:
      return static_cast<double>(job.workload.mini_batches);
    case SweepInput::staleness:
      return job.workload.steps_off_policy;
    case SweepInput::nodes:
      return cluster::node_count(job.cluster);
    case SweepInput::length:
    case SweepInput::micro_batch:
    case SweepInput::bandwidth:
      return 1;
  }
  DOVETAIL_ASSERT(false);
}

std::vector<double> default_values(SweepInput input, const plan::Job& job, const plan::Plan* plan) {
  const std::optional<double> own = own_value(input, job, plan);
  std::vector<double> values;
  if (input == SweepInput::threshold)
    values = simulate::default_thresholds();
  else if (input == SweepInput::length)
    values = {0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 8};
  else if (facts_of(input).values == Values::factor)
    values = {0.25, 0.5, 1, 2, 4, 8};
  else if (input == SweepInput::staleness)
    values = {0, 1, 2, 4, 8};
  else
    values = times(*own, {0.25, 0.5, 1, 2, 4});
  if (own) values.push_back(*own);
  std::erase_if(values, [input](double value) { return find_value_fault(input, value).has_value(); });
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

base::Result<SweptJob> with_value(SweepInput input, double value, const plan::Job& job, const plan::Plan& plan,
                                  std::optional<std::int64_t> cap) {
  SweptJob swept{job, plan};
  set(input, value, cap, swept);
  if (const auto fault = find_fault(swept.job.workload)) return base::bad_input(*fault);
  if (const auto fault = plan::find_fault(swept.plan, swept.job))
    return base::bad_input(fmt::format("{}: {}", job.workflow.tasks[fault->task].name, fault->message));
  return swept;
}

namespace {

/// Copies the figures that a sweep needs from an estimate.
SweepFigures figures_of(const predict::Scenario& scenario, const predict::Estimate& estimate) {
  SweepFigures figures;
  figures.iteration_seconds = estimate.iteration_seconds;
  figures.samples_per_second = estimate.samples_per_second;
  figures.tokens_per_second = estimate.tokens_per_second;
  figures.gpu_hours = estimate.gpu_hours;
  figures.price = estimate.price;
  figures.samples = scenario.job.workload.samples();
  figures.fit = estimate.fit();
  figures.fullest = planner::min_margin_task(estimate.memory);
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

/// Adds a simulation and scales the other figures to it.
void add_simulated(const predict::Simulation& simulation, SweepFigures& figures) {
  const auto [least, most] = std::minmax_element(simulation.draws.begin(), simulation.draws.end());
  figures.simulated = SimulatedSeconds{simulation.iteration_seconds, *least, *most, simulation.draws};
  if (!simulation.migrations.empty()) figures.migrations = migrations_of(simulation.migrations);
  const double factor = simulation.iteration_seconds / figures.iteration_seconds;
  figures.samples_per_second /= factor;
  figures.tokens_per_second /= factor;
  figures.gpu_hours *= factor;
  if (figures.price) *figures.price *= factor;
}

/// Adds the figures of a point's plan. `training` as in predict::estimate.
base::Status add_figures(const predict::Scenario& scenario, const SweepOptions& options,
                         const std::optional<predict::IntraStage>& training, SweepPoint& point) {
  point.figures = figures_of(scenario, predict::estimate(scenario, point.plan, training));
  if (!options.simulate) return {};
  predict::Simulator simulator(scenario, options.simulation);
  DOVETAIL_TRY(const predict::Simulation simulation, simulator.simulate(point.plan));
  add_simulated(simulation, *point.figures);
  return {};
}

/// Evaluates the points of one plan.
class PlanSweep {
 public:
  PlanSweep(const predict::Scenario& scenario, const plan::Plan& plan, const SweepOptions& options)
      : scenario_(scenario), plan_(plan), options_(options), simulator_(scenario, options.simulation) {
    // A threshold does not affect training, so its schedule is computed once.
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
  /// All thresholds share the job and one simulator.
  base::Result<SweepPoint> threshold(std::optional<double> value) {
    SweepPoint point{value, plan_, std::nullopt};
    point.plan.fusion.threshold = value;
    point.figures = figures_of(scenario_, predict::estimate(scenario_, point.plan, training_));
    if (!options_.simulate) return point;
    DOVETAIL_TRY(const predict::Simulation simulation, simulator_.simulate(point.plan));
    add_simulated(simulation, *point.figures);
    return point;
  }

  const predict::Scenario& scenario_;
  const plan::Plan& plan_;
  const SweepOptions& options_;
  predict::Simulator simulator_;
  std::optional<predict::IntraStage> training_;
};

/// Evaluates the best plan on this many nodes. The remaining time is shared among `points` points.
base::Result<SweepPoint> nodes_point(const predict::Scenario& scenario, double nodes, const SweepOptions& options,
                                     std::size_t points) {
  SweepPoint point{nodes, {}, std::nullopt};
  plan::Job job = scenario.job;
  job.cluster = planner::with_nodes(job.cluster, static_cast<int>(nodes));
  if (cluster::device_count(job.cluster) > cluster::max_device_count) {
    point.problem = fmt::format("more than {} devices", cluster::max_device_count);
    return point;
  }
  if (!planner::has_fixed_meshes(job)) {
    point.problem = "the job's fixed settings are not possible on this many nodes";
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
    point.problem = "none of the allowed placements is possible";
    return point;
  }
  DOVETAIL_CHECK(add_figures(there, options, std::nullopt, point));
  return point;
}

/// Returns the reason why no point of the sweep is possible, or nullopt if some may be.
std::optional<std::string> find_sweep_fault(const predict::Scenario& scenario, const plan::Plan* plan,
                                            SweepInput over) {
  constexpr double any = 0.5;
  if (over == SweepInput::threshold) return plan::find_threshold_fault(any, scenario.job, plan->tasks);
  if (over == SweepInput::staleness && !policy_task(scenario.job.workflow))
    return fmt::format("{} does not generate with a trained model, so no policy can be stale; vary another input",
                       scenario.job.workflow.name);
  if (over == SweepInput::bandwidth && cluster::node_count(scenario.job.cluster) == 1)
    return "the cluster has a single node, so nothing crosses a network; use more nodes or vary another input";
  return std::nullopt;
}

void find_best(Sweep& sweep) {
  // The point with the job's own value, or the fastest one, stays the best unless another point is better by more than
  // rounding.
  constexpr double tolerance = 1 + 1e-9;
  const auto better = [&sweep](std::optional<std::size_t>& best, std::size_t point, const auto& cost) {
    if (!best || cost(*sweep.points[point].figures) * tolerance < cost(*sweep.points[*best].figures)) best = point;
  };
  const auto can_be = [&sweep](std::size_t point) {
    return sweep.points[point].figures && sweep.points[point].figures->fits();
  };
  // For thresholds, not migrating is preferred among equals because it is simpler.
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
  const std::vector<double>& requested =
      options.values.empty() ? default_values(options.over, scenario.job, plan) : options.values;
  values.insert(values.end(), requested.begin(), requested.end());
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
    // A point that was cut short cannot be compared with others. A search for nodes is complete once it has used its
    // share of the time.
    const auto ended_by = limit.ended_by();
    if (ended_by && !(point.ok() && !of_plan && ended_by == parallel::EndedBy::time)) break;
    if (!point.ok()) return point.error();
    if (values[index] == own) sweep.own = index;
    sweep.points.push_back(std::move(point).value());
  }
  sweep.complete = sweep.points.size() == values.size();
  if (sweep.points.empty()) return parallel::stopped_before("a value was evaluated", *limit.ended_by());
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
