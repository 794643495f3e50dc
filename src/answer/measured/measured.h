// Compares the phase times in a trainer's log with the prediction for the job and plan that ran, also while the log
// grows.
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
  std::vector<Input> logs;                    ///< logs of one run; a path may have the form KEY=FILE
  JobInput job;                               ///< if not given, the configuration at the start of a log
  std::optional<Input> plan;                  ///< if not given, the plan of the trainer's configuration
  std::optional<trainers::LogFormat> format;  ///< nullopt: detected by the log's keys
  measure::Statistic statistic = measure::Statistic::median;
  std::optional<int> skip;
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

/// A phase of a followed run is reported if it takes at least this many times its prediction.
inline constexpr double slow_factor = 2;

/// Prediction for a run, and the comparison with it.
struct MeasuredPrediction {
  plan::Job job;
  std::string efficiency;         ///< name of the efficiencies used
  std::string efficiency_choice;  ///< value of `efficiency` that selects them in a job: a bundled set or a file
  bool unfused = false;  ///< the plan fuses stages, but the trainer runs them separately; fusion was removed for the
                         ///< comparison
  std::vector<std::vector<std::string>> fused;  ///< tasks that the plan runs as one phase
  std::optional<ImportedJob> imported;          ///< set if the job is a trainer's configuration
  std::optional<plan::Plan> own_plan;           ///< plan of the trainer's configuration, if that is what ran
  measure::MeasuredComparison comparison;
};

/// Phase that took much longer than predicted in some steps of a followed run.
struct SlowPhase {
  std::string phase;
  std::size_t steps = 0;
};

struct MeasuredAnswer {
  MeasuredRequest request;
  measure::MeasuredRun run;
  std::optional<MeasuredPrediction> predicted;  ///< set if the job and the plan are known
  std::optional<std::size_t> followed = {};     ///< number of steps that were compared while following the log
  std::vector<SlowPhase> slow_phases = {};      ///< phases that took at least slow_factor their prediction in some of
                                                ///< these steps
};

/// Errors: input that cannot be read. A trainer's configuration without lengths uses those of the log. A plan that
/// fuses stages is compared without fusion, with a note. An unreadable configuration in the log is only a note, unless
/// the request has options for it.
base::Result<MeasuredAnswer> answer_to(const MeasuredRequest& request, const Callbacks& callbacks);

/// Reason why a request cannot produce a measurement file; nullopt if none is known before the logs are read. Such a
/// file refers to its job and plan by path, or embeds the job and plan of a trainer's configuration.
std::optional<std::string> find_measurement_fault(const MeasuredRequest& request);

/// The run as a dovetail/measurement@1 file at `path`: JSON if it ends in .json, otherwise YAML. `name` is the name of
/// its row; by default it is made of the names of the job and the log. A fit to the file starts from the efficiencies
/// of the prediction. An Error if there is no prediction, if the plan fuses stages, or if the log does not time the
/// iteration. REQUIRES: find_measurement_fault found no fault.
base::Result<std::string> measurement_file(const MeasuredAnswer& answer, const std::string& path,
                                           const std::optional<std::string>& name);

/// Steps used and left out, a table of the times with quartiles, the largest differences with likely causes, and
/// unknown time keys.
Sections sections(const MeasuredAnswer& answer);
/// A dovetail/measured@1 object.
std::string to_json(const MeasuredAnswer& answer);

struct FollowOptions {
  double poll_seconds = 1;                          ///< in seconds
  std::function<void(const std::string&)> on_line;  ///< receives a line about a step, or about an unusual phase
};

/// Follows the single log of `request` until `callbacks` asks to stop.
///
/// Reports a line per finished step, with the measured and predicted seconds of its phases. Another line reports each
/// phase that takes at least slow_factor its prediction and exceeds the prediction by more than notable_share of the
/// iteration. Warm-up steps and steps with a validation or checkpoint are exempt.
///
/// Returns the answer for the part of the log that was read, with the number of unusual steps per phase; nullopt if the
/// log has no step. Errors: an unreadable job, plan or log. A malformed line is reported and skipped. REQUIRES: exactly
/// one log, and not standard input.
base::Result<std::optional<MeasuredAnswer>> follow(const MeasuredRequest& request, const FollowOptions& options,
                                                   const Callbacks& callbacks);

}  // namespace dovetail::answer
