#include "planner/space/layouts.h"

#include <algorithm>

namespace dovetail::planner {
namespace {

bool is_power_of_two(int number) { return (number & (number - 1)) == 0; }

}  // namespace

LayoutRules real_rules() { return {.max_tensor = 8, .powers_of_two = true, .stage_devices_unit = 8, .min_devices = 4}; }

LayoutRules real_search_rules(int nodes, double sequences, std::int64_t mini_batches) {
  LayoutRules rules = real_rules();
  rules.max_stages = std::max(nodes, 8);
  rules.max_parts = sequences;
  if (mini_batches == 0) return rules;
  rules.max_parts = sequences / (2 * static_cast<double>(mini_batches));
  rules.max_stage_devices = 8;
  return rules;
}

std::vector<llm::Layout> layouts_of(int devices, int devices_per_node, const LayoutRules& rules) {
  std::vector<llm::Layout> layouts;
  if (devices < rules.min_devices) return layouts;
  const int largest = std::min({rules.max_tensor, devices_per_node, devices});
  for (int tensor = 1; tensor <= largest; ++tensor) {
    if (devices % tensor != 0 || devices_per_node % tensor != 0 || (rules.powers_of_two && !is_power_of_two(tensor)))
      continue;
    for (int pipeline = 1; pipeline <= devices / tensor; ++pipeline) {
      if (devices / tensor % pipeline != 0 || (rules.max_stages > 0 && pipeline > rules.max_stages)) continue;
      const int stage = devices / pipeline;
      const int unit = rules.stage_devices_unit;
      if (unit > 0 && stage % unit != 0 && !(stage < unit && is_power_of_two(stage))) continue;
      if (rules.max_stage_devices > 0 && stage > rules.max_stage_devices) continue;
      const int parts = devices / tensor;
      if (rules.max_parts > 0 && parts > rules.max_parts) continue;
      llm::Layout layout;
      layout.tensor = tensor;
      layout.pipeline = pipeline;
      layout.data = stage / tensor;
      layouts.push_back(layout);
    }
  }
  return layouts;
}

}  // namespace dovetail::planner
