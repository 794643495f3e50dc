// Calibrations as tables.
#pragma once

#include "answer/question/section.h"
#include "measure/calibrate.h"

namespace dovetail::answer {

/// Row by row and phase by phase, fitted and left out, then the mean errors.
Sections calibration_sections(const measure::Calibration& calibration);

/// What was fitted, a line each, with where it started.
Table fitted_values_table(const measure::Calibration& calibration);

}  // namespace dovetail::answer
