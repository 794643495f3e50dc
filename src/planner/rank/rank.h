// Searches and ranks the plans of a job, and explains why plans are missing. Implements `dovetail plan JOB`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "planner/rank/finalists.h"
#include "planner/search/placements.h"
#include "planner/search/search.h"

namespace dovetail::planner {

/// Returns the error of rank_plans for a job whose impossible_task is `task`. The error is infeasible if no layout
/// fits, host memory is too small, tasks that share devices do not fit together, or the framework has no layout for the
/// task. It is bad input if the job's fixed settings leave no layout.
base::Error no_choice_error(const SearchSpace& space, std::size_t task, OptionSet option_set);

/// A named placement with its fastest selection that fits or, if none fits, the one with the least memory missing.
/// `selection` is nullopt if the placement is impossible.
struct TriedPlacement {
  Placement placement = Placement::co_located;
  std::optional<Selection> selection;
};

/// A requested placement without a plan.
struct AbsentPlacement {
  Placement placement = Placement::searched;
  /// Starts with "does not fit:" or "does not apply:", or says that the search found nothing faster.
  std::string why;
};

/// Returns the requested placements that have no plan in `plans`, in the order of all_placements. REQUIRES: `tried`
/// includes each requested named placement, and co_located if rlhfuse is requested.
std::vector<AbsentPlacement> absent_placements(const SearchSpace& space, OptionSet option_set,
                                               const std::vector<Placement>& requested,
                                               const std::vector<TriedPlacement>& tried,
                                               const std::vector<RankedPlan>& plans);

struct RankOptions {
  SearchOptions search;  ///< its time limit applies to all of rank_plans; its bound and fusion are ignored
  OptionSet option_set = OptionSet::all;
  /// Placements to consider. Empty: all. The search runs only if `searched` is included.
  std::vector<Placement> placements;
  std::size_t shown = 8;  ///< maximum number of plans in the result, but at least one per placement
  /// Maximum number of plans to simulate and sort by simulated time. Only plans within the model's error of the fastest
  /// are simulated.
  std::size_t simulated = 0;
  /// Called with the best plan of the search whenever it improves and keeps the margin.
  std::function<void(const plan::Plan&)> on_better;
};

/// The plan that comes closest to fitting, if none fits with the required margin.
struct NearestPlan {
  plan::Plan plan;
  std::size_t task = 0;  ///< task with the most missing memory
  /// Bytes that `task` lacks on a device, including the margin, or in a node's host memory, whichever is larger.
  std::int64_t missing = 0;
  predict::Fit fit = predict::Fit::does_not_fit;
};

struct Ranking {
  /// Plans that fit: the best of each placement and other searched plans, each with its best fusion. The fastest come
  /// first, by simulated time if there is one, otherwise by the closed form.
  std::vector<RankedPlan> plans;
  std::vector<std::string> not_fused;  ///< why_not_fused of the first plan
  /// Requested placements without a plan in `plans`.
  std::vector<AbsentPlacement> absent;
  /// nullopt if a plan fits, or if no requested named placement is possible. `rlhfuse` counts as a request of
  /// `co_located`.
  std::optional<NearestPlan> nearest;
  double bound = 0;  ///< lower bound in seconds on the iteration of all plans without fusion; 0: unknown
  /// Lower bound in seconds on the iteration of all plans, with or without fusion. nullopt if no fusion is possible
  /// or the bound is unknown.
  std::optional<double> fused_bound;
  std::optional<SearchRun> search;  ///< nullopt if no search ran
  /// Set if the work ended early. Another run may find better plans.
  std::optional<parallel::EndedBy> cut_short;
  /// Number of other plans whose closed-form time is at most the first plan's plus the model's error.
  std::size_t ties = 0;

  /// Returns how far the plan's closed-form time is above its lower bound, as a fraction. nullopt if no bound is known.
  std::optional<double> gap(const RankedPlan& ranked) const {
    const double lower_bound = ranked.plan.fusion.any() ? fused_bound.value_or(0) : bound;
    if (lower_bound <= 0) return std::nullopt;
    // Only rounding could make it negative.
    return std::max(0.0, ranked.estimate.iteration_seconds / lower_bound - 1);
  }
};

/// Searches for plans, and evaluates all candidates for the best one with predict::estimate. If stopped or out of time,
/// ends the work in progress with its best result and skips later work, except that it evaluates candidates of each
/// placement until one fits. Returns an Error if a task has no choice (no_choice_error), or if it is stopped or out of
/// time before it finds a plan that fits (parallel::stopped_before).
base::Result<Ranking> rank_plans(const predict::Scenario& scenario, const RankOptions& options);

/// Returns `options` for the next of `parts` equal parts of the work. If the time of `scenario` is limited, the time
/// limit becomes the remaining time divided by `parts`.
RankOptions with_share_of_time(RankOptions options, const predict::Scenario& scenario, std::size_t parts);

/// An input whose change makes another plan the best.
struct Flip {
  std::string input;     ///< such as "response lengths" or "network bandwidth"
  double factor = 1;     ///< factor by which the input changes
  std::size_t plan = 0;  ///< index in Ranking::plans of the plan that becomes the best
  double gain = 0;       ///< time saved with the changed input, as a fraction of the first plan's time
};

/// Returns, for each input that has one, the smallest change (of several factors from 0.5 to 2) with which another
/// ranked plan fits and is at least 1% faster than the first. Sorted by the size of the change. If stopped, some inputs
/// are missing. `threads` does not affect the result.
std::vector<Flip> find_flips(const predict::Scenario& scenario, const Ranking& ranking, int threads = 1);

}  // namespace dovetail::planner
