#include "report/split_lanes.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace dovetail::report {

simulate::Trace split_lanes(const simulate::Trace& trace, const simulate::Trace& other) {
  std::map<int, std::size_t> lane_of;  // in `other`; devices that it does not have are together
  for (std::size_t lane = 0; lane < other.lanes.size(); ++lane)
    for (const int device : other.lanes[lane].devices) lane_of[device] = lane + 1;
  simulate::Trace split;
  split.end = trace.end;
  for (const simulate::Lane& lane : trace.lanes) {
    std::map<std::size_t, std::vector<int>> parts;
    for (const int device : lane.devices) parts[lane_of[device]].push_back(device);
    for (auto& [number, devices] : parts) split.lanes.push_back({std::move(devices), lane.spans, lane.memory});
  }
  std::sort(split.lanes.begin(), split.lanes.end(),
            [](const simulate::Lane& a, const simulate::Lane& b) { return a.devices.front() < b.devices.front(); });
  return split;
}

}  // namespace dovetail::report
