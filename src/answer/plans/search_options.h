// What requests say of a search for plans.
#pragma once

#include <concepts>
#include <string>
#include <vector>

#include "answer/question/budget.h"
#include "answer/question/input.h"
#include "answer/question/option.h"
#include "answer/question/watch.h"
#include "planner/rank/rank.h"

namespace dovetail::answer {

struct PlanSearchOptions {
  planner::OptionSet option_set = planner::OptionSet::all;
  SearchBudget budget{.chains = planner::SearchOptions{}.chains, .seed = planner::SearchOptions{}.seed};
};

template <std::same_as<PlanSearchOptions> T>
auto options_of(const T*) {
  return options<T>(
      option("means", &T::option_set, Choice{}, "which layouts and settings: all, or only those that ReaL has"),
      group(&T::budget));
}

/// RankOptions::simulated of all questions but the ranking itself, so that they mean the same first plan.
inline constexpr int default_simulated = 5;

/// With `placements` by their names (none: all); `watch`, which is copied, is told how far the search is. An Error for
/// a placement that there is not.
base::Result<planner::RankOptions> rank_options(const PlanSearchOptions& options,
                                                const std::vector<std::string>& placements, const Watch& watch);

/// planner::rank_plans, within half of the time that is left, if that is limited: the rest is for what is done with the
/// plan. Errors have the job's name, and that no plan fits is one. `advice` says what to do then, or is empty.
base::Result<planner::Ranking> find_plans(const predict::Scenario& scenario, const planner::RankOptions& options,
                                          const Input& job, const std::string& advice);

}  // namespace dovetail::answer
