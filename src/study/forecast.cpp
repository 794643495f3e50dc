#include "study/forecast.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "planner/advice/changes.h"
#include "predict/closed_form/intra_stage.h"

namespace dovetail::study {
namespace {

constexpr std::int64_t max_parts = 100;
constexpr std::int64_t max_parts_of_a_stopped_run = 5;
constexpr std::int64_t points_shown = 10;
constexpr std::size_t plans_of_a_search = 4;

using Costs = std::vector<std::vector<PartCost>>;  ///< [part][plan]

/// Run divided into parts, with its candidate plans and their costs.
struct Run {
  const predict::Scenario& scenario;
  const LengthGrowth& growth;
  const ForecastOptions& options;
  std::vector<RunPart> parts;
  std::vector<ForecastPlan> plans;
  Costs costs;
};

/// Returns the step of each search: the first at which lengths reach a target. Targets are spaced evenly from the first
/// to the longest lengths.
std::vector<std::int64_t> search_steps(const LengthGrowth& growth, const std::vector<RunPart>& parts, int searches) {
  std::vector<std::int64_t> max_steps{0};
  for (const RunPart& part : parts) max_steps.push_back(growth.step_of_max_length(part.first, part.last));
  std::vector<double> factors;
  for (const std::int64_t step : max_steps) factors.push_back(growth.factor_at(static_cast<double>(step)));
  const double longest = *std::max_element(factors.begin(), factors.end());
  std::vector<std::int64_t> steps;
  for (int search = 0; search < searches; ++search) {
    const double target = factors.front() + (longest - factors.front()) * search / std::max(1, searches - 1);
    // Rounding must not put the target above the longest length.
    const auto reached = std::find_if(factors.begin(), factors.end(),
                                      [&](double factor) { return factor >= std::min(target, longest); });
    const std::int64_t step = max_steps[static_cast<std::size_t>(reached - factors.begin())];
    if (std::find(steps.begin(), steps.end(), step) == steps.end()) steps.push_back(step);
  }
  return steps;
}

void add_candidate(std::vector<ForecastPlan>& plans, ForecastPlan candidate) {
  const auto known = std::any_of(plans.begin(), plans.end(), [&](const ForecastPlan& plan) {
    return plan.plan.tasks == candidate.plan.tasks && plan.plan.fusion == candidate.plan.fusion;
  });
  if (!known) plans.push_back(std::move(candidate));
}

base::Status find_candidates(Run& run, const plan::Plan* given) {
  if (given != nullptr) {
    ForecastPlan candidate{*given, std::nullopt, std::nullopt};
    if (given->fusion.training) candidate.over_bound = predict::intra_stage(run.scenario, *given).over_bound();
    run.plans.push_back(std::move(candidate));
  }
  planner::RankOptions rank = run.options.rank;
  rank.shown = std::min(rank.shown, plans_of_a_search);
  rank.simulated = 0;  // compare all candidates in closed form
  const std::vector<std::int64_t> steps = search_steps(run.growth, run.parts, run.options.searches);
  bool expired = false;
  for (std::size_t index = 0; index < steps.size() && !run.scenario.is_stopped(); ++index) {
    const std::int64_t step = steps[index];
    if (run.options.on_search) run.options.on_search(step);
    const RunStep there(run.scenario, run.growth, step);
    // Reserve a share of the time for computing the costs of all plans in all parts.
    const std::size_t shares = steps.size() - index + 1;
    const planner::RankOptions share = planner::with_share_of_time(rank, run.scenario, shares);
    const parallel::Cancellation in_share(run.scenario.cancellation, share.search.time_limit_seconds);
    auto ranking = planner::rank_plans(predict::stopped_by(there.scenario(), in_share), share);
    if (!ranking.ok() && ranking.error().failure == base::Failure::bad_input) return ranking.error();
    if (!ranking.ok()) {
      expired = expired || in_share.requested();
      continue;
    }
    for (planner::RankedPlan& ranked : ranking->plans) {
      std::optional<double> over_bound;
      if (ranked.estimate.intra_stage) over_bound = ranked.estimate.intra_stage->over_bound();
      add_candidate(run.plans, {std::move(ranked.plan), step, over_bound});
    }
  }
  if (const auto ended_by = parallel::ended_by(run.scenario.cancellation); ended_by && run.plans.empty())
    return parallel::stopped_before("a plan was found", *ended_by);
  if (run.plans.empty() && expired) return parallel::stopped_before("a plan was found", parallel::EndedBy::time);
  if (run.plans.empty())
    return base::Error{base::Failure::infeasible, "", 0, 0,
                       "no plan was found that fits at any response length of the run"};
  return {};
}

/// Computes the costs of all plans in all parts. If stopped early, divides the run into fewer parts instead.
void find_costs(Run& run) {
  run.costs = run_costs(run.scenario, run.growth, run.parts, run.plans, run.scenario.cancellation);
  if (run.costs.size() == run.parts.size()) return;
  run.parts = run_parts(run.options.steps, max_parts_of_a_stopped_run);
  run.costs = run_costs(run.scenario, run.growth, run.parts, run.plans);
}

/// Ends the run before the first step at which no plan fits.
void cut_off(Run& run) {
  const auto fits = [](const std::vector<PartCost>& row) {
    return std::any_of(row.begin(), row.end(), [](const PartCost& cost) { return cost.fits; });
  };
  const auto over = std::find_if_not(run.costs.begin(), run.costs.end(), fits);
  if (over == run.costs.end()) return;
  const auto count = static_cast<std::size_t>(over - run.costs.begin());
  RunPart part = run.parts[count];
  run.parts.resize(count);
  run.costs.resize(count);
  std::int64_t end = part.first;
  for (const ForecastPlan& plan : run.plans)
    end = std::max(end, first_overflow(run.scenario, run.growth, plan, part.first, part.last).value_or(part.last));
  if (end == part.first) return;
  part.last = end - 1;
  Costs rest = run_costs(run.scenario, run.growth, {part}, run.plans);
  if (!fits(rest.front())) return;
  run.parts.push_back(part);
  run.costs.push_back(std::move(rest.front()));
}

/// Whether a run may change from one plan to another for a part.
bool may_change(const PartCost& from, const PartCost& to, double error) {
  return to.fits && (!from.fits || to.seconds * (1 + error) < from.seconds);
}

/// Returns the plan of each part, in the fastest sequence that obeys the rules of forecast(). REQUIRES: some plan fits
/// in every part.
std::vector<std::size_t> schedule_of(const Run& run, bool starts_with_first) {
  constexpr double never = std::numeric_limits<double>::infinity();
  const double error = run.scenario.software.efficiency.error;
  const std::size_t count = run.parts.size();
  const std::size_t plans = run.plans.size();
  // For each part and plan: the seconds to the end, and the plan of the next part.
  std::vector<std::vector<double>> left(count + 1, std::vector<double>(plans, 0));
  std::vector<std::vector<std::size_t>> next(count, std::vector<std::size_t>(plans, 0));
  for (std::size_t part = count; part-- > 0;) {
    for (std::size_t plan = 0; plan < plans; ++plan) {
      double least = part + 1 == count ? 0 : left[part + 1][plan];
      next[part][plan] = plan;
      for (std::size_t other = 0; part + 1 < count && other < plans; ++other) {
        if (other == plan || !may_change(run.costs[part + 1][plan], run.costs[part + 1][other], error)) continue;
        const double seconds = run.options.restart_seconds + left[part + 1][other];
        if (seconds >= least) continue;
        least = seconds;
        next[part][plan] = other;
      }
      const PartCost& cost = run.costs[part][plan];
      left[part][plan] = cost.fits ? cost.seconds * static_cast<double>(run.parts[part].steps()) + least : never;
    }
  }
  const std::vector<PartCost>& first = run.costs.front();
  double fastest = never;
  for (const PartCost& cost : first)
    if (cost.fits) fastest = std::min(fastest, cost.seconds);
  std::size_t start = 0;
  if (!starts_with_first || !first.front().fits) {
    double least = never;
    for (std::size_t plan = 0; plan < plans; ++plan)
      if (first[plan].fits && first[plan].seconds <= fastest * (1 + error) && left[0][plan] < least)
        least = left[0][start = plan];
  }
  std::vector<std::size_t> schedule{start};
  for (std::size_t part = 0; part + 1 < count; ++part) schedule.push_back(next[part][schedule.back()]);
  return schedule;
}

double seconds_of(const Run& run, std::size_t part, std::size_t plan) {
  return run.costs[part][plan].seconds * static_cast<double>(run.parts[part].steps());
}

/// Returns the index of a plan in the forecast. Adds the plan if it is new.
std::size_t entered(Forecast& forecast, std::vector<std::size_t>& numbers, const Run& run, std::size_t plan) {
  const auto known = std::find(numbers.begin(), numbers.end(), plan);
  if (known != numbers.end()) return static_cast<std::size_t>(known - numbers.begin());
  numbers.push_back(plan);
  forecast.plans.push_back(run.plans[plan]);
  return numbers.size() - 1;
}

void add_spans(const Run& run, const std::vector<std::size_t>& schedule, Forecast& forecast) {
  std::vector<std::size_t> numbers;
  for (std::size_t part = 0; part < run.parts.size(); ++part) {
    const std::size_t plan = schedule[part];
    if (part == 0 || plan != schedule[part - 1]) {
      ForecastSpan span;
      span.plan = entered(forecast, numbers, run, plan);
      span.first = run.parts[part].first;
      if (part > 0 && run.costs[part][schedule[part - 1]].fits) span.saved = 0;
      forecast.spans.push_back(span);
    }
    ForecastSpan& span = forecast.spans.back();
    span.last = run.parts[part].last;
    span.seconds += seconds_of(run, part, plan);
    if (!span.saved) continue;
    const std::size_t before = numbers[forecast.spans[forecast.spans.size() - 2].plan];
    if (run.costs[part][before].fits) *span.saved += seconds_of(run, part, before) - seconds_of(run, part, plan);
  }
}

/// Seconds of an iteration at a step.
double seconds_at(const Run& run, std::int64_t step, const ForecastPlan& plan) {
  return RunStep(run.scenario, run.growth, step).estimate(plan).iteration_seconds;
}

double pauses_of(const ForecastOptions& options, std::int64_t steps) {
  double seconds = 0;
  for (const Pause& pause : options.pauses) {
    const std::int64_t count = steps / pause.every;
    seconds += static_cast<double>(count) * pause.seconds;
  }
  return seconds;
}

void add_sums(const Run& run, Forecast& forecast) {
  for (ForecastSpan& span : forecast.spans) {
    forecast.seconds += span.seconds;
    span.first_seconds = seconds_at(run, span.first, forecast.plans[span.plan]);
    span.last_seconds = seconds_at(run, span.last, forecast.plans[span.plan]);
  }
  forecast.pause_seconds = pauses_of(run.options, forecast.steps);
  forecast.restart_seconds =
      run.options.restart_seconds * static_cast<double>(std::max<std::size_t>(1, forecast.spans.size()) - 1);
  forecast.seconds += forecast.pause_seconds + forecast.restart_seconds;
  forecast.gpu_hours = forecast.seconds * cluster::device_count(run.scenario.job.cluster) / 3600;
  if (run.scenario.job.cluster.price) forecast.price = *run.scenario.job.cluster.price * forecast.gpu_hours;
}

/// Adds the result of keeping the first plan for all requested steps.
void add_kept(const Run& run, std::size_t plan, Forecast& forecast) {
  const auto over =
      std::find_if(run.costs.begin(), run.costs.end(), [plan](const auto& row) { return !row[plan].fits; });
  const bool cut = forecast.steps < run.options.steps;
  if (over == run.costs.end() && !cut) {
    forecast.kept_seconds = pauses_of(run.options, forecast.steps);
    for (std::size_t part = 0; part < run.parts.size(); ++part) *forecast.kept_seconds += seconds_of(run, part, plan);
    return;
  }
  const std::int64_t from = over == run.costs.begin() || run.costs.empty() ? 0
                            : over == run.costs.end()
                                ? run.parts.back().last
                                : run.parts[static_cast<std::size_t>(over - run.costs.begin())].first;
  const std::int64_t to =
      over == run.costs.end() ? forecast.steps : run.parts[static_cast<std::size_t>(over - run.costs.begin())].last;
  if (const auto step = first_overflow(run.scenario, run.growth, run.plans[plan], from, to))
    forecast.overflow = overflow_at(run.scenario, run.growth, run.plans[plan], *step);
}

void add_points(const Run& run, Forecast& forecast) {
  std::vector<std::int64_t> steps;
  for (std::int64_t point = 0; point <= points_shown; ++point) {
    const std::int64_t step = (forecast.steps - 1) * point / points_shown;
    if (steps.empty() || step != steps.back()) steps.push_back(step);
  }
  const std::int64_t longest = run.growth.step_of_max_length(0, forecast.steps - 1);
  if (const auto place = std::lower_bound(steps.begin(), steps.end(), longest); *place != longest)
    steps.insert(place, longest);
  for (const std::int64_t step : steps) {
    const auto span = std::find_if(forecast.spans.begin(), forecast.spans.end(),
                                   [step](const ForecastSpan& one) { return step <= one.last; });
    const RunStep there(run.scenario, run.growth, step);
    const predict::Estimate estimate = there.estimate(forecast.plans[span->plan]);
    ForecastPoint point;
    point.step = step;
    point.factor = run.growth.factor_at(static_cast<double>(step));
    point.mean = there.job().workload.response_length.mean();
    point.at_cap = run.growth.at_cap(static_cast<double>(step));
    point.plan = span->plan;
    point.seconds = estimate.iteration_seconds;
    point.margin = estimate.memory[planner::min_margin_task(estimate.memory)].margin();
    point.fit = estimate.fit();
    forecast.points.push_back(point);
  }
}

}  // namespace

base::Result<Forecast> forecast(const predict::Scenario& given, const plan::Plan* plan, const LengthGrowth& growth,
                                const ForecastOptions& options) {
  const parallel::Cancellation limit(given.cancellation, options.rank.search.time_limit_seconds);
  const predict::Scenario scenario = predict::stopped_by(given, limit);
  DOVETAIL_ASSERT(options.steps >= 1 && (plan != nullptr || options.searches > 0));
  Run run{scenario, growth, options, run_parts(options.steps, max_parts), {}, {}};
  DOVETAIL_CHECK(find_candidates(run, plan));
  find_costs(run);
  Forecast forecast;
  forecast.part = run.parts.front().steps();
  forecast.candidates = run.plans.size();
  cut_off(run);
  if (run.parts.empty()) {
    forecast.plans.push_back(run.plans.front());
    if (const auto step = first_overflow(scenario, growth, run.plans.front(), 0, forecast.part - 1))
      forecast.overflow = overflow_at(scenario, growth, run.plans.front(), *step);
    return forecast;
  }
  forecast.steps = run.parts.back().last + 1;
  const std::vector<std::size_t> schedule = schedule_of(run, plan != nullptr);
  add_spans(run, schedule, forecast);
  add_sums(run, forecast);
  add_kept(run, schedule.front(), forecast);
  add_points(run, forecast);
  return forecast;
}

namespace {

plan::Job with_lengths(const plan::Job& job, workflow::LengthDistribution lengths) {
  plan::Job other = job;
  workflow::set_responses(other.workload, std::move(lengths));
  return other;
}

/// Bytes of the first memory part with this kind and role; 0 if the task has no such part.
std::int64_t bytes_like(const predict::TaskMemory& memory, const predict::MemoryPart& part) {
  const auto like = std::find_if(memory.parts.begin(), memory.parts.end(),
                                 [&](const predict::MemoryPart& one) { return one.is_like(part); });
  return like == memory.parts.end() ? 0 : like->bytes;
}

}  // namespace

std::vector<RunPart> run_parts(std::int64_t steps, std::int64_t most) {
  DOVETAIL_ASSERT(steps >= 1 && most >= 1);
  const std::int64_t count = std::min(steps, most);
  const std::int64_t each = (steps + count - 1) / count;
  std::vector<RunPart> parts;
  for (std::int64_t first = 0; first < steps; first += each)
    parts.push_back({first, std::min(first + each, steps) - 1});
  return parts;
}

RunStep::RunStep(const predict::Scenario& scenario, workflow::LengthDistribution responses)
    : job_(with_lengths(scenario.job, std::move(responses))),
      scenario_(predict::scenario_of(job_, scenario.software, scenario.cancellation)) {}

RunStep::RunStep(const predict::Scenario& scenario, const LengthGrowth& growth, std::int64_t step)
    : RunStep(scenario, growth.at(static_cast<double>(step))) {}

predict::Estimate RunStep::estimate(const ForecastPlan& plan) const {
  predict::Estimate like = predict::estimate_like(scenario_, plan.plan, plan.over_bound);
  return like.fits() || !plan.over_bound ? like : predict::estimate(scenario_, plan.plan);
}

std::vector<std::vector<PartCost>> run_costs(const predict::Scenario& scenario, const LengthGrowth& growth,
                                             const std::vector<RunPart>& parts, const std::vector<ForecastPlan>& plans,
                                             const parallel::Cancellation* cancellation) {
  std::vector<std::vector<PartCost>> costs;
  std::optional<workflow::LengthDistribution> known;  // lengths of the previous part, if they were constant
  for (const RunPart& part : parts) {
    if (parallel::is_requested(cancellation)) break;
    const RunStep mean(scenario, growth.mean_of(part.first, part.last));
    const RunStep longest(scenario, growth, growth.step_of_max_length(part.first, part.last));
    const workflow::LengthDistribution& lengths = mean.job().workload.response_length;
    const bool alike = lengths == longest.job().workload.response_length;
    if (alike && known && *known == lengths) {
      costs.push_back(costs.back());
      continue;
    }
    known = alike ? std::optional(lengths) : std::nullopt;
    std::vector<PartCost> row;
    for (const ForecastPlan& plan : plans) {
      const predict::Estimate estimate = mean.estimate(plan);
      row.push_back({estimate.iteration_seconds, alike ? estimate.fits() : longest.estimate(plan).fits()});
    }
    costs.push_back(std::move(row));
  }
  return costs;
}

std::optional<std::int64_t> first_overflow(const predict::Scenario& scenario, const LengthGrowth& growth,
                                           const ForecastPlan& plan, std::int64_t from, std::int64_t to) {
  // Whether the plan fits at all steps up to and including `step`. This is monotonic.
  const auto fits = [&, first = from](std::int64_t step) {
    return RunStep(scenario, growth, growth.step_of_max_length(first, step)).estimate(plan).fits();
  };
  if (!fits(from)) return from;
  if (fits(to)) return std::nullopt;
  while (to - from > 1) {
    const std::int64_t middle = from + (to - from) / 2;
    (fits(middle) ? from : to) = middle;
  }
  return to;
}

Overflow overflow_at(const predict::Scenario& scenario, const LengthGrowth& growth, const ForecastPlan& plan,
                     std::int64_t step) {
  const std::vector<predict::TaskMemory> then = RunStep(scenario, growth, step).estimate(plan).memory;
  const std::vector<predict::TaskMemory> first = RunStep(scenario, growth, 0).estimate(plan).memory;
  const planner::Missing missing = planner::missing_of(then);
  DOVETAIL_ASSERT(missing.bytes > 0);
  Overflow overflow;
  overflow.step = step;
  overflow.task = missing.task;
  overflow.host = missing.host;
  const predict::TaskMemory& memory = then[overflow.task];
  overflow.device = memory.device;
  overflow.needed = overflow.host ? memory.host : memory.needed();
  overflow.usable = overflow.host ? memory.host_memory : memory.usable;
  if (overflow.host) return overflow;
  for (const predict::MemoryPart& part : memory.parts) {
    const std::int64_t growth_of_part = part.bytes - bytes_like(first[overflow.task], part);
    if (overflow.part && growth_of_part <= overflow.part_growth) continue;
    overflow.part = part;
    overflow.part_growth = growth_of_part;
  }
  return overflow;
}

}  // namespace dovetail::study
