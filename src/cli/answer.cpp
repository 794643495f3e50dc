#include "cli/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "answer/question/json.h"
#include "answer/words/text.h"
#include "report/text/table.h"

namespace dovetail::cli {

std::vector<base::Memory> min_capacities(const pipeline::Problem& problem) {
  std::vector<base::Memory> capacities(static_cast<std::size_t>(problem.devices));
  // With no capacity at all every device is in excess by all that it cannot do without.
  for (const pipeline::CapacityExcess& device : fuse::find_impossible(problem, base::Memory(0)))
    capacities[device.device.index()] = device.peak;
  return capacities;
}

std::string min_capacity_text(const pipeline::Problem& problem) {
  constexpr std::string_view intro = "the smallest capacity with which a schedule fits, however long it takes";
  const std::vector<base::Memory> capacities = min_capacities(problem);
  const auto [least, most] = std::minmax_element(capacities.begin(), capacities.end());
  if (*least == *most) return fmt::format("{}: {} on every device\n", intro, base::format_memory(*most));
  // Neighbours that need the same share a row.
  std::vector<std::vector<std::string>> rows;
  for (std::size_t first = 0; first < capacities.size();) {
    std::size_t last = first;
    while (last + 1 < capacities.size() && capacities[last + 1] == capacities[first]) ++last;
    rows.push_back(
        {last == first ? fmt::format("{}", first) : fmt::format("{} to {}", first, last), base::format_memory(capacities[first])});
    first = last + 1;
  }
  return fmt::format("{}: {} on the device that needs the most\n", intro, base::format_memory(*most)) +
         report::render_table({{"device"}, {"smallest capacity"}}, rows);
}

std::string describe(const pipeline::SolverRecord& solver) {
  std::string text = solver.name;
  if (solver.seed) text += fmt::format(", seed {}", *solver.seed);
  if (solver.chains) text += ", " + answer::counted(*solver.chains, "chain");
  if (solver.iterations) text += " x " + answer::counted(*solver.iterations, "iteration");
  return text;
}

answer::Json to_json(const pipeline::SolverRecord& solver) {
  answer::Json object{{"name", solver.name}};
  if (solver.seed) object["seed"] = *solver.seed;
  if (solver.chains) object["chains"] = *solver.chains;
  if (solver.iterations) object["iterations"] = *solver.iterations;
  return object;
}

void add_request(answer::Json& object, const fuse::SolveOptions& options, base::TimeUnit unit) {
  object["objective"] = options.objective == fuse::Objective::memory ? "memory" : "makespan";
  if (options.deadline) object["deadline"] = answer::json_time(*options.deadline, unit);
  if (options.robustness_percent > 0) object["robust"] = options.robustness_percent;
}

base::Memory max_excess(const std::vector<pipeline::CapacityExcess>& excess) {
  base::Memory largest;
  for (const pipeline::CapacityExcess& device : excess) largest = std::max(largest, device.peak - device.capacity);
  return largest;
}

std::string excess_table(const std::vector<pipeline::CapacityExcess>& excess) {
  std::vector<std::vector<std::string>> rows;
  for (const pipeline::CapacityExcess& device : excess) {
    rows.push_back({fmt::format("{}", device.device.value), base::format_memory(device.peak), base::format_memory(device.capacity),
                    base::format_memory(device.peak - device.capacity)});
  }
  return report::render_table({{"device"}, {"held"}, {"capacity"}, {"excess"}}, rows);
}

answer::Json excess_json(const std::vector<pipeline::CapacityExcess>& excess) {
  answer::Json list = answer::Json::array();
  for (const pipeline::CapacityExcess& device : excess) {
    list.push_back({{"device", device.device.value},
                    {"held", answer::json_memory(device.peak)},
                    {"capacity", answer::json_memory(device.capacity)},
                    {"excess", answer::json_memory(device.peak - device.capacity)}});
  }
  return list;
}

}  // namespace dovetail::cli
