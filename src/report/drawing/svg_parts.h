// The parts that an SVG of a timeline is put together from. Lengths are pixels; y grows downwards.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "report/page/palette.h"
#include "report/page/summary.h"
#include "timeline/timeline.h"

namespace dovetail::report {

/// Of all text: what the reader's system has.
constexpr std::string_view font_family =
    "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'Noto Sans','Liberation Sans',sans-serif";

/// "makespan" of a schedule; "end" of others.
std::string_view end_word(const timeline::Timeline& timeline);
/// "12.5 s": a time as pictures say it.
std::string time_words(const timeline::Timeline& timeline, base::Ticks time);
/// "1.64", "61.2 GiB": a value of the counter of a lane.
std::string value_words(const timeline::Counter& counter, base::Memory value);

/// What all parts draw from.
struct Picture {
  const timeline::Timeline& timeline;
  Summary summary;
  std::vector<std::array<Color, shades>> colors;  ///< [track]
};

/// A rectangle with time running from left to right.
struct Frame {
  double left = 0;
  double right = 0;
  double top = 0;
  double bottom = 0;
  base::Ticks end;  ///< the time at `right`

  double x_of(base::Ticks time) const;
};

/// At most one decimal, without trailing zeros.
std::string number(double value);

struct TextStyle {
  double size = 12;
  std::string_view color = "#4b5563";
  std::string_view anchor = "start";
  bool bold = false;
  bool halo = false;  ///< a white rim, to be read on top of lines
};
/// One line of text at (x, baseline), cleaned and escaped.
std::string text_element(double x, double baseline, std::string_view text, const TextStyle& style);

/// An upper estimate of how wide a text is in a common sans-serif font.
double text_width(std::string_view text, double size);

/// A filled rectangle without border.
std::string rectangle(double x, double y, double width, double height, std::string_view fill);

/// The colour of work of a track (-1: none).
Color work_color(const Picture& picture, timeline::BarKind bar_kind, std::int32_t track);
/// What bars are filled with: a colour, or one of the patterns that svg_patterns defines.
std::string fill_of(const Picture& picture, timeline::BarKind bar_kind, std::int32_t track);
/// The <defs> of the patterns that fill_of names.
std::string svg_patterns(const Picture& picture);

/// Height that `lanes` lanes have together, and of one of them.
double lane_pitch(std::size_t lanes);

/// Idle tints, bars with their labels, lane names and the line at the end.
std::string svg_bars(const Picture& picture, const Frame& frame);

/// Grid lines at round times through the frame.
std::string svg_time_grid(const Picture& picture, const Frame& frame);
/// Times and their unit below the frame.
std::string svg_time_labels(const Picture& picture, const Frame& frame);

/// What colours and patterns mean, with the shares of idle time; moves `y` below what was drawn.
std::string svg_legend(const Picture& picture, double left, double right, double& y);

/// What every lane holds over time, the fullest in front, its peak marked.
std::string svg_memory(const Picture& picture, const Frame& frame);

}  // namespace dovetail::report
