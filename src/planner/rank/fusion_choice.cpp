#include "planner/rank/fusion_choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "parallel/for_each_index.h"
#include "plan/framework.h"
#include "planner/search/placements.h"
#include "planner/space/trial.h"

namespace dovetail::planner {

std::optional<plan::TrainPair> fusible_pair(const plan::Job& job, const std::vector<plan::TaskPlan>& tasks) {
  if (!job.fixed_fusion.intra_stage.value_or(true)) return std::nullopt;
  const auto pair = plan::train_pair(job);
  if (!pair || plan::find_training_fault(job, *pair, tasks[(*pair)[0]], tasks[(*pair)[1]])) return std::nullopt;
  return pair;
}

std::optional<double> chosen_threshold(const predict::Scenario& scenario, const std::vector<plan::TaskPlan>& tasks) {
  const plan::FusionPin& pin = scenario.job.fixed_fusion;
  if (!pin.inter_stage.value_or(true)) return std::nullopt;
  if (!pin.threshold) return predict::best_threshold(scenario, tasks);
  return plan::find_threshold_fault(*pin.threshold, scenario.job, tasks) ? std::nullopt : pin.threshold;
}

std::optional<predict::Estimate> FusionChooser::estimate_known(const plan::Plan& plan) const {
  if (!plan.fusion.training) return predict::estimate(scenario_, plan);
  const Known* known = find(plan, predict::activation_headroom(scenario_, plan));
  if (known == nullptr) return std::nullopt;
  return predict::estimate(scenario_, plan, known->training);
}

predict::Estimate FusionChooser::estimate(const plan::Plan& plan) {
  if (auto known = estimate_known(plan)) return std::move(*known);
  const auto [first, second] = *plan.fusion.training;
  known_.push_back({plan.tasks[first], plan.tasks[second], predict::activation_headroom(scenario_, plan),
                    predict::intra_stage(scenario_, plan)});
  return predict::estimate(scenario_, plan, known_.back().training);
}

const FusionChooser::Known* FusionChooser::find(const plan::Plan& plan, std::int64_t headroom) const {
  const auto [first, second] = *plan.fusion.training;
  const auto known = std::find_if(known_.begin(), known_.end(), [&](const Known& one) {
    const bool as_free = !one.training.limited && one.training.activations.value_or(0) <= headroom;
    return (one.headroom == headroom || as_free) && one.first == plan.tasks[first] && one.second == plan.tasks[second];
  });
  return known == known_.end() ? nullptr : &*known;
}

void FusionChooser::make_schedules(std::vector<plan::Plan> plans, int threads) {
  std::vector<Known> made;
  std::vector<plan::Plan> unknown;
  for (plan::Plan& plan : plans) {
    plan.fusion.training = fusible_pair(scenario_.job, plan.tasks);
    if (!plan.fusion.training) continue;
    const auto [first, second] = *plan.fusion.training;
    Known target{plan.tasks[first], plan.tasks[second], predict::activation_headroom(scenario_, plan), {}};
    const auto is_same = [&](const Known& one) {
      return one.headroom == target.headroom && one.first == target.first && one.second == target.second;
    };
    if (find(plan, target.headroom) != nullptr || std::any_of(made.begin(), made.end(), is_same)) continue;
    made.push_back(std::move(target));
    unknown.push_back(std::move(plan));
  }
  parallel::for_each_index(static_cast<int>(made.size()), threads, [&](int index) {
    const auto number = static_cast<std::size_t>(index);
    if (!scenario_.is_stopped()) made[number].training = predict::intra_stage(scenario_, unknown[number]);
  });
  std::erase_if(made, [](const Known& one) { return one.training.schedule == nullptr; });
  known_.insert(known_.end(), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
}

bool FusionChooser::may_schedule(const plan::Plan& plan, const plan::TrainPair& pair) const {
  if (!scenario_.is_stopped() || scenario_.job.fixed_fusion.intra_stage.value_or(false)) return true;
  plan::Plan fused = plan;
  fused.fusion.training = pair;
  return find(fused, predict::activation_headroom(scenario_, fused)) != nullptr;
}

std::optional<EvaluatedPlan> FusionChooser::choose(const plan::Plan& plan, const predict::Estimate& unfused,
                                                   bool scheduled) {
  const plan::FusionPin& pin = scenario_.job.fixed_fusion;
  EvaluatedPlan best{plan, unfused};
  const auto try_with = [&](const plan::Fusion& fusion, bool required) {
    EvaluatedPlan fused{plan, {}};
    fused.plan.fusion = fusion;
    fused.estimate = estimate(fused.plan);
    const bool faster = fused.estimate.iteration_seconds < best.estimate.iteration_seconds;
    if (fused.estimate.keeps_margin() && (required || faster)) best = std::move(fused);
  };
  if (const auto threshold = chosen_threshold(scenario_, plan.tasks))
    try_with({.threshold = threshold, .training = std::nullopt}, pin.inter_stage.value_or(false));
  if (const auto pair = fusible_pair(scenario_.job, plan.tasks); pair && scheduled && may_schedule(plan, *pair))
    try_with({.threshold = best.plan.fusion.threshold, .training = pair}, pin.intra_stage.value_or(false));
  if (!best.estimate.keeps_margin() || !plan::agrees(pin, best.plan.fusion)) return std::nullopt;
  return best;
}

double min_fused_seconds(const predict::Scenario& scenario, const plan::Plan& plan) {
  plan::Plan fused = plan;
  fused.fusion = {.threshold = chosen_threshold(scenario, plan.tasks),
                  .training = fusible_pair(scenario.job, plan.tasks)};
  return predict::estimate_like(scenario, fused, 1.0).iteration_seconds;
}

namespace {

/// Describes the effect of a fusion on the iteration: no gain, or a gain that this plan does not use. `least`: the time
/// of the fused step is a lower bound.
std::string gain_text(const predict::Scenario& scenario, const plan::Plan& plan, const predict::Estimate& fused,
                      std::string_view fuse, bool least) {
  const double seconds = predict::estimate(scenario, plan).iteration_seconds;
  if (fused.iteration_seconds >= seconds) return "; the iteration would not get shorter";
  return fmt::format(
      "; {}with fusion, an iteration would take {}{:.4g} s instead of {:.4g} s (check with dovetail simulate --fuse "
      "{})",
      plan.fusion.any() ? "" : "this plan fuses nothing; ", least ? "at least " : "", fused.iteration_seconds, seconds,
      plan.fusion.any() ? "both" : fuse);
}

std::string why_training_is_unfused(const predict::Scenario& scenario, const plan::Plan& plan) {
  const plan::Job& job = scenario.job;
  if (const auto rejection = plan::find_training_rejection(job))
    return fmt::format("Training is not fused: {}.", plan::as_reason(*rejection));
  const auto pair = plan::train_pair(job);
  if (!pair)
    return fmt::format("Training is not fused: {} trains no second role that could fill the bubbles.",
                       job.workflow.name);
  const auto [first, second] = *pair;
  if (!job.fixed_fusion.intra_stage.value_or(true)) return "Training is not fused: the job forbids it.";
  if (const auto fault = plan::find_training_fault(job, *pair, plan.tasks[first], plan.tasks[second]))
    return fmt::format("Training is not fused: {}.", plan::as_reason(*fault));
  plan::Plan fused = plan;
  fused.fusion.training = pair;
  const predict::IntraStage training = predict::intra_stage_over_bound(scenario, fused, 1);
  const std::string seconds = fmt::format(
      "the two train tasks would take at least {:.4g} s in one schedule, compared with {:.4g} s in sequence",
      training.seconds(), training.apart);
  const predict::Estimate least = predict::estimate(scenario, fused, training);
  if (!least.keeps_margin())
    return fmt::format("Training is not fused: together, the two train tasks do not fit in memory; {}.", seconds);
  return fmt::format("Training is not fused: {}{}.", seconds, gain_text(scenario, plan, least, "intra", true));
}

std::string why_generation_is_unfused(const predict::Scenario& scenario, const plan::Plan& plan) {
  const plan::Job& job = scenario.job;
  if (!job.fixed_fusion.inter_stage.value_or(true))
    return "Generation is not fused with inference: the job forbids it.";
  if (const auto fault = plan::find_threshold_fault(0.5, job, plan.tasks))
    return fmt::format("Generation is not fused with inference: {}.", plan::as_reason(*fault));
  const predict::InterStage half = predict::inter_stage(scenario, plan.tasks, 0.5);
  if (half.instances == 1)
    return "Generation is not fused with inference: there is only one instance, which cannot be freed.";
  if (const std::optional<double> threshold = predict::best_threshold(scenario, plan.tasks)) {
    plan::Plan fused = plan;
    fused.fusion.threshold = threshold;
    const predict::Estimate best = predict::estimate(scenario, fused);
    const std::string seconds =
        fmt::format("at a threshold of {:.0f}%, both would take {:.4g} s fused, compared with {:.4g} s in sequence",
                    100 * *threshold, best.inter_stage->seconds(), best.inter_stage->apart);
    if (!best.keeps_margin())
      return fmt::format("Generation is not fused with inference: the fused stage does not fit in memory; {}.",
                         seconds);
    return fmt::format("Generation is not fused with inference: {} (analytical model){}.", seconds,
                       gain_text(scenario, plan, best, "inter", false));
  }
  return "Generation is not fused with inference: no threshold hides more time in the tail than migration and set-up "
         "take.";
}

}  // namespace

std::vector<std::string> why_not_fused(const predict::Scenario& scenario, const plan::Plan& plan) {
  std::vector<std::string> reasons;
  if (!plan.fusion.threshold) reasons.push_back(why_generation_is_unfused(scenario, plan));
  if (!plan.fusion.training) reasons.push_back(why_training_is_unfused(scenario, plan));
  return reasons;
}

namespace {

/// Maximum number of choices to try for a task, in order of their time without fusion.
constexpr std::size_t generation_choices = 48;
constexpr std::size_t train_choices = 24;
/// Number of train task pairs, sorted by bound, for which schedules are made.
constexpr std::size_t scheduled_pairs = 3;

const std::vector<Choice>& choices_at(const SearchSpace& space, std::size_t task, SelectedChoice selected) {
  return space.choices[task][space.shapes[static_cast<std::size_t>(selected.mesh)]];
}

/// Selects the generation layout with the fastest stage.
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

/// Returns choices of a train task whose pipelines can be fused with another's.
std::vector<std::int32_t> fusible_choices(const SearchSpace& space, std::size_t task, SelectedChoice selected) {
  const std::vector<Choice>& choices = choices_at(space, task, selected);
  std::vector<std::int32_t> fusible;
  for (std::size_t choice = 0; choice < choices.size() && fusible.size() < train_choices; ++choice)
    if (choices[choice].planned.layout.virtual_stages == 1) fusible.push_back(static_cast<std::int32_t>(choice));
  return fusible;
}

struct ScoredSelection {
  double seconds = 0;  // lower bound on the training phase
  Selection selection;
};

/// Returns pairs of training layouts, sorted by the bound of their fused phase. Includes `selection` if it can be
/// fused.
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
      // Skip a training that takes longer alone than the best fused pair.
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
