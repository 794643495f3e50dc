#include "answer/runs/sweep.h"

#include <fmt/core.h>

#include <utility>

#include "answer/plans/job_input.h"
#include "answer/plans/search_options.h"
#include "answer/runs/chosen_plan.h"

namespace dovetail::answer {
namespace {

using study::SweepInput;

/// Checks the options that need no input.
base::Status check(const SweepRequest& request) {
  if (request.over == SweepInput::nodes && request.plan)
    return base::bad_input(
        "--over nodes and --plan cannot be combined: each number of nodes gets the best plan found for it");
  if (request.over != SweepInput::length && request.cap) return base::bad_input("--cap needs --over length");
  return {};
}

base::Result<study::SweepOptions> sweep_options(const SweepRequest& request, const plan::Job& job,
                                                const Callbacks& callbacks) {
  study::SweepOptions options;
  options.over = request.over;
  if (request.values) {
    DOVETAIL_TRY(options.values, study::parse_values(request.over, *request.values));
  }
  if (request.cap) {
    DOVETAIL_TRY(options.cap, parse_length_cap(*request.cap, job));
  }
  options.simulate = request.simulate || request.over == SweepInput::threshold;
  options.simulation.seed = request.search.budget.seed;
  options.simulation.draws = request.draws;
  DOVETAIL_TRY(options.rank, rank_options(request.search, job.placements, callbacks));
  options.on_point = [&callbacks, &name = job.name, over = request.over](std::size_t point, std::size_t points) {
    notify_label(callbacks, fmt::format("{}, value {} of {}", name, point + 1, points));
    notify_work(callbacks, base::enum_name(over));
  };
  return options;
}

}  // namespace

base::Result<SweepAnswer> answer_to(const SweepRequest& request, const Callbacks& callbacks) {
  DOVETAIL_CHECK(check(request));
  const parallel::Cancellation stop(callbacks.cancellation, request.search.budget.time_limit);
  DOVETAIL_TRY(LoadedJob loaded, load_job(request.job, request.plan, callbacks, &stop));
  DOVETAIL_CHECK(notify_read(callbacks));
  // The plan of a configuration is specific to its cluster.
  if (loaded.own_plan && request.over == SweepInput::nodes) loaded.plan.reset();
  SweepAnswer answer{.scenario = std::move(loaded.scenario), .plan = std::move(loaded.plan)};
  DOVETAIL_TRY(const study::SweepOptions options, sweep_options(request, answer.scenario.job, callbacks));
  if (options.simulate) DOVETAIL_CHECK(check_can_simulate(answer.scenario.job, request.job));
  if (!answer.plan && request.over != SweepInput::nodes) {
    DOVETAIL_TRY(planner::Ranking ranking, find_plans(answer.scenario, options.rank, request.job,
                                                      "; give --plan to sweep a plan that does not fit"));
    answer.plan = std::move(ranking.plans.front().plan);
  }
  DOVETAIL_TRY(answer.sweep, study::sweep(answer.scenario, answer.plan ? &*answer.plan : nullptr, options));
  answer.outcome = unless_interrupted(callbacks, Outcome::done);
  answer.scenario.cancellation = nullptr;
  return answer;
}

}  // namespace dovetail::answer
