#include "report/page/chart_sections.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "answer/text/figures.h"
#include "answer/text/text.h"
#include "report/page/summary.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using timeline::Timeline;

constexpr std::size_t max_waits = 20;

/// [category] index of its legend entry
std::vector<std::size_t> entry_of_category(const Legend& legend) {
  std::vector<std::size_t> entries(legend.categories.size());
  for (std::size_t entry = 0; entry < legend.entries.size(); ++entry)
    for (const std::size_t category : legend.entries[entry].styles) entries[category] = entry;
  return entries;
}

/// [lane][legend entry]
std::vector<std::vector<Ticks>> times_of(const Timeline& timeline, const Legend& legend) {
  const std::vector<std::size_t> entry_of = entry_of_category(legend);
  std::vector<std::vector<Ticks>> times;
  std::size_t number = 0;
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    times.emplace_back(legend.entries.size());
    for (const timeline::Bar& bar : bars_of(timeline, lane))
      times.back()[entry_of[static_cast<std::size_t>(legend.of[number++])]] += bar.end - bar.begin;
  }
  return times;
}

/// Adds the rows of `breakdown`: all lanes together, then each lane with time in any entry that `is_segment` accepts.
template <class IsSegment>
void add_rows(Breakdown& breakdown, const Timeline& timeline, IsSegment is_segment) {
  const Legend legend = legend_of(timeline);
  breakdown.time_unit = timeline.time_unit;
  std::vector<std::size_t> entries;
  for (std::size_t entry = 0; entry < legend.entries.size(); ++entry) {
    const StyleGroup& of = legend.entries[entry];
    if (!is_segment(of)) continue;
    entries.push_back(entry);
    std::vector<Ink> inks;
    for (const std::size_t category : of.styles) inks.push_back(legend.categories[category].ink);
    breakdown.segments.push_back({of.full_name(), ink_of_group(of, inks), of.idle});
  }
  const std::vector<std::vector<Ticks>> times = times_of(timeline, legend);
  breakdown.rows.push_back(
      {fmt::format("all {}", answer::counted(2, timeline.lane_noun).substr(2)), std::vector<Ticks>(entries.size())});
  for (std::size_t lane = 0; lane < times.size(); ++lane) {
    Breakdown::Row row{timeline.lanes[lane].name, {}};
    for (std::size_t part = 0; part < entries.size(); ++part) {
      row.amounts.push_back(times[lane][entries[part]]);
      breakdown.rows.front().amounts[part] += row.amounts.back();
    }
    const bool has_any =
        std::any_of(row.amounts.begin(), row.amounts.end(), [](Ticks amount) { return amount > Ticks(); });
    if (has_any) breakdown.rows.push_back(std::move(row));
  }
}

}  // namespace

std::string time_text(Ticks time, base::TimeUnit unit) {
  return fmt::format("{} {}", base::format_time(time, unit),
                     unit == base::TimeUnit::tick && time == Ticks(1) ? "tick" : plural_of(unit));
}

Breakdown time_breakdown(const Timeline& timeline) {
  Breakdown breakdown;
  breakdown.title = "Where the time goes";
  breakdown.note = fmt::format("Time of each {} by activity.", timeline.lane_noun);
  add_rows(breakdown, timeline, [](const StyleGroup&) { return true; });
  return breakdown;
}

Breakdown idle_breakdown(const Timeline& timeline) {
  Breakdown breakdown;
  breakdown.title = "Idle time by cause";
  breakdown.note = fmt::format("Idle time of each {} as a share of its total time.", timeline.lane_noun);
  add_rows(breakdown, timeline, [](const StyleGroup& entry) { return entry.idle; });
  for (Breakdown::Row& row : breakdown.rows) row.full_length = timeline.end;
  breakdown.rows.front().full_length = timeline.end * static_cast<std::int64_t>(timeline.lanes.size());
  return breakdown;
}

Table wait_table(const Timeline& timeline) {
  Table table;
  table.title = "Longest waits";
  table.note = "Select a row to see its bar in the chart.";
  table.columns = {{"idle", Align::left}, {timeline.lane_noun, Align::left}, {"start"},
                   {"duration"},          {"waits for", Align::left},        {"on", Align::left}};
  std::vector<std::size_t> waits;
  for (std::size_t bar = 0; bar < timeline.bars.size(); ++bar) {
    if (timeline.bars[bar].awaits >= 0) waits.push_back(bar);
  }
  const auto length = [&](std::size_t bar) { return timeline.bars[bar].end - timeline.bars[bar].begin; };
  const std::size_t shown = std::min(max_waits, waits.size());
  std::partial_sort(
      waits.begin(), waits.begin() + static_cast<std::ptrdiff_t>(shown), waits.end(),
      [&](std::size_t a, std::size_t b) { return length(a) != length(b) ? length(a) > length(b) : a < b; });
  waits.resize(shown);
  const std::vector<std::size_t> first = first_bars(timeline);
  const auto lane_name = [&](std::size_t bar) { return timeline.lanes[timeline::lane_of(first, bar)].name; };
  for (const std::size_t bar : waits) {
    const auto awaited = static_cast<std::size_t>(timeline.bars[bar].awaits);
    table.rows.push_back({title_of(timeline, timeline.bars[bar]), lane_name(bar),
                          time_text(timeline.bars[bar].begin, timeline.time_unit),
                          time_text(length(bar), timeline.time_unit), title_of(timeline, timeline.bars[awaited]),
                          lane_name(awaited)});
    table.bars.push_back(static_cast<std::int32_t>(bar));
  }
  return table;
}

using base::Ticks;
using base::TimeUnit;

std::string short_time(Ticks time, TimeUnit unit) {
  return unit == TimeUnit::ns ? answer::seconds_text(base::seconds_of_ticks(time)) : time_text(time, unit);
}

std::string signed_time(Ticks change, TimeUnit unit) {
  if (change < Ticks()) return "-" + short_time(Ticks() - change, unit);
  return change == Ticks() ? short_time(change, unit) : "+" + short_time(change, unit);
}

std::string change_text(Ticks from, Ticks to, TimeUnit unit) {
  std::string change = signed_time(to - from, unit);
  if (from == Ticks() || to == from) return change;
  return fmt::format("{} ({:+.1f}%)", change,
                     100 * (static_cast<double>(to.count()) / static_cast<double>(from.count()) - 1));
}

}  // namespace dovetail::report
