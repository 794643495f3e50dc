#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "answer/words/text.h"
#include "report/drawing/svg_parts.h"
#include "report/schedule/gantt.h"

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

using timeline::BarKind;
using timeline::Track;

constexpr double text_size = 12.5;
constexpr double row_height = 24;
constexpr double swatch = 14;
/// Width of bold text relative to regular text.
constexpr double bold_width = 1.15;
/// Tracks beyond this number are counted, not listed.
constexpr std::size_t max_listed = 12;

/// Writes legend entries in as many rows as needed.
class LegendWriter {
 public:
  LegendWriter(const Picture& picture, double left, double right, double y)
      : picture_(picture), left_(left), right_(right), x_(left), y_(y) {}

  void add_tracks() {
    const std::vector<Track>& tracks = picture_.timeline.tracks;
    for (std::size_t track = 0; track < tracks.size() && track < max_listed; ++track) add_track(track);
    if (tracks.size() > max_listed) {
      const std::string_view what = tracks.front().kind == Track::Kind::pipeline ? "pipelines" : "tasks";
      add_text(fmt::format("and {} more {}", tracks.size() - max_listed, what), false);
    }
    for (const BarKind bar_kind : drawn_work(tracks.size())) add_swatch(bar_kind, -1, name_of(bar_kind));
  }

  void add_idle() {
    new_row();
    add_text(fmt::format("idle {}", percent(picture_.summary.idle_share)), true);
    for (int cause = 0; cause < timeline::bar_kinds; ++cause) {
      const auto bar_kind = static_cast<BarKind>(cause);
      if (!is_idle(bar_kind) || picture_.summary.share[index_of(bar_kind)] <= 0) continue;
      add_swatch(bar_kind, -1,
                 fmt::format("{} {}", name_of(bar_kind), percent(picture_.summary.share[index_of(bar_kind)])));
    }
  }

  double bottom() const { return y_ + row_height; }
  std::string take() { return std::move(svg_); }

 private:
  /// Returns the kinds of work of a track that take time.
  std::vector<BarKind> drawn_work(std::size_t track) const {
    std::vector<BarKind> drawn;
    for (int bar_kind = 0; bar_kind < timeline::bar_kinds; ++bar_kind)
      if (picture_.summary.drawn[track][static_cast<std::size_t>(bar_kind)])
        drawn.push_back(static_cast<BarKind>(bar_kind));
    return drawn;
  }

  void new_row() {
    if (x_ == left_) return;
    x_ = left_;
    y_ += row_height;
  }

  void add_track(std::size_t track) {
    const std::vector<BarKind> work = drawn_work(track);
    if (work.empty()) return;
    const std::string name = answer::shorten(answer::clean_text(picture_.timeline.tracks[track].name), 28, "\u2026");
    double width = bold_width * text_width(name, text_size) + 26;
    for (const BarKind bar_kind : work) width += swatch_width(name_of(bar_kind));
    if (x_ + width > right_) new_row();
    add_text(name, true);
    for (const BarKind bar_kind : work) add_swatch(bar_kind, static_cast<std::int32_t>(track), name_of(bar_kind));
    x_ += 18;
  }

  static double swatch_width(std::string_view text) { return swatch + 6 + text_width(text, text_size) + 10; }

  void add_text(std::string_view text, bool bold) {
    svg_ += text_element(x_, y_ + 11.5, text, {text_size, "#1f2937", "start", bold, false});
    x_ += (bold ? bold_width : 1) * text_width(text, text_size) + 12;
  }

  void add_swatch(BarKind bar_kind, std::int32_t track, std::string_view text) {
    if (x_ + swatch_width(text) > right_) new_row();
    const std::string border = is_idle(bar_kind) ? " stroke=\"#d1d5db\"" : "";
    svg_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2.5\" fill=\"{}\"{}/>\n", number(x_),
                        number(y_), number(swatch), number(swatch), fill_of(picture_, bar_kind, track), border);
    svg_ += text_element(x_ + swatch + 6, y_ + 11.5, text, {text_size, "#4b5563", "start", false, false});
    x_ += swatch_width(text);
  }

  const Picture& picture_;
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

std::string svg_legend(const Picture& picture, double left, double right, double& y) {
  LegendWriter legend(picture, left, right, y);
  legend.add_tracks();
  legend.add_idle();
  y = legend.bottom();
  return legend.take();
}

}  // namespace dovetail::report
