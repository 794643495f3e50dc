#include "report/page/chart_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "report/page/summary.h"
#include "report/words/text.h"

namespace dovetail::report {
namespace {

using base::Ticks;

constexpr std::size_t most_waits = 20;
constexpr double millionths = 1e6;

/// [lane][category]
std::vector<std::vector<Ticks>> times_of(const Chart& chart) {
  std::vector<std::vector<Ticks>> times;
  std::size_t bar = 0;
  for (const ChartLane& lane : chart.lanes) {
    times.emplace_back(chart.categories.size());
    for (const std::size_t last = bar + lane.bars; bar < last; ++bar) {
      times.back()[static_cast<std::size_t>(chart.bars[bar].category)] += chart.bars[bar].end - chart.bars[bar].begin;
    }
  }
  return times;
}

/// The rows of `breakdown`: all lanes, then each that has any of its parts. `categories` are the parts'.
void add_rows(Breakdown& breakdown, const Chart& chart, const std::vector<std::size_t>& categories) {
  breakdown.time_unit = chart.time_unit;
  for (const std::size_t category : categories) {
    const Category& of = chart.categories[category];
    breakdown.parts.push_back({of.name, of.ink, of.idle});
  }
  const std::vector<std::vector<Ticks>> times = times_of(chart);
  breakdown.rows.push_back({fmt::format("all {}", counted(2, chart.lane_noun).substr(2)), std::vector<Ticks>(categories.size())});
  for (std::size_t lane = 0; lane < times.size(); ++lane) {
    Breakdown::Row row{chart.lanes[lane].name, {}};
    for (std::size_t part = 0; part < categories.size(); ++part) {
      row.amounts.push_back(times[lane][categories[part]]);
      breakdown.rows.front().amounts[part] += row.amounts.back();
    }
    const bool has_any = std::any_of(row.amounts.begin(), row.amounts.end(), [](Ticks amount) { return amount > Ticks(); });
    if (has_any) breakdown.rows.push_back(std::move(row));
  }
}

std::string_view lane_name(const Chart& chart, std::size_t bar) {
  std::size_t last = 0;
  for (const ChartLane& lane : chart.lanes) {
    last += lane.bars;
    if (bar < last) return lane.name;
  }
  return "";
}

std::string field_text(const Chart& chart, std::string_view name, std::size_t bar) {
  for (const Field& field : chart.fields) {
    if (field.name != name) continue;
    const std::int64_t value = field.values[bar];
    if (value < 0) return "";
    if (field.kind == Field::Kind::text) return field.texts[static_cast<std::size_t>(value)];
    return field.kind == Field::Kind::time ? time_text(Ticks(value), chart.time_unit) : std::to_string(value);
  }
  return "";
}

}  // namespace

double amount_of(base::Memory memory) { return static_cast<double>(memory.count()) / millionths; }

std::string time_text(Ticks time, base::TimeUnit unit) {
  return fmt::format("{} {}", base::format_time(time, unit), unit == base::TimeUnit::tick && time == Ticks(1) ? "tick" : plural_of(unit));
}

std::string bar_title(const Chart& chart, std::size_t bar) {
  const std::string& pattern = chart.categories[static_cast<std::size_t>(chart.bars[bar].category)].bar_title;
  std::string title;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const std::size_t end = pattern[i] == '{' ? pattern.find('}', i) : std::string::npos;
    if (end == std::string::npos) {
      title += pattern[i];
    } else {
      title += field_text(chart, std::string_view(pattern).substr(i + 1, end - i - 1), bar);
      i = end;
    }
  }
  return title;
}

Breakdown time_breakdown(const Chart& chart) {
  Breakdown breakdown;
  breakdown.title = "Where the time goes";
  breakdown.note = fmt::format("Time of each {}, by what it does.", chart.lane_noun);
  std::vector<std::size_t> categories(chart.categories.size());
  std::iota(categories.begin(), categories.end(), 0);
  add_rows(breakdown, chart, categories);
  return breakdown;
}

Breakdown idle_breakdown(const Chart& chart) {
  Breakdown breakdown;
  breakdown.title = "Idle time by cause";
  breakdown.note = fmt::format("Time in which a {} does nothing, as a share of all of its time.", chart.lane_noun);
  std::vector<std::size_t> categories;
  for (std::size_t category = 0; category < chart.categories.size(); ++category) {
    if (chart.categories[category].idle) categories.push_back(category);
  }
  add_rows(breakdown, chart, categories);
  for (Breakdown::Row& row : breakdown.rows) row.whole = chart.end;
  breakdown.rows.front().whole = chart.end * static_cast<std::int64_t>(chart.lanes.size());
  return breakdown;
}

Table longest_waits(const Chart& chart) {
  Table table;
  table.title = "The longest waits";
  table.note = "A row leads to its bar in the chart.";
  table.columns = {{"idle"}, {chart.lane_noun}, {"from", true}, {"lasts", true}, {"waits for"}, {"on"}};
  std::vector<std::size_t> waits;
  for (std::size_t bar = 0; bar < chart.bars.size(); ++bar) {
    if (chart.bars[bar].awaits >= 0) waits.push_back(bar);
  }
  const auto length = [&](std::size_t bar) { return chart.bars[bar].end - chart.bars[bar].begin; };
  const std::size_t shown = std::min(most_waits, waits.size());
  std::partial_sort(waits.begin(), waits.begin() + static_cast<std::ptrdiff_t>(shown), waits.end(),
                    [&](std::size_t a, std::size_t b) { return length(a) != length(b) ? length(a) > length(b) : a < b; });
  waits.resize(shown);
  for (const std::size_t bar : waits) {
    const auto awaited = static_cast<std::size_t>(chart.bars[bar].awaits);
    table.rows.push_back({bar_title(chart, bar), std::string(lane_name(chart, bar)), time_text(chart.bars[bar].begin, chart.time_unit),
                          time_text(length(bar), chart.time_unit), bar_title(chart, awaited), std::string(lane_name(chart, awaited))});
    table.bars.push_back(static_cast<std::int32_t>(bar));
  }
  return table;
}

}  // namespace dovetail::report
