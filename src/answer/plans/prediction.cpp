#include "answer/plans/prediction.h"

#include <utility>

#include "answer/plans/job_input.h"

namespace dovetail::answer {

double begin_of_activity(const predict::Estimate& estimate, std::size_t activity) {
  const base::Ticks period = estimate.timing.period;
  const base::Ticks overhead = base::ticks_of_seconds(estimate.iteration_seconds) - period;
  return base::seconds_of_ticks(plan::with_overheads(estimate.timing.activities[activity].begin, period, overhead));
}

base::Result<PredictionAnswer> predict_plan(const JobInput& job, const std::optional<Input>& plan, bool fused,
                                            const Watch& watch) {
  DOVETAIL_TRY(AskedJob asked, read_asked(job, plan, watch));
  if (!asked.plan)
    return base::Error{base::Failure::bad_input, name_of(job), 0, 0,
                       "a job file holds no plan; add --plan, or give a trainer's configuration instead"};
  DOVETAIL_CHECK(tell_read(watch));
  const bool parted = !fused && asked.plan->fusion.any();
  if (parted) asked.plan->fusion = {};
  predict::Estimate estimate = predict::estimate(asked.scenario, *asked.plan);
  return PredictionAnswer{std::move(asked.scenario), *std::move(asked.plan), std::move(estimate), parted, Outcome::done,
                          std::move(asked.imported)};
}

base::Result<PredictionAnswer> ask(const PredictionRequest& request, const Watch& watch) {
  DOVETAIL_TRY(PredictionAnswer answer, predict_plan(request.job, request.plan, true, watch));
  if (!answer.imported || answer.imported->says_responses) return answer;
  answer.open_lengths = plan_at_parts(answer.scenario, answer.plan);
  answer.scenario = at_part_of_cap(answer.scenario, answered_part);
  answer.estimate = predict::estimate(answer.scenario, answer.plan);
  return answer;
}

}  // namespace dovetail::answer
