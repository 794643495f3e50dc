// The phase times that a trainer logged, beside what is predicted of the job and plan that ran.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <vector>

#include "answer/plans/job_input.h"
#include "answer/question/input.h"
#include "answer/question/option.h"
#include "answer/question/section.h"
#include "answer/question/watch.h"
#include "measure/measured_comparison.h"

namespace dovetail::answer {

struct MeasuredRequest {
  std::vector<Input> logs;                    ///< of one run; the path may have a key in front: KEY=FILE
  JobInput job;                               ///< not given: the configuration at the head of a log, where one has it
  std::optional<Input> plan;                  ///< not given: that of the trainer's configuration
  std::optional<trainers::LogFormat> format;  ///< nothing: by its keys
  measure::Statistic statistic = measure::Statistic::median;
  std::optional<int> skip;
};
template <std::same_as<MeasuredRequest> T>
auto options_of(const T*) {
  return options<T>(option("FILE", &T::logs, File{},
                           "logs of one run: what the trainer prints, JSON lines, one object a step, or CSV as "
                           "TensorBoard exports it (one "
                           "scalar a file, "
                           "KEY=FILE where the file's name does not say the key); '-' for standard input"),
                    option("job", &T::job, JobFile{.takes_arguments = false},
                           "the job that ran, for the prediction: a job file, or the launch script or configuration of "
                           "a trainer (default: that at the head of the log, where it has one)"),
                    option("plan", &T::plan, File{},
                           "the plan that it ran by, a dovetail/plan@1 file (default: that of the configuration)"),
                    option("format", &T::format, Choice{"auto"}, "whose log it is (default auto: by its keys)"),
                    option("statistic", &T::statistic, Choice{}, "of the steps (default {})"),
                    option("skip", &T::skip, Count{0, 1'000'000'000},
                           "first steps to leave out as warm-up (default 2, fewer where there are no more steps)"));
}

/// What is noticed of a run that is followed: a phase that takes this many times what is predicted.
inline constexpr double noticed_times = 2;

/// A run beside its prediction.
struct MeasuredPrediction {
  plan::Job job;
  std::string efficiency;         ///< the name of what it was predicted with
  std::string efficiency_choice;  ///< the same as a job names it: a bundled set or a file
  bool parted = false;  ///< the plan fuses stages, and is compared without that, as the trainer runs each by itself
  std::vector<std::vector<std::string>> fused;  ///< tasks that the plan runs as one phase
  std::optional<ImportedJob> imported;          ///< a trainer's configuration was the job
  std::optional<plan::Plan> own_plan;           ///< its plan, where that is what ran
  measure::MeasuredComparison comparison;
};

/// A phase that took much longer than predicted in some steps of a run that was followed.
struct NoticedPhase {
  std::string phase;
  std::size_t steps = 0;
};

struct MeasuredAnswer {
  MeasuredRequest request;
  measure::MeasuredRun run;
  std::optional<MeasuredPrediction> predicted;  ///< where there is a job, and a plan
  std::optional<std::size_t> followed = {};     ///< steps that were set beside the prediction as they came
  std::vector<NoticedPhase> noticed = {};       ///< among these, at least noticed_times as long as predicted
};

/// Errors of what is read. A job that is a trainer's configuration and says no lengths has those of the log. A plan
/// that fuses stages is compared without, with a note; a configuration in the log that cannot be read is only told of,
/// unless something was said beside it.
base::Result<MeasuredAnswer> ask(const MeasuredRequest& request, const Watch& watch);

/// Why a request makes no file for `calibrate`, if that is known before it is asked: such a file names its job and its
/// plan, or has those of a trainer's configuration within it.
std::optional<std::string> find_measurement_fault(const MeasuredRequest& request);

/// The run as a dovetail/measurement@1 file at `path`: JSON where that ends in .json, else YAML. `name` is that of its
/// row; nothing: the job's and the log's. A fit to it starts from what the run was predicted with. An Error where
/// there is no prediction, the plan fuses stages, or the log does not time the iteration. REQUIRES: no fault.
base::Result<std::string> measurement_file(const MeasuredAnswer& answer, const std::string& path,
                                           const std::optional<std::string>& name);

/// The steps that count and those that do not, a table of the times with their quartiles, what differs most and why it
/// may, and keys of times that nothing is known of.
Sections sections(const MeasuredAnswer& answer);
/// A dovetail/measured@1 object.
std::string to_json(const MeasuredAnswer& answer);

}  // namespace dovetail::answer
