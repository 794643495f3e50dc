#include "planner/rank/fused_placement.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "planner/search/placements.h"
#include "planner/space/trial.h"

namespace dovetail::planner {
namespace {

/// Of a task's choices so many are looked at, the fastest alone first.
constexpr std::size_t generation_choices = 48;
constexpr std::size_t train_choices = 24;
/// Pairs of train tasks, by their bound, that a schedule is made for.
constexpr std::size_t scheduled_pairs = 3;

const std::vector<Choice>& choices_at(const SearchSpace& space, std::size_t task, SelectedChoice selected) {
  return space.choices[task][space.shapes[static_cast<std::size_t>(selected.mesh)]];
}

/// The generation layout whose stage is fastest.
void choose_generation(const SearchSpace& space, Trial& trial, Selection& selection) {
  const plan::Plan start = plan_of(space, selection, "");
  const auto stage = plan::generation_stage(space.scenario->job, start.tasks);
  if (!stage) return;
  const auto seconds_of = [&](const Selection& of) {
    const std::vector<plan::TaskPlan> tasks = plan_of(space, of, "").tasks;
    const auto threshold = chosen_threshold(*space.scenario, tasks);
    const predict::InterStage fused = predict::inter_stage(*space.scenario, tasks, threshold.value_or(0.5));
    return threshold ? fused.seconds() : fused.apart;
  };
  double least = seconds_of(selection);
  const std::size_t count =
      std::min(generation_choices, choices_at(space, stage->generate, selection[stage->generate]).size());
  for (std::size_t choice = 0; choice < count; ++choice) {
    if (space.scenario->is_stopped()) return;
    Selection tried = selection;
    tried[stage->generate].choice = static_cast<std::int32_t>(choice);
    if (trial.score(tried).excess > 0) continue;
    const double seconds = seconds_of(tried);
    if (seconds >= least) continue;
    least = seconds;
    selection = std::move(tried);
  }
}

/// Choices of a train task that pipelines of another can be fused with.
std::vector<std::int32_t> fusible_choices(const SearchSpace& space, std::size_t task, SelectedChoice selected) {
  const std::vector<Choice>& choices = choices_at(space, task, selected);
  std::vector<std::int32_t> fusible;
  for (std::size_t choice = 0; choice < choices.size() && fusible.size() < train_choices; ++choice)
    if (choices[choice].planned.layout.virtual_stages == 1) fusible.push_back(static_cast<std::int32_t>(choice));
  return fusible;
}

struct ScoredSelection {
  double seconds = 0;  // of the training phase
  Selection selection;
};

/// Train layouts by the bound of their fused phase, the least first; `selection` among them where it can be fused.
std::vector<ScoredSelection> fused_pairs(const SearchSpace& space, Trial& trial, const Selection& selection,
                                         plan::TrainPair pair) {
  const auto [first, second] = pair;
  std::vector<ScoredSelection> found;
  const auto add = [&](const Selection& tried) {
    plan::Plan plan = plan_of(space, tried, "");
    plan.fusion.training = fusible_pair(space.scenario->job, plan.tasks);
    if (!plan.fusion.training || trial.score(tried).excess > 0) return;
    found.push_back({predict::intra_stage_over_bound(*space.scenario, plan, 1).seconds(), tried});
  };
  add(selection);
  double least = found.empty() ? -1 : found.front().seconds;
  for (const std::int32_t a : fusible_choices(space, first, selection[first]))
    for (const std::int32_t b : fusible_choices(space, second, selection[second])) {
      if (space.scenario->is_stopped()) break;
      Selection tried = selection;
      if (!take(space, tried, first, {selection[first].mesh, a}) ||
          !take(space, tried, second, {selection[second].mesh, b}))
        continue;
      // Each has to be trained: what takes longer alone than others do fused is not looked at.
      const base::Ticks longer =
          std::max(space.choice(first, tried[first]).duration, space.choice(second, tried[second]).duration);
      if (least >= 0 && base::seconds_of_ticks(longer) > 1.1 * least) continue;
      add(tried);
      if (!found.empty()) least = least < 0 ? found.back().seconds : std::min(least, found.back().seconds);
    }
  std::stable_sort(found.begin(), found.end(),
                   [](const ScoredSelection& a, const ScoredSelection& b) { return a.seconds < b.seconds; });
  if (found.size() > scheduled_pairs) found.resize(scheduled_pairs);
  return found;
}

}  // namespace

std::optional<EvaluatedPlan> rlhfuse_plan(const SearchSpace& space, const Selection& start, FusionChooser& chooser,
                                          int threads) {
  const predict::Scenario& scenario = *space.scenario;
  Trial trial(space);
  Selection selection = start;
  choose_generation(space, trial, selection);
  std::vector<ScoredSelection> candidates;
  if (const auto pair = plan::train_pair(scenario.job); pair && scenario.job.fixed_fusion.intra_stage.value_or(true))
    candidates = fused_pairs(space, trial, selection, *pair);
  candidates.push_back({0, selection});
  candidates.push_back({0, start});
  std::vector<plan::Plan> plans;
  for (const ScoredSelection& candidate : candidates)
    plans.push_back(plan_of(space, candidate.selection, std::string(name_of(Placement::rlhfuse))));
  chooser.make_schedules(plans, threads);
  std::optional<EvaluatedPlan> best;
  for (const plan::Plan& plan : plans) {
    if (best && scenario.is_stopped()) break;
    auto fused = chooser.choose(plan, predict::estimate(scenario, plan));
    if (fused && (!best || fused->estimate.iteration_seconds < best->estimate.iteration_seconds))
      best = std::move(fused);
  }
  return best;
}

}  // namespace dovetail::planner
