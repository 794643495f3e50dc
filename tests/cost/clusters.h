// Clusters and batches shared by the tests of times.
#pragma once

#include "cluster/cluster.h"
#include "cost/batches.h"
#include "cost/machine.h"
#include "cost/model_facts.h"
#include "llm/bundled_models.h"

namespace dovetail::cost::test {

inline cluster::Cluster h100_nodes(int nodes) {
  cluster::Cluster cluster;
  cluster.groups.push_back({nodes, 8, cluster::find_gpu("H100").value(), 0});
  cluster.networks.push_back({"network", 0, 50e9, 5e-6, {}});
  return cluster;
}

inline Machine h100_machine(int nodes, const Efficiency& efficiency = {}) {
  return machine_of(h100_nodes(nodes), {0, 8 * nodes}, efficiency);
}

inline ModelFacts facts_of_bundled(const char* name) { return facts_of(llm::find_bundled_model(name).value()); }

inline llm::Layout layout_of(int data, int tensor, int pipeline) {
  llm::Layout layout;
  layout.data = data;
  layout.tensor = tensor;
  layout.pipeline = pipeline;
  layout.zero = 1;
  return layout;
}

}  // namespace dovetail::cost::test
