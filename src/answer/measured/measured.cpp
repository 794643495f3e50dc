#include "answer/measured/measured.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "answer/plans/prediction.h"
#include "base/document.h"
#include "base/file.h"
#include "base/utf8.h"
#include "measure/measured_file.h"
#include "plan/job.h"
#include "predict/closed_form/software.h"

namespace dovetail::answer {
namespace {

/// The key and the file of FILE, whose key is not said, or KEY=FILE.
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

base::Status check(const MeasuredRequest& request) {
  if (request.job.has_value() != request.plan.has_value())
    return base::bad_input("only one of --job and --plan is there; accepted: both, or neither");
  std::vector<std::optional<Input>> inputs{request.job, request.plan};
  for (const Input& log : request.logs) inputs.emplace_back(log_of(log).second);
  return check_standard_input(inputs);
}

base::Result<measure::MeasuredRun> read_run(const MeasuredRequest& request) {
  std::vector<trainers::LogFile> logs;
  for (const Input& input : request.logs) {
    DOVETAIL_TRY(trainers::LogFile log, read_log(input));
    logs.push_back(std::move(log));
  }
  DOVETAIL_TRY(const trainers::StepLog log, trainers::read_step_log(logs));
  return measure::measured_run(log, {request.format, request.skip, request.statistic});
}

std::string parted_reason(const measure::MeasuredRun& run) {
  return fmt::format("the plan fuses stages, and {} runs each by itself", base::enum_name(run.format));
}

std::vector<std::vector<std::string>> fused_tasks(const plan::Job& job, const plan::Plan& plan) {
  std::vector<std::vector<std::string>> fused;
  if (!plan.fusion.training) return fused;
  std::vector<std::string>& pair = fused.emplace_back();
  for (const std::size_t task : *plan.fusion.training) pair.push_back(job.workflow.tasks[task].name);
  return fused;
}

base::Result<MeasuredPrediction> predict_beside(const MeasuredRequest& request, const measure::MeasuredRun& run,
                                                const Watch& watch) {
  const bool fuses = run.format == trainers::LogFormat::dovetail;
  DOVETAIL_TRY(const PredictionAnswer predicted, predict_plan(*request.job, *request.plan, fuses, watch));
  if (predicted.parted) tell_note(watch, parted_reason(run) + ": it is compared without its fusion");
  const plan::Job& job = predicted.scenario.job;
  measure::MeasuredComparison comparison = measure::compare_measured(run, job, {predicted.plan, predicted.estimate});
  const predict::Software& software = predicted.scenario.software;
  return MeasuredPrediction{job,
                            software.efficiency.name,
                            software.choice.efficiency,
                            predicted.parted,
                            fused_tasks(job, predicted.plan),
                            std::move(comparison)};
}

/// `path` as a file in the folder of `output` names it: relative where it was given so, or lies in that folder.
std::string path_from(const std::string& path, const std::string& output) {
  namespace fs = std::filesystem;
  const fs::path folder = output == "-" ? fs::path() : fs::path(output).parent_path();
  std::error_code error;
  const std::string from = fs::proximate(path, folder.empty() ? "." : folder, error).string();
  if (fs::path(path).is_absolute() && (error || *fs::path(from).begin() == ".."))
    return fs::path(path).lexically_normal().string();
  return error ? path : from;
}

}  // namespace

base::Result<MeasuredAnswer> ask(const MeasuredRequest& request, const Watch& watch) {
  DOVETAIL_CHECK(check(request));
  DOVETAIL_TRY(measure::MeasuredRun run, read_run(request));
  MeasuredAnswer answer{request, std::move(run), std::nullopt};
  if (request.job) {
    DOVETAIL_TRY(answer.predicted, predict_beside(request, answer.run, watch));
  }
  DOVETAIL_CHECK(tell_read(watch));
  return answer;
}

std::optional<std::string> find_measurement_fault(const MeasuredRequest& request) {
  if (!request.job || !request.plan)
    return "a measurement names its job and its plan; accepted: -o with --job and --plan";
  if (request.job->path == "-" || request.plan->path == "-")
    return "a measurement names its job and its plan by their files, not standard input; accepted: paths";
  return std::nullopt;
}

base::Result<std::string> measurement_file(const MeasuredAnswer& answer, const std::string& path,
                                           const std::optional<std::string>& name) {
  const MeasuredPrediction& predicted = *answer.predicted;
  if (predicted.parted)
    return base::Error{
        base::Failure::bad_input, name_of(*answer.request.plan), 0, 0,
        parted_reason(answer.run) + ": the measurement is of another plan; accepted: a plan without `fusion`"};
  const std::string stem = std::filesystem::path(answer.request.logs.front().path).stem().string();
  measure::MeasurementNames names;
  names.set = fmt::format("{}/{}", predicted.job.cluster.groups.front().gpu.name, base::enum_name(answer.run.format));
  names.row = name.value_or(predicted.job.name + (stem == "-" ? "" : ", " + base::visible(stem)));
  names.source = fmt::format("log of {}, {} of {} steps", base::enum_name(answer.run.format),
                             base::enum_name(answer.run.statistic), answer.run.steps.size());
  names.fused = predicted.fused;
  names.job = path_from(answer.request.job->path, path);
  names.plan = path_from(answer.request.plan->path, path);
  names.start = predicted.efficiency_choice;
  if (plan::is_efficiency_file(names.start)) names.start = path_from(names.start, path);
  const auto write = path.ends_with(".json") ? measure::measurement_to_json : measure::measurement_to_yaml;
  return write(names, answer.run, predicted.comparison, predicted.job);
}

}  // namespace dovetail::answer
