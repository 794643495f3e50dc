#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "answer/measured/measured.h"
#include "answer/measured/predicting.h"
#include "answer/text/figures.h"
#include "answer/text/text.h"
#include "base/file.h"
#include "base/growing_file.h"

namespace dovetail::answer {
namespace {

using measure::MeasuredAgainst;
using measure::MeasuredComparison;
using measure::MeasuredRun;
using trainers::StepLog;

/// Number of polls without new data after which the last step counts as complete.
constexpr int quiet_polls = 2;
/// Max bytes of the log that are parsed again when new data arrives. Of older lines, only the parsed values are kept.
constexpr std::size_t max_window = 4U << 20U;
constexpr std::chrono::milliseconds poll_interval{50};

/// Merges two consecutive parts of a log. The later value of a step replaces an earlier one.
StepLog joined(const StepLog& earlier, const StepLog& later) {
  trainers::StepLogBuilder builder;
  for (const StepLog* const part : {&earlier, &later})
    for (const trainers::LoggedSeries& series : part->series)
      for (const trainers::LoggedValue& value : series.values) builder.add(series.key, series.path, value);
  StepLog log = builder.take();
  log.not_numbers = earlier.not_numbers + later.not_numbers;
  log.repeated = earlier.repeated + later.repeated;
  return log;
}

/// Offset of the end of the first `count` lines.
std::size_t end_of_lines(std::string_view text, int count) {
  std::size_t end = 0;
  for (int line = 0; line < count && end < text.size(); ++line) {
    const std::size_t feed = text.find('\n', end);
    end = feed == std::string_view::npos ? text.size() : feed + 1;
  }
  return end;
}

/// Accumulates the lines of a growing log and their values.
class GrowingLog {
 public:
  explicit GrowingLog(std::string name) : name_(std::move(name)) {}

  const std::string& text() const { return window_; }
  StepLog log() const { return joined(kept_, in_window_); }

  base::Status take(const std::string& bytes, const Callbacks& callbacks) {
    window_ += bytes;
    auto read = trainers::read_partial_log({window_, name_});
    for (; !read.ok(); read = trainers::read_partial_log({window_, name_})) {
      base::Error error = std::move(read).error();
      if (error.line == 0) return error;
      const int line = error.line;
      error.line += dropped_;
      notify_note(callbacks, base::to_text(error) + "; line skipped");
      if (const auto before = trainers::read_partial_log({window_.substr(0, end_of_lines(window_, line - 1)), name_});
          before.ok())
        kept_ = joined(kept_, *before);
      drop(line);
    }
    in_window_ = *std::move(read);
    if (window_.size() <= max_window) return {};
    kept_ = joined(kept_, in_window_);
    in_window_ = {};
    const auto half = window_.begin() + static_cast<std::ptrdiff_t>(window_.size() / 2);
    drop(static_cast<int>(std::count(window_.begin(), half, '\n')));
    return {};
  }

 private:
  void drop(int lines) {
    window_.erase(0, end_of_lines(window_, lines));
    dropped_ += lines;
  }

  std::string name_;
  std::string window_;  // lines that are parsed together
  int dropped_ = 0;     // number of lines before them
  StepLog kept_;        // values of the dropped lines
  StepLog in_window_;
};

std::string head_text(std::int64_t step, bool is_warm_up) {
  return fmt::format("step {}{}: ", step, is_warm_up ? " (warm-up)" : "");
}

std::string times_text(const MeasuredRun& one) {
  std::vector<std::string> times;
  for (const measure::MeasuredTime& time : one.times)
    if (time.known.use == trainers::TimeKind::iteration || time.known.use == trainers::TimeKind::phase)
      times.push_back(
          fmt::format("{} {}", time.name.empty() ? "iteration" : time.name, seconds_text(time.spread.median)));
  return fmt::format("{}", fmt::join(times, ", "));
}

std::string compared_text(const MeasuredComparison& comparison) {
  std::vector<std::string> phases;
  const auto add = [&phases](const MeasuredAgainst& phase) {
    phases.push_back(fmt::format("{}{} {} (predicted {})", measure::phase_title(phase.phase),
                                 phase.with_weight_sync ? " and weight sync" : "", seconds_text(phase.seconds),
                                 seconds_text(phase.predicted)));
  };
  if (comparison.iteration) add(*comparison.iteration);
  for (const MeasuredAgainst& phase : comparison.phases) add(phase);
  return fmt::format("{}", fmt::join(phases, ", "));
}

/// Finds a phase of a comparison by name; null if not found.
const MeasuredAgainst* phase_of(const MeasuredComparison& comparison, const std::string& name) {
  if (comparison.iteration && comparison.iteration->phase == name) return &*comparison.iteration;
  const auto found = std::find_if(comparison.phases.begin(), comparison.phases.end(),
                                  [&](const MeasuredAgainst& each) { return each.phase == name; });
  return found == comparison.phases.end() ? nullptr : &*found;
}

class Follower {
 public:
  Follower(const MeasuredRequest& request, const FollowOptions& options, const Callbacks& callbacks)
      : request_(request),
        options_(options),
        callbacks_(callbacks),
        path_(request.logs.front().path),
        name_(base::display_path(path_)),
        file_(path_),
        log_(name_) {}

  /// Processes new data.
  base::Status poll() {
    DOVETAIL_TRY(const base::GrowingFile::NewContent added, file_.read_new());
    if (!file_.exists() && !waits_) notify_note(callbacks_, name_ + " does not exist yet; waiting for it");
    waits_ = !file_.exists();
    if (added.restarted) notify_note(callbacks_, name_ + " was truncated or replaced; reading the new content");
    quiet_polls_ = added.bytes.empty() ? std::min(quiet_polls_ + 1, quiet_polls + 1) : 0;
    if (!added.bytes.empty()) DOVETAIL_CHECK(log_.take(added.bytes, callbacks_));
    return added.bytes.empty() && quiet_polls_ != quiet_polls ? base::Status() : report_steps();
  }

  /// Returns the answer for all data read, including the last step.
  base::Result<std::optional<MeasuredAnswer>> finish() {
    quiet_polls_ = quiet_polls;
    DOVETAIL_CHECK(report_steps());
    auto run = measure::measured_run(log_.log(), {request_.format, request_.skip, request_.statistic});
    if (!run.ok()) {
      notify_note(callbacks_, log_.log().series.empty() ? "the log has no steps" : base::to_text(run.error()));
      return std::optional<MeasuredAnswer>();
    }
    MeasuredAnswer answer{request_, *std::move(run), std::nullopt, reported_.size(), {}};
    if (predicted_ && *predicted_) answer.predicted = compare_with_prediction(request_, **predicted_, answer.run);
    for (const auto& [phase, steps] : slow_phases_) answer.slow_phases.push_back({phase, steps.size()});
    return std::optional(std::move(answer));
  }

 private:
  base::Status report_steps() {
    const auto run = measure::measured_run(log_.log(), {request_.format, 0, request_.statistic});
    if (!run.ok()) {
      // A log without its first complete step has no times yet, which is not an error.
      const std::string fault = base::to_text(run.error());
      if (run.error().line > 0 && reported_errors_.insert(fault).second) notify_note(callbacks_, fault);
      return {};
    }
    std::map<std::int64_t, bool> steps;  // [step] whether it was interrupted
    for (const std::int64_t step : run->steps) steps[step] = false;
    for (const std::int64_t step : run->interrupted) steps[step] = true;
    for (const auto& [step, interrupted] : steps) {
      const bool has_ended = step != steps.rbegin()->first || quiet_polls_ >= quiet_polls;
      if (has_ended) DOVETAIL_CHECK(report_step(*run, step, interrupted));
    }
    return {};
  }

  base::Status report_step(const MeasuredRun& run, std::int64_t step, bool interrupted) {
    const MeasuredRun one = measure::at_step(run, step);
    double seconds = 0;
    for (const measure::MeasuredTime& time : one.times) seconds += time.spread.median;
    const auto reported = reported_.find(step);
    if (reported != reported_.end() && reported->second == seconds) return {};
    reported_[step] = seconds;
    if (interrupted) {
      write_line(fmt::format("step {}: skipped, because it includes a validation or a checkpoint", step));
      return {};
    }
    if (!predicted_) {
      DOVETAIL_TRY(predicted_, predict_run(request_, {{log_.text(), path_}}, run, callbacks_));
      DOVETAIL_CHECK(notify_read(callbacks_));
      if (*predicted_ && !(*predicted_)->scenario.job.origin.empty()) write_line((*predicted_)->scenario.job.origin);
    }
    const bool is_warm_up = reported_.size() <= static_cast<std::size_t>(request_.skip.value_or(measure::default_skip));
    if (!*predicted_) {
      write_line(head_text(step, is_warm_up) + times_text(one));
      return {};
    }
    const MeasuredComparison compared = compare_with_prediction(request_, **predicted_, one).comparison;
    write_line(head_text(step, is_warm_up) + compared_text(compared));
    if (is_warm_up) return {};
    // Likely causes are derived from all steps together.
    const MeasuredComparison all = compare_with_prediction(request_, **predicted_, run).comparison;
    for (const MeasuredAgainst& phase : compared.phases) report_if_slow(phase, all, step);
    if (compared.iteration) report_if_slow(*compared.iteration, all, step);
    return {};
  }

  /// Reports a phase that took much longer than predicted.
  void report_if_slow(const MeasuredAgainst& phase, const MeasuredComparison& all, std::int64_t step) {
    const double part = measure::notable_share * (*predicted_)->estimate.iteration_seconds;
    if (phase.seconds < slow_factor * phase.predicted || phase.difference() <= part) return;
    std::set<std::int64_t>& steps = slow_phases_[phase.phase];
    std::string text =
        fmt::format("step {}: {} took {} instead of the predicted {}", step, measure::phase_title(phase.phase),
                    seconds_text(phase.seconds), seconds_text(phase.predicted));
    if (phase.predicted > 0) text += fmt::format(" ({:.1f} times the prediction)", phase.seconds / phase.predicted);
    const MeasuredAgainst* const overall = phase_of(all, phase.phase);
    if (!steps.empty())
      text += fmt::format("; also slow in {}", counted(static_cast<std::int64_t>(steps.size()), "earlier step"));
    else if (overall != nullptr && !overall->reasons.empty())
      text += "; likely cause: " + overall->reasons.front();
    steps.insert(step);
    write_line("NOTICE " + text);
  }

  void write_line(const std::string& line) const {
    if (options_.on_line) options_.on_line(line);
  }

  const MeasuredRequest& request_;
  const FollowOptions& options_;
  const Callbacks& callbacks_;
  std::string path_;
  std::string name_;
  base::GrowingFile file_;
  GrowingLog log_;
  int quiet_polls_ = 0;
  bool waits_ = false;
  std::map<std::int64_t, double> reported_;                    // [step] seconds
  std::map<std::string, std::set<std::int64_t>> slow_phases_;  // [phase] steps
  std::set<std::string> reported_errors_;                      // errors that were reported
  std::optional<std::optional<PredictionAnswer>> predicted_;   // nullopt: not computed yet; inner nullopt: no job
};

}  // namespace

base::Result<std::optional<MeasuredAnswer>> follow(const MeasuredRequest& request, const FollowOptions& options,
                                                   const Callbacks& callbacks) {
  using Clock = std::chrono::steady_clock;
  Follower follower(request, options, callbacks);
  const auto pause = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.poll_seconds));
  while (!parallel::is_requested(callbacks.cancellation)) {
    DOVETAIL_CHECK(follower.poll());
    const Clock::time_point next = Clock::now() + pause;
    while (Clock::now() < next && !parallel::is_requested(callbacks.cancellation))
      std::this_thread::sleep_for(std::min<Clock::duration>(poll_interval, next - Clock::now()));
  }
  return follower.finish();
}

}  // namespace dovetail::answer
