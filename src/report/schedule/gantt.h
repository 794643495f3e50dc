// Gantt charts of a timeline: SVG pictures and terminal text.
#pragma once

#include <string>

#include "timeline/timeline.h"

namespace dovetail::report {

/// Renders a self-contained SVG: lanes of bars colored by kind of work and model (see ink_of), labels if they fit,
/// idle time by cause, time axis, legend, and the lanes' counters over time with the highest peak marked. Bars narrower
/// than half a pixel are merged, so the file stays small even with a million ops. Text is escaped.
std::string render_svg(const timeline::Timeline& timeline);

/// Minimum width of a terminal chart.
inline constexpr int min_gantt_columns = 40;

struct TerminalStyle {
  int columns = 80;         ///< maximum width; at least min_gantt_columns
  bool color = false;       ///< ANSI colors; otherwise letters distinguish models and kinds
  int rows = 0;             ///< maximum number of lanes (0: all); omitted lanes are spread evenly and counted in the
                            ///< output
  base::Ticks scale_end{};  ///< time at the right end if later than the timeline's end, so that several charts have the
                            ///< same scale
};

/// Renders one line per lane, a time axis and a legend. If several bars share a character, dominant_bars() chooses the
/// one to draw. No line is wider than `columns`. REQUIRES: all work is pipeline ops.
std::string render_terminal_gantt(const timeline::Timeline& timeline, const TerminalStyle& style);

}  // namespace dovetail::report
