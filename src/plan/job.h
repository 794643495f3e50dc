// A job: what is to be trained, on what, and how much of it an iteration has.
#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "llm/transformer.h"
#include "workflow/workflow.h"
#include "workflow/workload.h"

namespace dovetail::plan {

/// Which software runs it; empty names are chosen by whoever predicts.
struct Software {
  std::string training;    ///< whose conventions decide the memory of training: "megatron", "fsdp2", ...
  std::string efficiency;  ///< the calibrated set of efficiencies that times are predicted with

  friend bool operator==(const Software&, const Software&) = default;
};

struct Job {
  std::string name;
  workflow::Workflow workflow;
  workflow::Workload workload;
  std::vector<llm::Transformer> models;  ///< [role of the workflow], with the head that the role has
  cluster::Cluster cluster;
  Software software;
};

/// The model of a task's role. REQUIRES: the task has a role.
const llm::Transformer& model_of(const Job& job, workflow::TaskId task);

}  // namespace dovetail::plan
