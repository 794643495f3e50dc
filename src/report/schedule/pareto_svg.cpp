#include "report/schedule/pareto_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "answer/text/text.h"
#include "base/assert.h"
#include "report/drawing/svg_parts.h"

namespace dovetail::report {
namespace {

constexpr double front_width = 1100;
constexpr double page_height = 720;
constexpr double front_margin = 32;
constexpr double point_radius = 7.5;
constexpr double mark_radius = 5;
constexpr double label_size = 12.5;
constexpr std::size_t max_front_title = 80;
constexpr std::size_t max_point_label = 32;
constexpr std::string_view proven_color = "#1f62a8";
constexpr std::string_view baseline_color = "#d96c06";
constexpr std::string_view other_color = "#6b7280";
constexpr std::string_view bound_color = "#9ca3af";

/// A rectangle reserved for one text.
struct Box {
  double left;
  double top;
  double right;
  double bottom;

  bool overlaps(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

class ParetoWriter {
 public:
  explicit ParetoWriter(const ParetoPicture& picture) : picture_(picture) {
    DOVETAIL_ASSERT(!picture.front.empty() && !picture.bound.empty());
    std::vector<std::int64_t> times{picture.bound.front().makespan.count()};
    std::vector<std::int64_t> peaks{picture.bound.back().peak.count()};
    const auto see = [&](const TradePoint& point) {
      times.push_back(point.makespan.count());
      peaks.push_back(point.peak.count());
    };
    for (const FrontPoint& point : picture.front) see(point.at);
    for (const NamedPoint& point : picture.others) see(point.at);
    x_ = make_axis(times, left_, right_, 9);
    y_ = make_axis(peaks, bottom_, top_, 8);
    // Reserve the space of all points before placing labels.
    for (const FrontPoint& point : picture.front) taken_.push_back(around(point.at, point_radius + 1));
    for (const NamedPoint& point : picture.others) taken_.push_back(around(point.at, mark_radius + 1));
    avoid_staircases();
  }

  std::string write() {
    std::string body = heading() + regions() + grid() + staircases() + axis_labels();
    body += baseline_guides() + marks() + front_points() + legend();
    return page(body);
  }

 private:
  double x_of(base::Ticks time) const { return x_.at(static_cast<double>(time.count())); }
  double y_of(base::Memory memory) const { return y_.at(static_cast<double>(memory.count())); }

  Box around(const TradePoint& point, double radius) const {
    const double x = x_of(point.makespan);
    const double y = y_of(point.peak);
    return {x - radius, y - radius, x + radius, y + radius};
  }

  /// Reserves the lines of the front, so that labels do not cross them.
  void avoid_staircases() {
    constexpr double half = 1.5;
    double above = top_;
    for (std::size_t i = 0; i < picture_.front.size(); ++i) {
      const double x = x_of(picture_.front[i].at.makespan);
      const double y = y_of(picture_.front[i].at.peak);
      const double next = i + 1 < picture_.front.size() ? x_of(picture_.front[i + 1].at.makespan) : right_;
      taken_.push_back({x - half, above, x + half, y});
      taken_.push_back({x, y - half, next, y + half});
      above = y;
    }
  }

  std::string heading() const {
    const TradePoint& fast = picture_.front.front().at;
    const TradePoint& small = picture_.front.back().at;
    std::string facts =
        fmt::format("{}: {}makespan {} at peak activation {}",
                    answer::counted(static_cast<std::int64_t>(picture_.front.size()), "schedule"),
                    picture_.front.size() > 1 ? "from " : "", base::format_time(fast.makespan, picture_.time_unit),
                    base::format_memory(fast.peak));
    if (picture_.front.size() > 1) {
      facts += fmt::format(" to makespan {} at peak activation {}",
                           base::format_time(small.makespan, picture_.time_unit), base::format_memory(small.peak));
    }
    return text_element(front_margin, 46,
                        answer::shorten(answer::clean_text(picture_.title), max_front_title, "\u2026"),
                        {21, "#111827", "start", true, false}) +
           text_element(front_margin, 71, facts, {13.5, "#6b7280", "start", false, false});
  }

  /// Returns the path of a falling staircase from the top of the frame to its right side.
  template <class Points, class At>
  std::string stairs(const Points& points, At at) const {
    std::string path = fmt::format("M{} {}", number(x_of(at(points.front()).makespan)), number(top_));
    for (const auto& point : points)
      path += fmt::format("H{}V{}", number(x_of(at(point).makespan)), number(y_of(at(point).peak)));
    return path + fmt::format("H{}", number(right_));
  }
  std::string front_stairs() const {
    return stairs(picture_.front, [](const FrontPoint& point) { return point.at; });
  }
  std::string bound_stairs() const {
    return stairs(picture_.bound, [](const TradePoint& point) { return point; });
  }

  std::string regions() const {
    return "<defs><pattern id=\"dovetail-impossible\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" "
           "patternTransform=\"rotate(45)\"><rect width=\"7\" height=\"7\" fill=\"#f6f7f9\"/><rect width=\"1.2\" "
           "height=\"7\" "
           "fill=\"#dfe3e8\"/></pattern></defs>\n" +
           fmt::format("<path d=\"{}V{}H{}V{}Z\" fill=\"url(#dovetail-impossible)\"/>\n", bound_stairs(),
                       number(bottom_), number(left_), number(top_)) +
           fmt::format("<path d=\"{}V{}Z\" fill=\"{}\" fill-opacity=\"0.09\"/>\n", front_stairs(), number(top_),
                       proven_color);
  }

  std::string grid() const {
    std::string path;
    for (const std::int64_t tick : x_.ticks)
      path += fmt::format("M{} {}V{}", number(x_.at(static_cast<double>(tick))), number(top_), number(bottom_ + 5));
    for (const std::int64_t tick : y_.ticks)
      path += fmt::format("M{} {}H{}", number(left_ - 5), number(y_.at(static_cast<double>(tick))), number(right_));
    return fmt::format("<path d=\"{}\" stroke=\"#e5e7eb\" fill=\"none\"/>\n", path) +
           fmt::format("<path d=\"M{0} {1}V{2}H{3}\" stroke=\"#9ca3af\" fill=\"none\"/>\n", number(left_), number(top_),
                       number(bottom_), number(right_));
  }

  std::string staircases() const {
    return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\" stroke-dasharray=\"6 4\"/>\n",
                       bound_stairs(), bound_color) +
           fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2.4\" stroke-linejoin=\"round\"/>\n",
                       front_stairs(), proven_color);
  }

  std::string axis_labels() const {
    std::string text;
    for (const std::int64_t tick : x_.ticks) {
      text += text_element(x_.at(static_cast<double>(tick)), bottom_ + 21,
                           base::format_time(base::Ticks(tick), picture_.time_unit),
                           {12, "#6b7280", "middle", false, false});
    }
    for (const std::int64_t tick : y_.ticks) {
      text += text_element(left_ - 10, y_.at(static_cast<double>(tick)) + 4, base::format_memory(base::Memory(tick)),
                           {12, "#6b7280", "end", false, false});
    }
    const auto scale = [](const Axis& axis) { return axis.logarithmic ? ", logarithmic" : ""; };
    text += text_element(right_, bottom_ + 44, fmt::format("makespan ({}{})", plural_of(picture_.time_unit), scale(x_)),
                         {13, "#374151", "end", true, false});
    text += text_element(left_ - 58, top_ - 14, fmt::format("peak activation (in the problem's unit{})", scale(y_)),
                         {13, "#374151", "start", true, false});
    return text;
  }

  /// Draws thin lines from the baseline's schedule to the axes, to show the gain over it.
  std::string baseline_guides() const {
    std::string lines;
    for (const NamedPoint& point : picture_.others) {
      if (!point.emphasized) continue;
      lines += fmt::format(
          "<path d=\"M{0} {1}H{2}M{3} {4}V{1}\" stroke=\"{5}\" stroke-opacity=\"0.45\" stroke-dasharray=\"2 4\"/>\n",
          number(left_), number(y_of(point.at.peak)), number(x_of(point.at.makespan)), number(x_of(point.at.makespan)),
          number(bottom_), baseline_color);
    }
    return lines;
  }

  /// Returns a label next to the point at a place where it covers nothing; empty if there is no such place.
  std::string label(const TradePoint& point, double radius, std::string_view text, std::string_view color, bool bold) {
    const double x = x_of(point.makespan);
    const double y = y_of(point.peak);
    const double width = text_width(text, label_size);
    const double side = radius + 5;
    const std::pair<double, double> places[] = {{x + side, y - 6},
                                                {x + side, y + 14},
                                                {x + side, y + 4},
                                                {x - side - width, y - 6},
                                                {x - side - width, y + 14},
                                                {x - width / 2, y - side - 4},
                                                {x - width / 2, y + side + 10},
                                                {x + side, y - 20},
                                                {x + side, y + 28}};
    for (const auto& [left, baseline] : places) {
      const Box box{left - 1, baseline - label_size, left + width + 1, baseline + 3};
      const bool inside =
          box.left > left_ && box.right < front_width - front_margin / 2 && box.top > top_ - 4 && box.bottom < bottom_;
      if (!inside ||
          std::any_of(taken_.begin(), taken_.end(), [&box](const Box& other) { return box.overlaps(other); }))
        continue;
      taken_.push_back(box);
      return text_element(left, baseline, text, {label_size, color, "start", bold, true});
    }
    return {};
  }

  std::string costs(const TradePoint& point) const {
    return fmt::format("makespan {}, peak activation {}", base::format_time(point.makespan, picture_.time_unit),
                       base::format_memory(point.peak));
  }

  std::string marks() {
    std::string text;
    // The baseline's name is the most important one, so it is placed first.
    for (const bool emphasized : {true, false}) {
      for (const NamedPoint& point : picture_.others) {
        if (point.emphasized != emphasized) continue;
        const std::string_view color = emphasized ? baseline_color : other_color;
        const std::string name = answer::shorten(answer::clean_text(point.name), max_point_label, "\u2026");
        text += fmt::format(
            "<path d=\"M{} {}l{r} {r}l-{r} {r}l-{r} -{r}Z\" fill=\"{}\" stroke=\"#ffffff\"><title>{}</title></path>\n",
            number(x_of(point.at.makespan)), number(y_of(point.at.peak) - mark_radius), color,
            answer::escape_xml(fmt::format("{}: {}", name, costs(point.at))), fmt::arg("r", number(mark_radius)));
        text += label(point.at, mark_radius, name, color, emphasized);
      }
    }
    return text;
  }

  std::string front_points() {
    std::string text;
    for (std::size_t i = 0; i < picture_.front.size(); ++i) {
      const FrontPoint& point = picture_.front[i];
      const std::string_view fill = point.proven ? proven_color : "#ffffff";
      const std::string_view ink = point.proven ? "#ffffff" : proven_color;
      const double x = x_of(point.at.makespan);
      const double y = y_of(point.at.peak);
      text += fmt::format(
          "<g><title>{}</title><circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\" stroke=\"{}\" "
          "stroke-width=\"1.8\"/>{}</g>\n",
          answer::escape_xml(fmt::format("{}: {}{}", i + 1, costs(point.at), point.proven ? ", proven" : "")),
          number(x), number(y), number(point_radius), fill, proven_color,
          text_element(x, y + 3.4, fmt::format("{}", i + 1), {9.5, ink, "middle", true, false}));
    }
    // Label the two ends first, then the others if there is space.
    for (const std::size_t i : label_order()) {
      const TradePoint& at = picture_.front[i].at;
      text += label(
          at, point_radius,
          fmt::format("{} \u00B7 {}", base::format_time(at.makespan, picture_.time_unit), base::format_memory(at.peak)),
          proven_color, true);
    }
    return text;
  }

  std::vector<std::size_t> label_order() const {
    std::vector<std::size_t> order{0};
    if (picture_.front.size() > 1) order.push_back(picture_.front.size() - 1);
    for (std::size_t i = 1; i + 1 < picture_.front.size(); ++i) order.push_back(i);
    return order;
  }

  std::string legend() const {
    double x = left_;
    const double y = page_height - 34;
    std::string text;
    const auto entry = [&](std::string_view mark, std::string_view entry_text) {
      text += fmt::format("<g transform=\"translate({} {})\">{}</g>\n", number(x), number(y), mark) +
              text_element(x + 24, y + 4.5, entry_text, {12.5, "#374151", "start", false, false});
      x += 24 + text_width(entry_text, 12.5) + 22;
    };
    const auto circle = [](std::string_view fill) {
      return fmt::format("<circle cx=\"9\" r=\"6\" fill=\"{}\" stroke=\"{}\" stroke-width=\"1.8\"/>", fill,
                         proven_color);
    };
    entry(circle(proven_color), "proven optimal");
    entry(circle("#ffffff"), "best found");
    entry(fmt::format("<rect y=\"-7\" width=\"18\" height=\"14\" fill=\"{}\" fill-opacity=\"0.12\"/>", proven_color),
          "dominated");
    entry("<rect y=\"-7\" width=\"18\" height=\"14\" fill=\"url(#dovetail-impossible)\" stroke=\"#dfe3e8\"/>",
          "ruled out by the bounds");
    entry(fmt::format("<path d=\"M9 -5l5 5l-5 5l-5 -5Z\" fill=\"{}\"/>", other_color), "constructions");
    if (std::any_of(picture_.others.begin(), picture_.others.end(),
                    [](const NamedPoint& point) { return point.emphasized; }))
      entry(fmt::format("<path d=\"M9 -5l5 5l-5 5l-5 -5Z\" fill=\"{}\"/>", baseline_color), "baseline");
    return text;
  }

  std::string page(std::string_view body) const {
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
               "font-family=\"{2}\" "
               "role=\"img\">\n<title>{3}</title>\n",
               number(front_width), number(page_height), font_family, answer::escape_xml(picture_.title)) +
           fmt::format(
               "<rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"12\" fill=\"#ffffff\" stroke=\"#e5e7eb\"/>\n",
               number(front_width - 1), number(page_height - 1)) +
           std::string(body) + "</svg>\n";
  }

  const ParetoPicture& picture_;
  double left_ = front_margin + 58;
  double right_ = front_width - front_margin - 8;
  double top_ = 124;
  double bottom_ = page_height - 112;
  Axis x_;
  Axis y_;
  std::vector<Box> taken_;
};

}  // namespace

std::string render_pareto_svg(const ParetoPicture& picture) { return ParetoWriter(picture).write(); }

ParetoPicture picture_of(const answer::FrontAnswer& front) {
  ParetoPicture picture;
  picture.title = front.question.named.name + ": makespan against peak activation";
  picture.time_unit = front.question.named.problem.time_unit;
  for (const answer::FrontSchedule& schedule : front.schedules) {
    const pipeline::Evaluation& evaluation = schedule.evaluation();
    picture.front.push_back(
        {{evaluation.makespan, evaluation.peak_activation}, schedule.shortest() && schedule.lowest()});
  }
  for (const answer::ReferenceSchedule& reference : front.references) {
    const std::string name = reference.is_baseline ? "serial " + reference.solver : reference.solver;
    picture.others.push_back({name, {reference.makespan, reference.peak}, reference.is_baseline});
  }
  for (const fuse::PeakBoundStep& step : front.peak_bound) picture.bound.push_back({step.makespan, step.peak});
  return picture;
}

}  // namespace dovetail::report
