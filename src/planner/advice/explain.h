// Explains why a plan is not the best, or why it does not fit, and how to repair it. Implements `dovetail explain`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/advice/changes.h"
#include "planner/advice/comparison.h"
#include "planner/rank/rank.h"

namespace dovetail::planner {

/// Returns a change of one or more tasks that makes a plan fit. Tries settings first, then also layouts on the same
/// devices, then any mesh. Each time, repeatedly changes the task whose change leaves the least memory missing, until
/// the plan fits. Then reverts the changes that were not needed, and replaces each remaining change with the fastest
/// one that fits. nullopt if no attempt makes the plan fit, or if stopped. `around` is the result of space_around() for
/// the plan.
std::optional<Change> repair(const predict::Scenario& scenario, const plan::Plan& plan, const PlanSpace& around);

struct Explanation {
  predict::Estimate estimate;  ///< estimate of the plan
  std::int64_t missing = 0;    ///< bytes of device or host memory that are missing; 0: it fits
  /// Task with the most memory missing or, if the plan fits, with the least left.
  std::size_t limit = 0;

  Ranking ranking;         ///< plans that the search found
  std::string impossible;  ///< why no plan is possible; empty if some plan is
  /// The first plan of `ranking`, or a change or repair that fits and is faster, in closed form, than all plans of
  /// `ranking`. nullopt if there is neither.
  std::optional<RankedPlan> best;
  std::optional<Comparison> comparison;  ///< comparison with `best`, if that is another plan

  /// For a plan that fits: changes that make it faster, sorted by gain, descending. Otherwise: changes that make it
  /// fit, the fastest first.
  std::vector<Change> changes;
  /// repair() of a plan that does not fit, if no change in `changes` makes it fit.
  std::optional<Change> repair;
  std::vector<std::size_t> unlike_pins;  ///< tasks whose plans differ from the job's pins

  bool fits() const { return missing == 0; }
};

/// Searches for the best plan and evaluates changes of the given one, within the time limit of `options`. If stopped,
/// the result is partial and ranking.cut_short is set. Errors as in rank_plans, except that Explanation::impossible
/// reports an infeasible job. REQUIRES: the plan has no fault.
base::Result<Explanation> explain(const predict::Scenario& scenario, const plan::Plan& plan,
                                  const RankOptions& options);

}  // namespace dovetail::planner
