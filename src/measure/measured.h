// The phase times of a run that a trainer logged: what an iteration takes once it is warm, how far its steps spread,
// and what the log says that nobody asked for.
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

/// Which of the steps of a log count, and how they become one number.
struct MeasuredOptions {
  std::optional<LogFormat> format = {};  ///< none: the one whose times the log has
  std::optional<int> skip = {};  ///< first steps that are left out as warm-up; none: two, or as many as leave one
  Statistic statistic = Statistic::median;
};

inline constexpr int default_skip = 2;

/// Seconds of several steps.
struct TimeSpread {
  std::size_t steps = 0;
  double median = 0;
  double mean = 0;
  double lower = 0;  ///< quartile
  double upper = 0;  ///< quartile
  double least = 0;
  double most = 0;

  double by(Statistic statistic) const { return statistic == Statistic::median ? median : mean; }
};

/// REQUIRES: there is a value. Quartiles and median are interpolated between the two values next to them.
TimeSpread spread_of(std::vector<double> values);

/// A time of the log, at the steps that count.
struct MeasuredTime {
  std::string key;   ///< as it is logged
  std::string name;  ///< behind the prefix
  TimedKey known;
  std::vector<LoggedValue> values;
  TimeSpread spread;
};

struct MeasuredRun {
  LogFormat format = LogFormat::verl;
  Statistic statistic = Statistic::median;
  std::vector<std::int64_t> steps;        ///< that count
  std::vector<std::int64_t> warm_up;      ///< left out: the first ones
  std::vector<std::int64_t> interrupted;  ///< left out: with validation or a checkpoint, unless all steps are so
  std::vector<MeasuredTime> times;        ///< those known, in the order of the trainer's table; none without a value
  std::vector<std::string> unknown;       ///< keys of times of which nothing is known
  std::size_t other_series = 0;           ///< keys that are no times
  std::size_t not_numbers = 0;            ///< as StepLog has it
  std::size_t repeated = 0;               ///< likewise
  std::size_t cut = 0;                    ///< likewise
  /// The iteration of the first step left out as warm-up, to that of those that count.
  std::optional<double> warm_up_ratio;
  std::optional<double> mean_response;       ///< tokens, by the statistic
  std::optional<double> max_response;        ///< tokens, of all steps that count
  std::optional<double> usual_max_response;  ///< tokens, the longest of a step by the statistic
  std::optional<double> at_cap;              ///< fraction of the responses, by the statistic
  std::optional<double> mean_prompt;         ///< tokens, by the statistic
  std::optional<double> usual_max_prompt;    ///< tokens, the longest of a step by the statistic
};

/// The iteration's time, where the log has it.
const MeasuredTime* iteration_of(const MeasuredRun& run);

/// The seconds of several times together: those of each step are added up, steps that have none of them are left out.
TimeSpread spread_of_sum(const std::vector<const MeasuredTime*>& times);

/// What of a run is that of one step, which counts alone. REQUIRES: it is one of its `steps`.
MeasuredRun at_step(const MeasuredRun& run, std::int64_t step);

/// Works out what `log` says. A validation or checkpoint counts from a hundredth of its step on. Errors have the place
/// of a time that is negative or beyond 10^7 s; of all else they have the log's first path: no times of the format,
/// times of both formats, more warm-up than steps.
base::Result<MeasuredRun> measured_run(const StepLog& log, const MeasuredOptions& options = {});

}  // namespace dovetail::measure
