#include "report/drawing/curve_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "answer/words/text.h"
#include "base/assert.h"
#include "report/drawing/axis.h"
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
constexpr double rings_height = 26;  // of what says what rings are
constexpr double radius = 4.5;
constexpr double entry_size = 12.5;  // of a legend's words
constexpr double entry_mark = 26;    // what stands before them
constexpr double entry_gap = 20;
/// A line of more values has no points: they would touch.
constexpr std::size_t max_dotted = 60;
constexpr std::size_t max_title = 90;
constexpr std::size_t max_name = 40;

/// Colours on a light ground, and what they are on a dark one.
struct TwoColors {
  std::string_view light;
  std::string_view dark;
};
constexpr TwoColors background{"#ffffff", "#111827"};
constexpr TwoColors border{"#e5e7eb", "#374151"};
constexpr TwoColors axis_ink{"#9ca3af", "#6b7280"};
constexpr TwoColors quiet{"#6b7280", "#9ca3af"};
constexpr TwoColors ink{"#374151", "#d1d5db"};
constexpr TwoColors strong{"#111928", "#f3f4f6"};
constexpr TwoColors best{"#d96c06", "#fb923c"};
constexpr std::array<TwoColors, 4> line_inks{
    {{"#1f62a8", "#60a5fa"}, {"#0f766e", "#2dd4bf"}, {"#7c3aed", "#a78bfa"}, {"#be185d", "#f472b6"}}};

/// Presentation attributes are for a light ground, which every program can draw; a style overrides them on a dark one.
std::string dark_style() {
  std::string rules;
  const auto add = [&rules](const TwoColors& color) {
    rules += fmt::format("[fill=\"{0}\"]{{fill:{1}}}[stroke=\"{0}\"]{{stroke:{1}}}", color.light, color.dark);
  };
  for (const TwoColors& color : {background, border, axis_ink, quiet, ink, strong, best}) add(color);
  for (const TwoColors& color : line_inks) add(color);
  return "<style>@media (prefers-color-scheme:dark){" + rules + "}</style>\n";
}

const TwoColors& ink_of(std::size_t line) { return line_inks[line % line_inks.size()]; }

std::string value_text(double value) {
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

/// Values stand on a whole-number axis in thousandths.
constexpr double scale = 1000;
/// What a whole number holds, and the steps of an axis do not run over.
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
                       number(page_width - 1), number(height - 1), background.light, border.light) +
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
        if (range) values.insert(values.end(), {on_axis(range->least), on_axis(range->most)});
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
    for (std::size_t line = 0; line < panel.lines.size(); ++line) text += band(panel.lines[line], ink_of(line), at);
    for (std::size_t line = 0; line < panel.lines.size(); ++line) text += curve(panel.lines[line], ink_of(line), at);
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
    double free = 0;  // labels do not touch
    for (std::size_t place = 0; place < picture_.places.size(); ++place) {
      if (picture_.places[place].label.empty()) continue;
      const double x = x_of(place);
      const double half = text_width(picture_.places[place].label, 12) / 2;
      if (x - half < free) continue;
      free = x + half + 8;
      lines += fmt::format("M{} {}V{}", number(x), number(bottom), number(bottom + 5));
      labels += text_element(x, bottom + 20, picture_.places[place].label, {12, quiet.light, "middle", false, false});
    }
    return fmt::format("<path d=\"{}\" stroke=\"{}\" fill=\"none\"/>\n", lines, border.light) +
           fmt::format("<path d=\"M{0} {1}V{2}H{3}\" stroke=\"{4}\" fill=\"none\"/>\n", number(left), number(top),
                       number(bottom), number(right), axis_ink.light) +
           labels;
  }

  /// Between the least and the most.
  template <class At>
  std::string band(const CurvePicture::Line& line, const TwoColors& color, const At& at) const {
    std::string above;
    std::string below;
    for (std::size_t place = 0; place < line.ranges.size(); ++place) {
      if (!line.ranges[place]) continue;
      above +=
          fmt::format("{}{} {}", above.empty() ? "M" : "L", number(x_of(place)), number(at(line.ranges[place]->most)));
      below.insert(0, fmt::format("L{} {}", number(x_of(place)), number(at(line.ranges[place]->least))));
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
        number(x_of(place)), number(y), number(radius), input.hollow ? background.light : color.light, color.light,
        answer::escape_xml(fmt::format("{}, {}: {}", line.name, input.label.empty() ? value_text(input.x) : input.label,
                                       value_text(*line.values[place]))));
  }

  template <class At>
  std::string mark_text(const CurvePicture::Panel& panel, const CurvePicture::Mark& mark, const At& at,
                        double top) const {
    const double x = x_of(mark.place);
    const double y = at(*panel.lines[mark.line].values[mark.place]);
    const double half = text_width(mark.text, 13) / 2;
    // Above the point, where there is room for it.
    const double baseline = y - 16 < top + 10 ? y + 26 : y - 14;
    return fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2.4\"/>\n",
                       number(x), number(y), number(radius + 4), best.light) +
           text_element(std::clamp(x, left + half + 4, right - half), baseline, mark.text,
                        {13, best.light, "middle", true, true});
  }

  static double entry_width(std::string_view words) { return entry_mark + text_width(words, entry_size); }

  static std::string legend_entry(double x, double y, std::string_view mark, std::string_view words) {
    return fmt::format("<g transform=\"translate({} {})\">{}</g>\n", number(x), number(y), mark) +
           text_element(x + entry_mark, y + 4.5, words, {entry_size, ink.light, "start", false, false});
  }

  /// Which line is which, right of the panel's name: the only line of a panel is what that says.
  static std::string legend(const CurvePicture::Panel& panel, double y) {
    if (panel.lines.size() < 2) return {};
    double x = right;
    std::string text;
    for (std::size_t line = panel.lines.size(); line-- > 0;) {
      const std::string name = answer::shorten(answer::clean_text(panel.lines[line].name), max_name, "\u2026");
      x -= entry_width(name);
      const std::string mark = fmt::format(
          "<path d=\"M0 0H20\" stroke=\"{0}\" stroke-width=\"2.2\"/><circle cx=\"10\" r=\"{1}\" fill=\"{0}\"/>",
          ink_of(line).light, number(radius));
      text.insert(0, legend_entry(x, y, mark, name));
      x -= entry_gap;
    }
    return text;
  }

  bool has_rings() const {
    return std::any_of(picture_.places.begin(), picture_.places.end(), [](const auto& place) { return place.hollow; });
  }

  std::string rings_entry(double y) const {
    const std::string ring = fmt::format("<circle cx=\"10\" r=\"{}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"1.6\"/>",
                                         number(radius), background.light, line_inks.front().light);
    return legend_entry(left - 62, y, ring, picture_.hollow_name);
  }

  const CurvePicture& picture_;
};

}  // namespace

std::string render_curve_svg(const CurvePicture& picture) { return CurveWriter(picture).write(); }

}  // namespace dovetail::report
