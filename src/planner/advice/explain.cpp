#include "planner/advice/explain.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "parallel/for_each_index.h"
#include "planner/advice/repair.h"

namespace dovetail::planner {
namespace {

/// What a change must gain at least of the iteration to be worth a line.
constexpr double min_gain = 0.001;

/// The first that the search found, or a change or a repair that is faster by the closed form than all that it found:
/// of changes nothing else is known.
std::optional<RankedPlan> best_of(const predict::Scenario& scenario, const Explanation& explanation) {
  const std::vector<RankedPlan>& found = explanation.ranking.plans;
  std::optional<RankedPlan> best;
  if (!found.empty()) best = found.front();
  const Change* change = explanation.repair ? &*explanation.repair : nullptr;
  if (!explanation.changes.empty()) change = &explanation.changes.front();
  const auto is_slower = [&](const RankedPlan& ranked) {
    return change->iteration_seconds < ranked.estimate.iteration_seconds;
  };
  if (change != nullptr && std::all_of(found.begin(), found.end(), is_slower))
    best = RankedPlan{Placement::searched, change->plan, predict::estimate(scenario, change->plan)};
  return best;
}

/// Trainings that stay fused get schedules of their own; what does not fit with its own is left out, and once it is
/// stopped, what has none.
void schedule_anew(const predict::Scenario& scenario, std::vector<Change>& changes, int threads) {
  std::vector<char> kept(changes.size(), 0);
  parallel::for_each_index(static_cast<int>(changes.size()), threads, [&](int number) {
    const auto index = static_cast<std::size_t>(number);
    const bool fused = changes[index].plan.fusion.training.has_value();
    if (fused && !scenario.is_stopped()) estimate_anew(scenario, changes[index]);
    if (!fused || (!scenario.is_stopped() && changes[index].fit == predict::Fit::fits)) kept[index] = 1;
  });
  std::size_t index = 0;
  std::erase_if(changes, [&](const Change&) { return kept[index++] == 0; });
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.iteration_seconds < b.iteration_seconds; });
}

std::vector<std::size_t> unlike_pins(const plan::Job& job, const plan::Plan& plan) {
  std::vector<std::size_t> tasks;
  for (std::size_t task = 0; task < job.fixed.size(); ++task)
    if (job.workflow.role_of[task] && !plan::agrees(job.fixed[task], plan.tasks[task])) tasks.push_back(task);
  return tasks;
}

}  // namespace

base::Result<Explanation> explain(const predict::Scenario& given, const plan::Plan& plan, const RankOptions& options) {
  const parallel::Cancellation limit(given.cancellation, options.search.time_limit_seconds);
  const predict::Scenario scenario = predict::stopped_by(given, limit);
  Explanation explanation;
  explanation.estimate = predict::estimate(scenario, plan);
  const Missing missing = missing_of(explanation.estimate.memory);
  explanation.missing = missing.bytes;
  explanation.limit = missing.task;
  explanation.unlike_pins = unlike_pins(scenario.job, plan);
  auto ranking = rank_plans(scenario, with_share_of_time(options, scenario, 2));
  if (ranking.ok())
    explanation.ranking = std::move(ranking).value();
  else if (ranking.error().failure == base::Failure::infeasible && !limit.requested())
    explanation.impossible = ranking.error().message;
  else
    return ranking.error();
  const PlanSpace around = space_around(scenario, plan, {options.option_set}, options.search.threads);
  explanation.changes = changes_of(scenario, plan, around, options.option_set);
  const auto gains_nothing = [&](const Change& change) {
    return change.iteration_seconds > explanation.estimate.iteration_seconds * (1 - min_gain);
  };
  if (explanation.fits()) std::erase_if(explanation.changes, gains_nothing);
  schedule_anew(scenario, explanation.changes, options.search.threads);
  if (explanation.fits()) std::erase_if(explanation.changes, gains_nothing);
  if (!explanation.fits() && explanation.changes.empty()) {
    explanation.repair = repair(scenario, plan, around);
    if (explanation.repair) estimate_anew(scenario, *explanation.repair);
  }
  if (!explanation.ranking.cut_short) explanation.ranking.cut_short = limit.ended_by();
  explanation.best = best_of(scenario, explanation);
  if (explanation.best && (explanation.best->plan.tasks != plan.tasks || explanation.best->plan.fusion != plan.fusion))
    explanation.comparison =
        compare(scenario, {plan, explanation.estimate}, {explanation.best->plan, explanation.best->estimate});
  return explanation;
}

}  // namespace dovetail::planner
