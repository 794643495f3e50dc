#include "report/overlay/rows.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "report/overlay/pieces.h"
#include "timeline/timeline.h"

namespace dovetail::report {
namespace {

using timeline::Counter;
using timeline::Timeline;

/// A row to be made: the row that it is a part of, and its devices.
struct Part {
  std::size_t lane = 0;
  std::vector<int> devices;  ///< none: the row as it is
};

std::vector<Part> parts_of(const Timeline& timeline, const Timeline& other) {
  std::map<int, std::size_t> lane_of;  // in `other`; devices that it does not have are together
  for (std::size_t lane = 0; lane < other.lanes.size(); ++lane) {
    const auto devices = timeline::devices_of(other.lanes[lane].name);
    for (const int device : devices.value_or(std::vector<int>())) lane_of[device] = lane + 1;
  }
  std::vector<Part> parts;
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    std::map<std::size_t, std::vector<int>> of_lane;
    const auto devices = timeline::devices_of(timeline.lanes[lane].name);
    for (const int device : devices.value_or(std::vector<int>())) of_lane[lane_of[device]].push_back(device);
    if (of_lane.empty()) parts.push_back({lane, {}});
    for (auto& [number, together] : of_lane) parts.push_back({lane, std::move(together)});
  }
  if (std::none_of(parts.begin(), parts.end(), [](const Part& part) { return part.devices.empty(); }))
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part& a, const Part& b) { return a.devices.front() < b.devices.front(); });
  return parts;
}

}  // namespace

Timeline divide_rows(const Timeline& timeline, const Timeline& other) {
  const std::vector<Part> parts = parts_of(timeline, other);
  const std::vector<std::size_t> first = first_bars(timeline);
  std::vector<PieceLane> lanes;
  std::vector<Counter> counters;
  for (const Part& part : parts) {
    PieceLane lane{timeline.lanes[part.lane], {}};
    if (!part.devices.empty()) lane.lane.name = timeline::device_lane_name(part.devices);
    for (std::size_t bar = first[part.lane]; bar < first[part.lane + 1]; ++bar)
      lane.pieces.push_back({bar, timeline.bars[bar].begin, timeline.bars[bar].end});
    for (const Counter& counter : timeline.counters)
      if (counter.lane == part.lane) counters.emplace_back(counter).lane = lanes.size();
    lanes.push_back(std::move(lane));
  }
  Timeline divided = made_of(timeline, lanes);
  divided.counters = std::move(counters);
  return divided;
}

}  // namespace dovetail::report
