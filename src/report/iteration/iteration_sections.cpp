#include "report/iteration/iteration_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "answer/words/figures.h"
#include "answer/words/text.h"
#include "report/page/inks.h"
#include "report/page/legend.h"
#include "simulate/trace.h"
#include "timeline/timeline.h"

namespace dovetail::report {
namespace {

using simulate::BarKind;
using simulate::Use;
using Tasks = std::vector<timeline::Track>;

/// The parts of breakdowns as a legend has them: work of one bar kind for one task, that of no task last, or idle time
/// of one cause.
using Key = std::tuple<bool, std::uint32_t, BarKind>;

Key key_of(const Use& use) {
  const bool idle = is_idle(use.bar_kind);
  return {idle, idle ? 0 : static_cast<std::uint32_t>(use.task), use.bar_kind};
}

/// A page with more would take seconds to open and tens of megabytes.
constexpr std::size_t max_bars = 250'000;

std::int64_t device_count(const simulate::Trace& trace) {
  std::int64_t devices = 0;
  for (const simulate::Lane& lane : trace.lanes) devices += static_cast<std::int64_t>(lane.devices.size());
  return devices;
}

/// The parts of a breakdown: a number for each use that there is.
std::map<Key, std::size_t> add_parts(Breakdown& breakdown, const Tasks& tasks, const std::vector<Use>& uses) {
  std::map<Key, const Use*> examples;
  for (const Use& use : uses) examples.try_emplace(key_of(use), &use);
  std::map<Key, std::size_t> numbers;
  for (const auto& [key, use] : examples) {
    numbers[key] = breakdown.parts.size();
    breakdown.parts.push_back({category_name(tasks, use->bar_kind, use->task), ink_of(tasks, use->bar_kind, use->task),
                               is_idle(use->bar_kind)});
  }
  return numbers;
}

/// Parts and rows of the uses that are `counted`: all devices together, then one of each lane.
template <class Counted>
void add_uses(Breakdown& breakdown, const simulate::Trace& trace, const Tasks& tasks, Counted counted) {
  std::vector<Use> all = simulate::uses_of(trace);
  std::erase_if(all, [&](const Use& use) { return !counted(use); });
  const std::map<Key, std::size_t> numbers = add_parts(breakdown, tasks, all);
  const auto add_row = [&](std::string name, const std::vector<Use>& uses) {
    Breakdown::Row row{std::move(name), std::vector<base::Ticks>(numbers.size())};
    for (const Use& use : uses)
      if (counted(use)) row.amounts[numbers.at(key_of(use))] += use.time;
    breakdown.rows.push_back(std::move(row));
  };
  add_row(fmt::format("all {}", answer::counted(device_count(trace), "device")), all);
  for (const simulate::Lane& lane : trace.lanes)
    add_row(timeline::device_lane_name(lane.devices), simulate::uses_of(lane));
}

}  // namespace

Chart iteration_chart(timeline::Timeline timeline, std::string title) {
  std::string note =
      "Each row stands for devices that do the same. Work is as high as the row, idle time lower and coloured by its "
      "cause.";
  const auto is_link = [](const timeline::Lane& lane) { return timeline::is_host_link_lane(lane.name); };
  if (std::any_of(timeline.lanes.begin(), timeline.lanes.end(), is_link))
    note += " The last rows are what goes over links to host memory meanwhile.";
  timeline::Thinned thin = timeline::thinned(std::move(timeline), max_bars);
  if (thin.shortest > base::Ticks())
    note += fmt::format(" Of neighbouring bars shorter than {} one is drawn, as what most of their time is.",
                        answer::seconds_text(base::seconds_of_ticks(thin.shortest)));
  return {std::move(title), std::move(note), std::move(thin.timeline)};
}

Breakdown use_breakdown(const simulate::Trace& trace, const Tasks& tasks) {
  Breakdown breakdown;
  breakdown.title = "Where the time goes";
  breakdown.note = "Time of all devices together, then of one device of each row, by what they do.";
  breakdown.time_unit = base::TimeUnit::ns;
  add_uses(breakdown, trace, tasks, [](const Use&) { return true; });
  return breakdown;
}

Breakdown idle_use_breakdown(const simulate::Trace& trace, const Tasks& tasks) {
  Breakdown breakdown;
  breakdown.title = "Idle time by cause";
  breakdown.note =
      "As a share of all of the time: of all devices together, then of one device of each row, the idlest first.";
  breakdown.time_unit = base::TimeUnit::ns;
  add_uses(breakdown, trace, tasks, [](const Use& use) { return is_idle(use.bar_kind); });
  for (Breakdown::Row& row : breakdown.rows) row.whole = trace.end;
  breakdown.rows.front().whole = trace.end * device_count(trace);
  const auto idle = [](const Breakdown::Row& row) {
    return std::accumulate(row.amounts.begin(), row.amounts.end(), base::Ticks());
  };
  std::stable_sort(breakdown.rows.begin() + 1, breakdown.rows.end(),
                   [&](const Breakdown::Row& a, const Breakdown::Row& b) { return idle(a) > idle(b); });
  return breakdown;
}

}  // namespace dovetail::report
