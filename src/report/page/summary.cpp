#include "report/page/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"
#include "timeline/schedule_timeline.h"

namespace dovetail::report {
namespace {

using timeline::Bar;
using timeline::BarKind;

/// How long one look is visible in a column, and its first bar there.
struct Look {
  std::size_t bar;
  double length;
};

bool same_look(const Bar& a, const Bar& b) { return a.kind == b.kind && a.track == b.track; }

void add_look(std::vector<Look>& looks, const std::vector<Bar>& bars, std::size_t bar, double length) {
  for (Look& look : looks) {
    if (same_look(bars[look.bar], bars[bar])) {
      look.length += length;
      return;
    }
  }
  looks.push_back({bar, length});
}

std::size_t digits_of(std::int32_t value) {
  std::size_t digits = 1;
  for (; value >= 10; value /= 10) ++digits;
  return digits;
}

double as_double(base::Ticks time) { return static_cast<double>(time.count()); }

}  // namespace

Summary summarize(const timeline::Timeline& timeline) {
  Summary summary;
  summary.drawn.resize(timeline.tracks.size());
  summary.label_digits.resize(timeline.tracks.size());
  const double all = as_double(timeline.end) * static_cast<double>(timeline.lanes.size());
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    for (const Bar& bar : timeline.lanes[lane].bars) {
      if (is_idle(bar.kind)) continue;
      ++summary.ops;
      const auto track = static_cast<std::size_t>(bar.track);
      if (bar.end > bar.start) summary.drawn[track][static_cast<std::size_t>(bar.kind)] = true;
      summary.label_digits[track] = std::max(summary.label_digits[track], digits_of(bar.microbatch));
    }
    const timeline::TimeByKind time = time_by_kind(timeline.lanes[lane]);
    for (std::size_t kind = 0; kind < time.size() && all > 0; ++kind) summary.share[kind] += as_double(time[kind]) / all;

    const auto [peak_time, peak] = peak_of(timeline.lanes[lane].memory);
    if (lane == 0 || peak > summary.peaks[summary.fullest_lane]) {
      summary.fullest_lane = lane;
      summary.peak_time = peak_time;
    }
    summary.peaks.push_back(peak);
    summary.has_memory = summary.has_memory || peak > base::Memory();
  }
  for (const BarKind kind : idle_kinds) summary.idle_share += summary.share[static_cast<std::size_t>(kind)];
  return summary;
}

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

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

std::string describe(const timeline::Timeline& timeline, const Bar& bar) {
  return fmt::format("{}{} of {}, stage {}", letter_of(bar.kind), bar.microbatch, timeline.tracks[static_cast<std::size_t>(bar.track)].name,
                     bar.stage);
}

char letter_of(BarKind kind) {
  DOVETAIL_ASSERT(!is_idle(kind));
  return traits_of(kind).letter;
}

std::vector<std::int32_t> dominant_bars(const std::vector<Bar>& bars, std::size_t first, std::size_t last, double from, double to,
                                        std::size_t columns) {
  std::vector<std::int32_t> shown(columns, -1);
  std::vector<Look> looks;
  std::size_t bar = first;
  for (std::size_t column = 0; column < columns; ++column) {
    const double width = (to - from) / static_cast<double>(columns);
    const double begin = from + width * static_cast<double>(column);
    const double end = begin + width;
    looks.clear();
    for (; bar < last; ++bar) {
      const double length = std::min(as_double(bars[bar].end), end) - std::max(as_double(bars[bar].start), begin);
      if (length > 0) add_look(looks, bars, bar, length);
      if (as_double(bars[bar].end) > end) break;
    }
    const auto longest = std::max_element(looks.begin(), looks.end(), [](const Look& a, const Look& b) { return a.length < b.length; });
    if (longest != looks.end()) shown[column] = static_cast<std::int32_t>(longest->bar);
  }
  return shown;
}

}  // namespace dovetail::report
