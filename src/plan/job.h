// A job: what is to be trained, on what, and how much of it an iteration has.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/enum_names.h"
#include "base/file_place.h"
#include "cluster/cluster.h"
#include "llm/transformer.h"
#include "plan/limits.h"
#include "plan/not_modelled.h"
#include "plan/pin.h"
#include "workflow/workflow.h"
#include "workflow/workload.h"

namespace dovetail::plan {

/// The type that training keeps something in.
enum class StateType {
  usual,  ///< as the memory conventions have it
  fp32,
  bf16,
  fp16
};
constexpr auto names_of(StateType) {
  return std::array{base::EnumName{"usual", StateType::usual}, base::EnumName{"fp32", StateType::fp32},
                    base::EnumName{"bf16", StateType::bf16}, base::EnumName{"fp16", StateType::fp16}};
}

/// The type of the optimizer's own copy of the weights.
enum class MasterType {
  usual,  ///< as the memory conventions have it
  fp32,
  fp16,
  remainder,  ///< the 16 bits that 16-bit weights leave of those in fp32
  none        ///< it steps the weights themselves
};
constexpr auto names_of(MasterType) {
  return std::array{base::EnumName{"usual", MasterType::usual}, base::EnumName{"fp32", MasterType::fp32},
                    base::EnumName{"fp16", MasterType::fp16}, base::EnumName{"remainder", MasterType::remainder},
                    base::EnumName{"none", MasterType::none}};
}

/// The program that generates, as far as it decides what its share of the memory (Engine::memory_utilization) means.
enum class EngineKind {
  vllm,    ///< of the device, for weights, keys and values, and all else
  sglang,  ///< of the device, for weights, keys and values alone
  trtllm   ///< of what weights and all else leave, for keys and values
};
constexpr auto names_of(EngineKind) {
  return std::array{base::EnumName{"vllm", EngineKind::vllm}, base::EnumName{"sglang", EngineKind::sglang},
                    base::EnumName{"trtllm", EngineKind::trtllm}};
}

/// What becomes of an engine's weights while it gives its devices up.
enum class EngineSleep {
  usual,     ///< as the framework has it; without one they are discarded
  discards,  ///< newly trained ones come with the weight sync
  copies     ///< they are in host memory, and come back before that
};
constexpr auto names_of(EngineSleep) {
  return std::array{base::EnumName{"usual", EngineSleep::usual}, base::EnumName{"discards", EngineSleep::discards},
                    base::EnumName{"copies", EngineSleep::copies}};
}

/// The largest bucket of a weight sync, in bytes.
inline constexpr std::int64_t max_sync_bucket = std::int64_t{1} << 40;

/// The least share of an optimizer that a job can have on the host.
inline constexpr double min_optimizer_host_share = 0.001;

/// Of how many tokens, and of how many entries of the vocabulary, logits may be held at once at most.
inline constexpr std::int64_t max_logit_tokens = 1 << 24;
inline constexpr std::int64_t max_logit_entries = 1 << 24;

/// Bits of a number that an engine keeps in fewer than 16.
inline constexpr base::Whole engine_bits{4, 8};

/// Whether the loss of a policy computes the entropy of each token, of which gradients may be asked.
enum class LossEntropy { usual, computed, none };
constexpr auto names_of(LossEntropy) {
  return std::array{base::EnumName{"usual", LossEntropy::usual}, base::EnumName{"computed", LossEntropy::computed},
                    base::EnumName{"none", LossEntropy::none}};
}

/// Which software runs it; empty names are chosen by whoever predicts.
struct Software {
  std::string training;    ///< whose conventions decide the memory of training: "megatron", "fsdp2", ...
  std::string efficiency;  ///< the calibrated set of efficiencies that times are predicted with: its name, or the path
                           ///< of its file
  std::string profile;     ///< the path of a file of measured layers, which stand in for the roofline; empty: none
  bool prefetch =
      false;  ///< host transfers go on beside other tasks (host_transfers.h); else they are a part of their task's step
  /// The program that trains: plans are those that it runs (framework.h); empty: the one that `training` belongs to.
  std::string framework = {};
  StateType weight_type = StateType::usual;    ///< of the weights that are trained
  StateType gradient_type = StateType::usual;  ///< of gradients between micro-batches
  StateType moment_type = StateType::usual;    ///< of both of Adam's moments
  MasterType master_type = MasterType::usual;
  /// Head and loss are computed together, with the logits of so many tokens at once; 0: logits are held whole.
  std::int64_t logit_tokens = 0;
  /// Head and loss are one kernel that keeps no logits: its backward holds their gradients, of so many entries of the
  /// vocabulary at once; 0: logits are held whole.
  std::int64_t logit_entries = 0;
  LossEntropy loss_entropy = LossEntropy::usual;
  EngineKind engine = EngineKind::vllm;
  int engine_weight_bits = 0;  ///< of a weight of the engine's layers, from fp8 to int4; 0: as outside of training
  int key_value_bits = 0;      ///< of an element of its keys and values; 0: likewise
  int shard_group =
      0;  ///< ranks that ZeRO cuts over, in groups that are copies of each other; 0: all of data x context
  EngineSleep engine_sleep = EngineSleep::usual;
  std::int64_t sync_bucket = 0;  ///< bytes that trained weights are packed into for an engine; 0: as the framework does
  double optimizer_host_share =
      1;  ///< of an optimizer that is stepped on the host: what is there; the rest stays with the device

  friend bool operator==(const Software&, const Software&) = default;
};
template <std::same_as<Software> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Name, base::Choice;
  return base::fields<T>(
      field("training", &T::training, Name{}), field("efficiency", &T::efficiency, Name{}),
      field("profile", &T::profile, Name{}), field("prefetch", &T::prefetch, base::Flag{}),
      field("framework", &T::framework, Name{}), field("weight_type", &T::weight_type, Choice{}),
      field("gradient_type", &T::gradient_type, Choice{}), field("moment_type", &T::moment_type, Choice{}),
      field("master_type", &T::master_type, Choice{}),
      field("logit_tokens", &T::logit_tokens, base::Whole{1, max_logit_tokens}),
      field("logit_entries", &T::logit_entries, base::Whole{1, max_logit_entries}),
      field("loss_entropy", &T::loss_entropy, Choice{}), field("engine", &T::engine, Choice{}),
      field("engine_weight_bits", &T::engine_weight_bits, engine_bits),
      field("key_value_bits", &T::key_value_bits, engine_bits),
      field("shard_group", &T::shard_group, base::Whole{1, 1 << 16}), field("engine_sleep", &T::engine_sleep, Choice{}),
      field("sync_bucket", &T::sync_bucket, base::Whole{1, max_sync_bucket}),
      field("optimizer_host_share", &T::optimizer_host_share, base::Number{min_optimizer_host_share, 1}));
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
