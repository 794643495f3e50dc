// A sweep as curves.
#pragma once

#include <string>

#include "report/drawing/curve_svg.h"
#include "study/sweep.h"

namespace dovetail::report {

/// Seconds of an iteration, simulated too where they are, with what they are without a threshold; tokens a second and
/// device where the work or the devices vary; what the fullest device holds, beside what it can, where that varies. The
/// best point is marked, and points whose plan does not fit are rings. REQUIRES: a point with a value and figures.
CurvePicture sweep_picture(const study::Sweep& sweep, const std::string& title);

}  // namespace dovetail::report
