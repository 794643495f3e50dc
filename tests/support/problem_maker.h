// Builds problems with known answers in one line.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pipeline/problem/problem.h"

namespace dovetail::test {

/// Returns a model with one replica and a stage on each of `devices`. All stages are alike, with an activation of 1 (a
/// million millionths). Transfers and steps take no time.
inline pipeline::Model chain_model(std::string name, const std::vector<int>& devices, int microbatches,
                                   std::int64_t forward, std::int64_t backward) {
  const std::size_t stages = devices.size();
  pipeline::Model model;
  model.name = std::move(name);
  model.microbatches = microbatches;
  model.replicas.emplace_back();
  for (const int device : devices) model.replicas[0].push_back(base::DeviceId(device));
  model.forward.assign(stages, base::Ticks(forward));
  model.backward.assign(stages, base::Ticks(backward));
  model.activation.assign(stages, base::Memory(1'000'000));
  model.transfer_forward.assign(stages - 1, base::Ticks(0));
  model.transfer_backward.assign(stages - 1, base::Ticks(0));
  model.step.assign(stages, base::Ticks(0));
  return model;
}

/// Returns a problem of the models on `devices` devices, without resident memory or capacity.
inline pipeline::Problem problem_of(int devices, std::vector<pipeline::Model> models) {
  pipeline::Problem problem;
  problem.devices = devices;
  problem.resident.assign(static_cast<std::size_t>(devices), base::Memory(0));
  problem.models = std::move(models);
  return problem;
}

}  // namespace dovetail::test
