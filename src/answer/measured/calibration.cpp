#include "answer/measured/calibration.h"

#include <fmt/format.h>

#include <utility>

#include "answer/words/figures.h"
#include "base/file.h"
#include "cost/efficiency.h"
#include "measure/measurement_file.h"

namespace dovetail::answer {
namespace {

measure::CalibrateOptions options_for(const CalibrationRequest& request, const Watch& watch) {
  measure::CalibrateOptions options;
  options.fit.evaluations = request.evaluations;
  options.fit.restarts = request.restarts;
  options.fit.seed = static_cast<std::uint64_t>(request.seed);
  options.go_on = [&watch](double share) {
    tell_figures(watch,
                 [share] { return std::vector<ProgressField>{{fmt::format("fitting, {} done", percent(share))}}; });
    return !parallel::is_requested(watch.cancellation);
  };
  return options;
}

}  // namespace

base::Result<CalibrationAnswer> ask(const CalibrationRequest& request, const Watch& watch) {
  DOVETAIL_TRY(const std::string text, read_input(request.measurements));
  DOVETAIL_TRY(const measure::Measurements measurements,
               measure::parse_measurements(text, name_of(request.measurements)));
  // The fit does not read the layer profiles that jobs name. They still count as inputs, so that no output overwrites
  // them.
  for (const measure::Measurement& row : measurements.rows)
    if (!row.job.software.profile.empty()) base::count_as_read(row.job.software.profile);
  tell_label(watch, measurements.name);
  DOVETAIL_CHECK(tell_read(watch));
  CalibrationAnswer answer{measure::calibrate(measurements, options_for(request, watch))};
  if (answer.calibration.stopped) answer.outcome = Outcome::interrupted;
  return answer;
}

std::string efficiency_file(const CalibrationAnswer& answer) {
  return cost::efficiency_to_json(answer.calibration.fit.candidate.efficiency);
}

}  // namespace dovetail::answer
