#include "report/schedule/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "answer/words/text.h"
#include "report/drawing/svg_parts.h"

namespace dovetail::report {
namespace {

constexpr double page_width = 1400;
constexpr double margin = 32;
constexpr double chart_top = 104;
constexpr double axis_height = 44;
constexpr double memory_height = 190;
constexpr std::size_t max_title = 96;

std::string title_lines(const Picture& picture) {
  const timeline::Timeline& timeline = picture.timeline;
  const Summary& summary = picture.summary;
  const bool is_schedule = timeline.beginning == timeline::Beginning::fixed;
  std::string facts = fmt::format("{} {}  \u00B7  {} {}", end_word(timeline), time_words(timeline, timeline.end),
                                  is_schedule ? "bubbles" : "idle", percent(summary.idle_share));
  if (summary.has_memory) {
    const timeline::Counter& fullest = *drawn_counters(timeline)[summary.fullest_lane];
    facts += fmt::format("  \u00B7  peak {} {} on {}", is_schedule ? "activation" : fullest.name,
                         value_words(fullest, summary.peaks[summary.fullest_lane]),
                         timeline.lanes[summary.fullest_lane].name);
  }
  facts += fmt::format(
      "  \u00B7  {} on {}", answer::counted(summary.work_bars, is_schedule ? "op" : "bar"),
      answer::counted(static_cast<std::int64_t>(timeline.lanes.size()), answer::clean_text(timeline.lane_noun)));
  return text_element(margin, 46, answer::shorten(answer::clean_text(timeline.title), max_title, "\u2026"),
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
             number(page_width), number(height), font_family, answer::escape_xml(picture.timeline.title)) +
         svg_patterns(picture) +
         fmt::format(
             "<rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"12\" fill=\"#ffffff\" stroke=\"#e5e7eb\"/>\n",
             number(page_width - 1), number(height - 1)) +
         std::string(body) + "</svg>\n";
}

}  // namespace

std::string render_svg(const timeline::Timeline& timeline) {
  const Picture picture{timeline, summarize(timeline), colors_of(timeline.tracks)};
  Frame chart;
  chart.left = std::floor(margin + name_width(timeline) + 10);
  chart.right = page_width - margin - 8;
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

}  // namespace dovetail::report
