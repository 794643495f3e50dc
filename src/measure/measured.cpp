#include "measure/measured.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/document.h"
#include "workflow/lengths.h"

namespace dovetail::measure {
namespace {

using base::Result;
using base::Status;
using trainers::LengthFigure;
using trainers::LoggedSeries;
using trainers::LogKeys;

constexpr double max_seconds = 1e7;
constexpr double min_interruption = 0.01;

base::Error error_of(const StepLog& log, std::string message) {
  return {.path = log.series.empty() ? "" : log.series.front().path, .message = std::move(message)};
}

bool has_times(const StepLog& log, LogFormat format) {
  return std::any_of(log.series.begin(), log.series.end(), [&keys = trainers::log_keys(format)](const auto& series) {
    return trainers::time_name(keys, series.key).has_value();
  });
}

/// Whether the log has a time that this format knows. A prefix is not enough, because several trainers may share it.
bool has_known_times(const StepLog& log, LogFormat format) {
  const LogKeys& keys = trainers::log_keys(format);
  return std::any_of(log.series.begin(), log.series.end(), [&keys](const LoggedSeries& series) {
    const auto name = trainers::time_name(keys, series.key);
    return name && trainers::find_timed_key(keys, *name);
  });
}

std::string_view time_prefix(LogFormat format) { return trainers::log_keys(format).prefixes.front(); }

/// "`timing_s/...` (verl)", ...
std::string known_prefixes() {
  std::vector<std::string> prefixes;
  for (const auto& format : names_of(LogFormat{}))
    prefixes.push_back(fmt::format("`{}...` ({})", time_prefix(format.value), format.name));
  return fmt::format("{}", fmt::join(prefixes, ", "));
}

Result<LogFormat> format_of(const StepLog& log, const std::optional<LogFormat>& requested) {
  std::vector<LogFormat> found;
  for (const auto& format : names_of(LogFormat{}))
    if (has_known_times(log, format.value)) found.push_back(format.value);
  if (requested) {
    if (has_times(log, *requested)) return *requested;
    return error_of(log, fmt::format("the log has no times of {}; expected keys `{}...`", base::enum_name(*requested),
                                     time_prefix(*requested)));
  }
  if (found.size() > 1)
    return error_of(log, fmt::format("the log has times of {} and of {}; choose one with --format {} or {}",
                                     base::enum_name(found[0]), base::enum_name(found[1]), base::enum_name(found[0]),
                                     base::enum_name(found[1])));
  if (found.size() == 1) return found.front();
  for (const auto& format : names_of(LogFormat{}))
    if (has_times(log, format.value)) return format.value;
  return error_of(log, fmt::format("the log has no times; expected keys {}", known_prefixes()));
}

Status check_seconds(const LoggedSeries& series) {
  for (const LoggedValue& value : series.values)
    if (value.value < 0 || value.value > max_seconds)
      return base::Error{.path = series.path,
                         .line = value.line,
                         .column = value.column,
                         .message = fmt::format("{} takes {} s at step {}; a time must be from 0 to {} s",
                                                base::quote(series.key), value.value, value.step, max_seconds)};
  return {};
}

/// Moves each time to the previous step. For trainers that log the time of the previous step: their first time is 0 s.
void shift_to_previous(std::vector<LoggedValue>& values) {
  for (std::size_t index = 0; index + 1 < values.size(); ++index) {
    const std::int64_t step = values[index].step;
    values[index] = values[index + 1];
    values[index].step = step;
  }
  values.pop_back();
}

/// Computes the iteration of a log without an iteration time: the sum of the times that the trainer's loop runs in
/// sequence.
MeasuredTime summed_iteration(const MeasuredRun& run) {
  std::map<std::int64_t, LoggedValue> sums;
  for (const MeasuredTime& time : run.times)
    if (time.known.use == TimeKind::phase || time.known.use == TimeKind::other)
      for (const LoggedValue& value : time.values) {
        LoggedValue& sum =
            sums.try_emplace(value.step, LoggedValue{value.step, 0, value.line, value.column}).first->second;
        sum.value += value.value;
      }
  MeasuredTime time{fmt::format("{}...", time_prefix(run.format)), "", {"", TimeKind::iteration, {}, {}}, {}, {}};
  for (const auto& [step, sum] : sums) time.values.push_back(sum);
  return time;
}

/// Marks times as parts if the log also has the time that includes them.
void sort_parts(std::vector<MeasuredTime>& times) {
  const auto is_timed = [&](std::string_view name) {
    return std::any_of(times.begin(), times.end(), [&](const MeasuredTime& time) { return time.known.name == name; });
  };
  for (MeasuredTime& time : times)
    if (!time.known.unless.empty() && is_timed(time.known.unless))
      time.known = {time.known.name, TimeKind::part, {}, {}, {}};
}

/// Sorts the series of a log into known times, unknown times and other keys.
Status sort_series(const StepLog& log, MeasuredRun& run) {
  const LogKeys& keys = trainers::log_keys(run.format);
  for (const LoggedSeries& series : log.series) {
    const auto name = trainers::time_name(keys, series.key);
    if (!name) {
      ++run.other_series;
      continue;
    }
    const auto known = trainers::find_timed_key(keys, *name);
    if (!known) {
      run.unknown.push_back(series.key);
      continue;
    }
    if (known->use != TimeKind::rate && known->use != TimeKind::part) DOVETAIL_CHECK(check_seconds(series));
    run.times.push_back({series.key, *name, *known, series.values, {}});
    std::vector<LoggedValue>& values = run.times.back().values;
    if (keys.may_log_previous && known->use == TimeKind::iteration && values.front().value == 0)
      shift_to_previous(values);
  }
  const std::vector<TimedKey>& order = keys.times;
  const auto place = [&order](const MeasuredTime& time) {
    return std::find_if(order.begin(), order.end(), [&](const TimedKey& key) { return key.name == time.known.name; }) -
           order.begin();
  };
  std::stable_sort(run.times.begin(), run.times.end(),
                   [&](const MeasuredTime& a, const MeasuredTime& b) { return place(a) < place(b); });
  sort_parts(run.times);
  const bool sums = keys.sums_iteration && !run.times.empty() && iteration_of(run) == nullptr;
  if (sums) run.times.insert(run.times.begin(), summed_iteration(run));
  return {};
}

/// Sums the values of all times of a use, per step.
std::map<std::int64_t, double> sum_by_step(const MeasuredRun& run, TimeKind use) {
  std::map<std::int64_t, double> sum;
  for (const MeasuredTime& time : run.times)
    if (time.known.use == use)
      for (const LoggedValue& value : time.values) sum[value.step] += value.value;
  return sum;
}

Status choose_steps(const StepLog& log, const std::optional<int>& requested, MeasuredRun& run) {
  std::set<std::int64_t> all;
  for (const MeasuredTime& time : run.times)
    if (time.known.use == TimeKind::iteration || time.known.use == TimeKind::phase)
      for (const LoggedValue& value : time.values) all.insert(value.step);
  if (all.empty())
    return error_of(log, fmt::format("no time in the log belongs to a known phase; expected keys such as `{}{}`",
                                     time_prefix(run.format), trainers::log_keys(run.format).times.front().name));
  const auto most = static_cast<int>(std::min<std::size_t>(all.size() - 1, 1'000'000'000));
  if (requested && *requested > most)
    return error_of(log, fmt::format("--skip must be less than the number of steps in the log ({}), got {}", all.size(),
                                     *requested));
  const int skip = requested.value_or(std::min(default_skip, most));
  const auto warm = std::next(all.begin(), skip);
  run.warm_up.assign(all.begin(), warm);
  const std::map<std::int64_t, double> iteration = sum_by_step(run, TimeKind::iteration);
  const std::map<std::int64_t, double> interruptions = sum_by_step(run, TimeKind::interruption);
  for (auto step = warm; step != all.end(); ++step) {
    const auto interruption = interruptions.find(*step);
    const auto whole = iteration.find(*step);
    const bool interrupted = interruption != interruptions.end() &&
                             interruption->second > min_interruption * (whole == iteration.end() ? 0 : whole->second);
    (interrupted ? run.interrupted : run.steps).push_back(*step);
  }
  if (run.steps.empty()) run.steps.swap(run.interrupted);
  return {};
}

bool counts(const MeasuredRun& run, const LoggedValue& value) {
  return std::binary_search(run.steps.begin(), run.steps.end(), value.step);
}

/// The values at the steps that count.
std::vector<double> values_of(const MeasuredRun& run, const std::vector<LoggedValue>& values) {
  std::vector<double> result;
  for (const LoggedValue& value : values)
    if (counts(run, value)) result.push_back(value.value);
  return result;
}

/// Rejects impossible values: lengths below 0 or above the maximum, and fractions outside [0, 1].
Status check_lengths(const MeasuredRun& run, const LoggedSeries& series, LengthFigure figure) {
  const bool share = figure == LengthFigure::at_cap;
  const double most = share ? 1 : static_cast<double>(workflow::max_length);
  for (const LoggedValue& value : series.values)
    if (counts(run, value) && (value.value < 0 || value.value > most))
      return base::Error{base::Failure::bad_input, series.path, value.line, value.column,
                         fmt::format("{} is {:g}; it must be {}", base::quote(series.key), value.value,
                                     share ? "a fraction from 0 to 1"
                                           : fmt::format("a number of tokens from 0 to {}", workflow::max_length))};
  return {};
}

Status measure_lengths(const StepLog& log, MeasuredRun& run) {
  std::optional<double> sequence;
  for (const LoggedSeries& series : log.series) {
    const auto figure = trainers::length_figure(trainers::log_keys(run.format), series.key);
    std::vector<double> values = values_of(run, series.values);
    if (!figure || values.empty()) continue;
    DOVETAIL_CHECK(check_lengths(run, series, *figure));
    const TimeSpread spread = spread_of(std::move(values));
    if (*figure == LengthFigure::mean_response) run.mean_response = spread.by(run.statistic);
    if (*figure == LengthFigure::max_response) {
      run.max_response = spread.max;
      run.typical_max_response = spread.by(run.statistic);
    }
    if (*figure == LengthFigure::at_cap) run.at_cap = spread.by(run.statistic);
    if (*figure == LengthFigure::mean_prompt) run.mean_prompt = spread.by(run.statistic);
    if (*figure == LengthFigure::max_prompt) run.typical_max_prompt = spread.by(run.statistic);
    if (*figure == LengthFigure::mean_sequence) sequence = spread.by(run.statistic);
  }
  if (!run.mean_response && run.mean_prompt && sequence && *sequence > *run.mean_prompt)
    run.mean_response = *sequence - *run.mean_prompt;
  return {};
}

/// Sets warm_up_ratio from the first warm-up step.
void measure_warm_up(const std::map<std::int64_t, double>& iteration, MeasuredRun& run) {
  if (run.warm_up.empty() || iteration_of(run) == nullptr) return;
  const auto first = iteration.find(run.warm_up.front());
  const double usual = iteration_of(run)->spread.by(run.statistic);
  if (first != iteration.end() && usual > 0) run.warm_up_ratio = first->second / usual;
}

double between(const std::vector<double>& sorted, double quantile) {
  const double at = quantile * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

TimeSpread spread_of(std::vector<double> values) {
  DOVETAIL_ASSERT(!values.empty());
  std::sort(values.begin(), values.end());
  TimeSpread spread{values.size(),  between(values, 0.5), 0, between(values, 0.25), between(values, 0.75),
                    values.front(), values.back()};
  for (const double value : values) spread.mean += value / static_cast<double>(values.size());
  return spread;
}

const MeasuredTime* iteration_of(const MeasuredRun& run) {
  const auto found = std::find_if(run.times.begin(), run.times.end(),
                                  [](const MeasuredTime& time) { return time.known.use == TimeKind::iteration; });
  return found == run.times.end() ? nullptr : &*found;
}

TimeSpread spread_of_sum(const std::vector<const MeasuredTime*>& times) {
  std::map<std::int64_t, double> sum;
  for (const MeasuredTime* time : times)
    for (const LoggedValue& value : time->values) sum[value.step] += value.value;
  std::vector<double> values;
  for (const auto& [step, seconds] : sum) values.push_back(seconds);
  return spread_of(std::move(values));
}

MeasuredRun at_step(const MeasuredRun& run, std::int64_t step) {
  MeasuredRun one = run;
  one.steps = {step};
  one.times.clear();
  for (const MeasuredTime& time : run.times)
    for (const LoggedValue& value : time.values)
      if (value.step == step) {
        one.times.push_back(time);
        one.times.back().values = {value};
        one.times.back().spread = spread_of({value.value});
      }
  return one;
}

Result<MeasuredRun> measured_run(const StepLog& log, const MeasuredOptions& options) {
  MeasuredRun run;
  DOVETAIL_TRY(run.format, format_of(log, options.format));
  run.statistic = options.statistic;
  run.not_numbers = log.not_numbers;
  run.repeated = log.repeated;
  run.cut = log.cut;
  DOVETAIL_CHECK(sort_series(log, run));
  DOVETAIL_CHECK(choose_steps(log, options.skip, run));
  const std::map<std::int64_t, double> iteration = sum_by_step(run, TimeKind::iteration);
  std::vector<MeasuredTime> measured;
  for (MeasuredTime& time : run.times) {
    std::vector<double> values = values_of(run, time.values);
    if (values.empty()) continue;
    std::erase_if(time.values, [&run](const LoggedValue& value) { return !counts(run, value); });
    time.spread = spread_of(std::move(values));
    measured.push_back(std::move(time));
  }
  run.times = std::move(measured);
  DOVETAIL_CHECK(measure_lengths(log, run));
  measure_warm_up(iteration, run);
  return run;
}

namespace {

using workflow::LengthFigures;

constexpr double max_fitted_sigma = 2.0;
constexpr int halvings = 30;

std::optional<LoggedLengths> logged(const std::optional<double>& mean, const std::optional<double>& longest,
                                    const std::optional<double>& at_cap) {
  if (!mean || *mean < 1) return std::nullopt;
  return LoggedLengths{*mean, longest, at_cap};
}

double expected_longest(const LengthFigures& figures, std::int64_t draws) {
  return workflow::log_normal_lengths(figures).expected_maximum(draws);
}

/// The spread for which the expected maximum of `draws` lengths equals the logged one; nullopt if no spread does.
std::optional<double> sigma_of_longest(LengthFigures figures, double longest, std::int64_t draws) {
  double low = 0;
  double high = max_fitted_sigma;
  for (int halving = 0; halving < halvings; ++halving) {
    figures.sigma = (low + high) / 2;
    const bool is_wide = workflow::find_fault(figures) || expected_longest(figures, draws) > longest;
    (is_wide ? high : low) = *figures.sigma;
  }
  figures.sigma = low;
  if (low <= 0 || workflow::find_fault(figures)) return std::nullopt;
  return low;
}

}  // namespace

std::optional<LoggedLengths> logged_responses(const MeasuredRun& run) {
  return logged(run.mean_response, run.typical_max_response, run.at_cap);
}

std::optional<LoggedLengths> logged_prompts(const MeasuredRun& run) {
  return logged(run.mean_prompt, run.typical_max_prompt, std::nullopt);
}

LengthsOfLog lengths_of_log(const LoggedLengths& logged, std::int64_t cap, std::int64_t draws) {
  const auto rounded_mean = std::clamp<std::int64_t>(std::llround(std::min(logged.mean, 1e15)), 1, cap);
  // A rounded mean may exceed the cap slightly.
  const auto limit = static_cast<double>(cap);
  LengthFigures figures{.mean = std::min(logged.mean, limit), .cap = cap};
  const bool reaches = logged.longest && *logged.longest >= limit;
  // If the longest response of a step is at the cap, at least one response is, even if the logged fraction is rounded
  // to 0.
  const double at_cap = std::max(logged.at_cap.value_or(0), reaches ? 1.0 / static_cast<double>(draws) : 0.0);
  if (at_cap > 0 && at_cap < 1) {
    figures.at_cap = at_cap;
    if (!workflow::find_fault(figures))
      return {figures, rounded_mean, fmt::format("{:.3g}% end at the cap", 100 * at_cap)};
    figures.at_cap.reset();
  }
  if (logged.longest && !reaches) {
    figures.sigma = sigma_of_longest(figures, std::max(*logged.longest, logged.mean), draws);
    if (figures.sigma)
      return {figures, rounded_mean, fmt::format("longest in a typical step: {:.0f}", *logged.longest)};
  }
  figures.sigma = workflow::default_sigma;
  if (!workflow::find_fault(figures))
    return {figures, rounded_mean,
            fmt::format("the log does not determine the spread: assuming sigma {}", workflow::default_sigma)};
  return {std::nullopt, rounded_mean,
          "no spread matches the mean and the cap: assuming that all lengths equal the mean"};
}

}  // namespace dovetail::measure
