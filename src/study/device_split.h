// Devices split between training and rollout, for policies that need not wait for each other.
#pragma once

#include <vector>

#include "planner/space/search_space.h"

namespace dovetail::study {

/// A plan on two meshes that share no device.
struct DeviceSplit {
  int training = 0;        ///< devices, the first ones of the cluster or the last
  int rollout = 0;         ///< devices that generate, the others
  int training_first = 0;  ///< device that trains
  plan::Plan plan = {};
  double iteration_seconds = 0;  ///< by the closed form
};

/// Of every split of the cluster that the placement "disaggregated" knows, the best plan that coordinate descent finds
/// (selection_of), with those infer tasks moved to the training devices of which that gains, where it fits; the fastest
/// first, and of those as fast the one with the fewest training devices. The space's scenario says how far off policy.
std::vector<DeviceSplit> device_splits(const planner::SearchSpace& space);

}  // namespace dovetail::study
