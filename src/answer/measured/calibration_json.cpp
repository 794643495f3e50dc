#include <utility>

#include "answer/measured/calibration.h"
#include "answer/question/json.h"

namespace dovetail::answer {
namespace {

Json to_json(const measure::PredictedPhase& phase) {
  Json object = Json::object();
  if (phase.measured > 0) object["measured"] = json_seconds(phase.measured);
  object["fitted"] = json_seconds(phase.fitted);
  if (phase.left_out) object["left_out"] = json_seconds(*phase.left_out);
  return object;
}

Json to_json(const measure::PredictedRow& row) {
  Json object{{"row", row.name}, {"group", row.group}, {"weight", json_ratio(row.weight)}};
  if (!row.doubtful.empty()) object["doubtful"] = row.doubtful;
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

}  // namespace

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

}  // namespace dovetail::answer
