// Two models in opposite directions on the same devices.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "pipeline/problem/problem.h"

namespace dovetail::test {

/// Returns a problem in ns with an actor and a critic. The stages of the actor are on the devices in ascending order,
/// those of the critic in descending order. On every stage, a forward takes 2 ms and a backward 4 ms.
inline pipeline::Problem two_models(int devices, int microbatches) {
  pipeline::Problem problem;
  problem.time_unit = base::TimeUnit::ns;
  problem.devices = devices;
  std::vector<int> order;
  for (int device = 0; device < devices; ++device) order.push_back(device);
  for (const std::string name : {"actor", "critic"}) {
    pipeline::Model& model = problem.models.emplace_back();
    model.name = name;
    model.microbatches = microbatches;
    model.replicas = {pipeline::device_list(order)};
    model.forward.assign(order.size(), base::Ticks(2'000'000));
    model.backward.assign(order.size(), base::Ticks(4'000'000));
    std::reverse(order.begin(), order.end());
  }
  return pipeline::with_defaults(problem);
}

}  // namespace dovetail::test
