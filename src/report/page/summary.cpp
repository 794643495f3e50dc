#include "report/page/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "timeline/timeline.h"

namespace dovetail::report {
namespace {

using timeline::Bar;
using timeline::BarKind;

/// Total length of one style's bars within a column, and the first of these bars.
struct ColumnShare {
  std::size_t bar;
  double length;
};

bool same_style(const Bar& a, const Bar& b) { return a.bar_kind == b.bar_kind && a.track == b.track; }

void add_share(std::vector<ColumnShare>& shares, std::span<const Bar> bars, std::size_t bar, double length) {
  for (ColumnShare& style : shares) {
    if (same_style(bars[style.bar], bars[bar])) {
      style.length += length;
      return;
    }
  }
  shares.push_back({bar, length});
}

std::size_t digits_of(std::int32_t value) {
  std::size_t digits = 1;
  for (; value >= 10; value /= 10) ++digits;
  return digits;
}

double as_double(base::Ticks time) { return static_cast<double>(time.count()); }

double device_count(const timeline::Lane& lane) {
  if (timeline::is_host_link_lane(lane.name)) return 0;
  const auto devices = timeline::devices_of(lane.name);
  return devices ? static_cast<double>(devices->size()) : 1;
}

void add_work(Summary& summary, const Bar& bar) {
  if (is_idle(bar.bar_kind)) return;
  ++summary.work_bars;
  const std::size_t track = bar.track < 0 ? summary.drawn.size() - 1 : static_cast<std::size_t>(bar.track);
  if (bar.end > bar.begin) summary.drawn[track][index_of(bar.bar_kind)] = true;
  if (bar.track >= 0) summary.label_digits[track] = std::max(summary.label_digits[track], digits_of(bar.microbatch));
}

void find_peaks(Summary& summary, const timeline::Timeline& timeline) {
  const std::vector<const timeline::Counter*> counters = drawn_counters(timeline);
  for (std::size_t lane = 0; lane < counters.size(); ++lane) {
    const auto [peak_time, peak] = counters[lane] ? peak_of(*counters[lane]) : std::pair<base::Ticks, base::Memory>();
    if (lane == 0 || peak > summary.peaks[summary.fullest_lane]) {
      summary.fullest_lane = lane;
      summary.peak_time = peak_time;
    }
    summary.peaks.push_back(peak);
    summary.has_memory = summary.has_memory || peak > base::Memory();
  }
}

}  // namespace

Summary summarize(const timeline::Timeline& timeline) {
  Summary summary;
  summary.drawn.resize(timeline.tracks.size() + 1);
  summary.label_digits.resize(timeline.tracks.size());
  std::array<double, timeline::bar_kinds> times{};
  double all = 0;
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    const std::span<const Bar> bars = bars_of(timeline, lane);
    for (const Bar& bar : bars) add_work(summary, bar);
    const double devices = device_count(timeline.lanes[lane]);
    all += as_double(timeline.end) * devices;
    const timeline::TimeByBarKind time = time_by_bar_kind(bars);
    for (std::size_t bar_kind = 0; bar_kind < time.size(); ++bar_kind)
      times[bar_kind] += as_double(time[bar_kind]) * devices;
  }
  for (int bar_kind = 0; bar_kind < timeline::bar_kinds && all > 0; ++bar_kind) {
    const auto index = static_cast<std::size_t>(bar_kind);
    summary.share[index] = times[index] / all;
    if (is_idle(static_cast<BarKind>(bar_kind))) summary.idle_share += summary.share[index];
  }
  find_peaks(summary, timeline);
  return summary;
}

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

base::TimeUnit shown_unit(const timeline::Timeline& timeline) {
  const bool is_iteration =
      timeline.beginning != timeline::Beginning::fixed && timeline.time_unit == base::TimeUnit::ns;
  return is_iteration ? base::TimeUnit::s : timeline.time_unit;
}

std::string_view plural_of(base::TimeUnit unit) { return unit == base::TimeUnit::tick ? "ticks" : base::name_of(unit); }

std::int64_t round_step(double least) {
  std::int64_t step = 1;
  while (static_cast<double>(step) < least && step < std::int64_t{1'000'000'000'000'000'000}) {
    if (static_cast<double>(2 * step) >= least) return 2 * step;
    if (static_cast<double>(5 * step) >= least) return 5 * step;
    step *= 10;
  }
  return step;
}

std::vector<std::int32_t> dominant_bars(std::span<const Bar> bars, std::size_t first, std::size_t last, double from,
                                        double to, std::size_t columns) {
  std::vector<std::int32_t> shown(columns, -1);
  std::vector<ColumnShare> shares;
  std::size_t bar = first;
  for (std::size_t column = 0; column < columns; ++column) {
    const double width = (to - from) / static_cast<double>(columns);
    const double begin = from + width * static_cast<double>(column);
    const double end = begin + width;
    shares.clear();
    for (; bar < last; ++bar) {
      const double length = std::min(as_double(bars[bar].end), end) - std::max(as_double(bars[bar].begin), begin);
      if (length > 0) add_share(shares, bars, bar, length);
      if (as_double(bars[bar].end) > end) break;
    }
    const auto longest = std::max_element(
        shares.begin(), shares.end(), [](const ColumnShare& a, const ColumnShare& b) { return a.length < b.length; });
    if (longest != shares.end()) shown[column] = static_cast<std::int32_t>(longest->bar);
  }
  return shown;
}

}  // namespace dovetail::report
