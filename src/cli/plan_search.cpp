#include "cli/plan_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "answer/words/amounts.h"
#include "answer/words/figures.h"
#include "base/file.h"
#include "cli/arguments.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/output.h"
#include "parallel/for_each_index.h"

namespace dovetail::cli {
namespace {

base::Result<std::vector<planner::Placement>> placements_of(const std::vector<std::string>& names) {
  const std::vector<planner::Placement> known(std::begin(planner::all_placements), std::end(planner::all_placements));
  std::vector<std::string_view> accepted;
  for (const planner::Placement placement : known) accepted.push_back(name_of(placement));
  std::vector<planner::Placement> placements;
  for (const std::string& name : names) {
    const auto found = std::find(accepted.begin(), accepted.end(), name);
    if (found == accepted.end())
      return base::bad_input(fmt::format("there is no placement '{}'{}", name, answer::hint_and_list(name, "placements are", accepted)));
    placements.push_back(known[static_cast<std::size_t>(found - accepted.begin())]);
  }
  return placements;
}

/// The figures of a line, each with what stands before it.
std::vector<ProgressField> figures(const planner::SearchProgress& progress) {
  std::vector<ProgressField> fields{{progress.best == nullptr
                                         ? std::string("no plan that fits yet")
                                         : answer::seconds_text(base::seconds_of_ticks(progress.best->score.period)) + " an iteration"}};
  if (progress.best != nullptr && progress.bound > base::Ticks(0))
    fields.push_back(
        {fmt::format(" (bound {}, {})", answer::seconds_text(base::seconds_of_ticks(progress.bound)),
                     answer::gap_text(base::seconds_of_ticks(progress.best->score.period) / base::seconds_of_ticks(progress.bound) - 1))});
  const double share = static_cast<double>(progress.iterations) / static_cast<double>(progress.planned);
  fields.push_back({fmt::format(", {} done", answer::percent(share)), 1});
  fields.push_back({fmt::format(", {} evaluations/s", answer::short_number(progress.evaluations_per_second))});
  fields.push_back({", " + answer::time_left(progress.seconds_left)});
  return fields;
}

}  // namespace

void add_plan_search_arguments(CLI::App& command, PlanSearchArguments& arguments) {
  add_choice_option(command, "--means", arguments.means, "all|real", "which layouts and settings: all, or only those that ReaL has");
  add_budget_options(command, arguments.budget, std::to_string(planner::SearchOptions::default_iterations));
}

base::Result<planner::RankOptions> rank_options(const PlanSearchArguments& arguments, const std::vector<std::string>& placements,
                                                ProgressLine& line) {
  planner::RankOptions options;
  DOVETAIL_TRY(options.placements, placements_of(placements));
  options.option_set = arguments.means == "real" ? planner::OptionSet::real : planner::OptionSet::all;
  options.simulated = static_cast<std::size_t>(arguments.simulated);
  const SearchBudget& budget = arguments.budget;
  options.search.chains = budget.chains;
  options.search.iterations = budget.iterations;
  options.search.time_limit_seconds = budget.time_limit_seconds;
  options.search.seed = budget.seed;
  options.search.threads = budget.threads > 0 ? budget.threads : parallel::default_thread_count();
  options.search.on_progress = [&line](const planner::SearchProgress& progress) { line.update([&progress] { return figures(progress); }); };
  return options;
}

base::Result<planner::Ranking> find_plans(const predict::Scenario& scenario, const planner::RankOptions& options,
                                          const std::string& job_path, const std::string& advice) {
  auto ranking = planner::rank_plans(scenario, planner::with_share_of_time(options, scenario, 2));
  if (!ranking.ok()) {
    base::Error error = std::move(ranking).error();
    if (error.path.empty()) error.path = base::display_path(job_path);
    return error;
  }
  if (ranking->plans.empty())
    return base::Error{base::Failure::infeasible, base::display_path(job_path), 0, 0, "no plan of this job fits" + advice};
  return ranking;
}

}  // namespace dovetail::cli
