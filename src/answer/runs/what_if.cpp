#include "answer/runs/what_if.h"

#include <utility>

#include "answer/plans/job_input.h"
#include "answer/runs/played_plan.h"

namespace dovetail::answer {

base::Result<WhatIfAnswer> ask(const WhatIfRequest& request, const Watch& watch) {
  const parallel::Cancellation stop(watch.cancellation, request.search.budget.time_limit);
  DOVETAIL_TRY(AskedJob asked, read_asked(request.job, request.plan, watch, &stop));
  DOVETAIL_CHECK(tell_read(watch));
  const predict::Scenario& scenario = asked.scenario;
  DOVETAIL_CHECK(check_playable(scenario.job, request.job));
  DOVETAIL_TRY(const planner::RankOptions search, rank_options(request.search, scenario.job.placements, watch));
  if (!asked.plan) {
    DOVETAIL_TRY(planner::Ranking ranking,
                 find_plans(scenario, search, request.job,
                            "; see dovetail fit, or give --plan to use a plan that does not fit"));
    asked.plan = std::move(ranking.plans.front().plan);
  }
  study::WhatIfOptions options;
  options.simulation.seed = request.search.budget.seed;
  options.simulation.draws = request.draws;
  options.simulation.on_progress = [&watch](std::string_view work) { tell_work(watch, work); };
  options.threads = search.search.threads;
  study::WhatIfs what_ifs = study::what_ifs(scenario, *asked.plan, options);
  tell_work(watch, "scheduling alternatives of the training phase");
  study::TrainingWorth training = study::training_worth(scenario, *asked.plan, what_ifs.training);
  study::GenerationWorth generation = study::generation_worth(scenario, *asked.plan, what_ifs, options.simulation.seed);
  WhatIfAnswer answer{std::move(asked.scenario), *std::move(asked.plan),
                      options.simulation.seed,   request.draws,
                      std::move(what_ifs),       std::move(training),
                      std::move(generation),     unless_interrupted(watch, Outcome::done)};
  answer.scenario.cancellation = nullptr;
  return answer;
}

}  // namespace dovetail::answer
