// The plans of a job, searched and ranked: what `dovetail plan JOB` answers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/rank/finalists.h"
#include "planner/rank/no_plan.h"
#include "planner/search/search.h"

namespace dovetail::planner {

struct RankOptions {
  SearchOptions search;  ///< its time limit is for all that rank_plans does; its bound and its fusion are found here
  OptionSet option_set = OptionSet::all;
  /// That may be looked at; empty: all. Without `searched` among them nothing is searched.
  std::vector<Placement> placements;
  std::size_t shown = 8;      ///< plans in the answer at most
  std::size_t simulated = 0;  ///< of the first plans that are ties, so many at most are played and ordered by that
  /// Called with the best plan that the search has met, each time there is a better one.
  std::function<void(const plan::Plan&)> on_better;
};

/// A plan that does not fit, or is tight, with what is missing, where none fits.
struct NearestPlan {
  plan::Plan plan;
  std::size_t task = 0;      ///< with the most missing
  std::int64_t missing = 0;  ///< bytes of the device with its margin, or of the node's host memory, whatever is more
  predict::Fit fit = predict::Fit::does_not_fit;
};

struct Ranking {
  std::vector<RankedPlan> plans;  ///< that fit, the fastest first (those that were simulated by that, else by the
                                  ///< closed form); of each placement the best, and others found, in their best fusion
  std::vector<std::string> not_fused;  ///< why_not_fused of the first
  /// That were asked for (all, where none was named) and have no plan among these.
  std::vector<AbsentPlacement> absent;
  std::optional<NearestPlan> nearest;  ///< where no plan fits
  double bound =
      0;  ///< seconds that no plan's iteration can beat that fuses nothing, of what was looked at; 0: none known
  /// The same of all plans, whatever they fuse; nothing where plans may fuse nothing.
  std::optional<double> fused_bound;
  std::optional<SearchRun> search;  ///< how the search went; nothing where nothing was searched
  /// What ended the work before all of it was done: another run may find better plans.
  std::optional<parallel::EndedBy> cut_short;
  std::size_t ties = 0;  ///< plans from the second on that are within the model's error of the best

  /// How far a plan is, by the closed form, above the bound that holds for it; nothing where none is known.
  std::optional<double> gap(const RankedPlan& ranked) const {
    const double least = ranked.plan.fusion.any() ? fused_bound.value_or(0) : bound;
    if (least <= 0) return std::nullopt;
    // No less than 0 but for rounding.
    return std::max(0.0, ranked.estimate.iteration_seconds / least - 1);
  }
};

/// Searches, and evaluates with predict::estimate whatever may be the best. Where it is stopped, or its time is over,
/// whatever it is at ends with the best so far, and what comes then is left out, but for evaluating what was found. An
/// Error where the job's pins leave a task nothing to choose, it names no software, or it is stopped before any plan
/// was looked at (parallel::stopped_before).
base::Result<Ranking> rank_plans(const predict::Scenario& scenario, const RankOptions& options);

/// `options` for a part of what `scenario` is to do within its time, if that is limited: with an equal share of what is
/// left of it, where as many `parts` follow one another.
RankOptions with_share_of_time(RankOptions options, const predict::Scenario& scenario, std::size_t parts);

/// An input that decides which plan is best.
struct Flip {
  std::string input;     ///< "response lengths", "network bandwidth", ...
  double factor = 1;     ///< that it changes by
  std::size_t plan = 0;  ///< index in Ranking::plans of the one that is best then
  double gain = 0;       ///< by what part of the first plan's time it is faster
};

/// Of each input the least change, of those tried (0.5 to 2 times), by which another of the ranked plans becomes faster
/// than the first by more than a hundredth. Inputs in the order of how little they have to change; fewer where it is
/// stopped. `threads` never change the answer.
std::vector<Flip> find_flips(const predict::Scenario& scenario, const Ranking& ranking, int threads = 1);

}  // namespace dovetail::planner
