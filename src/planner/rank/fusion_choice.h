// Which fusion makes a plan fastest, and why a plan has none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "predict/closed_form/estimate.h"

namespace dovetail::planner {

/// A plan with its prediction.
struct EvaluatedPlan {
  plan::Plan plan;
  predict::Estimate estimate;
};

/// What a planner may fuse of a plan: the train_pair() where its parts go together and the job lets it; nothing else.
std::optional<plan::TrainPair> fusible_pair(const plan::Job& job, const std::vector<plan::TaskPlan>& tasks);

/// The threshold that the job fixes, else the best one; nothing where the job forbids one or none is faster than
/// without.
std::optional<double> chosen_threshold(const predict::Scenario& scenario, const std::vector<plan::TaskPlan>& tasks);

/// Chooses fusions for plans of one job, and keeps the schedules of train tasks that it has made.
class FusionChooser {
 public:
  explicit FusionChooser(const predict::Scenario& scenario) : scenario_(scenario) {}

  /// predict::estimate, without making a schedule again that is known.
  predict::Estimate estimate(const plan::Plan& plan);

  /// The same where no schedule has to be made for it, else nothing.
  std::optional<predict::Estimate> estimate_known(const plan::Plan& plan) const;

  /// Makes the schedules of the fusible_pair() of each of these plans that are not known, on so many threads. Where it
  /// is stopped, some stay unknown.
  void make_schedules(std::vector<plan::Plan> plans, int threads);

  /// `plan` with the fusion by which it is fastest among those that fit and that the job does not forbid: none,
  /// generation with inference at its chosen_threshold(), the fusible_pair(), or both. Each is kept only where the
  /// estimate is faster with it, but for what the job demands. Nothing where that cannot be had, or does not fit. No
  /// trainings are fused unless `scheduled`, as no schedule is made then; nor, where it is stopped, those whose
  /// schedule is not known, unless the job demands it. REQUIRES: `unfused` is the estimate of `plan`, which fuses
  /// nothing.
  std::optional<EvaluatedPlan> choose(const plan::Plan& plan, const predict::Estimate& unfused, bool scheduled = true);

 private:
  struct Known {
    plan::TaskPlan first;
    plan::TaskPlan second;
    std::int64_t room = 0;
    predict::IntraStage training;
  };
  const Known* find(const plan::Plan& plan, std::int64_t room) const;
  bool may_schedule(const plan::Plan& plan, const plan::TrainPair& pair) const;

  const predict::Scenario& scenario_;
  std::vector<Known> known_;
};

/// What the fastest fusion of a plan would take at the least: its training as short as its bound. No schedule is made.
/// REQUIRES: the plan fuses nothing.
double min_fused_seconds(const predict::Scenario& scenario, const plan::Plan& plan);

/// Of each fusion that `plan` does not have, why: nothing to fuse with, what is in its way, or that it gains nothing.
/// Whole sentences.
std::vector<std::string> why_not_fused(const predict::Scenario& scenario, const plan::Plan& plan);

}  // namespace dovetail::planner
