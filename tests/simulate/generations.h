// Generate tasks and samples shared by the tests of generation.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cost/generation.h"
#include "llm/bundled_models.h"
#include "simulate/generation.h"

namespace dovetail::simulate::test {

inline cluster::Cluster h100_nodes(int nodes) {
  cluster::Cluster cluster;
  cluster.groups.push_back({nodes, 8, cluster::find_gpu("H100").value(), 0});
  cluster.networks.push_back({"network", 0, 50e9, 5e-6, {}});
  return cluster;
}

inline llm::Layout layout_of(int data, int tensor, int pipeline) {
  llm::Layout layout;
  layout.data = data;
  layout.tensor = tensor;
  layout.pipeline = pipeline;
  return layout;
}

/// A task with the objects that its references need. Must not be copied.
struct Scenario {
  cost::ModelFacts facts;
  cluster::Cluster cluster;
  GenerationTask task;

  Scenario(const char* model, const llm::Layout& layout)
      : facts(cost::facts_of(llm::find_bundled_model(model).value())),
        cluster(h100_nodes((layout.devices() + 7) / 8)),
        task{facts, cluster, {0, layout.devices()}, layout, {}, 1e15, {}} {}
  Scenario(const Scenario&) = delete;
  Scenario& operator=(const Scenario&) = delete;

  double token_bytes() const { return cost::key_value_bytes(facts, task.layout); }
  cost::Machine machine() const { return cost::machine_of(cluster, task.mesh, task.efficiency); }
};

/// Returns `count` samples of the same lengths, each with its own prompt.
inline std::vector<Sample> equal_samples(int count, std::int64_t prompt, std::int64_t response) {
  std::vector<Sample> samples;
  for (int index = 0; index < count; ++index) samples.push_back({prompt, response, index});
  return samples;
}

/// Returns prompts with up to `max_of_group` samples each.
inline std::vector<Sample> random_samples(int prompts, int max_of_group, int max_prompt, int max_response) {
  std::vector<Sample> samples;
  for (int group = 0; group < prompts; ++group) {
    const int prompt = *rc::gen::inRange(1, max_prompt + 1);
    const int members = *rc::gen::inRange(1, max_of_group + 1);
    for (int member = 0; member < members; ++member)
      samples.push_back({prompt, *rc::gen::inRange(0, max_response + 1), group});
  }
  return samples;
}

inline EngineOptions random_options() {
  EngineOptions options;
  options.prefix_sharing = *rc::gen::arbitrary<bool>();
  options.longest_first = *rc::gen::arbitrary<bool>();
  options.min_loaded = *rc::gen::arbitrary<bool>();
  options.block_tokens = *rc::gen::element(1, 16);
  return options;
}

}  // namespace dovetail::simulate::test
