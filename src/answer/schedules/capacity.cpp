#include "answer/schedules/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "fuse/bounds/bounds.h"

namespace dovetail::answer {

std::vector<base::Memory> min_capacities(const pipeline::Problem& problem) {
  std::vector<base::Memory> capacities(static_cast<std::size_t>(problem.devices));
  // With zero capacity, the excess of each device is the memory that it cannot do without.
  for (const pipeline::CapacityExcess& device : fuse::find_impossible(problem, base::Memory(0)))
    capacities[device.device.index()] = device.peak;
  return capacities;
}

Sections min_capacity_sections(const pipeline::Problem& problem) {
  constexpr std::string_view intro = "minimum capacity for a schedule to fit";
  const std::vector<base::Memory> capacities = min_capacities(problem);
  const auto [least, most] = std::minmax_element(capacities.begin(), capacities.end());
  if (*least == *most) return fmt::format("{}: {} on every device\n", intro, base::format_memory(*most));
  // Adjacent devices with the same value share a row.
  Table table{{{"device"}, {"minimum capacity"}}, {}};
  for (std::size_t first = 0; first < capacities.size();) {
    std::size_t last = first;
    while (last + 1 < capacities.size() && capacities[last + 1] == capacities[first]) ++last;
    table.rows.push_back({last == first ? fmt::format("{}", first) : fmt::format("{} to {}", first, last),
                          base::format_memory(capacities[first])});
    first = last + 1;
  }
  return fmt::format("{}: {} on the device that needs most\n", intro, base::format_memory(*most)) + std::move(table);
}

base::Memory max_excess(const std::vector<pipeline::CapacityExcess>& excess) {
  base::Memory largest;
  for (const pipeline::CapacityExcess& device : excess) largest = std::max(largest, device.peak - device.capacity);
  return largest;
}

Table excess_table(const std::vector<pipeline::CapacityExcess>& excess) {
  Table table{{{"device"}, {"peak memory"}, {"capacity"}, {"excess"}}, {}};
  for (const pipeline::CapacityExcess& device : excess) {
    table.rows.push_back({fmt::format("{}", device.device.value), base::format_memory(device.peak),
                          base::format_memory(device.capacity), base::format_memory(device.peak - device.capacity)});
  }
  return table;
}

}  // namespace dovetail::answer
