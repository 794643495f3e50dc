// The options of commands that search plans.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "place/rank.h"

namespace dovetail::cli {

struct PlanSearchArguments {
  std::string means = "all";
  int chains = place::SearchOptions{}.chains;
  int iterations = static_cast<int>(place::SearchOptions{}.iterations);
  int seed = static_cast<int>(place::SearchOptions{}.seed);
  int threads = 0;
};

/// Adds --means, --chains, --iterations, --seed and --threads.
void add_plan_search_arguments(CLI::App& command, PlanSearchArguments& arguments);

/// What they say, with `placements`, by their names (none: all); interrupts stop the search. An Error for a placement that there is not.
base::Result<place::RankOptions> rank_options(const PlanSearchArguments& arguments, const std::vector<std::string>& placements);

}  // namespace dovetail::cli
