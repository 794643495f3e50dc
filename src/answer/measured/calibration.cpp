#include "answer/measured/calibration.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "answer/question/json.h"
#include "answer/text/figures.h"
#include "answer/text/text.h"
#include "base/file.h"
#include "cost/efficiency.h"
#include "measure/measurement_file.h"

namespace dovetail::answer {
namespace {

measure::CalibrateOptions options_for(const CalibrationRequest& request, const Callbacks& callbacks) {
  measure::CalibrateOptions options;
  options.fit.evaluations = request.evaluations;
  options.fit.restarts = request.restarts;
  options.fit.seed = static_cast<std::uint64_t>(request.seed);
  options.should_continue = [&callbacks](double share) {
    notify_figures(callbacks,
                   [share] { return std::vector<ProgressField>{{fmt::format("fitting, {} done", percent(share))}}; });
    return !parallel::is_requested(callbacks.cancellation);
  };
  return options;
}

Json to_json(const measure::PredictedPhase& phase) {
  Json object = Json::object();
  if (phase.measured > 0) object["measured"] = json_seconds(phase.measured);
  object["fitted"] = json_seconds(phase.fitted);
  if (phase.left_out) object["left_out"] = json_seconds(*phase.left_out);
  return object;
}

Json to_json(const measure::PredictedRow& row) {
  Json object{{"row", row.name}, {"group", row.group}, {"weight", json_ratio(row.weight)}};
  if (!row.caveat.empty()) object["doubtful"] = row.caveat;
  object["iteration"] = to_json(row.iteration);
  object["phases"] = Json::array();
  for (const measure::PredictedPhase& phase : row.phases) {
    Json entry{{"phase", phase.name}};
    entry.update(to_json(phase));
    object["phases"].push_back(std::move(entry));
  }
  return object;
}

Json to_json(const measure::ErrorSummary& summary) {
  return {{"mean_absolute_error", json_ratio(summary.mean)},
          {"worst_phase_error", json_ratio(summary.worst_phase)},
          {"rank_correlation", json_ratio(summary.rank_correlation)}};
}

using measure::Calibration;
using measure::PredictedPhase;
using measure::PredictedRow;

std::string error_text(double predicted, double measured) {
  return fmt::format("{:+.1f}%", 100 * (predicted / measured - 1));
}

std::string left_out_text(const PredictedPhase& phase) {
  return phase.left_out ? error_text(*phase.left_out, phase.measured) : "";
}

/// Predicted seconds of a phase, with more decimals if the row's iteration is shorter than a second.
std::string fitted_text(const PredictedRow& row, const PredictedPhase& phase) {
  return fmt::format("{:.{}f}", phase.fitted, row.iteration.measured < 1 ? 4 : 1);
}

/// "58: 57.2 (-1.4%)", or only the prediction if nothing was measured.
std::string phase_text(const PredictedRow& row, const PredictedPhase& phase) {
  if (phase.measured <= 0) return fitted_text(row, phase);
  return fmt::format("{:g}: {} ({})", phase.measured, fitted_text(row, phase),
                     error_text(phase.fitted, phase.measured));
}

bool counts(const PredictedRow& row) { return row.weight > 0; }

/// Table of the rows with a weight, or of those with weight 0. Shows the iteration and each kind of phase that occurs
/// in any row.
Sections rows_table(const Calibration& calibration, bool counting) {
  const bool left_out = counting && calibration.left_out.has_value();
  std::vector<Column> columns = {{"row", Align::left}, {"measured s"}, {"fitted s"}, {"error"}};
  if (left_out) columns.push_back({"cross-validated"});
  const std::size_t kinds = measure::phase_kinds.size();
  std::vector<std::size_t> shown;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    const auto has_some = [kind](const PredictedRow& row) { return row.phases[kind].fitted > 0; };
    if (std::none_of(calibration.rows.begin(), calibration.rows.end(), has_some)) continue;
    shown.push_back(kind);
    columns.push_back({std::string(base::enum_text(measure::phase_kinds[kind]))});
  }
  if (!counting) columns.push_back({"why", Align::left});
  std::vector<std::vector<std::string>> cells;
  for (const PredictedRow& row : calibration.rows) {
    if (counts(row) != counting) continue;
    const PredictedPhase& iteration = row.iteration;
    cells.push_back({row.name, fmt::format("{:g}", iteration.measured), fitted_text(row, iteration),
                     error_text(iteration.fitted, iteration.measured)});
    if (left_out) cells.back().push_back(left_out_text(iteration));
    for (const std::size_t kind : shown) cells.back().push_back(phase_text(row, row.phases[kind]));
    if (!counting) cells.back().push_back(row.caveat.empty() ? "zero weight" : row.caveat);
  }
  return cells.empty() ? Sections() : Table{columns, cells};
}

/// Table of the measured phases of the rows with a weight.
Sections phases_table(const Calibration& calibration) {
  std::vector<Column> columns = {{"row", Align::left}, {"phase", Align::left}, {"measured s"},
                                 {"share of row"},     {"fitted s"},           {"error"}};
  if (calibration.left_out) columns.push_back({"cross-validated"});
  std::vector<std::vector<std::string>> cells;
  for (const PredictedRow& row : calibration.rows) {
    for (const PredictedPhase& phase : row.phases) {
      if (!counts(row) || phase.measured <= 0) continue;
      cells.push_back({row.name, measure::phase_title(phase.name), fmt::format("{:g}", phase.measured),
                       fmt::format("{:.0f}%", 100 * phase.measured / row.iteration.measured), fitted_text(row, phase),
                       error_text(phase.fitted, phase.measured)});
      if (calibration.left_out) cells.back().push_back(left_out_text(phase));
    }
  }
  return cells.empty() ? Sections() : Table{columns, cells};
}

std::string summary_text(const Calibration& calibration) {
  const measure::ErrorSummary& fitted = calibration.fitted;
  const auto line = [&](std::string_view what, const auto& value_of) {
    std::string text = fmt::format("{}: fitted {}", what, value_of(fitted));
    if (calibration.left_out) text += fmt::format(", cross-validated {}", value_of(*calibration.left_out));
    return text + "\n";
  };
  std::string text = line("mean absolute error",
                          [](const measure::ErrorSummary& one) { return fmt::format("{:.1f}%", 100 * one.mean); });
  if (!fitted.worst_name.empty())
    text +=
        line("worst error of a phase that takes at least 10% of its iteration", [](const measure::ErrorSummary& one) {
          return fmt::format("{:.1f}% ({})", 100 * one.worst_phase, one.worst_name);
        });
  text += line("rank correlation",
               [](const measure::ErrorSummary& one) { return fmt::format("{:.3f}", one.rank_correlation); });
  if (!calibration.left_out)
    text += fmt::format(
        "no cross-validation: assuming a prediction error of {:.1f}% ({})\n",
        100 * calibration.fit.candidate.efficiency.error,
        calibration.fit.candidate.efficiency.error > fitted.mean ? "the error before the fit" : "the error of the fit");
  return text;
}

Table fitted_values_table(const Calibration& calibration) {
  std::vector<std::vector<std::string>> cells;
  for (const measure::FittedValue& value : calibration.values)
    cells.push_back({value.name, fmt::format("{:.3g}", value.start), fmt::format("{:.3g}", value.value),
                     value.at_bound ? "at bound" : ""});
  return {{{"value", Align::left}, {"start"}, {"fitted"}, {"", Align::left}}, cells};
}

}  // namespace

base::Result<CalibrationAnswer> answer_to(const CalibrationRequest& request, const Callbacks& callbacks) {
  DOVETAIL_TRY(const std::string text, read_input(request.measurements));
  DOVETAIL_TRY(const measure::Measurements measurements,
               measure::parse_measurements(text, name_of(request.measurements)));
  // The fit does not read the layer profiles that jobs name. Listing them as inputs keeps outputs from overwriting
  // them.
  for (const measure::Measurement& row : measurements.rows)
    if (!row.job.software.profile.empty()) base::count_as_read(row.job.software.profile);
  notify_label(callbacks, measurements.name);
  DOVETAIL_CHECK(notify_read(callbacks));
  CalibrationAnswer answer{measure::calibrate(measurements, options_for(request, callbacks))};
  if (answer.calibration.stopped) answer.outcome = Outcome::interrupted;
  return answer;
}

std::string efficiency_file(const CalibrationAnswer& answer) {
  return cost::efficiency_to_json(answer.calibration.fit.candidate.efficiency);
}

std::string to_json(const CalibrationAnswer& answer) {
  const measure::Calibration& calibration = answer.calibration;
  Json object{{"format", "dovetail/calibration@1"}, {"name", calibration.name}};
  if (!calibration.source.empty()) object["source"] = calibration.source;
  object["stopped"] = calibration.stopped;
  object["values"] = Json::array();
  for (const measure::FittedValue& value : calibration.values)
    object["values"].push_back(
        Json{{"name", value.name}, {"start", value.start}, {"value", value.value}, {"at_bound", value.at_bound}});
  object["rows"] = Json::array();
  for (const measure::PredictedRow& row : calibration.rows) object["rows"].push_back(to_json(row));
  object["fitted"] = to_json(calibration.fitted);
  if (calibration.left_out) object["left_out"] = to_json(*calibration.left_out);
  object["error"] = json_ratio(calibration.fit.candidate.efficiency.error);
  return json_text(object);
}

Sections calibration_sections(const Calibration& calibration) {
  const auto counted_rows = std::count_if(calibration.rows.begin(), calibration.rows.end(), counts);
  std::string text = calibration.name;
  if (!calibration.source.empty()) text += ": " + calibration.source;
  text += fmt::format("; {1} fitted to {0}\n\n", counted(counted_rows, "row"),
                      counted(static_cast<std::int64_t>(calibration.values.size()), "value"));
  Sections all = text + rows_table(calibration, true);
  if (const Sections phases = phases_table(calibration); !phases.empty()) all += "\nmeasured phases:\n\n" + phases;
  if (const Sections others = rows_table(calibration, false); !others.empty())
    all += "\nnot used for the fit:\n\n" + others;
  return all + "\n" + summary_text(calibration);
}

Sections sections(const CalibrationAnswer& answer) {
  return calibration_sections(answer.calibration) + "\n" + fitted_values_table(answer.calibration);
}

}  // namespace dovetail::answer
