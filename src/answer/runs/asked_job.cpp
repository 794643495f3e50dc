#include "answer/runs/asked_job.h"

#include <utility>

namespace dovetail::answer {

base::Result<AskedJob> read_asked(const Input& job, const std::optional<Input>& plan,
                                  const parallel::Cancellation& stop, const Watch& watch) {
  DOVETAIL_CHECK(check_standard_input({job, plan}));
  DOVETAIL_TRY(predict::Scenario scenario, read_scenario(job, &stop));
  tell_label(watch, scenario.job.name);
  AskedJob asked{std::move(scenario), std::nullopt};
  if (plan) {
    DOVETAIL_TRY(asked.plan, read_plan(*plan, asked.scenario, watch));
  }
  return asked;
}

}  // namespace dovetail::answer
