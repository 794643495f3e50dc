// A timeline as a Gantt chart of characters.
#pragma once

#include <string>

#include "timeline/timeline.h"

namespace dovetail::report {

struct TerminalStyle {
  int columns = 80;    ///< width to fit; at least 40
  bool color = false;  ///< ANSI colours; without, letters tell models and kinds apart
  int rows = 0;        ///< most lanes to draw (0: all); more lanes are thinned evenly and a line says so
};

/// One line a lane, time left to right, a legend and a time axis. Where several bars share a character, the one that fills most of
/// it is drawn. Never wider than `columns`.
std::string render_terminal_gantt(const timeline::Timeline& timeline, const TerminalStyle& style);

}  // namespace dovetail::report
