// Why a plan is not the best, or why it does not fit: what `dovetail explain` answers.
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

struct Explanation {
  predict::Estimate estimate;  ///< of the plan
  std::int64_t missing = 0;    ///< bytes of a device or of host memory; 0: it fits
  std::size_t limit = 0;       ///< the task that sets the limit: with the most missing, else with the least left

  Ranking ranking;         ///< of the plans that the search found
  std::string impossible;  ///< why no plan at all can be had; empty: some was looked at
  /// The first of `ranking`, or a change that fits and is faster by the closed form than all of it.
  std::optional<RankedPlan> best;
  std::optional<Comparison> comparison;  ///< with `best`, where it is another plan

  /// Of a plan that fits: what makes it faster, the most first. Of one that does not: what makes it fit, the cheapest
  /// first.
  std::vector<Change> changes;
  /// Of a plan that none of these makes fit: changes of several tasks that do.
  std::optional<Change> repair;
  std::vector<std::size_t> unlike_pins;  ///< tasks that are not as the job fixes them

  bool fits() const { return missing == 0; }
};

/// Searches the best plan, and all plans around the given one, within the time limit of `options`. Where it is stopped,
/// what was not looked at is missing, and ranking.cut_short says so. Errors as rank_plans. REQUIRES: the plan has no
/// fault.
base::Result<Explanation> explain(const predict::Scenario& scenario, const plan::Plan& plan,
                                  const RankOptions& options);

}  // namespace dovetail::planner
