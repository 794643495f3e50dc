#include "cli/run_results.h"

#include <fmt/core.h>

#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "answer/measured/measured.h"
#include "answer/text/text.h"
#include "base/file.h"
#include "cli/output.h"
#include "cli/output_file.h"
#include "cluster/cluster.h"
#include "control/run/run_checks.h"
#include "records/metric_table.h"
#include "records/run_folder.h"
#include "records/sample_rows.h"
#include "report/page/page.h"
#include "timeline/chrome_trace_file.h"

namespace dovetail::cli {
namespace {

namespace fs = std::filesystem;
using base::Result;

std::string file_in(const std::string& folder, std::string_view name) { return (fs::path(folder) / name).string(); }

/// Rows of a file; an empty table if the file does not exist.
Result<records::MetricTable> read_rows(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return records::MetricTable();
  return records::read_metrics(path);
}

/// Compares the run with its prediction. If that is impossible, prints a note and returns nullopt.
std::optional<answer::MeasuredAnswer> measure(const std::string& folder) {
  answer::MeasuredRequest request;
  request.logs = {{file_in(folder, records::metrics_file_name)}};
  request.job = {file_in(folder, control::job_file_name)};
  request.plan = {file_in(folder, control::plan_file_name)};
  request.format = trainers::LogFormat::dovetail;
  auto measured = answer::answer_to(request, {});
  if (measured.ok()) return std::move(*measured);
  print_note("cannot compare the run with its plan: " + base::to_text(measured.error()));
  return std::nullopt;
}

std::string subtitle_of(const std::optional<answer::MeasuredAnswer>& measured) {
  if (!measured) return "Run of dovetail train.";
  const plan::Job& job = measured->predicted->job;
  return fmt::format("Run of dovetail train: {} on {}.", job.workflow.name,
                     answer::counted(cluster::device_count(job.cluster), "device"));
}

}  // namespace

bool is_run_folder(const std::string& folder) {
  std::error_code error;
  return fs::exists(file_in(folder, records::metrics_file_name), error);
}

Result<report::RunReport> read_run(const std::string& folder) {
  DOVETAIL_TRY(records::MetricTable metrics, records::read_metrics(file_in(folder, records::metrics_file_name)));
  if (metrics.rows() == 0)
    return base::Error{base::Failure::bad_input, file_in(folder, records::metrics_file_name), 0, 0,
                       "the run has not finished its first iteration yet"};
  DOVETAIL_TRY(records::MetricTable evaluations, read_rows(file_in(folder, records::evaluations_file_name)));
  std::optional<answer::MeasuredAnswer> measured = measure(folder);
  std::string name = measured ? measured->predicted->job.name : base::display_path(folder);
  std::string subtitle = subtitle_of(measured);
  DOVETAIL_TRY(std::vector<records::TrainingPhase> phases, records::read_training_phases(folder));
  auto samples = records::read_last_samples(file_in(folder, records::samples_file_name));
  if (!samples.ok()) print_note("cannot show samples of the run: " + base::to_text(samples.error()));
  return report::RunReport{std::move(name),
                           std::move(subtitle),
                           {std::move(metrics), std::move(evaluations)},
                           std::move(measured),
                           std::move(phases),
                           samples.ok() ? std::move(samples).value() : std::vector<records::SampleRow>()};
}

base::Status write_run_results(const std::string& folder) {
  DOVETAIL_TRY(const records::MetricTable metrics, read_rows(file_in(folder, records::metrics_file_name)));
  if (metrics.rows() == 0) return {};
  DOVETAIL_TRY(const report::RunReport run, read_run(folder));
  const report::RunTables& tables = run.tables;
  std::vector<OutputFile> files;
  files.push_back({file_in(folder, "timeline.json"),
                   timeline::render_chrome_trace(records::run_timeline(tables.metrics, tables.evaluations))});
  if (run.measured) {
    const std::string path = file_in(folder, "measurement.yaml");
    DOVETAIL_TRY(std::string measurement, answer::measurement_file(*run.measured, path, run.name));
    files.push_back({path, std::move(measurement)});
  }
  if (!report::run_charts(tables).empty())
    files.push_back(
        {file_in(folder, "curves.svg"), report::render_curve_svg(report::run_picture(tables, run.name, run.subtitle))});
  files.push_back({file_in(folder, "report.html"), report::render_html(report::run_page(run))});
  DOVETAIL_CHECK(write_outputs(files));
  return {};
}

}  // namespace dovetail::cli
