#include "answer/plans/prediction.h"

#include <utility>

#include "answer/plans/job_input.h"

namespace dovetail::answer {

double begin_of_activity(const predict::Estimate& estimate, std::size_t activity) {
  const base::Ticks period = estimate.timing.period;
  const base::Ticks overhead = base::ticks_of_seconds(estimate.iteration_seconds) - period;
  return base::seconds_of_ticks(plan::with_overheads(estimate.timing.activities[activity].begin, period, overhead));
}

base::Result<PredictionAnswer> predict_plan(const Input& job, const Input& plan, bool fused, const Watch& watch) {
  DOVETAIL_CHECK(check_standard_input({job, plan}));
  DOVETAIL_TRY(predict::Scenario scenario, read_scenario(job));
  tell_label(watch, scenario.job.name);
  DOVETAIL_TRY(plan::Plan read, read_plan(plan, scenario, watch));
  DOVETAIL_CHECK(tell_read(watch));
  const bool parted = !fused && read.fusion.any();
  if (parted) read.fusion = {};
  predict::Estimate estimate = predict::estimate(scenario, read);
  return PredictionAnswer{std::move(scenario), std::move(read), std::move(estimate), parted};
}

base::Result<PredictionAnswer> ask(const PredictionRequest& request, const Watch& watch) {
  return predict_plan(request.job, request.plan, true, watch);
}

}  // namespace dovetail::answer
