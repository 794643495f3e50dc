// A timeline as an SVG picture: Gantt chart above, what lanes hold below.
#pragma once

#include <string>

#include "timeline/timeline.h"

namespace dovetail::report {

/// A self-contained SVG: lanes with bars coloured by model (light forward, dark backward), labels where they fit, idle
/// time by cause, time axis, legend, and each lane's counter over time with the peak marked. Bars narrower than half a
/// pixel are merged, so that the file stays small for a million ops. Texts are escaped.
std::string render_svg(const timeline::Timeline& timeline);

}  // namespace dovetail::report
