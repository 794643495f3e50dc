#include "answer/plans/job_input.h"

#include <utility>

#include "plan/job_file.h"
#include "plan/plan_file.h"
#include "predict/closed_form/software.h"
#include "predict/closed_form/trainer_rules.h"

namespace dovetail::answer {
namespace {

base::Result<predict::Software> software_of(const plan::Job& job, const Input& input) {
  auto software = predict::software_of(job);
  if (software.ok()) return software;
  base::Error error = std::move(software).error();
  if (!error.path.empty()) return error;
  error.path = name_of(input);
  // What is fixed has its place; else a name is not known.
  if (error.line > 0) return error;
  const base::FilePlace place = predict::conventions_of(job.software).ok() ? job.efficiency_place : job.training_place;
  error.line = place.line;
  error.column = place.column;
  return error;
}

}  // namespace

base::Result<predict::Scenario> scenario_for(const plan::Job& job, const Input& input,
                                             const parallel::Cancellation* cancellation) {
  DOVETAIL_TRY(const predict::Software software, software_of(job, input));
  return predict::scenario_of(job, software, cancellation);
}

base::Result<predict::Scenario> read_scenario(const Input& input, const parallel::Cancellation* cancellation) {
  DOVETAIL_TRY(const std::string text, read_input(input));
  DOVETAIL_TRY(const plan::Job job, plan::parse_job(text, name_of(input)));
  return scenario_for(job, input, cancellation);
}

base::Result<plan::Plan> read_plan(const Input& input, const predict::Scenario& scenario, const Watch& watch) {
  DOVETAIL_TRY(const std::string text, read_input(input));
  DOVETAIL_TRY(plan::Plan plan, plan::parse_plan(text, name_of(input), scenario.job));
  if (plan::is_for_another_job(plan, scenario.job))
    tell_note(watch,
              "the plan was made for another job, or for this one before it was changed; what follows is of this job");
  for (const predict::TrainerFault& fault : predict::trainer_faults(scenario.job, scenario.software.conventions, plan))
    tell_note(watch, "the trainer cannot run this plan: " + fault.message);
  return plan;
}

base::Result<AskedJob> read_asked(const Input& job, const std::optional<Input>& plan, const Watch& watch,
                                  const parallel::Cancellation* cancellation) {
  DOVETAIL_CHECK(check_standard_input({job, plan}));
  DOVETAIL_TRY(predict::Scenario scenario, read_scenario(job, cancellation));
  tell_label(watch, scenario.job.name);
  AskedJob asked{std::move(scenario), std::nullopt};
  if (plan) {
    DOVETAIL_TRY(asked.plan, read_plan(*plan, asked.scenario, watch));
  }
  return asked;
}

}  // namespace dovetail::answer
