// What a given plan of a job costs: step by step, in time, memory and money.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>

#include "answer/plans/job_input.h"
#include "answer/plans/open_lengths.h"
#include "answer/question/input.h"
#include "answer/question/option.h"
#include "answer/question/section.h"
#include "answer/question/watch.h"
#include "plan/plan.h"
#include "predict/closed_form/estimate.h"

namespace dovetail::answer {

struct PredictionRequest {
  JobInput job;
  Input plan;
};
template <std::same_as<PredictionRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("JOB", &T::job, JobFile{}, job_file_help),
      required("plan", &T::plan, File{}, "predict this plan, a dovetail/plan@1 file, in place of searching"));
}

struct PredictionAnswer {
  predict::Scenario scenario;
  plan::Plan plan;
  predict::Estimate estimate;
  bool parted = false;  ///< the plan that was read fuses stages, and `plan` does not
  Outcome outcome = Outcome::done;
  std::optional<ImportedJob> imported = std::nullopt;      ///< a trainer's configuration was the job
  std::optional<OpenLengths> open_lengths = std::nullopt;  ///< where that says no lengths: the plan at others
};

/// Seconds from the beginning of an iteration until an activity begins, with what each iteration takes beside its
/// activities.
double begin_of_activity(const predict::Estimate& estimate, std::size_t activity);

/// Reads both and predicts; without `fused` as if the plan fused nothing. Where no plan is given it is that of the
/// trainer's configuration which the job is read from; an Error where the job is none.
base::Result<PredictionAnswer> predict_plan(const JobInput& job, const std::optional<Input>& plan, bool fused,
                                            const Watch& watch);

/// Errors of what is read. A plan that does not fit is predicted all the same; a trainer's configuration without
/// lengths is answered at answered_part.
base::Result<PredictionAnswer> ask(const PredictionRequest& request, const Watch& watch);

/// A table of the steps, and what an iteration takes and costs.
Sections sections(const PredictionAnswer& answer);
/// A dovetail/estimate@1 object.
std::string to_json(const PredictionAnswer& answer);

}  // namespace dovetail::answer
