// Fits efficiencies to measured runs and reports the remaining error.
#pragma once

#include <concepts>
#include <string>

#include "answer/question/callbacks.h"
#include "answer/question/input.h"
#include "answer/question/option.h"
#include "answer/question/section.h"
#include "measure/calibrate.h"

namespace dovetail::answer {

struct CalibrationRequest {
  Input measurements;
  int evaluations = cost::FitOptions{}.evaluations;
  int restarts = cost::FitOptions{}.restarts;
  int seed = static_cast<int>(cost::FitOptions{}.seed);
};
template <std::same_as<CalibrationRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("FILE", &T::measurements, File{}, "measurement file (dovetail/measurement@1), or '-' for stdin"),
      option("evaluations", &T::evaluations, Count{10, 1'000'000},
             "evaluations of the fit's objective, per start (default {})"),
      option("restarts", &T::restarts, Count{0, 1000}, "additional starts of each fit (default {})"),
      option("seed", &T::seed, Count{0, 1'000'000'000}, "seed of the additional starts (default {})"));
}

struct CalibrationAnswer {
  measure::Calibration calibration;
  Outcome outcome = Outcome::done;
};

/// Errors: input that cannot be read. If interrupted, the answer has the best values so far and no cross-validation.
base::Result<CalibrationAnswer> answer_to(const CalibrationRequest& request, const Callbacks& callbacks);

/// The fitted efficiencies as a dovetail/efficiency@1 file. A job selects it with `software: {efficiency: FILE}`.
std::string efficiency_file(const CalibrationAnswer& answer);

/// Tables of the prediction errors, by row and by phase, followed by their summary. Columns with the errors of
/// cross-validation are included if it was run.
Sections calibration_sections(const measure::Calibration& calibration);
/// calibration_sections, followed by the fitted values and their start values.
Sections sections(const CalibrationAnswer& answer);
/// A dovetail/calibration@1 object.
std::string to_json(const CalibrationAnswer& answer);

}  // namespace dovetail::answer
