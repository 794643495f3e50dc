// Compares the phase times in a trainer's log, finished or growing, with the prediction for the job and plan that ran.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "answer/plans/job_input.h"
#include "answer/question/callbacks.h"
#include "answer/question/input.h"
#include "answer/question/option.h"
#include "answer/question/section.h"
#include "measure/measured_comparison.h"

namespace dovetail::answer {

struct MeasuredRequest {
  std::vector<Input> logs;                    ///< logs of one run; the path KEY=FILE sets trainers::LogFile::key
  JobInput job;                               ///< job that ran; if not given, the configuration at the start of a log
  std::optional<Input> plan;                  ///< plan that ran; nullopt: the plan of the trainer's configuration
  std::optional<trainers::LogFormat> format;  ///< nullopt: detected by the log's keys
  measure::Statistic statistic = measure::Statistic::median;
  std::optional<int> skip;  ///< warm-up steps to leave out; nullopt: measure::default_skip, fewer in short runs
};
template <std::same_as<MeasuredRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("FILE", &T::logs, File{}, "logs of one run (FILE or KEY=FILE), '-' for standard input"),
      option("job", &T::job, JobFile{.takes_arguments = false},
             "job or configuration that ran (default: configuration in the log)"),
      option("plan", &T::plan, File{}, "plan that ran, dovetail/plan@1 (default: plan of the configuration)"),
      option("format", &T::format, Choice{"auto"}, "log format"),
      option("statistic", &T::statistic, Choice{}, "statistic over the steps (default {})"),
      option("skip", &T::skip, Count{0, 1'000'000'000}, "warm-up steps to leave out (default 2, fewer in short runs)"));
}

/// A phase of a followed run is slow only if it takes at least this many times its prediction. See follow() for the
/// full condition.
inline constexpr double slow_factor = 2;

/// Prediction for a run, and the comparison with it.
struct MeasuredPrediction {
  plan::Job job;
  std::string efficiency;         ///< name of the efficiencies used
  std::string efficiency_choice;  ///< value of `efficiency` that selects them in a job: a bundled set or a file
  bool unfused = false;  ///< the plan fuses stages, but the trainer runs them separately; fusion was removed for the
                         ///< comparison
  std::vector<std::vector<std::string>> fused;  ///< groups of task names; the plan runs each group as one phase
  std::optional<ImportedJob> imported;          ///< set if the job is a trainer's configuration
  std::optional<plan::Plan> own_plan;  ///< plan of the trainer's configuration; nullopt if the request has a plan
  measure::MeasuredComparison comparison;
};

/// Phase that follow() reported as slow in some steps.
struct SlowPhase {
  std::string phase;
  std::size_t steps = 0;  ///< number of these steps
};

struct MeasuredAnswer {
  MeasuredRequest request;
  measure::MeasuredRun run;
  std::optional<MeasuredPrediction> predicted;  ///< set if the job and the plan are known
  std::optional<std::size_t> followed = {};     ///< number of steps reported while following the log, also skipped ones
  std::vector<SlowPhase> slow_phases = {};      ///< phases that were slow in some of these steps
};

/// Errors: input that cannot be read, a log without a usable step, and a plan or import options without a job. A
/// trainer's configuration without lengths uses the lengths of the log. If the plan fuses stages, a run of a trainer
/// other than dovetail train is compared without fusion, with a note. If the configuration in the log cannot be read,
/// and the request has no plan and no import options, a note reports it instead of an Error.
base::Result<MeasuredAnswer> answer_to(const MeasuredRequest& request, const Callbacks& callbacks);

/// Returns a reason if the request cannot produce a measurement file because its job or plan is standard input;
/// otherwise nullopt. Call this before the logs are read. A measurement file refers to its job and plan by path, or
/// embeds the job and plan of a trainer's configuration.
std::optional<std::string> find_measurement_fault(const MeasuredRequest& request);

/// Returns the run as the content of a dovetail/measurement@1 file: JSON if `path` ends in .json, otherwise YAML.
/// Relative paths in it start at the folder of `path`. `name` is the name of its row; nullopt: the names of the job and
/// the log. A fit to the file starts from the efficiencies of the prediction. Returns an Error if there is no
/// prediction, if fusion was removed from the plan for the comparison, or if the log does not time the iteration.
/// REQUIRES: find_measurement_fault found no fault.
base::Result<std::string> measurement_file(const MeasuredAnswer& answer, const std::string& path,
                                           const std::optional<std::string>& name);

/// Steps used and left out, a table of the times with quartiles, the largest differences with likely causes, and
/// unknown time keys.
Sections sections(const MeasuredAnswer& answer);
/// A dovetail/measured@1 object.
std::string to_json(const MeasuredAnswer& answer);

struct FollowOptions {
  double poll_seconds = 1;                          ///< seconds between two reads of the log
  std::function<void(const std::string&)> on_line;  ///< receives each line, without a line break
};

/// Follows the single log of `request` until `callbacks.cancellation` requests a stop.
///
/// Passes a line per finished step to `options.on_line`, with the measured seconds of its phases and, if there is a
/// prediction, the predicted ones. For a step with a validation or a checkpoint, the line says only that the step is
/// skipped. A phase is slow if it takes at least slow_factor times its prediction, and exceeds the prediction by more
/// than notable_share of the predicted iteration. Each slow phase gets another line, except in skipped steps and in
/// warm-up steps. If the job comes from a trainer's configuration, a line with its origin precedes the first step that
/// is not skipped.
///
/// Returns the answer for the part of the log that was read, with the slow phases; nullopt if it has no usable step.
/// Errors: an unreadable job, plan or log. A malformed line is reported and skipped. REQUIRES: exactly one log, and not
/// standard input.
base::Result<std::optional<MeasuredAnswer>> follow(const MeasuredRequest& request, const FollowOptions& options,
                                                   const Callbacks& callbacks);

}  // namespace dovetail::answer
