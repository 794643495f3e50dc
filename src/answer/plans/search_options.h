// Options that requests about plans share: the search, and the cap of scaled responses.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answer/question/budget.h"
#include "answer/question/callbacks.h"
#include "answer/question/input.h"
#include "answer/question/option.h"
#include "base/result.h"
#include "plan/job.h"
#include "planner/rank/rank.h"

namespace dovetail::answer {

struct PlanSearchOptions {
  planner::OptionSet option_set = planner::OptionSet::all;
  SearchBudget budget{.chains = planner::SearchOptions{}.chains, .seed = planner::SearchOptions{}.seed};
};

template <std::same_as<PlanSearchOptions> T>
auto options_of(const T*) {
  return options<T>(
      option("means", &T::option_set, Choice{}, "layouts and settings to search: all, or those of ReaL (default {})"),
      group(&T::budget));
}

/// Number of tied plans to simulate. This is the default of RankingRequest::simulated. Other requests always use it, so
/// that all requests choose the same first plan by default.
inline constexpr int default_simulated = 5;

/// Converts the options to those of the planner. `placements` are names; empty: all. The search reports its progress to
/// a copy of `callbacks`. An unknown placement is an Error.
base::Result<planner::RankOptions> rank_options(const PlanSearchOptions& options,
                                                const std::vector<std::string>& placements, const Callbacks& callbacks);

/// Calls planner::rank_plans. If time is limited, the search takes at most half of it, and leaves the rest for the
/// caller's work on the plan. Errors name the job. If no plan fits, the Error ends with `advice`, which may be empty.
base::Result<planner::Ranking> find_plans(const predict::Scenario& scenario, const planner::RankOptions& options,
                                          const Input& job, const std::string& advice);

/// Parses --cap, the cap of scaled responses: "keep" (the job's longest response), "scale" (nullopt: no cap) or a
/// number of tokens. Anything else is an Error.
base::Result<std::optional<std::int64_t>> parse_length_cap(const std::string& text, const plan::Job& job);

}  // namespace dovetail::answer
