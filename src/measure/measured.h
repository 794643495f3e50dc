// Phase times and lengths of a logged training run, without warm-up, and their variation between steps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_names.h"
#include "base/result.h"
#include "trainers/log_formats.h"
#include "workflow/log_normal.h"

namespace dovetail::measure {

using trainers::LogFormat;
using trainers::LoggedValue;
using trainers::StepLog;
using trainers::TimedKey;
using trainers::TimeKind;

enum class Statistic { median, mean };
constexpr auto names_of(Statistic) {
  return std::array{base::EnumName{"median", Statistic::median}, base::EnumName{"mean", Statistic::mean}};
}

/// Selection of steps and the statistic over them.
struct MeasuredOptions {
  std::optional<LogFormat> format = {};  ///< nullopt: detected from the log
  std::optional<int> skip =
      {};  ///< number of first steps to leave out as warm-up; nullopt: default_skip, or fewer so that one step remains
  Statistic statistic = Statistic::median;
};

inline constexpr int default_skip = 2;

/// Distribution of a time over several steps, in seconds.
struct TimeSpread {
  std::size_t steps = 0;
  double median = 0;
  double mean = 0;
  double lower = 0;  ///< first quartile
  double upper = 0;  ///< third quartile
  double min = 0;
  double max = 0;

  double by(Statistic statistic) const { return statistic == Statistic::median ? median : mean; }
};

/// Computes the distribution. Quartiles and the median are interpolated between neighboring values. REQUIRES: at least
/// one value.
TimeSpread spread_of(std::vector<double> values);

/// A time in the log, at the evaluated steps.
struct MeasuredTime {
  std::string key;   ///< key in the log
  std::string name;  ///< key without its prefix
  TimedKey known;
  std::vector<LoggedValue> values;
  TimeSpread spread;
};

struct MeasuredRun {
  LogFormat format = LogFormat::verl;
  Statistic statistic = Statistic::median;
  std::vector<std::int64_t> steps;    ///< steps that are evaluated
  std::vector<std::int64_t> warm_up;  ///< first steps, left out
  std::vector<std::int64_t>
      interrupted;                   ///< steps with a validation or a checkpoint; left out, unless all steps have one
  std::vector<MeasuredTime> times;   ///< known times with at least one value, in the order of the trainer's table
  std::vector<std::string> unknown;  ///< keys of unknown times
  std::size_t other_series = 0;      ///< number of keys that are not times
  std::size_t not_numbers = 0;       ///< StepLog::not_numbers
  std::size_t repeated = 0;          ///< StepLog::repeated
  std::size_t cut = 0;               ///< StepLog::cut
  /// Ratio of the first warm-up iteration's time to the time of the evaluated iterations; nullopt without warm-up or
  /// without these times.
  std::optional<double> warm_up_ratio;
  std::optional<double> mean_response;         ///< tokens, by the statistic
  std::optional<double> max_response;          ///< tokens, maximum over the evaluated steps
  std::optional<double> typical_max_response;  ///< tokens, `statistic` over the longest response of each step
  std::optional<double> at_cap;                ///< fraction of the responses that end at the cap, by the statistic
  std::optional<double> mean_prompt;           ///< tokens, by the statistic
  std::optional<double> typical_max_prompt;    ///< tokens, `statistic` over the longest prompt of each step
};

/// Returns the time of the iteration; null if the log has none.
const MeasuredTime* iteration_of(const MeasuredRun& run);

/// Returns the distribution of the sum of several times. Adds them up in each step, and ignores steps that have none of
/// them.
TimeSpread spread_of_sum(const std::vector<const MeasuredTime*>& times);

/// Returns the run with only the times of this step, or with no times if the step is not evaluated. Lengths and counts
/// remain those of the whole run.
MeasuredRun at_step(const MeasuredRun& run, std::int64_t step);

/// Evaluates a log. A step counts as interrupted if validation and checkpoints take more than 1% of it. Returns an
/// Error at the position of a time that is negative or above 10^7 s, or of an impossible length. Returns an Error with
/// the path of the first log if the log has no times of the format or of a known phase, if the format is not given and
/// the log has times of several, or if `skip` leaves no step.
base::Result<MeasuredRun> measured_run(const StepLog& log, const MeasuredOptions& options = {});

/// Lengths of prompts or responses in a log.
struct LoggedLengths {
  double mean = 0;                     ///< tokens
  std::optional<double> longest = {};  ///< tokens, mean or median over the longest of each step
  std::optional<double> at_cap = {};   ///< fraction that ended at the cap

  bool operator==(const LoggedLengths&) const = default;
};

/// Return the logged lengths of responses and of prompts; nullopt unless the log has a mean of at least 1 token.
std::optional<LoggedLengths> logged_responses(const MeasuredRun& run);
std::optional<LoggedLengths> logged_prompts(const MeasuredRun& run);

/// Log-normal lengths with the logged mean, cut at `cap`. The spread reproduces the logged fraction at the cap,
/// otherwise the logged maximum of `draws` lengths. If neither is logged or can be reproduced, it is
/// workflow::default_sigma.
struct LengthsOfLog {
  std::optional<workflow::LengthFigures> figures;  ///< nullopt: no spread fits, so all lengths equal the mean
  std::int64_t mean = 1;                           ///< tokens, rounded
  std::string spread;                              ///< description of the source of the spread
};
LengthsOfLog lengths_of_log(const LoggedLengths& logged, std::int64_t cap, std::int64_t draws);

}  // namespace dovetail::measure
