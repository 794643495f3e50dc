#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "answer/text/text.h"
#include "report/drawing/svg_parts.h"

namespace dovetail::report {
namespace {

using timeline::Counter;
using timeline::Lane;

/// More lanes are drawn as a band from minimum to maximum.
constexpr std::size_t max_curves = 40;
constexpr double bytes_per_gibibyte = 1 << 30;
constexpr std::string_view front_color = "#334155";

/// Minimum and maximum within one column of the frame.
struct Range {
  double least;
  double most;
};

class MemoryWriter {
 public:
  MemoryWriter(const Picture& picture, const Frame& frame)
      : picture_(picture),
        frame_(frame),
        counters_(drawn_counters(picture.timeline)),
        columns_(static_cast<std::size_t>(frame.right - frame.left)) {
    const auto peak = static_cast<double>(picture.summary.peaks[picture.summary.fullest_lane].count());
    const double whole = front().unit.empty() ? 1 : bytes_per_gibibyte;
    step_ = peak > 4 * whole ? round_step(peak / 4 / whole) * static_cast<std::int64_t>(whole) : round_step(peak / 4);
    top_value_ = peak * 1.18;
  }

  std::string write() const { return heading() + value_axis() + others() + fullest() + peak_mark(); }

 private:
  const std::vector<Lane>& lanes() const { return picture_.timeline.lanes; }
  const Counter& front() const { return *counters_[picture_.summary.fullest_lane]; }
  double y_of(double value) const { return frame_.bottom - (frame_.bottom - frame_.top) * (value / top_value_); }

  std::string heading() const {
    std::string name = front().name;
    if (!name.empty() && name.front() >= 'a' && name.front() <= 'z')
      name.front() = static_cast<char>(name.front() - 'a' + 'A');
    const std::string& noun = picture_.timeline.lane_noun;
    const std::string others =
        lanes().size() > max_curves ? "band: minimum to maximum over every " + noun : "others faint";
    return text_element(frame_.left, frame_.top - 12, name, {13.5, "#111827", "start", true, false}) +
           text_element(frame_.left + 118, frame_.top - 12,
                        fmt::format("highest peak: {}; {}", lanes()[picture_.summary.fullest_lane].name, others),
                        {12, "#6b7280", "start", false, false});
  }

  std::string value_axis() const {
    std::string path;
    std::string labels;
    for (std::int64_t value = 0; static_cast<double>(value) <= top_value_; value += step_) {
      const double y = y_of(static_cast<double>(value));
      path += fmt::format("M{} {}H{}", number(frame_.left), number(y), number(frame_.right));
      labels += text_element(frame_.left - 10, y + 4, value_text(front(), base::Memory(value)),
                             {12, "#6b7280", "end", false, false});
    }
    return fmt::format("<path d=\"{}\" stroke=\"#e5e7eb\" fill=\"none\"/>\n", path) + labels;
  }

  /// Returns the curve as "H..V..": a corner per step, or the maximum of each column if there are more steps than
  /// columns.
  std::string curve(const Counter& counter) const {
    std::string path = fmt::format("M{} {}", number(frame_.left), number(y_of(0)));
    if (counter.steps.size() > columns_) {
      const std::vector<Range> ranges = ranges_of(counter);
      double last = -1;
      for (std::size_t column = 0; column < ranges.size(); ++column) {
        if (ranges[column].most == last) continue;
        last = ranges[column].most;
        path += fmt::format("H{}V{}", number(frame_.left + static_cast<double>(column)), number(y_of(last)));
      }
    } else {
      for (const auto& [time, value] : counter.steps) {
        path += fmt::format("H{}V{}", number(frame_.x_of(time)), number(y_of(static_cast<double>(value.count()))));
      }
    }
    return path + fmt::format("H{}", number(frame_.right));
  }

  std::vector<Range> ranges_of(const Counter& counter) const {
    std::vector<Range> ranges;
    ranges.reserve(columns_);
    double value = 0;
    std::size_t step = 0;
    for (std::size_t column = 0; column < columns_; ++column) {
      const double right = frame_.left + static_cast<double>(column + 1);
      const bool starts_here = column == 0 && !counter.steps.empty() && counter.steps[0].first == base::Ticks();
      Range range{starts_here ? static_cast<double>(counter.steps[0].second.count()) : value, value};
      for (; step < counter.steps.size() && frame_.x_of(counter.steps[step].first) < right; ++step) {
        value = static_cast<double>(counter.steps[step].second.count());
        range = {std::min(range.least, value), std::max(range.most, value)};
      }
      ranges.push_back(range);
    }
    return ranges;
  }

  std::string others() const {
    if (lanes().size() > max_curves) return band();
    std::string curves;
    for (std::size_t lane = 0; lane < lanes().size(); ++lane) {
      if (counters_[lane] && lane != picture_.summary.fullest_lane)
        curves += fmt::format("<path d=\"{}\"/>\n", curve(*counters_[lane]));
    }
    return fmt::format("<g fill=\"none\" stroke=\"#94a3b8\" stroke-width=\"1\" stroke-opacity=\"0.45\">\n{}</g>\n",
                       curves);
  }

  std::string band() const {
    std::vector<Range> all(columns_, {top_value_, 0});
    for (const Counter* counter : counters_) {
      if (!counter) continue;
      const std::vector<Range> ranges = ranges_of(*counter);
      for (std::size_t i = 0; i < columns_; ++i)
        all[i] = {std::min(all[i].least, ranges[i].least), std::max(all[i].most, ranges[i].most)};
    }
    std::string path = fmt::format("M{} {}", number(frame_.left), number(y_of(0)));
    for (std::size_t i = 0; i < columns_; ++i) path += fmt::format("V{}h1", number(y_of(all[i].most)));
    for (std::size_t i = columns_; i > 0; --i) path += fmt::format("V{}h-1", number(y_of(all[i - 1].least)));
    return fmt::format("<path d=\"{}Z\" fill=\"#94a3b8\" fill-opacity=\"0.28\"/>\n", path);
  }

  std::string fullest() const {
    const std::string path = curve(front());
    return fmt::format(
        "<path d=\"{0}V{1}Z\" fill=\"{2}\" fill-opacity=\"0.10\"/>\n<path d=\"{0}\" fill=\"none\" stroke=\"{2}\" "
        "stroke-width=\"1.6\"/>\n",
        path, number(y_of(0)), front_color);
  }

  std::string peak_mark() const {
    const Summary& summary = picture_.summary;
    const base::Memory peak = summary.peaks[summary.fullest_lane];
    const double x = frame_.x_of(summary.peak_time);
    const double y = y_of(static_cast<double>(peak.count()));
    const timeline::Timeline& timeline = picture_.timeline;
    const bool is_exact = shown_unit(timeline) == timeline.time_unit;
    const std::string at =
        is_exact ? base::format_time(summary.peak_time, timeline.time_unit) : time_text(timeline, summary.peak_time);
    const std::string text = fmt::format("peak {} on {} at {}", value_text(front(), peak),
                                         answer::clean_text(lanes()[summary.fullest_lane].name), at);
    const bool to_the_left = x + text_width(text, 12.5) + 12 > frame_.right;
    return fmt::format(
               "<circle cx=\"{}\" cy=\"{}\" r=\"4\" fill=\"#dc2626\" stroke=\"#ffffff\" stroke-width=\"1.5\"/>\n",
               number(x), number(y)) +
           text_element(to_the_left ? x - 8 : x + 8, y - 8, text,
                        {12.5, "#b91c1c", to_the_left ? "end" : "start", true, true});
  }

  const Picture& picture_;
  const Frame& frame_;
  std::vector<const Counter*> counters_;  // [lane]
  std::size_t columns_;
  std::int64_t step_ = 1;
  double top_value_ = 1;
};

}  // namespace

std::string svg_memory(const Picture& picture, const Frame& frame) { return MemoryWriter(picture, frame).write(); }

}  // namespace dovetail::report
