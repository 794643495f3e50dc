// Efficiencies fitted to measured runs, and what error is left.
#pragma once

#include <concepts>
#include <string>

#include "answer/question/input.h"
#include "answer/question/option.h"
#include "answer/question/section.h"
#include "answer/question/watch.h"
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
      option("FILE", &T::measurements, File{}, "measurements, a dovetail/measurement@1 file, '-' for standard input"),
      option("evaluations", &T::evaluations, Count{10, 1'000'000}, "of all rows, for each start of each fit"),
      option("restarts", &T::restarts, Count{0, 1000}, "starts of each fit beside the given one"),
      option("seed", &T::seed, Count{0, 1'000'000'000}, "of the other starts"));
}

struct CalibrationAnswer {
  measure::Calibration calibration;
  Outcome outcome = Outcome::done;
};

/// Errors of what is read. Interrupted, it has the best values so far, and no row was left out.
base::Result<CalibrationAnswer> ask(const CalibrationRequest& request, const Watch& watch);

/// The fitted efficiencies as a dovetail/efficiency@1 file; a job names it in `software: {efficiency: FILE}`.
std::string efficiency_file(const CalibrationAnswer& answer);

/// Row by row and phase by phase, fitted and left out, then the mean errors.
Sections calibration_sections(const measure::Calibration& calibration);
/// The same, and what was fitted with where it started.
Sections sections(const CalibrationAnswer& answer);
/// A dovetail/calibration@1 object.
std::string to_json(const CalibrationAnswer& answer);

}  // namespace dovetail::answer
