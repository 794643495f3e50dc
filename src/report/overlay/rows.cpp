#include "report/overlay/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "report/iteration/iteration_picture.h"
#include "report/overlay/pieces.h"

namespace dovetail::report {
namespace {

/// Names of traces may say anything.
constexpr int most_devices = 1'000'000;

/// Takes a number from the front of `text`.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || number < 0 || number >= most_devices) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

/// A row to be made: the row that it is a part of, and its devices.
struct Part {
  std::size_t lane = 0;
  std::vector<int> devices;  ///< none: the row as it is
};

std::vector<Part> parts_of(const Chart& chart, const Chart& other) {
  std::map<int, std::size_t> lane_of;  // in `other`; devices that it does not have are together
  for (std::size_t lane = 0; lane < other.lanes.size(); ++lane) {
    const auto devices = devices_of(other.lanes[lane].name);
    for (const int device : devices.value_or(std::vector<int>())) lane_of[device] = lane + 1;
  }
  std::vector<Part> parts;
  for (std::size_t lane = 0; lane < chart.lanes.size(); ++lane) {
    std::map<std::size_t, std::vector<int>> of_lane;
    const auto devices = devices_of(chart.lanes[lane].name);
    for (const int device : devices.value_or(std::vector<int>())) of_lane[lane_of[device]].push_back(device);
    if (of_lane.empty()) parts.push_back({lane, {}});
    for (auto& [number, together] : of_lane) parts.push_back({lane, std::move(together)});
  }
  if (std::none_of(parts.begin(), parts.end(), [](const Part& part) { return part.devices.empty(); }))
    std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.devices.front() < b.devices.front(); });
  return parts;
}

}  // namespace

std::optional<std::vector<int>> devices_of(std::string_view name) {
  if (!take(name, "devices ") && !take(name, "device ")) return std::nullopt;
  std::vector<int> devices;
  do {
    const std::optional<int> first = take_number(name);
    const std::optional<int> last = first && take(name, "-") ? take_number(name) : first;
    if (!first || !last || *last < *first || (!devices.empty() && *first <= devices.back())) return std::nullopt;
    for (int device = *first; device <= *last; ++device) devices.push_back(device);
  } while (take(name, ","));
  return name.empty() ? std::optional(std::move(devices)) : std::nullopt;
}

Chart divide_rows(const Chart& chart, const Chart& other) {
  const std::vector<Part> parts = parts_of(chart, other);
  const std::vector<std::size_t> first = first_bars(chart);
  std::vector<PieceLane> lanes;
  std::vector<Curve> curves;
  for (const Part& part : parts) {
    PieceLane lane{chart.lanes[part.lane], {}};
    if (!part.devices.empty()) lane.lane.name = device_row_name(part.devices);
    for (std::size_t bar = first[part.lane]; bar < first[part.lane + 1]; ++bar)
      lane.pieces.push_back({bar, chart.bars[bar].begin, chart.bars[bar].end});
    for (const Curve& curve : chart.curves)
      if (curve.lane == part.lane) curves.push_back({lanes.size(), curve.steps, curve.capacity});
    lanes.push_back(std::move(lane));
  }
  Chart divided = made_of(chart, lanes);
  divided.curves = std::move(curves);
  return divided;
}

}  // namespace dovetail::report
