// The bundled problems: the twelve of FlexFusion, with their published results, two large ones, and thirty of more
// general kinds.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/problem/problem.h"

namespace dovetail::pipeline {

/// What FlexFusion's repository reports for an instance.
struct PublishedResult {
  Ticks bound;
  Ticks makespan;
  Memory peak_activation;                           ///< of the search
  std::optional<Memory> peak_activation_optimized;  ///< after its separate memory optimizer, where it was run
  Ticks greedy_makespan;
  Memory greedy_peak_activation;
  Ticks serial_makespan;  ///< one model after the other with 1F1B
  Memory serial_peak_activation;
};

/// What a bundled problem is there for; lists show them group by group.
enum class InstanceGroup {
  published,       ///< FlexFusion's twelve
  scale,           ///< many devices
  three_models,    ///< three models and more
  uneven_stages,   ///< embedding, head, uneven layer splits, unequal devices
  transfer,        ///< delays between stages
  split_backward,  ///< weight gradients apart
  minibatches,     ///< several, with optimizer steps
  capacity,        ///< little more memory than one model alone needs under 1F1B
};

/// All groups, in order.
inline constexpr std::array instance_groups{
    InstanceGroup::published, InstanceGroup::scale,          InstanceGroup::three_models, InstanceGroup::uneven_stages,
    InstanceGroup::transfer,  InstanceGroup::split_backward, InstanceGroup::minibatches,  InstanceGroup::capacity};

/// "published", "scale", "three-models", ...; from the third on the names of its instances are this and a number.
std::string_view name_of(InstanceGroup group);
/// The group of that name, if there is one.
std::optional<InstanceGroup> instance_group_named(std::string_view name);

struct Instance {
  std::string name;
  std::string summary;  ///< "33B on 8 stages x 32 micro-batches, 2 x 13B on 4 stages x 16"
  Problem problem;
  std::optional<PublishedResult> published;
  InstanceGroup group = InstanceGroup::published;
};

/// All bundled instances: exp0 ... exp11, scale64, scale256, then the files of examples/general, group by group.
const std::vector<Instance>& instances();

/// The instance of that name, if there is one.
const Instance* find_instance(std::string_view name);

}  // namespace dovetail::pipeline
