#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "answer/text/text.h"
#include "report/drawing/svg_parts.h"
#include "report/page/chart_sections.h"
#include "report/schedule/gantt.h"

namespace dovetail::report {
namespace {

constexpr double gantt_width = 1400;
constexpr double margin = 32;
constexpr double chart_top = 104;
constexpr double axis_height = 44;
constexpr double memory_height = 190;
constexpr std::size_t max_gantt_title = 96;

std::string title_lines(const Picture& picture) {
  const timeline::Timeline& timeline = picture.timeline;
  const Summary& summary = picture.summary;
  const bool is_schedule = timeline.beginning == timeline::Beginning::fixed;
  std::string facts = fmt::format("{} {}  \u00B7  {} {}", end_word(timeline), time_text(timeline, timeline.end),
                                  is_schedule ? "bubbles" : "idle", percent(summary.idle_share));
  if (summary.has_memory) {
    const timeline::Counter& fullest = *drawn_counters(timeline)[summary.fullest_lane];
    facts += fmt::format("  \u00B7  peak {} {} on {}", is_schedule ? "activation" : fullest.name,
                         value_text(fullest, summary.peaks[summary.fullest_lane]),
                         timeline.lanes[summary.fullest_lane].name);
  }
  facts += fmt::format(
      "  \u00B7  {} on {}", answer::counted(summary.work_bars, is_schedule ? "op" : "bar"),
      answer::counted(static_cast<std::int64_t>(timeline.lanes.size()), answer::clean_text(timeline.lane_noun)));
  return text_element(margin, 46, answer::shorten(answer::clean_text(timeline.title), max_gantt_title, "\u2026"),
                      {21, "#111827", "start", true, false}) +
         text_element(margin, 71, facts, {13.5, "#6b7280", "start", false, false});
}

double name_width(const timeline::Timeline& timeline) {
  double widest = 40;
  for (const timeline::Lane& lane : timeline.lanes)
    widest = std::max(widest, text_width(answer::clean_text(lane.name), 12));
  return std::min(widest, 150.0);
}

std::string page(const Picture& picture, std::string_view body, double height) {
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
             "font-family=\"{2}\" "
             "role=\"img\">\n<title>{3}</title>\n",
             number(gantt_width), number(height), font_family, answer::escape_xml(picture.timeline.title)) +
         svg_patterns(picture) +
         fmt::format(
             "<rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"12\" fill=\"#ffffff\" stroke=\"#e5e7eb\"/>\n",
             number(gantt_width - 1), number(height - 1)) +
         std::string(body) + "</svg>\n";
}

using timeline::BarKind;
using timeline::Track;

constexpr double text_size = 12.5;
constexpr double row_height = 24;
constexpr double swatch = 14;
/// Space between entries of different owners.
constexpr double owner_gap = 18;
/// Width of bold text relative to regular text.
constexpr double bold_width = 1.15;
/// Colors drawn in one swatch.
constexpr std::size_t max_stripes = 3;

/// Returns the styles of bars that take time, in order of tracks, then work without a track, then idle time. Waiting
/// for launches is a style, although it has no bars.
std::vector<BarStyle> styles_of(const timeline::Timeline& timeline) {
  std::map<std::tuple<bool, std::uint32_t, BarKind>, base::Ticks> times;
  for (const timeline::Bar& bar : timeline.bars) {
    const bool idle = is_idle(bar.bar_kind);
    if (bar.end > bar.begin)
      times[{idle, static_cast<std::uint32_t>(idle ? -1 : bar.track), bar.bar_kind}] += bar.end - bar.begin;
    if (bar.launch > base::Ticks()) times[{true, static_cast<std::uint32_t>(-1), BarKind::launch}] += bar.launch;
  }
  std::vector<BarStyle> styles;
  for (const auto& [key, time] : times)
    styles.push_back({std::get<BarKind>(key), static_cast<std::int32_t>(std::get<std::uint32_t>(key)), time});
  return styles;
}

/// Writes legend entries in as many rows as needed.
class LegendWriter {
 public:
  LegendWriter(const Picture& picture, double left, double right, double y)
      : picture_(picture),
        looks_(styles_of(picture.timeline)),
        groups_(group_styles(picture.timeline.tracks, looks_)),
        left_(left),
        right_(right),
        x_(left),
        y_(y) {}

  /// Adds the entries of work. Entries of one owner follow its name.
  void add_work() {
    std::string owner;
    for (const StyleGroup& group : groups_) {
      if (group.idle) continue;
      if (group.owner != owner && !group.owner.empty()) add_owner(group.owner);
      if (group.owner.empty() && !owner.empty()) x_ += owner_gap;
      owner = group.owner;
      add_swatch(group, group.name);
    }
  }

  void add_idle() {
    new_row();
    add_text(fmt::format("idle {}", percent(picture_.summary.idle_share)), true);
    for (const StyleGroup& group : groups_) {
      if (!group.idle) continue;
      double share = 0;
      std::vector<BarKind> causes;
      for (const std::size_t style : group.styles) {
        const BarKind cause = looks_[style].bar_kind;
        if (std::find(causes.begin(), causes.end(), cause) != causes.end()) continue;
        causes.push_back(cause);
        share += picture_.summary.share[index_of(cause)];
      }
      if (share > 0) add_swatch(group, fmt::format("{} {}", group.name, percent(share)));
    }
  }

  /// Explains the terms that readers may not know.
  void add_terms() {
    const std::string terms = term_sentences(picture_.timeline);
    if (terms.empty()) return;
    new_row();
    svg_ += text_element(x_, y_ + 11.5, terms.substr(1), {text_size, "#6b7280", "start", false, false});
    x_ += text_width(terms, text_size);
  }

  double bottom() const { return y_ + row_height; }
  std::string take() { return std::move(svg_); }

 private:
  void new_row() {
    if (x_ == left_) return;
    x_ = left_;
    y_ += row_height;
  }

  /// Adds the name of an owner, in a new row if its entries do not fit into this one.
  void add_owner(const std::string& owner) {
    const std::string name = answer::shorten(answer::clean_text(owner), 28, "\u2026");
    double width = bold_width * text_width(name, text_size) + 26;
    for (const StyleGroup& group : groups_)
      if (group.owner == owner) width += swatch_width(group.name);
    if (x_ > left_) x_ += owner_gap;
    if (x_ + width > right_) new_row();
    add_text(name, true);
  }

  static double swatch_width(std::string_view text) { return swatch + 6 + text_width(text, text_size) + 10; }

  void add_text(std::string_view text, bool bold) {
    svg_ += text_element(x_, y_ + 11.5, text, {text_size, "#1f2937", "start", bold, false});
    x_ += (bold ? bold_width : 1) * text_width(text, text_size) + 12;
  }

  /// Draws the first distinct colors of the group as stripes.
  void add_swatch(const StyleGroup& group, std::string_view text) {
    if (x_ + swatch_width(text) > right_) new_row();
    std::vector<std::string> fills;
    for (const std::size_t style : group.styles) {
      std::string fill = fill_of(picture_, looks_[style].bar_kind, looks_[style].track);
      if (fills.size() < max_stripes && std::find(fills.begin(), fills.end(), fill) == fills.end())
        fills.push_back(std::move(fill));
    }
    const double stripe = swatch / static_cast<double>(fills.size());
    const std::string outline = group.idle ? " stroke=\"#d1d5db\"" : "";
    for (std::size_t i = 0; i < fills.size(); ++i)
      svg_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2.5\" fill=\"{}\"{}/>\n",
                          number(x_ + stripe * static_cast<double>(i)), number(y_), number(stripe), number(swatch),
                          fills[i], outline);
    svg_ += text_element(x_ + swatch + 6, y_ + 11.5, answer::clean_text(text),
                         {text_size, "#4b5563", "start", false, false});
    x_ += swatch_width(text);
  }

  const Picture& picture_;
  std::vector<BarStyle> looks_;
  std::vector<StyleGroup> groups_;
  double left_;
  double right_;
  double x_;
  double y_;
  std::string svg_;
};

}  // namespace

std::string render_svg(const timeline::Timeline& timeline) {
  const Picture picture{timeline, summarize(timeline), colors_of(timeline.tracks)};
  Frame chart;
  chart.left = std::floor(margin + name_width(timeline) + 10);
  chart.right = gantt_width - margin - 8;
  chart.top = chart_top;
  chart.bottom = chart_top + lane_pitch(timeline.lanes.size()) * static_cast<double>(timeline.lanes.size());
  chart.end = timeline.end;

  std::string body = title_lines(picture);
  body += svg_time_grid(picture, chart) + svg_bars(picture, chart) + svg_time_labels(picture, chart);
  double y = chart.bottom + axis_height;
  body += svg_legend(picture, chart.left, chart.right, y);
  if (picture.summary.has_memory) {
    Frame memory = chart;
    memory.top = y + 42;
    memory.bottom = memory.top + memory_height;
    body += svg_time_grid(picture, memory) + svg_memory(picture, memory) + svg_time_labels(picture, memory);
    y = memory.bottom + axis_height;
  }
  return page(picture, body, y + 12);
}

std::string svg_legend(const Picture& picture, double left, double right, double& y) {
  LegendWriter legend(picture, left, right, y);
  legend.add_work();
  legend.add_idle();
  legend.add_terms();
  y = legend.bottom();
  return legend.take();
}

}  // namespace dovetail::report
