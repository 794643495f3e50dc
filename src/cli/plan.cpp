// dovetail plan: the plans of a job, searched and ranked; or what a given plan costs, phase by phase.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/prediction_report.h"
#include "cli/ranking_report.h"
#include "parallel/for_each_index.h"
#include "plan/plan_file.h"

namespace dovetail::cli {
namespace {

struct Arguments {
  PlanArguments plan;
  std::optional<std::string> output;
  std::vector<std::string> placements;
  std::string means = "all";
  int shown = 8;
  int chains = place::SearchOptions{}.chains;
  int iterations = static_cast<int>(place::SearchOptions{}.iterations);
  int seed = static_cast<int>(place::SearchOptions{}.seed);
  int threads = 0;
};

base::Result<std::vector<place::Placement>> placements_of(const std::vector<std::string>& names) {
  std::vector<std::string_view> accepted;
  for (const place::Placement placement : place::named_placements) accepted.push_back(place::name_of(placement));
  accepted.push_back(place::name_of(place::Placement::searched));
  std::vector<place::Placement> placements;
  for (const std::string& name : names) {
    const auto found = std::find(accepted.begin(), accepted.end(), name);
    if (found == accepted.end())
      return base::bad_input(fmt::format("there is no placement '{}'{}", name, hint_and_list(name, "placements are", accepted)));
    const auto index = static_cast<std::size_t>(found - accepted.begin());
    placements.push_back(index < std::size(place::named_placements) ? place::named_placements[index] : place::Placement::searched);
  }
  return placements;
}

base::Result<int> run_prediction(const PlanArguments& arguments) {
  DOVETAIL_TRY(const Prediction prediction, predict(arguments));
  if (arguments.json)
    print_json(to_json(prediction));
  else
    print(to_text(prediction));
  return exit_done;
}

base::Result<int> run_ranking(const Arguments& arguments) {
  DOVETAIL_TRY(const plan::Job job, load_job(arguments.plan.job));
  DOVETAIL_TRY(const place::Software software, load_software(job, arguments.plan.job));
  const place::Ground ground = place::ground_of(job, software);
  place::RankOptions options;
  DOVETAIL_TRY(options.placements, placements_of(arguments.placements.empty() ? job.placements : arguments.placements));
  options.means = arguments.means == "real" ? place::Means::real : place::Means::all;
  options.shown = static_cast<std::size_t>(arguments.shown);
  options.search.chains = arguments.chains;
  options.search.iterations = arguments.iterations;
  options.search.seed = static_cast<std::uint64_t>(arguments.seed);
  options.search.threads = arguments.threads > 0 ? arguments.threads : parallel::default_thread_count();
  const parallel::Cancellation& cancellation = stop_on_interrupt();
  options.search.cancellation = &cancellation;
  auto ranking = place::rank_plans(ground, options);
  if (!ranking.ok()) {
    base::Error error = std::move(ranking).error();
    if (error.path.empty()) error.path = base::display_path(arguments.plan.job);
    return error;
  }
  RankedJob ranked{ground, std::move(ranking).value(), {}};
  if (!cancellation.requested()) ranked.flips = place::find_flips(ground, ranked.ranking);
  if (arguments.plan.json)
    print_json(to_json(ranked));
  else
    print(to_text(ranked));
  if (ranked.ranking.plans.empty()) return exit_infeasible;
  if (arguments.output) {
    const std::string text = plan::plan_to_json(ranked.ranking.plans.front().plan, job);
    if (auto written = base::write_file(*arguments.output, text); !written.ok()) return written.error();
  }
  return cancellation.requested() ? exit_interrupted : exit_done;
}

base::Result<int> run(const Arguments& arguments) { return arguments.plan.plan ? run_prediction(arguments.plan) : run_ranking(arguments); }

}  // namespace

void add_plan(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, "plan", "find and rank plans of an RLHF job, or predict what a given plan costs",
                                  "  dovetail plan examples/jobs/ppo-7b.yaml -o plan.json\n"
                                  "  dovetail plan examples/jobs/ppo-7b.yaml --placement co-located --placement disaggregated\n"
                                  "  dovetail plan examples/jobs/grpo-8b.yaml --plan examples/jobs/grpo-8b.plan.json");
  add_plan_arguments(*command, arguments->plan, "predict this plan, a dovetail/plan@1 file, in place of searching");
  add_text_option(*command, "-o,--output", arguments->output, "FILE", "write the best plan there, as dovetail/plan@1");
  add_name_list(*command, "--placement", arguments->placements, "PLACEMENT",
                "only this family of plans (may be given several times): co-located, interleaving, disaggregated, megatron, searched");
  add_choice_option(*command, "--means", arguments->means, "all|real", "which layouts and settings: all, or only those that ReaL has");
  add_count_option(*command, "--top", arguments->shown, 1, 1000, "how many plans to show at most");
  add_count_option(*command, "--chains", arguments->chains, 1, 1024, "chains of the search");
  add_count_option(*command, "--iterations", arguments->iterations, 1, 1'000'000'000, "of each chain");
  add_count_option(*command, "--seed", arguments->seed, 0, 1'000'000'000, "of the search's random numbers");
  add_count_option(*command, "--threads", arguments->threads, 0, 1024, "0: as many as the machine has; the answer does not depend on it");
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace dovetail::cli
