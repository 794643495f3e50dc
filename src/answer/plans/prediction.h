// Predicts the activities, time, memory and price of a given plan.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>

#include "answer/plans/job_input.h"
#include "answer/plans/open_lengths.h"
#include "answer/question/callbacks.h"
#include "answer/question/input.h"
#include "answer/question/option.h"
#include "answer/question/section.h"
#include "plan/plan.h"
#include "predict/closed_form/estimate.h"

namespace dovetail::answer {

struct PredictionRequest {
  JobInput job;
  Input plan;
};
template <std::same_as<PredictionRequest> T>
auto options_of(const T*) {
  return options<T>(option("JOB", &T::job, JobFile{}, job_file_help),
                    required("plan", &T::plan, File{}, "plan to predict, dovetail/plan@1"));
}

struct PredictionAnswer {
  predict::Scenario scenario;
  plan::Plan plan;
  predict::Estimate estimate;
  bool unfused = false;  ///< fusion was removed from `plan`
  Outcome outcome = Outcome::done;
  std::optional<ImportedJob> imported = std::nullopt;      ///< set if the job is a trainer's configuration
  std::optional<OpenLengths> open_lengths = std::nullopt;  ///< the plan at other lengths, if response lengths are
                                                           ///< unknown
};

/// Returns the seconds from the start of a steady iteration (Timing::activities) to the start of its activity number
/// `activity`, with the overheads of the iterations that end in between (plan::with_overheads).
double begin_of_activity(const predict::Estimate& estimate, std::size_t activity);

/// Reads the job and the plan, and predicts. Removes fusion from the plan unless `fused`. Without `plan`, uses the plan
/// of the trainer's configuration; a job file is then an Error.
base::Result<PredictionAnswer> predict_plan(const JobInput& job, const std::optional<Input>& plan, bool fused,
                                            const Callbacks& callbacks);

/// Errors: those of predict_plan. A plan that does not fit is not an Error. If response lengths are unknown, their mean
/// is assumed to be default_share of their cap.
base::Result<PredictionAnswer> answer_to(const PredictionRequest& request, const Callbacks& callbacks);

/// Table of the activities with their times and memory, and the costs of an iteration.
Sections sections(const PredictionAnswer& answer);
/// A dovetail/estimate@1 object.
std::string to_json(const PredictionAnswer& answer);

}  // namespace dovetail::answer
