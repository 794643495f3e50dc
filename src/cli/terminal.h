// What stdout and stderr are connected to.
#pragma once

namespace dovetail::cli {

enum class ColorChoice { automatic, always, never };

/// Columns for a chart on stdout: COLUMNS where it is set, the size of the terminal where stdout is one, else 80; never
/// fewer than a chart needs.
int chart_columns();

/// Whether stdout gets ANSI colours: `automatic` is yes on a terminal (not a dumb one) unless NO_COLOR is set and not
/// empty.
bool use_color(ColorChoice choice);

/// Whether stdout is a terminal that charts can be drawn on.
bool stdout_is_terminal();

/// Whether stderr is a terminal that a line can be rewritten on.
bool stderr_is_terminal();

/// Columns of the terminal that stderr is, 80 where it is none.
int stderr_columns();

}  // namespace dovetail::cli
