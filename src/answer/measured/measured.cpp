#include "answer/measured/measured.h"

#include <fmt/core.h>

#include <filesystem>
#include <utility>

#include "answer/measured/predicting.h"
#include "base/document.h"
#include "base/utf8.h"
#include "measure/measurement_file.h"
#include "plan/job_text.h"
#include "plan/plan_file.h"
#include "syntax/files.h"
#include "syntax/tree.h"

namespace dovetail::answer {
namespace {

/// Converts a document to one line of JSON for embedding in another document.
base::Result<std::string> in_one_line(const std::string& document, const std::string& name) {
  DOVETAIL_TRY(const base::Document parsed, base::parse_yaml_or_json(document, name));
  DOVETAIL_TRY(const syntax::Setting setting, syntax::setting_of(parsed, document, 0));
  return syntax::to_json(setting);
}

/// Path to write into a file at `output`: relative to the folder of `output` if `path` is relative or below that
/// folder.
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

base::Result<MeasuredAnswer> answer_to(const MeasuredRequest& request, const Callbacks& callbacks) {
  DOVETAIL_CHECK(check_inputs(request));
  DOVETAIL_TRY(const std::vector<trainers::LogFile> logs, read_logs(request));
  DOVETAIL_TRY(const trainers::StepLog log, trainers::read_step_log(logs));
  DOVETAIL_TRY(measure::MeasuredRun run, measure::measured_run(log, {request.format, request.skip, request.statistic}));
  DOVETAIL_TRY(const std::optional<PredictionAnswer> predicted, predict_run(request, logs, run, callbacks));
  MeasuredAnswer answer{request, std::move(run), std::nullopt};
  if (predicted) answer.predicted = compare_with_prediction(request, *predicted, answer.run);
  DOVETAIL_CHECK(notify_read(callbacks));
  return answer;
}

std::optional<std::string> find_measurement_fault(const MeasuredRequest& request) {
  const bool names_standard_input = request.job.path == "-" || (request.plan && request.plan->path == "-");
  if (names_standard_input)
    return "a measurement refers to its job and its plan by path; give files instead of standard input";
  return std::nullopt;
}

base::Result<std::string> measurement_file(const MeasuredAnswer& answer, const std::string& path,
                                           const std::optional<std::string>& name) {
  if (!answer.predicted)
    return base::bad_input(
        "-o needs the job and the plan of the run; give --job and --plan, or a trainer's configuration as --job, or a "
        "log that starts with the configuration");
  const MeasuredPrediction& predicted = *answer.predicted;
  if (predicted.unfused)
    return base::Error{
        base::Failure::bad_input, answer.request.plan ? name_of(*answer.request.plan) : "", 0, 0,
        unfused_reason(answer.run) + ", so the plan's prediction does not match the run; use a plan without `fusion`"};
  const std::string stem = std::filesystem::path(answer.request.logs.front().path).stem().string();
  measure::MeasurementNames names;
  names.set = fmt::format("{}/{}", predicted.job.cluster.groups.front().gpu.name, base::enum_name(answer.run.format));
  names.row = name.value_or(predicted.job.name + (stem == "-" ? "" : ", " + base::visible(stem)));
  names.source = fmt::format("log of {}, {} of {} steps", base::enum_name(answer.run.format),
                             base::enum_name(answer.run.statistic), answer.run.steps.size());
  names.fused = predicted.fused;
  if (predicted.imported) {
    const std::string& text = predicted.imported->text;
    const std::string& file = predicted.imported->file;
    DOVETAIL_TRY(const std::string seen, plan::job_seen_from(text, file, syntax::folder_of(path)));
    DOVETAIL_TRY(names.job_text, in_one_line(path == "-" ? text : seen, file));
  } else {
    names.job = path_from(answer.request.job.path, path);
  }
  if (predicted.own_plan) {
    DOVETAIL_TRY(names.plan_text, in_one_line(plan::plan_to_json(*predicted.own_plan, predicted.job), path));
  } else {
    names.plan = path_from(answer.request.plan->path, path);
  }
  names.start = predicted.efficiency_choice;
  if (plan::is_efficiency_file(names.start)) names.start = path_from(names.start, path);
  const auto write = path.ends_with(".json") ? measure::measurement_to_json : measure::measurement_to_yaml;
  return write(names, answer.run, predicted.comparison, predicted.job);
}

}  // namespace dovetail::answer
