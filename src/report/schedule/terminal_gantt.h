// The timeline of a schedule as a Gantt chart of characters.
#pragma once

#include <string>

#include "timeline/timeline.h"

namespace dovetail::report {

/// The least width of a chart.
inline constexpr int min_gantt_columns = 40;

struct TerminalStyle {
  int columns = 80;         ///< width to fit; at least min_gantt_columns
  bool color = false;       ///< ANSI colours; without, letters tell models and kinds apart
  int rows = 0;             ///< most lanes to draw (0: all); more lanes are thinned evenly and a line says so
  base::Ticks scale_end{};  ///< what the whole width stands for where that is more than the timeline's end, to compare
                            ///< several charts
};

/// One line a lane, time left to right, a legend and a time axis. Where several bars share a character, the one that
/// fills most of it is drawn. Never wider than `columns`.
std::string render_terminal_gantt(const timeline::Timeline& timeline, const TerminalStyle& style);

}  // namespace dovetail::report
