// dovetail calibrate: fits efficiencies to measured runs, and says what error is left.
#include "measure/calibrate.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "answer/measured/calibration_tables.h"
#include "answer/question/json.h"
#include "answer/words/figures.h"
#include "base/file.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/output_file.h"
#include "cli/progress_line.h"
#include "cost/efficiency_file.h"
#include "measure/measurement_file.h"
#include "report/text/sections.h"

namespace dovetail::cli {
namespace {

struct Arguments {
  std::string measurements;
  std::optional<std::string> output;
  bool json = false;
  int evaluations = cost::FitOptions{}.evaluations;
  int restarts = cost::FitOptions{}.restarts;
  int seed = static_cast<int>(cost::FitOptions{}.seed);
};

answer::Json to_json(const measure::PredictedPhase& phase) {
  answer::Json object = answer::Json::object();
  if (phase.measured > 0) object["measured"] = answer::json_seconds(phase.measured);
  object["fitted"] = answer::json_seconds(phase.fitted);
  if (phase.left_out) object["left_out"] = answer::json_seconds(*phase.left_out);
  return object;
}

answer::Json to_json(const measure::PredictedRow& row) {
  answer::Json object{{"row", row.name}, {"group", row.group}, {"weight", answer::json_ratio(row.weight)}};
  if (!row.doubtful.empty()) object["doubtful"] = row.doubtful;
  object["iteration"] = to_json(row.iteration);
  object["phases"] = answer::Json::array();
  for (const measure::PredictedPhase& phase : row.phases) {
    answer::Json entry{{"phase", phase.name}};
    entry.update(to_json(phase));
    object["phases"].push_back(std::move(entry));
  }
  return object;
}

answer::Json to_json(const measure::ErrorSummary& summary) {
  return {{"mean_absolute_error", answer::json_ratio(summary.mean)},
          {"worst_phase_error", answer::json_ratio(summary.worst_phase)},
          {"rank_correlation", answer::json_ratio(summary.rank_correlation)}};
}

answer::Json to_json(const measure::Calibration& calibration) {
  answer::Json object{{"format", "dovetail/calibration@1"}, {"name", calibration.name}};
  if (!calibration.source.empty()) object["source"] = calibration.source;
  object["stopped"] = calibration.stopped;
  object["values"] = answer::Json::array();
  for (const measure::FittedValue& value : calibration.values)
    object["values"].push_back(
        answer::Json{{"name", value.name}, {"start", value.start}, {"value", value.value}, {"at_bound", value.at_bound}});
  object["rows"] = answer::Json::array();
  for (const measure::PredictedRow& row : calibration.rows) object["rows"].push_back(to_json(row));
  object["fitted"] = to_json(calibration.fitted);
  if (calibration.left_out) object["left_out"] = to_json(*calibration.left_out);
  object["error"] = answer::json_ratio(calibration.fit.candidate.efficiency.error);
  return object;
}

measure::Calibration calibrate(const measure::Measurements& measurements, const Arguments& arguments) {
  measure::CalibrateOptions options;
  options.fit.evaluations = arguments.evaluations;
  options.fit.restarts = arguments.restarts;
  options.fit.seed = static_cast<std::uint64_t>(arguments.seed);
  const parallel::Cancellation& cancellation = stop_on_interrupt();
  ProgressLine line(measurements.name);
  options.go_on = [&](double share) {
    line.update(fmt::format("fitting, {} done", answer::percent(share)));
    return !cancellation.requested();
  };
  return measure::calibrate(measurements, options);
}

/// The files of measured layers that jobs name: a fit does not read them, and keeps them all the same.
std::vector<std::optional<std::string>> profiles_of(const measure::Measurements& measurements) {
  std::vector<std::optional<std::string>> paths;
  for (const measure::Measurement& row : measurements.rows)
    if (!row.job.software.profile.empty()) paths.emplace_back(row.job.software.profile);
  return paths;
}

base::Status write(const std::string& path, const measure::Calibration& calibration) {
  const auto written = write_output(path, cost::efficiency_to_json(calibration.fit.candidate.efficiency));
  return written.ok() ? base::Status() : written.error();
}

base::Result<int> run(const Arguments& arguments) {
  DOVETAIL_TRY(const std::string text, base::read_file(arguments.measurements));
  DOVETAIL_TRY(const measure::Measurements measurements, measure::parse_measurements(text, base::display_path(arguments.measurements)));
  DOVETAIL_CHECK(check_no_input(arguments.output, profiles_of(measurements)));
  const measure::Calibration calibration = calibrate(measurements, arguments);
  if (arguments.output) DOVETAIL_CHECK(write(*arguments.output, calibration));
  if (arguments.json)
    print_json(answer::json_text(to_json(calibration)));
  else
    print(report::text_of(answer::calibration_sections(calibration) + "\n" + answer::fitted_values_table(calibration)));
  if (calibration.stopped) print_warning("stopped: these are the best values so far, and no row was left out");
  return calibration.stopped ? exit_interrupted : exit_done;
}

}  // namespace

void add_calibrate(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, "calibrate", "fit efficiencies to measured runs, and say what error is left",
                                  "  dovetail calibrate examples/measurements/nemo-rl-dense.yaml -o h100.json");
  add_positional(*command, "FILE", arguments->measurements, "measurements, a dovetail/measurement@1 file, '-' for standard input");
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "write the efficiencies; a job names the file in `software: {efficiency: FILE}`");
  add_count_option(*command, "--evaluations", arguments->evaluations, 10, 1'000'000, "of all rows, for each start of each fit");
  add_count_option(*command, "--restarts", arguments->restarts, 0, 1000, "starts of each fit beside the given one");
  add_count_option(*command, "--seed", arguments->seed, 0, 1'000'000'000, "of the other starts");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run(*arguments); });
}

}  // namespace dovetail::cli
