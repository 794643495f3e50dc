#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>

#include "base/quantity.h"
#include "report/drawing/svg_parts.h"
#include "report/iteration/iteration_picture.h"
#include "report/page/summary.h"
#include "report/words/text.h"
#include "simulate/accounting.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using simulate::Lane;
using simulate::Span;

constexpr double width = 1200;
constexpr double left = 150;
constexpr double right = width - 20;
constexpr double top = 60;
constexpr double memory_height = 120;
constexpr double name_pitch = 9;  // pixels that a row's name needs

/// Which span shows in each half pixel: the one that fills most of it.
std::vector<const Span*> shown_spans(const Lane& lane, Ticks end) {
  const auto columns = static_cast<std::size_t>(2 * (right - left));
  std::vector<const Span*> shown(columns);
  std::vector<double> filled(columns);
  const double scale = static_cast<double>(columns) / static_cast<double>(std::max<std::int64_t>(1, end.count()));
  for (const Span& span : lane.spans) {
    const double from = static_cast<double>(span.begin.count()) * scale;
    const double to = static_cast<double>(span.end.count()) * scale;
    for (auto column = static_cast<std::size_t>(from); column < columns && static_cast<double>(column) < to; ++column) {
      const double part = std::min(to, static_cast<double>(column + 1)) - std::max(from, static_cast<double>(column));
      if (part <= filled[column]) continue;
      filled[column] = part;
      shown[column] = &span;
    }
  }
  return shown;
}

class IterationSvg {
 public:
  explicit IterationSvg(const IterationPicture& picture)
      : picture_(picture),
        rows_(rows_of(picture)),
        pitch_(lane_pitch(rows_.size())),
        bars_end_(top + pitch_ * static_cast<double>(rows_.size())) {
    frame_ = {left, right, top, bars_end_, picture.trace.end};
  }

  std::string draw() {
    const std::string body =
        text_element(left, 28, picture_.title, {.size = 16, .color = "#111827", .bold = true}) + rows() + axis(bars_end_);
    double y = bars_end_ + 44;
    std::string below = legend(y);
    below += memory(y);
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"{2}\">\n"
               "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
               number(width), number(y), font_family) +
           body + below + "</svg>\n";
  }

 private:
  const std::vector<Lane>& lanes() const { return picture_.trace.lanes; }

  std::string rows() {
    std::string text;
    const auto named = static_cast<std::size_t>(std::ceil(name_pitch / pitch_));  // each so manyth, so that names do not touch
    const double size = std::min(12.0, std::max(name_pitch, pitch_) * 0.8);
    for (std::size_t index = 0; index < rows_.size(); ++index) {
      const double y = top + pitch_ * static_cast<double>(index);
      if (index % named == 0)
        text += text_element(left - 8, y + pitch_ / 2 + size * 0.35, shorten(rows_[index].name, 20, "…"), {.size = size, .anchor = "end"});
      text += row(rows_[index].lane, y);
    }
    return text;
  }

  std::string row(const Lane& lane, double y) {
    const std::vector<const Span*> shown = shown_spans(lane, picture_.trace.end);
    std::string text;
    for (std::size_t begin = 0; begin < shown.size();) {
      const Span* const span = shown[begin];
      std::size_t end = begin + 1;
      const auto alike = [&](const Span* other) {
        return other == span || (span && other && other->activity == span->activity && other->task == span->task);
      };
      while (end < shown.size() && alike(shown[end])) ++end;
      if (span) {
        const std::string fill = hex(color_of(picture_, *span));
        seen_.emplace(describe(picture_, *span), std::pair(simulate::is_idle(span->activity), fill));
        text += rectangle(left + static_cast<double>(begin) / 2, y, static_cast<double>(end - begin) / 2, std::max(1.0, pitch_ - 1), fill);
      }
      begin = end;
    }
    return text;
  }

  /// Round times below the rows.
  std::string axis(double y) const {
    const std::int64_t step = round_step(static_cast<double>(picture_.trace.end.count()) / 8);
    std::string text;
    for (std::int64_t tick = 0; tick <= picture_.trace.end.count(); tick += step) {
      const double x = frame_.x_of(Ticks(tick));
      text += rectangle(x, y, 1, 5, "#9ca3af") +
              text_element(x, y + 18, fmt::format("{} s", base::format_time(Ticks(tick), base::TimeUnit::s)), {.anchor = "middle"});
    }
    return text;
  }

  /// What colours mean: work first.
  std::string legend(double& y) const {
    std::string text;
    double x = left;
    for (const bool idle : {false, true}) {
      for (const auto& [name, look] : seen_) {
        if (look.first != idle) continue;
        const double needed = text_width(name, 12) + 34;
        if (x + needed > right) {
          x = left;
          y += 20;
        }
        text += rectangle(x, y - 10, 12, 12, look.second) + text_element(x + 18, y, name, {});
        x += needed;
      }
      x = left;
      y += 26;
    }
    return text;
  }

  /// The lane that holds the most, as an area over time.
  std::string memory(double& y) const {
    const Lane* fullest = nullptr;
    for (const Lane& lane : lanes())
      if (!fullest || simulate::peak_of(lane).second > simulate::peak_of(*fullest).second) fullest = &lane;
    if (!fullest || simulate::peak_of(*fullest).second == 0) return "";
    const auto peak = static_cast<double>(simulate::peak_of(*fullest).second);
    const double base = y + memory_height;
    std::string text =
        text_element(left, y + 4, fmt::format("memory in use of {}: at most {:.2f} GiB", device_ranges(fullest->devices), peak / (1 << 30)),
                     {.bold = true});
    std::string path = fmt::format("M{} {}", number(left), number(base));
    for (const auto& [time, bytes] : fullest->memory) {
      const double height = (memory_height - 16) * static_cast<double>(bytes) / peak;
      path += fmt::format("H{}V{}", number(frame_.x_of(time)), number(base - height));
    }
    path += fmt::format("H{}V{}Z", number(right), number(base));
    y = base + 40;
    return text + fmt::format("<path d=\"{}\" fill=\"#cbd5e1\" stroke=\"#475569\"/>\n", path) + axis(base);
  }

  const IterationPicture& picture_;
  std::vector<PictureRow> rows_;
  double pitch_;
  double bars_end_;
  Frame frame_;
  std::map<std::string, std::pair<bool, std::string>> seen_;  // what is drawn: whether it is idle, and its fill
};

}  // namespace

std::string render_iteration_svg(const IterationPicture& picture) { return IterationSvg(picture).draw(); }

}  // namespace dovetail::report
