#include "cli/plan_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "parallel/for_each_index.h"

namespace dovetail::cli {
namespace {

base::Result<std::vector<place::Placement>> placements_of(const std::vector<std::string>& names) {
  std::vector<place::Placement> known(std::begin(place::named_placements), std::end(place::named_placements));
  known.push_back(place::Placement::searched);
  std::vector<std::string_view> accepted;
  for (const place::Placement placement : known) accepted.push_back(place::name_of(placement));
  std::vector<place::Placement> placements;
  for (const std::string& name : names) {
    const auto found = std::find(accepted.begin(), accepted.end(), name);
    if (found == accepted.end())
      return base::bad_input(fmt::format("there is no placement '{}'{}", name, hint_and_list(name, "placements are", accepted)));
    placements.push_back(known[static_cast<std::size_t>(found - accepted.begin())]);
  }
  return placements;
}

}  // namespace

void add_plan_search_arguments(CLI::App& command, PlanSearchArguments& arguments) {
  add_choice_option(command, "--means", arguments.means, "all|real", "which layouts and settings: all, or only those that ReaL has");
  add_count_option(command, "--chains", arguments.chains, 1, 1024, "chains of the search for the best plan");
  add_count_option(command, "--iterations", arguments.iterations, 1, 1'000'000'000, "of each chain");
  add_count_option(command, "--seed", arguments.seed, 0, 1'000'000'000, "of the search's random numbers");
  add_count_option(command, "--threads", arguments.threads, 0, 1024, "0: as many as the machine has; the answer does not depend on it");
}

base::Result<place::RankOptions> rank_options(const PlanSearchArguments& arguments, const std::vector<std::string>& placements) {
  place::RankOptions options;
  DOVETAIL_TRY(options.placements, placements_of(placements));
  options.means = arguments.means == "real" ? place::Means::real : place::Means::all;
  options.search.chains = arguments.chains;
  options.search.iterations = arguments.iterations;
  options.search.seed = static_cast<std::uint64_t>(arguments.seed);
  options.search.threads = arguments.threads > 0 ? arguments.threads : parallel::default_thread_count();
  options.search.cancellation = &stop_on_interrupt();
  return options;
}

}  // namespace dovetail::cli
