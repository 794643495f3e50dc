#include "answer/measured/predicting.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "answer/plans/job_input.h"
#include "base/enum_names.h"
#include "trainers/import_run.h"

namespace dovetail::answer {
namespace {

/// Splits KEY=FILE; the key is empty for a plain FILE.
std::pair<std::string, Input> log_of(const Input& input) {
  const std::size_t equals = input.path.find('=');
  std::error_code error;
  if (equals == std::string::npos || equals == 0 || std::filesystem::exists(input.path, error)) return {"", input};
  return {input.path.substr(0, equals), {input.path.substr(equals + 1), input.text}};
}

base::Result<trainers::LogFile> read_log(const Input& input) {
  auto [key, file] = log_of(input);
  DOVETAIL_TRY(std::string content, read_input(file));
  trainers::LogFile log;
  log.key = std::move(key);
  log.path = name_of(file);
  log.content = std::move(content);
  return log;
}

/// The job that ran: the requested one, otherwise the first log that starts with a configuration; nullopt if none does.
std::optional<JobInput> job_of(const MeasuredRequest& request, const std::vector<trainers::LogFile>& logs,
                               const measure::MeasuredRun& run) {
  JobInput job = request.job;
  if (!is_given(job)) {
    const auto own = std::find_if(logs.begin(), logs.end(), [](const trainers::LogFile& log) {
      return trainers::is_foreign(log.path, log.content);
    });
    if (own == logs.end()) return std::nullopt;
    job.path = own->path;
    job.text = own->content;
  }
  job.logged = lengths_logged(run, logs.front().path);
  return job;
}

base::Status check_no_job(const MeasuredRequest& request) {
  if (request.plan)
    return base::bad_input("--plan needs a job; give --job, or a log that starts with the trainer's configuration");
  if (has_import_options(request.job))
    return base::bad_input(
        "--gpu and other options for trainer configurations need a configuration; give --job, or a log that starts "
        "with one");
  return {};
}

std::vector<std::vector<std::string>> fused_tasks(const plan::Job& job, const plan::Plan& plan) {
  std::vector<std::vector<std::string>> fused;
  if (!plan.fusion.training) return fused;
  std::vector<std::string>& pair = fused.emplace_back();
  for (const std::size_t task : *plan.fusion.training) pair.push_back(job.workflow.tasks[task].name);
  return fused;
}

base::Result<PredictionAnswer> predict(const JobInput& job, const MeasuredRequest& request,
                                       const measure::MeasuredRun& run, const Callbacks& callbacks) {
  const bool fuses = run.format == trainers::LogFormat::dovetail;
  DOVETAIL_TRY(PredictionAnswer predicted, predict_plan(job, request.plan, fuses, callbacks));
  if (predicted.unfused) notify_note(callbacks, unfused_reason(run) + "; comparing without fusion");
  return predicted;
}

}  // namespace

std::string unfused_reason(const measure::MeasuredRun& run) {
  return fmt::format("the plan fuses stages, but {} runs them separately", base::enum_name(run.format));
}

base::Status check_inputs(const MeasuredRequest& request) {
  std::vector<std::optional<Input>> inputs{request.plan};
  if (is_given(request.job)) inputs.emplace_back(request.job);
  for (const Input& log : request.logs) inputs.emplace_back(log_of(log).second);
  return check_standard_input(inputs);
}

base::Result<std::vector<trainers::LogFile>> read_logs(const MeasuredRequest& request) {
  std::vector<trainers::LogFile> logs;
  for (const Input& input : request.logs) {
    DOVETAIL_TRY(trainers::LogFile log, read_log(input));
    logs.push_back(std::move(log));
  }
  return logs;
}

base::Result<std::optional<PredictionAnswer>> predict_run(const MeasuredRequest& request,
                                                          const std::vector<trainers::LogFile>& logs,
                                                          const measure::MeasuredRun& run, const Callbacks& callbacks) {
  const std::optional<JobInput> job = job_of(request, logs, run);
  if (!job) {
    DOVETAIL_CHECK(check_no_job(request));
    return std::optional<PredictionAnswer>();
  }
  auto predicted = predict(*job, request, run, callbacks);
  if (predicted.ok()) return std::optional(*std::move(predicted));
  if (is_given(request.job) || request.plan || has_import_options(request.job)) return std::move(predicted).error();
  notify_note(callbacks,
              "no prediction: the configuration in the log cannot be read: " + base::to_text(predicted.error()));
  return std::optional<PredictionAnswer>();
}

MeasuredPrediction compare_with_prediction(const MeasuredRequest& request, const PredictionAnswer& predicted,
                                           const measure::MeasuredRun& run) {
  const plan::Job& job = predicted.scenario.job;
  const predict::Software& software = predicted.scenario.software;
  return MeasuredPrediction{job,
                            software.efficiency.name,
                            software.choice.efficiency,
                            predicted.unfused,
                            fused_tasks(job, predicted.plan),
                            predicted.imported,
                            request.plan ? std::nullopt : std::optional(predicted.plan),
                            measure::compare_measured(run, job, {predicted.plan, predicted.estimate})};
}

}  // namespace dovetail::answer
