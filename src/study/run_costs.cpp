#include "study/run_costs.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "planner/advice/changes.h"

namespace dovetail::study {
namespace {

plan::Job with_lengths(const plan::Job& job, workflow::LengthDistribution lengths) {
  plan::Job other = job;
  workflow::set_responses(other.workload, std::move(lengths));
  return other;
}

/// Bytes of the task's device that the first such part takes; 0 where there is none.
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
  std::optional<workflow::LengthDistribution> known;  // of the part before, where all of it was alike
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
  // Up to and with a step: once it does not, it does not from there on.
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
