// A job: what is to be trained, on what, and how much of it an iteration has.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/file_place.h"
#include "cluster/cluster.h"
#include "llm/transformer.h"
#include "plan/limits.h"
#include "plan/not_modelled.h"
#include "plan/pin.h"
#include "workflow/workflow.h"
#include "workflow/workload.h"

namespace dovetail::plan {

/// Which software runs it; empty names are chosen by whoever predicts.
struct Software {
  std::string training;    ///< whose conventions decide the memory of training: "megatron", "fsdp2", ...
  std::string efficiency;  ///< the calibrated set of efficiencies that times are predicted with: its name, or the path
                           ///< of its file
  std::string profile;     ///< the path of a file of measured layers, which stand in for the roofline; empty: none
  bool prefetch =
      false;  ///< host transfers go on beside other tasks (host_transfers.h); else they are a part of their task's step
  std::string framework = {};  ///< the program that trains: plans are those that it runs (framework.h); empty: any

  friend bool operator==(const Software&, const Software&) = default;
};
template <std::same_as<Software> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Name;
  return base::fields<T>(field("training", &T::training, Name{}), field("efficiency", &T::efficiency, Name{}),
                         field("profile", &T::profile, Name{}), field("prefetch", &T::prefetch, base::Flag{}),
                         field("framework", &T::framework, Name{}));
}

/// Where a job's file says what is fixed of a task; of a layout's member that it does not name, nowhere.
struct PinPlaces {
  base::FilePlace whole;
  base::FilePlace tensor;
  base::FilePlace pipeline;
  base::FilePlace zero;
};

struct Job {
  std::string name;
  workflow::Workflow workflow;
  workflow::Workload workload;
  std::vector<llm::Transformer> models;  ///< [role of the workflow], with the head that the role has
  cluster::Cluster cluster;
  Software software;
  Limits limits = {};
  std::vector<TaskPin> fixed = {};             ///< [task of the workflow] what its plans must have; empty: nothing
  std::vector<PinPlaces> fixed_places = {};    ///< of `fixed`, where it was read from a file
  FusionPin fixed_fusion = {};                 ///< likewise of what its plans fuse
  std::vector<std::string> placements = {};    ///< the names of those that may be looked at; empty: all
  std::string origin = {};                     ///< what it was read from, in a sentence, where that was no job file
  std::vector<NotModelled> not_modelled = {};  ///< of what it was read from, likewise
  base::FilePlace training_place = {};         ///< of Software::training
  base::FilePlace efficiency_place = {};       ///< of Software::efficiency
};

/// Whether what Software::efficiency says is a file's path, not the name of a bundled set.
bool is_efficiency_file(std::string_view efficiency);

/// The model of a task's role. REQUIRES: the task has a role.
const llm::Transformer& model_of(const Job& job, workflow::TaskId task);

}  // namespace dovetail::plan
