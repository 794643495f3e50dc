// Building blocks of the SVG pictures. Lengths are in pixels; y grows downward.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/page/palette.h"
#include "report/page/summary.h"
#include "timeline/timeline.h"

namespace dovetail::report {

/// Fonts of all text: the first of these that the reader's system has.
constexpr std::string_view font_family =
    "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'Noto Sans','Liberation Sans',sans-serif";

/// Returns the label of the timeline's end: "makespan" for a schedule, otherwise "end".
std::string_view end_word(const timeline::Timeline& timeline);
/// Formats a time in the unit that pictures use: "12.5 s".
std::string time_text(const timeline::Timeline& timeline, base::Ticks time);
/// Formats a value of a lane's counter: "1.64", "61.2 GiB".
std::string value_text(const timeline::Counter& counter, base::Memory value);

/// A timeline, and data derived from it that all parts of a picture use.
struct Picture {
  const timeline::Timeline& timeline;
  Summary summary;
  std::vector<std::array<Color, shades>> colors;  ///< [track] colors by shade
};

/// A rectangle in which time runs from left to right.
struct Frame {
  double left = 0;
  double right = 0;
  double top = 0;
  double bottom = 0;
  base::Ticks end;  ///< time at `right`

  double x_of(base::Ticks time) const;
};

/// Formats with at most one decimal, without trailing zeros.
std::string number(double value);

struct TextStyle {
  double size = 12;
  std::string_view color = "#4b5563";
  std::string_view anchor = "start";
  bool bold = false;
  bool halo = false;  ///< white outline, for text on top of lines
};
/// Returns one line of text at (x, baseline), escaped and without control characters.
std::string text_element(double x, double baseline, std::string_view text, const TextStyle& style);

/// Returns an upper estimate of the width of `text` in common sans-serif fonts.
double text_width(std::string_view text, double size);

/// Returns a filled rectangle without a border.
std::string rectangle(double x, double y, double width, double height, std::string_view fill);

/// Returns the color of a track's work; -1 means no track.
Color work_color(const Picture& picture, timeline::BarKind bar_kind, std::int32_t track);
/// Returns the fill of a bar: a color, or a pattern defined by svg_patterns.
std::string fill_of(const Picture& picture, timeline::BarKind bar_kind, std::int32_t track);
/// Returns the <defs> element of the patterns that fill_of refers to.
std::string svg_patterns(const Picture& picture);

/// Returns the height of one lane if there are `lanes` lanes.
double lane_pitch(std::size_t lanes);

/// Draws the bars with their labels, the lane names and the line at the end.
std::string svg_bars(const Picture& picture, const Frame& frame);

/// Draws grid lines at round times through the frame.
std::string svg_time_grid(const Picture& picture, const Frame& frame);
/// Draws times and their unit below the frame.
std::string svg_time_labels(const Picture& picture, const Frame& frame);

/// Draws the legend of colors and patterns with the shares of idle time. Moves `y` below it.
std::string svg_legend(const Picture& picture, double left, double right, double& y);

/// Draws the lanes' counters over time. The lane with the highest peak is in front, and its peak is marked. The others
/// are faint curves or, if there are many lanes, one band from the minimum to the maximum of all lanes.
std::string svg_memory(const Picture& picture, const Frame& frame);

// An axis of a picture with its tick values.

struct Axis {
  double from = 0;  ///< value at pixel `begin`
  double to = 1;    ///< value at pixel `end`
  double begin = 0;
  double end = 1;
  bool logarithmic = false;
  std::vector<std::int64_t> ticks;  ///< round values within [from, to], ascending

  /// Returns the pixel of a value; values outside the axis map to its ends.
  double at(double value) const;
};

enum class AxisScale { by_values, linear };

/// Builds an axis from pixel `begin` to pixel `end` that shows all `values` with some padding and at most `max_ticks`
/// ticks. The axis is logarithmic if the minimum is positive and the maximum more than four times as large, unless
/// `scale` is linear. An axis without negative values does not extend below 0. REQUIRES: `values` is not empty;
/// max_ticks >= 2.
Axis make_axis(const std::vector<std::int64_t>& values, double begin, double end, int max_ticks,
               AxisScale scale = AxisScale::by_values);

}  // namespace dovetail::report
