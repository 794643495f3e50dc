#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "answer/text/text.h"
#include "report/drawing/svg_parts.h"

namespace dovetail::report {
namespace {

using timeline::Bar;

/// Minimum width of a bar that is drawn separately. Narrower bars are merged into pixel columns.
constexpr double narrowest_bar = 0.5;
/// Pictures with fewer bars describe each bar on hover.
constexpr std::size_t max_described_bars = 5000;
constexpr double min_label = 6.5;
constexpr double max_label = 11;

/// A drawn section of a lane.
struct BarSegment {
  double from;
  double to;
  const Bar* bar;  ///< for a merged section, the bar that represents it
  bool merged;
};

class LaneSegments {
 public:
  LaneSegments(std::span<const Bar> bars, const Frame& frame) : bars_(bars), frame_(frame) {
    std::size_t run = 0;  // first bar of a run of narrow bars
    for (std::size_t i = 0; i < bars.size(); ++i) {
      if (width_of(bars[i]) < narrowest_bar) continue;
      add_merged(run, i);
      segments_.push_back({frame.x_of(bars[i].begin), frame.x_of(bars[i].end), &bars[i], false});
      run = i + 1;
    }
    add_merged(run, bars.size());
  }

  std::vector<BarSegment> take() { return std::move(segments_); }

 private:
  double width_of(const Bar& bar) const { return frame_.x_of(bar.end) - frame_.x_of(bar.begin); }

  void add_merged(std::size_t first, std::size_t last) {
    if (first == last) return;
    const base::Ticks begin = bars_[first].begin;
    const base::Ticks end = bars_[last - 1].end;
    const double from = frame_.x_of(begin);
    const double width = frame_.x_of(end) - from;
    if (width <= 0) return;
    const auto columns = static_cast<std::size_t>(std::max(1.0, std::floor(width + 0.5)));
    const auto shown = dominant_bars(bars_, first, last, static_cast<double>(begin.count()),
                                     static_cast<double>(end.count()), columns);
    const double column_width = width / static_cast<double>(columns);
    bool extends = false;  // whether the last segment ends where this column begins
    for (std::size_t i = 0; i < columns; ++i) {
      if (shown[i] < 0) {
        extends = false;
        continue;
      }
      const Bar& bar = bars_[static_cast<std::size_t>(shown[i])];
      const double left = from + column_width * static_cast<double>(i);
      if (extends && segments_.back().bar->bar_kind == bar.bar_kind && segments_.back().bar->track == bar.track) {
        segments_.back().to = left + column_width;
      } else {
        segments_.push_back({left, left + column_width, &bar, true});
      }
      extends = true;
    }
  }

  std::span<const Bar> bars_;
  const Frame& frame_;
  std::vector<BarSegment> segments_;
};

/// Leaves a gap between numbered neighbors if there is space.
BarSegment with_gap(BarSegment segment) {
  const double width = segment.to - segment.from;
  if (is_idle(segment.bar->bar_kind) || segment.bar->microbatch < 0 || segment.merged || width < 1.5) return segment;
  const double gap = std::min(0.8, 0.2 * width);
  segment.to -= gap;
  return segment;
}

std::string describe_on_hover(const timeline::Timeline& timeline, const Bar& bar) {
  const base::TimeUnit unit = shown_unit(timeline);
  std::string text = bar.stage >= 0 ? describe(timeline, bar) : full_title(timeline, bar);
  text += fmt::format(": {} to {} {}", base::format_time(bar.begin, unit), base::format_time(bar.end, unit),
                      plural_of(unit));
  if (bar.awaits >= 0) {
    const auto awaited = static_cast<std::size_t>(bar.awaits);
    const std::size_t lane = timeline::lane_of(first_bars(timeline), awaited);
    text += fmt::format("; awaits {} on {}", describe(timeline, timeline.bars[awaited]), timeline.lanes[lane].name);
  }
  return text;
}

/// Draws all sections of one style as a single path of thick lines, a few bytes each.
class ThickLines {
 public:
  void add(double from, double to, double y) {
    const auto from_tenths = static_cast<std::int64_t>(std::floor(from * 10 + 0.5));
    const auto to_tenths = std::max(from_tenths + 1, static_cast<std::int64_t>(std::floor(to * 10 + 0.5)));
    if (y != y_) {
      path_ += fmt::format("M{} {}", number(static_cast<double>(from_tenths) / 10), number(y));
    } else {
      path_ += fmt::format("m{} 0", number(static_cast<double>(from_tenths - end_) / 10));
    }
    path_ += fmt::format("h{}", number(static_cast<double>(to_tenths - from_tenths) / 10));
    y_ = y;
    end_ = to_tenths;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  double y_ = -1;
  std::int64_t end_ = 0;  // tenths of a pixel
};

class BarsWriter {
 public:
  BarsWriter(const Picture& picture, const Frame& frame)
      : picture_(picture), frame_(frame), pitch_(lane_pitch(picture.timeline.lanes.size())) {
    height_ = pitch_ - std::clamp(0.14 * pitch_, 1.0, 4.0);
    label_size_ = std::min(max_label, height_ * 0.68);
    described_ = picture.timeline.bars.size() < max_described_bars;
  }

  std::string write() {
    for (std::size_t lane = 0; lane < picture_.timeline.lanes.size(); ++lane) add_lane(lane);
    std::string svg;
    for (const auto& [fill, lines] : lines_) {
      svg += fmt::format("<path d=\"{}\" stroke=\"{}\" stroke-width=\"{}\" fill=\"none\"/>\n", lines.path(), fill,
                         number(height_));
    }
    svg += rectangles_;
    svg += label_group(dark_labels_, "#1f2937") + label_group(light_labels_, "#ffffff");
    return svg + lane_names() + end_line();
  }

 private:
  double top_of(std::size_t lane) const {
    return frame_.top + pitch_ * static_cast<double>(lane) + (pitch_ - height_) / 2;
  }

  void add_lane(std::size_t lane) {
    for (const BarSegment& segment_with_gap : LaneSegments(bars_of(picture_.timeline, lane), frame_).take()) {
      const BarSegment segment = with_gap(segment_with_gap);
      const std::string fill = fill_of(picture_, segment.bar->bar_kind, segment.bar->track);
      if (described_) {
        add_rectangle(segment, fill, top_of(lane));
      } else {
        lines_[fill].add(segment.from, segment.to, top_of(lane) + height_ / 2);
      }
      if (!is_idle(segment.bar->bar_kind) && segment.bar->microbatch >= 0 && !segment.merged)
        add_label(segment, top_of(lane));
    }
  }

  void add_rectangle(const BarSegment& segment, std::string_view fill, double top) {
    const double width = segment.to - segment.from;
    const bool rounded = width > 8 && height_ > 8 && !is_idle(segment.bar->bar_kind);
    rectangles_ += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{} fill=\"{}\"><title>{}</title></rect>\n",
        number(segment.from), number(top), number(std::max(width, 0.1)), number(height_), rounded ? " rx=\"2\"" : "",
        fill, answer::escape_xml(describe_on_hover(picture_.timeline, *segment.bar)));
  }

  void add_label(const BarSegment& segment, double top) {
    const double available = segment.to - segment.from - 2;
    const double size = std::min(
        label_size_,
        available /
            (0.58 * static_cast<double>(picture_.summary.label_digits[static_cast<std::size_t>(segment.bar->track)])));
    if (size < min_label) return;
    const Color background = work_color(picture_, segment.bar->bar_kind, segment.bar->track);
    std::string& labels = is_dark(background) ? light_labels_ : dark_labels_;
    labels += fmt::format("<text x=\"{}\" y=\"{}\"", number((segment.from + segment.to) / 2),
                          number(top + height_ / 2 + 0.36 * size));
    if (size < label_size_) labels += fmt::format(" font-size=\"{}\"", number(size));
    labels += fmt::format(">{}</text>\n", segment.bar->microbatch);
  }

  std::string label_group(const std::string& labels, std::string_view color) const {
    if (labels.empty()) return "";
    return fmt::format("<g font-size=\"{}\" fill=\"{}\" text-anchor=\"middle\" pointer-events=\"none\">\n{}</g>\n",
                       number(label_size_), color, labels);
  }

  /// Draws as many lane names as fit.
  std::string lane_names() const {
    std::size_t every = 1;
    while (pitch_ * static_cast<double>(every) < 11) every *= 2;
    const double size = std::min(12.0, 0.95 * pitch_ * static_cast<double>(every));
    const auto available = static_cast<std::size_t>((frame_.left - 40) / (0.5 * size));
    std::string names;
    for (std::size_t lane = 0; lane < picture_.timeline.lanes.size(); lane += every) {
      const std::string full_name = answer::clean_text(picture_.timeline.lanes[lane].name);
      const bool fits = text_width(full_name, size) <= frame_.left - 41;  // the width was rounded down
      const std::string name = fits ? full_name : answer::shorten(full_name, available, "\u2026");
      names += text_element(frame_.left - 10, top_of(lane) + height_ / 2 + 0.35 * size, name,
                            {size, "#374151", "end", false, false});
    }
    return names;
  }

  std::string end_line() const {
    const timeline::Timeline& timeline = picture_.timeline;
    return fmt::format(
               "<path d=\"M{0} {1}V{2}\" stroke=\"#111827\" stroke-width=\"1.5\" stroke-dasharray=\"4 3\" "
               "fill=\"none\"/>\n",
               number(frame_.right), number(frame_.top - 6), number(frame_.bottom + 5)) +
           text_element(frame_.right, frame_.top - 11,
                        fmt::format("{} {}", end_word(timeline), time_text(timeline, timeline.end)),
                        {12, "#111827", "end", true, false});
  }

  const Picture& picture_;
  const Frame& frame_;
  double pitch_;
  double height_ = 0;
  double label_size_ = 0;
  bool described_ = false;
  std::map<std::string, ThickLines> lines_;  // by fill
  std::string rectangles_;
  std::string dark_labels_;
  std::string light_labels_;
};

}  // namespace

double lane_pitch(std::size_t lanes) {
  const double pitch = 640.0 / static_cast<double>(std::max<std::size_t>(lanes, 1));
  return std::clamp(std::floor(pitch * 2) / 2, 6.0, 32.0);
}

std::string svg_bars(const Picture& picture, const Frame& frame) { return BarsWriter(picture, frame).write(); }

}  // namespace dovetail::report
