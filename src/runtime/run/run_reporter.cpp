#include "runtime/run/run_reporter.h"

#include <fmt/core.h>

#include <cstddef>
#include <span>
#include <string_view>

#include "base/stopwatch.h"
#include "cli/output.h"
#include "records/progress.h"

namespace dovetail::runtime {
namespace {

using base::Status;

/// Erases the progress line on a terminal.
void clear_line() {
  if (cli::stderr_is_terminal()) cli::rewrite_line("");
}

void write_warning(const std::string& text) {
  clear_line();
  cli::print_warning(text);
}

void follow(const control::RunProgress& progress, MemoryAccount& account) {
  begin_phase(account, progress.iteration, progress.phase);
}

void follow_checkpoint(const control::RunState& state, control::CheckpointReason reason, MemoryAccount& account) {
  const bool is_within = reason == control::CheckpointReason::interrupted;
  begin_phase(account, state.iterations + (is_within ? 1 : 0), "the checkpoint");
}

}  // namespace

control::RunSink RunReporter::sink() {
  return {
      .on_metrics = [this](const control::Metrics& metrics) { return take_metrics(metrics); },
      .on_evaluation = [this](const control::Metrics& metrics) { return take_evaluation(metrics); },
      .on_samples =
          [this](std::int64_t iteration, std::span<const control::Sample> samples) {
            return folder_.add_samples(iteration, samples, prompts_);
          },
      .on_progress = [this](const control::RunProgress& progress) { take_progress(progress); },
      .on_warning = write_warning,
      .on_checkpoint = [this](const control::RunState& state, control::CheckpointReason reason,
                              bool is_best) { return keep_checkpoint(state, reason, is_best); },
  };
}

Status RunReporter::take_metrics(const control::Metrics& metrics) {
  before_ = metrics;
  ++done_;
  if (!cli::stderr_is_terminal()) cli::print_error(records::summary_of(metrics, iterations_) + "\n");
  return folder_.add_metrics(metrics);
}

Status RunReporter::take_evaluation(const control::Metrics& metrics) {
  clear_line();
  cli::print_error("evaluation " + records::summary_of(metrics, iterations_) + "\n");
  return folder_.add_evaluation(metrics);
}

void RunReporter::take_progress(const control::RunProgress& progress) {
  follow(progress, account_);
  const double seconds = base::seconds_since(begin_);
  const auto left = static_cast<double>(iterations_ - progress.iteration + 1);
  // The line starts with its label and ends before the last column.
  constexpr std::string_view label = "train: ";
  const auto columns = static_cast<std::size_t>(cli::stderr_columns()) - 1;
  line_.update(records::progress_of(progress, before_, done_ > 0 ? seconds / static_cast<double>(done_) * left : -1,
                                    columns > label.size() ? columns - label.size() : 0));
}

Status RunReporter::keep_checkpoint(const control::RunState& state, control::CheckpointReason reason, bool is_best) {
  follow_checkpoint(state, reason, account_);
  DOVETAIL_CHECK(folder_.flush());
  DOVETAIL_CHECK(records::keep_checkpoint(place_, state, models_, is_best));
  if (reason == control::CheckpointReason::interrupted) {
    clear_line();
    cli::print_note(fmt::format("checkpoint saved in {}; continue the run with --resume", place_.folder));
  }
  return {};
}

control::RunSink silent_sink(const control::Models& models, MemoryAccount& account) {
  return {
      .on_metrics = [](const control::Metrics&) { return Status(); },
      .on_evaluation = [](const control::Metrics&) { return Status(); },
      .on_samples = [](std::int64_t, std::span<const control::Sample>) { return Status(); },
      .on_progress = [&account](const control::RunProgress& progress) { follow(progress, account); },
      .on_warning = [](const std::string&) {},
      .on_checkpoint =
          [&models, &account](const control::RunState& state, control::CheckpointReason reason, bool) {
            follow_checkpoint(state, reason, account);
            return models.save({});
          },
  };
}

}  // namespace dovetail::runtime
