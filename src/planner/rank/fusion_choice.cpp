#include "planner/rank/fusion_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "parallel/for_each_index.h"
#include "plan/framework.h"

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
  const Known* known = find(plan, predict::activation_room(scenario_, plan));
  if (known == nullptr) return std::nullopt;
  return predict::estimate(scenario_, plan, known->training);
}

predict::Estimate FusionChooser::estimate(const plan::Plan& plan) {
  if (auto known = estimate_known(plan)) return std::move(*known);
  const auto [first, second] = *plan.fusion.training;
  known_.push_back({plan.tasks[first], plan.tasks[second], predict::activation_room(scenario_, plan),
                    predict::intra_stage(scenario_, plan)});
  return predict::estimate(scenario_, plan, known_.back().training);
}

const FusionChooser::Known* FusionChooser::find(const plan::Plan& plan, std::int64_t room) const {
  const auto [first, second] = *plan.fusion.training;
  const auto known = std::find_if(known_.begin(), known_.end(), [&](const Known& one) {
    const bool as_free = !one.training.limited && one.training.activations.value_or(0) <= room;
    return (one.room == room || as_free) && one.first == plan.tasks[first] && one.second == plan.tasks[second];
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
    Known wanted{plan.tasks[first], plan.tasks[second], predict::activation_room(scenario_, plan), {}};
    const auto is_same = [&](const Known& one) {
      return one.room == wanted.room && one.first == wanted.first && one.second == wanted.second;
    };
    if (find(plan, wanted.room) != nullptr || std::any_of(made.begin(), made.end(), is_same)) continue;
    made.push_back(std::move(wanted));
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
  return find(fused, predict::activation_room(scenario_, fused)) != nullptr;
}

std::optional<EvaluatedPlan> FusionChooser::choose(const plan::Plan& plan, const predict::Estimate& unfused,
                                                   bool scheduled) {
  const plan::FusionPin& pin = scenario_.job.fixed_fusion;
  EvaluatedPlan best{plan, unfused};
  const auto try_with = [&](const plan::Fusion& fusion, bool demanded) {
    EvaluatedPlan fused{plan, {}};
    fused.plan.fusion = fusion;
    fused.estimate = estimate(fused.plan);
    const bool faster = fused.estimate.iteration_seconds < best.estimate.iteration_seconds;
    if (fused.estimate.keeps_margin() && (demanded || faster)) best = std::move(fused);
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

/// What fusing would do for the iteration, beside what the plan fuses already: nothing, or something that this plan
/// leaves out. `least`: of the fused steps only a bound is known.
std::string gain_text(const predict::Scenario& scenario, const plan::Plan& plan, const predict::Estimate& fused,
                      std::string_view fuse, bool least) {
  const double seconds = predict::estimate(scenario, plan).iteration_seconds;
  if (fused.iteration_seconds >= seconds) return "; the iteration would be no shorter";
  return fmt::format(
      "; {}fused, an iteration would take {}{:.2f} s in place of {:.2f} s (dovetail simulate --fuse {} plays it)",
      plan.fusion.any() ? "" : "the placement fuses nothing: ", least ? "at least " : "", fused.iteration_seconds,
      seconds, plan.fusion.any() ? "both" : fuse);
}

std::string why_training_is_not(const predict::Scenario& scenario, const plan::Plan& plan) {
  const plan::Job& job = scenario.job;
  if (const auto refusal = plan::find_training_refusal(job))
    return fmt::format("Training is not fused: {}.", plan::as_reason(*refusal));
  const auto pair = plan::train_pair(job);
  if (!pair)
    return fmt::format("Training is not fused: {} has no second role whose training could fill the bubbles.",
                       job.workflow.name);
  const auto [first, second] = *pair;
  if (!job.fixed_fusion.intra_stage.value_or(true)) return "Training is not fused: the job forbids it.";
  if (const auto fault = plan::find_training_fault(job, *pair, plan.tasks[first], plan.tasks[second]))
    return fmt::format("Training is not fused: {}.", plan::as_reason(*fault));
  plan::Plan fused = plan;
  fused.fusion.training = pair;
  const predict::IntraStage training = predict::intra_stage_over_bound(scenario, fused, 1);
  const std::string seconds =
      fmt::format("in one schedule both would take {:.2f} s at the least, one after the other they take {:.2f} s",
                  training.seconds(), training.apart);
  const predict::Estimate least = predict::estimate(scenario, fused, training);
  if (!least.keeps_margin())
    return fmt::format("Training is not fused: what both hold at once does not fit; {}.", seconds);
  return fmt::format("Training is not fused: {}{}.", seconds, gain_text(scenario, plan, least, "intra", true));
}

std::string why_generation_is_not(const predict::Scenario& scenario, const plan::Plan& plan) {
  const plan::Job& job = scenario.job;
  if (!job.fixed_fusion.inter_stage.value_or(true))
    return "Generation is not fused with inference: the job forbids it.";
  if (const auto fault = plan::find_threshold_fault(0.5, job, plan.tasks))
    return fmt::format("Generation is not fused with inference: {}.", plan::as_reason(*fault));
  const predict::InterStage half = predict::inter_stage(scenario, plan.tasks, 0.5);
  if (half.instances == 1) return "Generation is not fused with inference: with one instance none can be freed.";
  if (const std::optional<double> threshold = predict::best_threshold(scenario, plan.tasks)) {
    plan::Plan fused = plan;
    fused.fusion.threshold = threshold;
    const predict::Estimate best = predict::estimate(scenario, fused);
    const std::string seconds =
        fmt::format("fused at a threshold of {:.0f}% both would take {:.2f} s, one after the other they take {:.2f} s",
                    100 * *threshold, best.inter_stage->seconds(), best.inter_stage->apart);
    if (!best.keeps_margin())
      return fmt::format("Generation is not fused with inference: what devices then hold does not fit; {}.", seconds);
    return fmt::format("Generation is not fused with inference: {} (by the closed form){}.", seconds,
                       gain_text(scenario, plan, best, "inter", false));
  }
  return "Generation is not fused with inference: at no threshold does the tail hide more than migration and set-up "
         "take.";
}

}  // namespace

std::vector<std::string> why_not_fused(const predict::Scenario& scenario, const plan::Plan& plan) {
  std::vector<std::string> reasons;
  if (!plan.fusion.threshold) reasons.push_back(why_generation_is_not(scenario, plan));
  if (!plan.fusion.training) reasons.push_back(why_training_is_not(scenario, plan));
  return reasons;
}

}  // namespace dovetail::planner
