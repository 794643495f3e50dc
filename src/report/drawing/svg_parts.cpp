#include "report/drawing/svg_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "answer/text/figures.h"
#include "answer/text/text.h"
#include "base/assert.h"
#include "report/page/palette.h"
#include "report/page/summary.h"

namespace dovetail::report {
namespace {

using timeline::BarKind;

/// Tints of idle time without a pattern, indexed by cause_of.
constexpr std::array<std::string_view, 7> idle_tints{"#f6d5d5", "#e5e7eb", "#d6e4f0", "#e4dcf0",
                                                     "#f3eed2", "#ddebdd", "#f0e2d2"};

/// Returns a pattern of repeated tiles, each a background with one mark, rotated by an angle.
std::string pattern(std::string_view id, int size, int angle, std::string_view background, std::string_view mark) {
  return fmt::format(
      "<pattern id=\"dovetail-{0}\" width=\"{1}\" height=\"{1}\" patternUnits=\"userSpaceOnUse\" "
      "patternTransform=\"rotate({2})\">"
      "<rect width=\"{1}\" height=\"{1}\" fill=\"{3}\"/>{4}</pattern>\n",
      id, size, angle, background, mark);
}

bool has(const Picture& picture, BarKind bar_kind) { return picture.summary.share[index_of(bar_kind)] > 0; }

/// Maximum ratio of two values on a linear axis.
constexpr double max_linear = 4;
/// Padding as a share of the axis.
constexpr double padding = 0.06;

/// Returns the round values in [from, to]: every power of ten times each factor.
std::vector<std::int64_t> logarithmic_ticks(double from, double to, std::span<const std::int64_t> factors_in_tenths) {
  std::vector<std::int64_t> ticks;
  for (std::int64_t power = 1; static_cast<double>(power) <= to && power <= 100'000'000'000'000'000; power *= 10) {
    for (const std::int64_t factor : factors_in_tenths) {
      const std::int64_t tick = factor * power / 10;
      const bool is_whole = factor * power % 10 == 0;
      if (is_whole && static_cast<double>(tick) >= from && static_cast<double>(tick) <= to) ticks.push_back(tick);
    }
  }
  return ticks;
}

/// Returns the densest set of round values with at most `most` ticks.
std::vector<std::int64_t> chosen_logarithmic_ticks(double from, double to, std::size_t most) {
  constexpr std::array<std::int64_t, 18> finest{10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 25, 30, 35, 40, 50, 60, 70, 80};
  constexpr std::array<std::int64_t, 7> fine{10, 15, 20, 30, 40, 50, 70};
  constexpr std::array<std::int64_t, 5> medium{10, 15, 20, 30, 50};
  constexpr std::array<std::int64_t, 3> coarse{10, 20, 50};
  constexpr std::array<std::int64_t, 1> powers{10};
  for (const std::span<const std::int64_t> set :
       {std::span<const std::int64_t>(finest), std::span<const std::int64_t>(fine),
        std::span<const std::int64_t>(medium), std::span<const std::int64_t>(coarse)}) {
    std::vector<std::int64_t> ticks = logarithmic_ticks(from, to, set);
    if (ticks.size() <= most) return ticks;
  }
  std::vector<std::int64_t> ticks = logarithmic_ticks(from, to, powers);
  const std::size_t every = (ticks.size() + most - 1) / most;
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < ticks.size(); i += every) kept.push_back(ticks[i]);
  return kept;
}

/// Returns the multiples of a round step in [from, to].
std::vector<std::int64_t> linear_ticks(double from, double to, std::int64_t step) {
  std::vector<std::int64_t> ticks;
  const auto first = static_cast<std::int64_t>(std::ceil(from / static_cast<double>(step))) * step;
  for (std::int64_t tick = first; static_cast<double>(tick) <= to; tick += step) ticks.push_back(tick);
  return ticks;
}

/// Returns the densest linear ticks with at most `most` values. Ticks at both ends are one more than the steps between
/// them, so a larger step may be needed.
std::vector<std::int64_t> chosen_linear_ticks(double from, double to, std::size_t most) {
  std::int64_t step = round_step((to - from) / static_cast<double>(most));
  std::vector<std::int64_t> ticks = linear_ticks(from, to, step);
  if (ticks.size() <= most) return ticks;
  step = round_step(static_cast<double>(step) + 1);
  return linear_ticks(from, to, step);
}

}  // namespace

std::string_view end_word(const timeline::Timeline& timeline) {
  return timeline.beginning == timeline::Beginning::fixed ? "makespan" : "end";
}

std::string time_text(const timeline::Timeline& timeline, base::Ticks time) {
  const base::TimeUnit unit = shown_unit(timeline);
  if (unit != timeline.time_unit) return answer::seconds_text(base::seconds_of_ticks(time));
  return fmt::format("{} {}", base::format_time(time, unit), plural_of(unit));
}

std::string value_text(const timeline::Counter& counter, base::Memory value) {
  return counter.unit.empty() ? base::format_memory(value) : answer::gibibytes(value.count());
}

double Frame::x_of(base::Ticks time) const {
  const auto whole = static_cast<double>(std::max<std::int64_t>(end.count(), 1));
  return left + (right - left) * (static_cast<double>(time.count()) / whole);
}

std::string number(double value) {
  const auto tenths = static_cast<std::int64_t>(std::floor(value * 10 + 0.5));
  const std::int64_t absolute = tenths < 0 ? -tenths : tenths;
  const std::string_view sign = tenths < 0 ? "-" : "";
  if (absolute % 10 == 0) return fmt::format("{}{}", sign, absolute / 10);
  if (absolute < 10) return fmt::format("{}.{}", sign, absolute);
  return fmt::format("{}{}.{}", sign, absolute / 10, absolute % 10);
}

std::string text_element(double x, double baseline, std::string_view text, const TextStyle& style) {
  std::string element = fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"", number(x), number(baseline),
                                    number(style.size), style.color);
  if (style.anchor != "start") element += fmt::format(" text-anchor=\"{}\"", style.anchor);
  if (style.bold) element += " font-weight=\"600\"";
  if (style.halo) element += " stroke=\"#ffffff\" stroke-width=\"4\" stroke-linejoin=\"round\" paint-order=\"stroke\"";
  return element + ">" + answer::escape_xml(text) + "</text>\n";
}

double text_width(std::string_view text, double size) {
  constexpr std::string_view narrow = " !'(),.-/:;I[]fijlrt|";
  constexpr std::string_view wide = "%@MWmw";
  double width = 0;
  for (const char byte : text) {
    const auto value = static_cast<unsigned char>(byte);
    if (value >= 0x80 && value < 0xC0) continue;
    const bool capital = byte >= 'A' && byte <= 'Z';
    width += narrow.find(byte) != narrow.npos ? 0.34
             : wide.find(byte) != wide.npos   ? 0.88
             : value >= 0xC0                  ? 1.0
             : capital                        ? 0.7
                                              : 0.58;
  }
  return size * width;
}

std::string rectangle(double x, double y, double width, double height, std::string_view fill) {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", number(x), number(y),
                     number(width), number(height), fill);
}

Color work_color(const Picture& picture, BarKind bar_kind, std::int32_t track) {
  const std::optional<std::size_t> shade = shade_of(bar_kind);
  const bool has_hue = track >= 0 && picture.timeline.tracks[static_cast<std::size_t>(track)].model >= 0;
  return shade && has_hue ? picture.colors[static_cast<std::size_t>(track)][*shade]
                          : ink_of(picture.timeline.tracks, bar_kind, -1).light;
}

std::string fill_of(const Picture& picture, BarKind bar_kind, std::int32_t track) {
  if (is_op(bar_kind) && !traits_of(bar_kind).hatching.empty())
    return fmt::format("url(#dovetail-{}-{})", traits_of(bar_kind).hatching, track);
  switch (bar_kind) {
    case BarKind::warm_up:
      return "#f3f4f6";
    case BarKind::drain:
      return "#e9ebef";
    case BarKind::dependency:
      return "url(#dovetail-dependency)";
    case BarKind::transfer:
      return "url(#dovetail-transfer)";
    case BarKind::delay:
      return "url(#dovetail-delay)";
    default:
      return is_idle(bar_kind) ? std::string(idle_tints[cause_of(bar_kind)])
                               : hex(work_color(picture, bar_kind, track));
  }
}

std::string svg_patterns(const Picture& picture) {
  std::string patterns;
  for (const BarKind op : timeline::op_bar_kinds) {
    const std::string_view hatching = traits_of(op).hatching;
    if (hatching.empty() || !has(picture, op)) continue;
    for (std::size_t track = 0; track < picture.colors.size(); ++track) {
      const Color background = picture.colors[track][*shade_of(op)];
      const Color line = mix(background, picture.colors[track][*shade_of(BarKind::backward)], 45);
      patterns += pattern(fmt::format("{}-{}", hatching, track), 5, 45, hex(background),
                          fmt::format("<rect width=\"1.6\" height=\"5\" fill=\"{}\"/>", hex(line)));
    }
  }
  if (has(picture, BarKind::dependency)) {
    patterns += pattern("dependency", 6, 45, "#fafafa", "<rect width=\"1.2\" height=\"6\" fill=\"#d3d8df\"/>");
  }
  if (has(picture, BarKind::transfer))
    patterns += pattern("transfer", 5, 0, "#f6f8fb", "<circle cx=\"2.5\" cy=\"2.5\" r=\"1\" fill=\"#a3afbf\"/>");
  if (has(picture, BarKind::delay))
    patterns += pattern("delay", 4, 90, "#fdf3f1", "<rect width=\"1\" height=\"4\" fill=\"#e8b9b0\"/>");
  return patterns.empty() ? "" : "<defs>\n" + patterns + "</defs>\n";
}

std::string svg_time_grid(const Picture& picture, const Frame& frame) {
  const auto end = static_cast<double>(picture.timeline.end.count());
  const std::int64_t step = round_step(end * 90 / (frame.right - frame.left));
  std::string path;
  for (std::int64_t time = 0; time <= picture.timeline.end.count(); time += step) {
    path +=
        fmt::format("M{} {}V{}", number(frame.x_of(base::Ticks(time))), number(frame.top), number(frame.bottom + 5));
  }
  return fmt::format("<path d=\"{}\" stroke=\"#e5e7eb\" fill=\"none\"/>\n", path);
}

std::string svg_time_labels(const Picture& picture, const Frame& frame) {
  const base::TimeUnit unit = shown_unit(picture.timeline);
  const auto end = static_cast<double>(picture.timeline.end.count());
  const std::int64_t step = round_step(end * 90 / (frame.right - frame.left));
  const double baseline = frame.bottom + 20;
  std::string labels;
  for (std::int64_t time = 0; time <= picture.timeline.end.count(); time += step) {
    labels += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", number(frame.x_of(base::Ticks(time))),
                          number(baseline), base::format_time(base::Ticks(time), unit));
  }
  return "<g font-size=\"12\" fill=\"#6b7280\" text-anchor=\"middle\">\n" + labels + "</g>\n" +
         text_element(frame.left - 10, baseline, plural_of(unit), {12, "#9ca3af", "end", false, false});
}

double Axis::at(double value) const {
  const double inside = std::clamp(value, from, to);
  const double share = logarithmic ? std::log(inside / from) / std::log(to / from) : (inside - from) / (to - from);
  return begin + (end - begin) * share;
}

Axis make_axis(const std::vector<std::int64_t>& values, double begin, double end, int max_ticks, AxisScale scale) {
  DOVETAIL_ASSERT(!values.empty() && max_ticks >= 2);
  const auto [min_value, max_value] = std::minmax_element(values.begin(), values.end());
  const auto least = static_cast<double>(*min_value);
  const auto most = static_cast<double>(*max_value);
  Axis axis;
  axis.begin = begin;
  axis.end = end;
  axis.logarithmic = scale == AxisScale::by_values && least > 0 && most > max_linear * least;
  if (axis.logarithmic) {
    const double factor = std::pow(most / least, padding);
    axis.from = least / factor;
    axis.to = most * factor;
    axis.ticks = chosen_logarithmic_ticks(axis.from, axis.to, static_cast<std::size_t>(max_ticks));
    return axis;
  }
  // Leaves padding even if all values are equal.
  const double spare = std::max({(most - least) * padding, std::abs(most) * 0.02, 1.0});
  axis.from = least < 0 ? least - spare : std::max(0.0, least - spare);
  axis.to = most + spare;
  axis.ticks = chosen_linear_ticks(axis.from, axis.to, static_cast<std::size_t>(max_ticks));
  return axis;
}

}  // namespace dovetail::report
