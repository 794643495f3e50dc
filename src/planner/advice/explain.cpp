#include "planner/advice/explain.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "parallel/for_each_index.h"

namespace dovetail::planner {
namespace {

/// The parts of a task's plan that a repair may change.
enum class Reach { settings, layouts, meshes };

class Repair {
 public:
  Repair(const PlanSpace& around, const plan::Plan& plan, Reach reach)
      : space_(around.space), original_(around.selection), selection_(around.selection), trial_(around.space) {
    for (std::size_t task = 0; task < selection_.size(); ++task) options_.push_back(options_of(plan, task, reach));
  }

  /// Returns the selection that fits. nullopt if none was found.
  std::optional<Selection> run() {
    Score now = trial_.score(selection_);
    while (now.excess > 0) {
      if (space_.scenario->is_stopped()) return std::nullopt;
      const Score next = step(now);
      if (next.excess >= now.excess) return std::nullopt;
      now = next;
    }
    for (std::size_t task = 0; task < selection_.size(); ++task) give_back(task);
    for (std::size_t task = 0; task < selection_.size(); ++task)
      if (selection_[task] != original_[task]) speed_up(task);
    return selection_;
  }

 private:
  std::vector<SelectedChoice> options_of(const plan::Plan& plan, std::size_t task, Reach reach) const {
    std::vector<SelectedChoice> options;
    if (space_.is_rule(task)) return options;
    for (const std::int32_t mesh : space_.open[task]) {
      if (reach != Reach::meshes && mesh != original_[task].mesh) continue;
      const auto& choices = space_.choices[task][space_.shapes[static_cast<std::size_t>(mesh)]];
      for (std::size_t choice = 0; choice < choices.size(); ++choice) {
        plan::TaskPlan planned = choices[choice].planned;
        planned.mesh = plan.tasks[task].mesh;
        const bool same_layout = kind_of(plan.tasks[task], planned) != ChangeKind::layout;
        if (reach != Reach::settings || same_layout) options.push_back({mesh, static_cast<std::int32_t>(choice)});
      }
    }
    return options;
  }

  /// Applies the change of one task that leaves the least memory missing. Among equal ones, takes the fastest.
  Score step(const Score& now) {
    Score best = now;
    Selection to = selection_;
    const Selection before = selection_;
    for (std::size_t task = 0; task < selection_.size(); ++task) {
      for (const SelectedChoice option : options_[task]) {
        selection_ = before;
        if (!take(space_, selection_, task, option)) continue;
        const Score score = trial_.score(selection_);
        if (score.excess > best.excess || (score.excess == best.excess && score.period >= best.period)) continue;
        best = score;
        to = selection_;
      }
    }
    selection_ = best.excess < now.excess ? to : before;
    return best;
  }

  void give_back(std::size_t task) {
    if (selection_[task] == original_[task]) return;
    const Selection changed = selection_;
    if (!take(space_, selection_, task, original_[task]) || trial_.score(selection_).excess > 0) selection_ = changed;
  }

  void speed_up(std::size_t task) {
    const Selection before = selection_;
    Selection best = selection_;
    base::Ticks least = trial_.score(selection_).period;
    for (const SelectedChoice option : options_[task]) {
      selection_ = before;
      if (!take(space_, selection_, task, option)) continue;
      const Score score = trial_.score(selection_);
      if (score.excess > 0 || score.period >= least) continue;
      least = score.period;
      best = selection_;
    }
    selection_ = std::move(best);
  }

  const SearchSpace& space_;
  const Selection& original_;
  Selection selection_;
  Trial trial_;
  std::vector<std::vector<SelectedChoice>> options_;  // [task]
};

}  // namespace

std::optional<Change> repair(const predict::Scenario& scenario, const plan::Plan& plan, const PlanSpace& around) {
  for (const Reach reach : {Reach::settings, Reach::layouts, Reach::meshes}) {
    if (scenario.is_stopped()) break;
    const auto selection = Repair(around, plan, reach).run();
    if (!selection) continue;
    Change change = change_to(scenario, plan, plan_of(around.space, *selection, "custom"));
    if (change.fit == predict::Fit::fits) return change;
  }
  return std::nullopt;
}

namespace {

/// Minimum relative gain of a change that is worth reporting.
constexpr double min_gain = 0.001;

/// Returns the first plan of the search, or a change or repair that is faster than all of its plans. Compares changes
/// by the closed form, because they are not simulated.
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

/// Makes real schedules for trainings that stay fused. Removes changes that do not fit with their schedule. If stopped,
/// removes changes without a schedule.
void reschedule(const predict::Scenario& scenario, std::vector<Change>& changes, int threads) {
  std::vector<char> kept(changes.size(), 0);
  parallel::for_each_index(static_cast<int>(changes.size()), threads, [&](int number) {
    const auto index = static_cast<std::size_t>(number);
    const bool fused = changes[index].plan.fusion.training.has_value();
    if (fused && !scenario.is_stopped()) reestimate(scenario, changes[index]);
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
  const RankOptions half = with_share_of_time(options, scenario, 2);
  const parallel::Cancellation in_half(&limit, half.search.time_limit_seconds);
  auto ranking = rank_plans(predict::stopped_by(scenario, in_half), half);
  if (ranking.ok())
    explanation.ranking = std::move(ranking).value();
  else if (ranking.error().failure == base::Failure::infeasible && !in_half.requested())
    explanation.impossible = ranking.error().message;
  else
    return ranking.error();
  const PlanSpace around = space_around(scenario, plan, {options.option_set}, options.search.threads);
  explanation.changes = changes_of(scenario, plan, around, options.option_set);
  const auto gains_nothing = [&](const Change& change) {
    return change.iteration_seconds > explanation.estimate.iteration_seconds * (1 - min_gain);
  };
  if (explanation.fits()) std::erase_if(explanation.changes, gains_nothing);
  reschedule(scenario, explanation.changes, options.search.threads);
  if (explanation.fits()) std::erase_if(explanation.changes, gains_nothing);
  if (!explanation.fits() && explanation.changes.empty()) {
    explanation.repair = repair(scenario, plan, around);
    if (explanation.repair) reestimate(scenario, *explanation.repair);
  }
  if (!explanation.ranking.cut_short) explanation.ranking.cut_short = limit.ended_by();
  explanation.best = best_of(scenario, explanation);
  if (explanation.best && (explanation.best->plan.tasks != plan.tasks || explanation.best->plan.fusion != plan.fusion))
    explanation.comparison =
        compare(scenario, {plan, explanation.estimate}, {explanation.best->plan, explanation.best->estimate});
  return explanation;
}

}  // namespace dovetail::planner
