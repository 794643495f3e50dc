#include "report/drawing/curve_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "answer/text/figures.h"
#include "answer/text/text.h"
#include "base/assert.h"
#include "report/drawing/svg_parts.h"

namespace dovetail::report {
namespace {

constexpr double page_width = 1100;
constexpr double left = 100;
constexpr double right = page_width - 40;
constexpr double heading_height = 96;
constexpr double panel_height = 230;
constexpr double panel_pitch = panel_height + 62;
constexpr double foot_height = 40;
constexpr double rings_height = 26;  // margin of the legend of rings
constexpr double radius = 4.5;
constexpr double entry_size = 12.5;  // font size of legend entries
constexpr double entry_mark = 26;    // width of the mark before an entry
constexpr double entry_gap = 20;
/// Lines with more values are drawn without points, because these would overlap.
constexpr std::size_t max_dotted = 60;
constexpr std::size_t max_title = 90;
constexpr std::size_t max_name = 40;

/// A color for light backgrounds and its counterpart for dark ones.
struct TwoColors {
  std::string_view light;
  std::string_view dark;
};
constexpr TwoColors background{"#ffffff", "#111827"};
constexpr TwoColors frame_color{"#e5e7eb", "#374151"};
constexpr TwoColors axis_ink{"#9ca3af", "#6b7280"};
constexpr TwoColors quiet{"#6b7280", "#9ca3af"};
constexpr TwoColors ink{"#374151", "#d1d5db"};
constexpr TwoColors strong{"#111928", "#f3f4f6"};
constexpr TwoColors best{"#d96c06", "#fb923c"};
constexpr std::array<TwoColors, 4> line_inks{
    {{"#1f62a8", "#60a5fa"}, {"#0f766e", "#2dd4bf"}, {"#7c3aed", "#a78bfa"}, {"#be185d", "#f472b6"}}};

/// Attributes hold the light colors, which every program can draw. The style overrides them on dark backgrounds.
std::string dark_style() {
  std::string rules;
  const auto add = [&rules](const TwoColors& color) {
    rules += fmt::format("[fill=\"{0}\"]{{fill:{1}}}[stroke=\"{0}\"]{{stroke:{1}}}", color.light, color.dark);
  };
  for (const TwoColors& color : {background, frame_color, axis_ink, quiet, ink, strong, best}) add(color);
  for (const TwoColors& color : line_inks) add(color);
  return "<style>@media (prefers-color-scheme:dark){" + rules + "}</style>\n";
}

const TwoColors& line_ink(std::size_t line) { return line_inks[line % line_inks.size()]; }

std::string value_text(double value) {
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

/// Axis values are integers: thousandths of the value.
constexpr double scale = 1000;
/// Limit that keeps axis values and steps within an integer.
constexpr double max_on_axis = 1e15;
std::int64_t on_axis(double value) { return std::llround(std::clamp(value * scale, -max_on_axis, max_on_axis)); }

class CurveWriter {
 public:
  explicit CurveWriter(const CurvePicture& picture) : picture_(picture) {
    DOVETAIL_ASSERT(!picture.places.empty() && !picture.panels.empty());
  }

  std::string write() const {
    const double foot = heading_height + panel_pitch * static_cast<double>(picture_.panels.size());
    const double height = foot + foot_height + (has_rings() ? rings_height : 0);
    std::string body = heading();
    double top = heading_height + 18;
    for (const CurvePicture::Panel& panel : picture_.panels) {
      body += panel_text(panel, top);
      top += panel_pitch;
    }
    body += text_element(right, foot + 14, picture_.x_name, {13, ink.light, "end", true, false});
    if (has_rings()) body += rings_entry(foot + foot_height);
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
               "font-family=\"{2}\" "
               "role=\"img\">\n<title>{3}</title>\n",
               number(page_width), number(height), font_family, answer::escape_xml(picture_.title)) +
           dark_style() +
           fmt::format("<rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"12\" fill=\"{}\" stroke=\"{}\"/>\n",
                       number(page_width - 1), number(height - 1), background.light, frame_color.light) +
           body + "</svg>\n";
  }

 private:
  double x_of(std::size_t place) const {
    const auto position = [this](double x) { return picture_.logarithmic ? std::log(x) : x; };
    const double from = position(picture_.places.front().x);
    const double to = position(picture_.places.back().x);
    constexpr double inset = 16;
    const double share = to > from ? (position(picture_.places[place].x) - from) / (to - from) : 0.5;
    return left + inset + (right - left - 2 * inset) * share;
  }

  std::string heading() const {
    return text_element(left - 62, 44, answer::shorten(answer::clean_text(picture_.title), max_title, "\u2026"),
                        {20, strong.light, "start", true, false}) +
           text_element(left - 62, 70, picture_.facts, {13, quiet.light, "start", false, false});
  }

  static Axis axis_of(const CurvePicture::Panel& panel, double top) {
    std::vector<std::int64_t> values;
    for (const CurvePicture::Line& line : panel.lines) {
      for (const std::optional<double>& value : line.values)
        if (value) values.push_back(on_axis(*value));
      for (const std::optional<CurvePicture::Range>& range : line.ranges)
        if (range) values.insert(values.end(), {on_axis(range->min), on_axis(range->max)});
    }
    for (const CurvePicture::Level& level : panel.levels) values.push_back(on_axis(level.value));
    return make_axis(values, top + panel_height, top, 6, panel.is_linear ? AxisScale::linear : AxisScale::by_values);
  }

  std::string panel_text(const CurvePicture::Panel& panel, double top) const {
    const Axis y = axis_of(panel, top);
    const auto at = [&y](double value) { return y.at(value * scale); };
    std::string text = grid(y, top);
    text += text_element(left - 62, top - 14, panel.name + (y.logarithmic ? ", logarithmic" : ""),
                         {13, ink.light, "start", true, false}) +
            legend(panel, top - 18.5);
    for (const CurvePicture::Level& level : panel.levels)
      text += fmt::format("<path d=\"M{} {}H{}\" stroke=\"{}\" stroke-width=\"1.4\" stroke-dasharray=\"6 4\"/>\n",
                          number(left), number(at(level.value)), number(right), quiet.light);
    for (std::size_t line = 0; line < panel.lines.size(); ++line) text += band(panel.lines[line], line_ink(line), at);
    for (std::size_t line = 0; line < panel.lines.size(); ++line) text += curve(panel.lines[line], line_ink(line), at);
    for (const CurvePicture::Level& level : panel.levels)
      text += text_element(right - 6, at(level.value) - 9, fmt::format("{}: {}", level.name, value_text(level.value)),
                           {12, quiet.light, "end", false, true});
    for (const CurvePicture::Mark& mark : panel.marks) text += mark_text(panel, mark, at, top);
    return text;
  }

  std::string grid(const Axis& y, double top) const {
    const double bottom = top + panel_height;
    std::string lines;
    std::string labels;
    for (const std::int64_t tick : y.ticks) {
      const double height = y.at(static_cast<double>(tick));
      lines += fmt::format("M{} {}H{}", number(left - 5), number(height), number(right));
      labels += text_element(left - 10, height + 4, fmt::format("{:g}", static_cast<double>(tick) / scale),
                             {12, quiet.light, "end", false, false});
    }
    double free = 0;  // left end of the space for the next label
    for (std::size_t place = 0; place < picture_.places.size(); ++place) {
      if (picture_.places[place].label.empty()) continue;
      const double x = x_of(place);
      const double half = text_width(picture_.places[place].label, 12) / 2;
      if (x - half < free) continue;
      free = x + half + 8;
      lines += fmt::format("M{} {}V{}", number(x), number(bottom), number(bottom + 5));
      labels += text_element(x, bottom + 20, picture_.places[place].label, {12, quiet.light, "middle", false, false});
    }
    return fmt::format("<path d=\"{}\" stroke=\"{}\" fill=\"none\"/>\n", lines, frame_color.light) +
           fmt::format("<path d=\"M{0} {1}V{2}H{3}\" stroke=\"{4}\" fill=\"none\"/>\n", number(left), number(top),
                       number(bottom), number(right), axis_ink.light) +
           labels;
  }

  /// Draws the band between minimum and maximum.
  template <class At>
  std::string band(const CurvePicture::Line& line, const TwoColors& color, const At& at) const {
    std::string above;
    std::string below;
    for (std::size_t place = 0; place < line.ranges.size(); ++place) {
      if (!line.ranges[place]) continue;
      above +=
          fmt::format("{}{} {}", above.empty() ? "M" : "L", number(x_of(place)), number(at(line.ranges[place]->max)));
      below.insert(0, fmt::format("L{} {}", number(x_of(place)), number(at(line.ranges[place]->min))));
    }
    if (above.empty()) return {};
    return fmt::format("<path d=\"{}{}Z\" fill=\"{}\" fill-opacity=\"0.15\"/>\n", above, below, color.light);
  }

  template <class At>
  std::string curve(const CurvePicture::Line& line, const TwoColors& color, const At& at) const {
    std::string path;
    std::string points;
    const bool has_points = values_in(line) <= max_dotted;
    bool drawing = false;
    for (std::size_t place = 0; place < line.values.size(); ++place) {
      const std::optional<double>& value = line.values[place];
      if (value) {
        path += fmt::format("{}{} {}", drawing ? "L" : "M", number(x_of(place)), number(at(*value)));
        if (has_points) points += point_text(line, place, color, at(*value));
      }
      drawing = value.has_value() || (drawing && line.is_bridged);
    }
    return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2.2\" stroke-linejoin=\"round\"/>\n",
                       path, color.light) +
           points;
  }

  static std::size_t values_in(const CurvePicture::Line& line) {
    return static_cast<std::size_t>(
        std::count_if(line.values.begin(), line.values.end(), [](const auto& value) { return value.has_value(); }));
  }

  std::string point_text(const CurvePicture::Line& line, std::size_t place, const TwoColors& color, double y) const {
    const CurvePicture::Place& input = picture_.places[place];
    return fmt::format(
        "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\" stroke=\"{}\" "
        "stroke-width=\"1.6\"><title>{}</title></circle>\n",
        number(x_of(place)), number(y), number(radius), input.is_outlined ? background.light : color.light, color.light,
        answer::escape_xml(fmt::format("{}, {}: {}", line.name, input.label.empty() ? value_text(input.x) : input.label,
                                       value_text(*line.values[place]))));
  }

  template <class At>
  std::string mark_text(const CurvePicture::Panel& panel, const CurvePicture::Mark& mark, const At& at,
                        double top) const {
    const double x = x_of(mark.place);
    const double y = at(*panel.lines[mark.line].values[mark.place]);
    const double half = text_width(mark.text, 13) / 2;
    // Above the point if there is space, otherwise below.
    const double baseline = y - 16 < top + 10 ? y + 26 : y - 14;
    return fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2.4\"/>\n",
                       number(x), number(y), number(radius + 4), best.light) +
           text_element(std::clamp(x, left + half + 4, right - half), baseline, mark.text,
                        {13, best.light, "middle", true, true});
  }

  static double entry_width(std::string_view entry_text) { return entry_mark + text_width(entry_text, entry_size); }

  static std::string legend_entry(double x, double y, std::string_view mark, std::string_view entry_text) {
    return fmt::format("<g transform=\"translate({} {})\">{}</g>\n", number(x), number(y), mark) +
           text_element(x + entry_mark, y + 4.5, entry_text, {entry_size, ink.light, "start", false, false});
  }

  /// Draws the legend to the right of the panel's name, unless the panel has only one line.
  static std::string legend(const CurvePicture::Panel& panel, double y) {
    if (panel.lines.size() < 2) return {};
    double x = right;
    std::string text;
    for (std::size_t line = panel.lines.size(); line-- > 0;) {
      const std::string name = answer::shorten(answer::clean_text(panel.lines[line].name), max_name, "\u2026");
      x -= entry_width(name);
      const std::string mark = fmt::format(
          "<path d=\"M0 0H20\" stroke=\"{0}\" stroke-width=\"2.2\"/><circle cx=\"10\" r=\"{1}\" fill=\"{0}\"/>",
          line_ink(line).light, number(radius));
      text.insert(0, legend_entry(x, y, mark, name));
      x -= entry_gap;
    }
    return text;
  }

  bool has_rings() const {
    return std::any_of(picture_.places.begin(), picture_.places.end(),
                       [](const auto& place) { return place.is_outlined; });
  }

  std::string rings_entry(double y) const {
    const std::string ring = fmt::format("<circle cx=\"10\" r=\"{}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"1.6\"/>",
                                         number(radius), background.light, line_inks.front().light);
    return legend_entry(left - 62, y, ring, picture_.outlined_name);
  }

  const CurvePicture& picture_;
};

using study::Sweep;
using study::SweepFigures;
using study::SweepInput;
using study::SweepPoint;

constexpr double gibibyte = 1 << 30;

/// Returns the points with a value, which become the picture's places.
std::vector<const SweepPoint*> places_of(const Sweep& sweep) {
  std::vector<const SweepPoint*> places;
  for (const SweepPoint& point : sweep.points)
    if (point.value) places.push_back(&point);
  return places;
}

CurvePicture::Line line_of(const Sweep& sweep, std::string name,
                           const std::function<double(const SweepFigures&)>& value) {
  CurvePicture::Line line{std::move(name), {}};
  for (const SweepPoint* point : places_of(sweep))
    line.values.push_back(point->figures ? std::optional(value(*point->figures)) : std::nullopt);
  return line;
}

/// Returns the place of a point, or nullopt if the point has no value.
std::optional<std::size_t> place_of(const Sweep& sweep, std::optional<std::size_t> point) {
  if (!point || !sweep.points[*point].value) return std::nullopt;
  return *point - (sweep.points.front().value ? 0 : 1);
}

/// Whether the amount of work per iteration is the same at every value.
bool has_same_work(SweepInput over) {
  return over != SweepInput::batch && over != SweepInput::samples && over != SweepInput::length;
}

CurvePicture::Panel seconds_panel(const Sweep& sweep) {
  CurvePicture::Panel panel{"iteration (s)", {}};
  if (is_simulated(sweep)) {
    CurvePicture::Line line =
        line_of(sweep, "simulated (mean, min to max)", [](const SweepFigures& of) { return of.seconds(); });
    for (const SweepPoint* point : places_of(sweep))
      line.ranges.push_back(
          point->figures && point->figures->simulated
              ? std::optional(CurvePicture::Range{point->figures->simulated->min, point->figures->simulated->max})
              : std::nullopt);
    panel.lines.push_back(std::move(line));
  }
  panel.lines.push_back(
      line_of(sweep, "analytical (from formulas)", [](const SweepFigures& of) { return of.iteration_seconds; }));
  if (const SweepPoint& first = sweep.points.front(); !first.value && first.figures)
    panel.levels.push_back({"no migration", first.figures->seconds()});
  const std::optional<std::size_t> fastest = place_of(sweep, sweep.fastest);
  // If the amounts of work differ, the shortest iteration is not the best.
  if (fastest && has_same_work(sweep.over))
    panel.marks.push_back({0, *fastest, "best: " + label_of(sweep, sweep.points[*sweep.fastest])});
  return panel;
}

bool varies(const Sweep& sweep, const std::function<double(const SweepFigures&)>& value) {
  std::optional<double> first;
  for (const SweepPoint& point : sweep.points) {
    if (!point.figures) continue;
    if (!first) first = value(*point.figures);
    if (*first != value(*point.figures)) return true;
  }
  return false;
}

CurvePicture::Panel tokens_panel(const Sweep& sweep) {
  CurvePicture::Panel panel{
      "tokens/s/GPU", {line_of(sweep, "tokens/s/GPU", [](const SweepFigures& of) { return of.tokens_per_second; })}};
  if (const auto cheapest = place_of(sweep, sweep.cheapest))
    panel.marks.push_back({0, *cheapest, "cheapest: " + label_of(sweep, sweep.points[*sweep.cheapest])});
  return panel;
}

CurvePicture::Panel memory_panel(const Sweep& sweep) {
  const auto usable = [](const SweepFigures& of) { return static_cast<double>(of.usable) / gibibyte; };
  CurvePicture::Panel panel{"peak memory (GiB)", {}};
  panel.lines.push_back(
      line_of(sweep, "needed", [](const SweepFigures& of) { return static_cast<double>(of.needed) / gibibyte; }));
  if (varies(sweep, usable))
    panel.lines.push_back(line_of(sweep, "usable", usable));
  else
    for (const SweepPoint& point : sweep.points)
      if (point.figures && panel.levels.empty()) panel.levels.push_back({"usable", usable(*point.figures)});
  return panel;
}

/// Returns the best point, the configured one, and the value from which the plan does not fit.
std::string facts_of(const Sweep& sweep) {
  std::vector<std::string> facts;
  const auto add = [&](const char* what, std::size_t point) {
    if (const auto& figures = sweep.points[point].figures)
      facts.push_back(fmt::format("{}: {}, {} per iteration, {:.2f} samples/s", what,
                                  label_of(sweep, sweep.points[point]), answer::seconds_text(figures->seconds()),
                                  figures->samples_per_second));
  };
  if (sweep.fastest) add("best", *sweep.fastest);
  if (sweep.own && sweep.own != sweep.fastest) add("now", *sweep.own);
  if (sweep.overflow) facts.push_back("stops fitting at " + label_of(sweep, sweep.points[*sweep.overflow]));
  return fmt::format("{}", fmt::join(facts, "; "));
}

}  // namespace

std::string render_curve_svg(const CurvePicture& picture) { return CurveWriter(picture).write(); }

CurvePicture sweep_picture(const Sweep& sweep, const std::string& title) {
  CurvePicture picture;
  picture.title = title;
  picture.x_name = std::string(study::axis_name(sweep.over));
  picture.logarithmic = sweep.over != SweepInput::threshold && sweep.over != SweepInput::staleness;
  picture.outlined_name = "does not fit";
  for (const SweepPoint* point : places_of(sweep))
    picture.places.push_back(
        {*point->value, study::value_text(sweep.over, *point->value), point->figures && !point->figures->fits()});
  picture.facts = facts_of(sweep);
  picture.panels.push_back(seconds_panel(sweep));
  if (!has_same_work(sweep.over) || sweep.over == SweepInput::nodes) picture.panels.push_back(tokens_panel(sweep));
  if (varies(sweep, [](const SweepFigures& of) { return static_cast<double>(of.needed); }))
    picture.panels.push_back(memory_panel(sweep));
  return picture;
}

}  // namespace dovetail::report
