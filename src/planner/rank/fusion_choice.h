// Chooses the fusion that makes a plan fastest, explains why a plan has none, and finds the plan of placement
// "rlhfuse".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "planner/space/search_space.h"
#include "predict/closed_form/estimate.h"

namespace dovetail::planner {

/// A plan with its prediction.
struct EvaluatedPlan {
  plan::Plan plan;
  predict::Estimate estimate;
};

/// Returns the train_pair() if its tasks can be fused and the job allows that, otherwise nullopt.
std::optional<plan::TrainPair> fusible_pair(const plan::Job& job, const std::vector<plan::TaskPlan>& tasks);

/// Returns the threshold at which to fuse generation with inference: the one that the job fixes, otherwise the best.
/// nullopt if the job forbids the fusion, if the fusion or the fixed threshold is impossible, or if no threshold makes
/// the tasks faster fused than unfused.
std::optional<double> chosen_threshold(const predict::Scenario& scenario, const std::vector<plan::TaskPlan>& tasks);

/// Chooses fusions for plans of one job, and caches the schedules of train tasks.
class FusionChooser {
 public:
  explicit FusionChooser(const predict::Scenario& scenario) : scenario_(scenario) {}

  /// Returns predict::estimate of the plan. Takes the schedule of fused trainings from the cache, or makes and caches
  /// it.
  predict::Estimate estimate(const plan::Plan& plan);

  /// Returns the estimate if it needs no new schedule, otherwise nullopt.
  std::optional<predict::Estimate> estimate_known(const plan::Plan& plan) const;

  /// Makes and caches the missing schedules of each plan's fusible_pair(), on `threads` threads. If stopped, some stay
  /// missing.
  void make_schedules(std::vector<plan::Plan> plans, int threads);

  /// Returns `plan` with the fusions that fit, that the job allows and that make the iteration shorter: first
  /// generation with inference at its chosen_threshold(), then also the fusible_pair(). A fusion that the job requires
  /// is kept even if it is slower. nullopt if a required fusion is impossible or does not fit, or if nothing fits.
  /// Trainings are fused only if `scheduled`. If stopped, they also need a cached schedule, unless the job requires
  /// their fusion. REQUIRES: `unfused` is the estimate of `plan`, which fuses nothing.
  std::optional<EvaluatedPlan> choose(const plan::Plan& plan, const predict::Estimate& unfused, bool scheduled = true);

 private:
  struct Known {
    plan::TaskPlan first;
    plan::TaskPlan second;
    std::int64_t headroom = 0;
    predict::IntraStage training;
  };
  const Known* find(const plan::Plan& plan, std::int64_t headroom) const;
  bool may_schedule(const plan::Plan& plan, const plan::TrainPair& pair) const;

  const predict::Scenario& scenario_;
  std::vector<Known> known_;
};

/// Returns a lower bound on the iteration seconds of the plan with every possible fusion (chosen_threshold,
/// fusible_pair). Assumes that fused training takes exactly its lower bound, and makes no schedule. REQUIRES: the plan
/// fuses nothing.
double min_fused_seconds(const predict::Scenario& scenario, const plan::Plan& plan);

/// Returns, for each fusion that `plan` lacks, a full sentence with the reason: nothing to fuse, an obstacle, no gain,
/// or a gain that the plan does not use.
std::vector<std::string> why_not_fused(const predict::Scenario& scenario, const plan::Plan& plan);

/// Returns the plan of placement "rlhfuse": all tasks on all devices, with layouts chosen together with both fusions. A
/// layout that is slower alone may be faster fused.
///
/// Starts from the co-located `start`. Takes the generation layout that is fastest with inference fused into its tail,
/// each layout at its best threshold. Then makes schedules for the pairs of training layouts with the smallest lower
/// bounds on the fused training, and takes the fastest pair. Returns `start` itself if nothing is faster, and nullopt
/// if a required fusion is impossible. `threads` does not affect the result. REQUIRES: `start` fits.
std::optional<EvaluatedPlan> rlhfuse_plan(const SearchSpace& space, const Selection& start, FusionChooser& chooser,
                                          int threads);

}  // namespace dovetail::planner
