// Calibrations as tables.
#pragma once

#include <string>

#include "measure/calibrate.h"

namespace dovetail::report {

/// Row by row and phase by phase, fitted and left out, then the mean errors: for a terminal.
std::string calibration_text(const measure::Calibration& calibration);

/// What was fitted, a line each, with where it started.
std::string fitted_values_text(const measure::Calibration& calibration);

}  // namespace dovetail::report
