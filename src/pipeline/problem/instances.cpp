#include "pipeline/problem/instances.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/assert.h"
#include "pipeline/problem/problem_file.h"

namespace dovetail::pipeline {
namespace {

/// A model of a bundled instance. All stages are alike, and a backward takes twice as long as a forward.
struct ModelFacts {
  const char* name;
  int replicas;
  int stages;
  int microbatches;
  int forward;
  int activation_hundredths;
};

/// Published results. Memory is in hundredths of the instance's unit; -1 if the memory optimizer was not run.
struct PublishedFacts {
  int bound;
  int makespan;
  int peak;
  int peak_optimized;
  int greedy_makespan;
  int greedy_peak;
  int serial_makespan;
  int serial_peak;
};

struct FlexFusionFacts {
  const char* name;
  ModelFacts large;
  ModelFacts small;
  PublishedFacts published;
};

// Parameters and results from the FlexFusion repository (Apache-2.0): parallel_driver.cc, get-lower-bound.py and
// results/.
constexpr std::array<FlexFusionFacts, 12> flexfusion{{
    {"exp0", {"33B", 1, 8, 32, 5, 195}, {"13B", 2, 4, 16, 4, 200}, {708, 708, 2145, 1970, 741, 4290, 813, 1560}},
    {"exp1", {"33B", 1, 8, 16, 5, 195}, {"13B", 2, 4, 8, 4, 200}, {372, 372, 1575, -1, 425, 3330, 477, 1560}},
    {"exp2", {"33B", 1, 8, 8, 5, 195}, {"13B", 2, 4, 4, 4, 200}, {225, 225, 1560, -1, 239, 2360, 309, 1560}},
    {"exp3", {"33B", 1, 8, 32, 5, 195}, {"13B", 1, 8, 32, 2, 100}, {702, 702, 2050, 2050, 755, 4290, 819, 1560}},
    {"exp4", {"33B", 1, 8, 16, 5, 195}, {"13B", 1, 8, 16, 2, 100}, {366, 366, 1855, -1, 419, 3125, 483, 1560}},
    {"exp5", {"33B", 1, 8, 8, 5, 195}, {"13B", 1, 8, 8, 2, 100}, {225, 225, 1560, -1, 225, 2360, 315, 1560}},
    {"exp6", {"65B", 1, 16, 64, 2, 164}, {"33B", 2, 8, 32, 2, 200}, {618, 618, 4136, 3972, 632, 7544, 708, 2624}},
    {"exp7", {"65B", 1, 16, 32, 2, 164}, {"33B", 2, 8, 16, 2, 200}, {330, 330, 2988, -1, 366, 5848, 420, 2624}},
    {"exp8", {"65B", 1, 16, 16, 2, 164}, {"33B", 2, 8, 8, 2, 200}, {186, 186, 2624, -1, 214, 4224, 276, 2624}},
    {"exp9", {"65B", 1, 16, 64, 2, 164}, {"33B", 1, 16, 64, 1, 100}, {606, 613, 4364, 3872, 651, 7544, 711, 2624}},
    {"exp10", {"65B", 1, 16, 32, 2, 164}, {"33B", 1, 16, 32, 1, 100}, {318, 318, 3544, 3216, 363, 5248, 423, 2624}},
    {"exp11", {"65B", 1, 16, 16, 2, 164}, {"33B", 1, 16, 16, 1, 100}, {186, 186, 2624, -1, 219, 4124, 279, 2624}},
}};

constexpr std::int64_t memory_per_hundredth = 10'000;

Memory hundredths(int count) { return Memory(count * memory_per_hundredth); }

/// Returns the device of each replica's stages, block by block, down the devices or up.
std::vector<std::vector<DeviceId>> place_replicas(const ModelFacts& facts, bool upwards) {
  std::vector<std::vector<DeviceId>> replicas;
  for (int replica = 0; replica < facts.replicas; ++replica) {
    std::vector<DeviceId>& devices = replicas.emplace_back();
    for (int stage = 0; stage < facts.stages; ++stage)
      devices.emplace_back(upwards ? (replica + 1) * facts.stages - 1 - stage : replica * facts.stages + stage);
  }
  return replicas;
}

Model make_model(const ModelFacts& facts, bool upwards) {
  const auto stages = static_cast<std::size_t>(facts.stages);
  Model model;
  model.name = facts.name;
  model.microbatches = facts.microbatches;
  model.replicas = place_replicas(facts, upwards);
  model.forward.assign(stages, Ticks(facts.forward));
  model.backward.assign(stages, Ticks(facts.forward) * 2);
  model.activation.assign(stages, hundredths(facts.activation_hundredths));
  model.transfer_forward.resize(stages - 1);
  model.transfer_backward.resize(stages - 1);
  model.step.resize(stages);
  return model;
}

Problem make_problem(const ModelFacts& large, const ModelFacts& small) {
  Problem problem;
  problem.devices = large.stages;
  problem.resident.resize(static_cast<std::size_t>(problem.devices));
  problem.models = {make_model(large, false), make_model(small, true)};
  return problem;
}

PublishedResult make_published(const PublishedFacts& facts) {
  PublishedResult result;
  result.bound = Ticks(facts.bound);
  result.makespan = Ticks(facts.makespan);
  result.peak_activation = hundredths(facts.peak);
  if (facts.peak_optimized >= 0) result.peak_activation_optimized = hundredths(facts.peak_optimized);
  result.greedy_makespan = Ticks(facts.greedy_makespan);
  result.greedy_peak_activation = hundredths(facts.greedy_peak);
  result.serial_makespan = Ticks(facts.serial_makespan);
  result.serial_peak_activation = hundredths(facts.serial_peak);
  return result;
}

/// Summarizes an instance: "33B on 8 stages x 32 micro-batches, 2 x 13B on 4 stages x 16".
std::string summarize(const ModelFacts& large, const ModelFacts& small) {
  const std::string copies = small.replicas > 1 ? fmt::format("{} x ", small.replicas) : "";
  return fmt::format("{} on {} stages x {} micro-batches, {}{} on {} stages x {}", large.name, large.stages,
                     large.microbatches, copies, small.name, small.stages, small.microbatches);
}

Instance make_instance(std::string name, const ModelFacts& large, const ModelFacts& small,
                       std::optional<PublishedResult> published) {
  const InstanceGroup group = published ? InstanceGroup::published : InstanceGroup::scale;
  return {std::move(name), summarize(large, small), make_problem(large, small), std::move(published), group};
}

/// Builds an instance of two models in opposite directions over many devices, to measure how solvers scale.
Instance make_scale_instance(int stages) {
  const ModelFacts large{"large", 1, stages, 4 * stages, 2, 164};
  const ModelFacts small{"small", 1, stages, 4 * stages, 1, 100};
  return make_instance(fmt::format("scale{}", stages), large, small, std::nullopt);
}

std::vector<Instance> make_instances() {
  std::vector<Instance> made;
  for (const FlexFusionFacts& facts : flexfusion)
    made.push_back(make_instance(facts.name, facts.large, facts.small, make_published(facts.published)));
  made.push_back(make_scale_instance(64));
  made.push_back(make_scale_instance(256));
  for (Instance& instance : make_general_instances()) made.push_back(std::move(instance));
  return made;
}

}  // namespace

std::string_view name_of(InstanceGroup group) {
  constexpr std::array<std::string_view, instance_groups.size()> names{
      "published", "scale", "three-models", "uneven-stages", "transfer", "split-backward", "minibatches", "capacity"};
  return names[static_cast<std::size_t>(group)];
}

std::optional<InstanceGroup> instance_group_named(std::string_view name) {
  const auto found = std::find_if(instance_groups.begin(), instance_groups.end(),
                                  [name](InstanceGroup group) { return name_of(group) == name; });
  return found == instance_groups.end() ? std::nullopt : std::optional(*found);
}

const std::vector<Instance>& instances() {
  static const std::vector<Instance> all = make_instances();
  return all;
}

const Instance* find_instance(std::string_view name) {
  const auto found = std::find_if(instances().begin(), instances().end(),
                                  [name](const Instance& instance) { return instance.name == name; });
  return found == instances().end() ? nullptr : &*found;
}

namespace {

/// Returns the group of an instance name: "uneven-stages-3" is in "uneven-stages".
InstanceGroup group_of(std::string_view name) {
  const auto group = instance_group_named(name.substr(0, name.rfind('-')));
  DOVETAIL_ASSERT(group.has_value());
  return *group;
}

/// Returns the text of the comment on the first line.
std::string title_of(std::string_view content) {
  constexpr std::string_view mark = "# ";
  DOVETAIL_ASSERT(content.starts_with(mark));
  return std::string(content.substr(mark.size(), content.find('\n') - mark.size()));
}

Instance make_instance(const ExampleFile& file) {
  base::Result<Problem> problem = parse_problem(file.content, std::string(file.name));
  DOVETAIL_ASSERT(problem.ok());
  return {std::string(file.name), title_of(file.content), std::move(problem).value(), {}, group_of(file.name)};
}

}  // namespace

std::vector<Instance> make_general_instances() {
  std::vector<Instance> made;
  for (const ExampleFile& file : general_example_files()) made.push_back(make_instance(file));
  std::sort(made.begin(), made.end(),
            [](const Instance& a, const Instance& b) { return std::tie(a.group, a.name) < std::tie(b.group, b.name); });
  return made;
}

}  // namespace dovetail::pipeline
