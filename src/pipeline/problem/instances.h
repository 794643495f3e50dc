// The bundled problems: the twelve of FlexFusion with their published results, two large ones, and thirty that cover
// more general features.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/problem/problem.h"

namespace dovetail::pipeline {

/// Results that the FlexFusion repository reports for an instance.
struct PublishedResult {
  Ticks bound;
  Ticks makespan;
  Memory peak_activation;                           ///< peak of the schedule found by the search
  std::optional<Memory> peak_activation_optimized;  ///< after the separate memory optimizer; absent if it was not run
  Ticks greedy_makespan;
  Memory greedy_peak_activation;
  Ticks serial_makespan;  ///< makespan of models trained one after the other with 1F1B
  Memory serial_peak_activation;
};

/// Groups of bundled problems, by what they cover. Lists of instances are in the order of the groups.
enum class InstanceGroup {
  published,       ///< the twelve instances of FlexFusion
  scale,           ///< many devices
  three_models,    ///< three or more models
  uneven_stages,   ///< stages of different cost: embedding and head, uneven layer splits, unequal devices
  transfer,        ///< delays between stages
  split_backward,  ///< separate weight gradients
  minibatches,     ///< several mini-batches, with optimizer steps
  capacity,        ///< capacities slightly above the memory that one model alone needs under 1F1B
};

/// All groups, in order.
inline constexpr std::array instance_groups{
    InstanceGroup::published, InstanceGroup::scale,          InstanceGroup::three_models, InstanceGroup::uneven_stages,
    InstanceGroup::transfer,  InstanceGroup::split_backward, InstanceGroup::minibatches,  InstanceGroup::capacity};

/// Returns the name of a group: "published", "scale", "three-models", ... From three_models on, instances are named
/// GROUP-NUMBER.
std::string_view name_of(InstanceGroup group);
/// Returns the group with this name, or nullopt.
std::optional<InstanceGroup> instance_group_named(std::string_view name);

struct Instance {
  std::string name;
  std::string summary;  ///< one line: "33B on 8 stages x 32 micro-batches, 2 x 13B on 4 stages x 16"
  Problem problem;
  std::optional<PublishedResult> published;
  InstanceGroup group = InstanceGroup::published;
};

/// Returns all bundled instances: exp0 to exp11, scale64, scale256, then the files of examples/general by group.
const std::vector<Instance>& instances();

/// Returns the instance with this name, or null.
const Instance* find_instance(std::string_view name);

/// A file of examples/general at build time: its name without the extension, and its text.
struct ExampleFile {
  std::string_view name;
  std::string_view content;
};

/// Returns all files of examples/general, sorted by name. The definition is generated when the library is built.
std::span<const ExampleFile> general_example_files();

/// Builds an instance from each file of general_example_files(). Sorts them by InstanceGroup, then by name. The group
/// is the file's name without its number, and the summary is the comment on its first line.
std::vector<Instance> make_general_instances();

}  // namespace dovetail::pipeline
