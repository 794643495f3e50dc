// Jobs and plans as requests name them.
#pragma once

#include <optional>

#include "answer/question/input.h"
#include "answer/question/watch.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "predict/closed_form/scenario.h"

namespace dovetail::answer {

/// Reads a job with the software that it names, which `cancellation` may stop the work on.
base::Result<predict::Scenario> read_scenario(const Input& job, const parallel::Cancellation* cancellation = nullptr);

/// The same of a job that was read from `input`.
base::Result<predict::Scenario> scenario_for(const plan::Job& job, const Input& input,
                                             const parallel::Cancellation* cancellation = nullptr);

/// Reads a plan of it. Notes say where it was made for another job, and what of it the job's trainer cannot do.
base::Result<plan::Plan> read_plan(const Input& plan, const predict::Scenario& scenario, const Watch& watch);

/// A job, and the plan of it that a question is about where one is given.
struct AskedJob {
  predict::Scenario scenario;
  std::optional<plan::Plan> plan;
};

/// Reads both, and tells `watch` the job's name. `cancellation` may stop the work on the job, and must outlive it.
base::Result<AskedJob> read_asked(const Input& job, const std::optional<Input>& plan, const Watch& watch,
                                  const parallel::Cancellation* cancellation = nullptr);

}  // namespace dovetail::answer
