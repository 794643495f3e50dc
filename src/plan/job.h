// A job: the workflow, models, cluster, software and workload of a training run.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/enum_names.h"
#include "base/result.h"
#include "cluster/cluster.h"
#include "llm/transformer.h"
#include "plan/pin.h"
#include "workflow/workflow.h"
#include "workflow/workload.h"

namespace dovetail::plan {

/// Data type of trained weights, gradients or optimizer moments.
enum class StateType {
  by_default,  ///< set by the memory conventions
  fp32,
  bf16,
  fp16
};
constexpr auto names_of(StateType) {
  return std::array{base::EnumName{"usual", StateType::by_default}, base::EnumName{"fp32", StateType::fp32},
                    base::EnumName{"bf16", StateType::bf16}, base::EnumName{"fp16", StateType::fp16}};
}

/// The type of the optimizer's own copy of the weights.
enum class MasterType {
  by_default,  ///< set by the memory conventions
  fp32,
  fp16,
  remainder,  ///< the lower 16 bits of fp32 weights, which complement 16-bit weights
  none        ///< no copy: the optimizer updates the weights themselves
};
constexpr auto names_of(MasterType) {
  return std::array{base::EnumName{"usual", MasterType::by_default}, base::EnumName{"fp32", MasterType::fp32},
                    base::EnumName{"fp16", MasterType::fp16}, base::EnumName{"remainder", MasterType::remainder},
                    base::EnumName{"none", MasterType::none}};
}

/// The generation engine, which determines the meaning of Engine::memory_utilization.
enum class EngineKind {
  vllm,    ///< fraction of the device's memory for weights, KV cache and everything else
  sglang,  ///< fraction of the device's memory for weights and KV cache only
  trtllm   ///< fraction of the memory left by weights and everything else, for the KV cache
};
constexpr auto names_of(EngineKind) {
  return std::array{base::EnumName{"vllm", EngineKind::vllm}, base::EnumName{"sglang", EngineKind::sglang},
                    base::EnumName{"trtllm", EngineKind::trtllm}};
}

/// How an engine treats its weights while other tasks use its devices.
enum class EngineSleep {
  by_default,  ///< set by the framework; `discards` without a framework
  discards,    ///< frees them; the weight sync brings the new ones
  copies       ///< copies them to host memory, and back before the weight sync
};
constexpr auto names_of(EngineSleep) {
  return std::array{base::EnumName{"usual", EngineSleep::by_default}, base::EnumName{"discards", EngineSleep::discards},
                    base::EnumName{"copies", EngineSleep::copies}};
}

/// Upper limit of Software::sync_bucket, in bytes.
inline constexpr std::int64_t max_sync_bucket = std::int64_t{1} << 40;

/// Lower limit of Software::optimizer_host_share.
inline constexpr double min_optimizer_host_share = 0.001;

/// Upper limits of Software::logit_tokens and Software::logit_entries.
inline constexpr std::int64_t max_logit_tokens = 1 << 24;
inline constexpr std::int64_t max_logit_entries = 1 << 24;

/// Accepted bit widths of an engine's quantized weights and KV cache.
inline constexpr base::Integer engine_bits{4, 8};

/// Whether the policy loss computes the entropy of each token, which takes memory for logits.
enum class LossEntropy {
  by_default,  ///< set by the memory conventions or the framework
  computed,    ///< computed, with or without gradients
  none         ///< not computed
};
constexpr auto names_of(LossEntropy) {
  return std::array{base::EnumName{"usual", LossEntropy::by_default}, base::EnumName{"computed", LossEntropy::computed},
                    base::EnumName{"none", LossEntropy::none}};
}

/// The software that runs the job. The predictor chooses `training` and `efficiency` if they are empty.
struct Software {
  std::string training;    ///< name of the memory conventions of training: "megatron", "fsdp2", ...
  std::string efficiency;  ///< calibrated efficiencies: the name of a bundled set, or the path of a file
  std::string profile;     ///< path of a file of layer measurements that replace the roofline model; empty: none
  /// Whether host transfers overlap other tasks (host_transfers.h). Otherwise, they add to the time of their task.
  bool prefetch = false;
  /// The training framework, which limits the plans (framework.h). Empty: the only framework with the memory
  /// conventions `training`, if exactly one has them.
  std::string framework = {};
  StateType weight_type = StateType::by_default;    ///< type of trained weights
  StateType gradient_type = StateType::by_default;  ///< type in which micro-batches accumulate gradients
  StateType moment_type = StateType::by_default;    ///< type of both of Adam's moments
  MasterType master_type = MasterType::by_default;
  /// Number of tokens whose logits exist at once, if head and loss are fused. 0: the logits of all tokens of a
  /// micro-batch exist at once, unless logit_entries is set.
  std::int64_t logit_tokens = 0;
  /// Number of vocabulary entries whose logit gradients exist at once in the backward pass, if a kernel that fuses head
  /// and loss stores no logits. 0: logits are stored.
  std::int64_t logit_entries = 0;
  LossEntropy loss_entropy = LossEntropy::by_default;
  EngineKind engine = EngineKind::vllm;
  int engine_weight_bits = 0;  ///< bits per weight in the engine's layers (int4 to fp8); 0: not quantized
  int key_value_bits = 0;      ///< bits per element of the engine's KV cache; 0: not quantized
  /// Number of ranks in a group that ZeRO shards over; groups replicate each other. 0: all data x context ranks.
  int shard_group = 0;
  EngineSleep engine_sleep = EngineSleep::by_default;
  /// Bytes of trained weights in one message to an engine; 0: set by the framework.
  std::int64_t sync_bucket = 0;
  /// Fraction of the optimizer that Offload::optimizer_on_host moves to the host; the rest stays on the device.
  double optimizer_host_share = 1;

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
      field("logit_tokens", &T::logit_tokens, base::Integer{1, max_logit_tokens}),
      field("logit_entries", &T::logit_entries, base::Integer{1, max_logit_entries}),
      field("loss_entropy", &T::loss_entropy, Choice{}), field("engine", &T::engine, Choice{}),
      field("engine_weight_bits", &T::engine_weight_bits, engine_bits),
      field("key_value_bits", &T::key_value_bits, engine_bits),
      field("shard_group", &T::shard_group, base::Integer{1, 1 << 16}),
      field("engine_sleep", &T::engine_sleep, Choice{}),
      field("sync_bucket", &T::sync_bucket, base::Integer{1, max_sync_bucket}),
      field("optimizer_host_share", &T::optimizer_host_share, base::Number{min_optimizer_host_share, 1}));
}

/// Positions of a task's fixed settings in the job file. A layout member that is not fixed has no position.
struct PinPlaces {
  base::FilePlace whole;  ///< all fixed settings of the task
  base::FilePlace tensor;
  base::FilePlace pipeline;
  base::FilePlace zero;
};

/// Minimum memory margin of each device in a plan: a share of its usable memory, or a number of bytes. At least one of
/// `share` and `bytes` is 0.
struct MinMargin {
  double share = 0;        ///< fraction of the device's usable memory
  std::int64_t bytes = 0;  ///< number of bytes

  /// Returns the margin in bytes of a device with `usable` bytes.
  std::int64_t of(std::int64_t usable) const;
  friend bool operator==(const MinMargin&, const MinMargin&) = default;
};

/// Limits that a job sets on its plans.
struct Limits {
  std::optional<MinMargin> margin;  ///< nullopt: the predictor chooses it (predict/closed_form/memory.h)

  friend bool operator==(const Limits&, const Limits&) = default;
};

/// A setting or behavior of a trainer that predictions ignore or only approximate.
struct NotModelled {
  std::string key;   ///< the trainer's key; empty if the entry is not about a single setting
  std::string what;  ///< its value, its treatment in predictions and, if known, the difference in the real run

  friend bool operator==(const NotModelled&, const NotModelled&) = default;
};

/// Returns "KEY: WHAT", or only WHAT without a key: "rollout.quantization: fp8: counted as bf16, but the real run is
/// faster".
std::string to_text(const NotModelled& setting);

/// Returns `first`, followed by the elements of `second` that `first` lacks.
std::vector<NotModelled> joined(std::vector<NotModelled> first, const std::vector<NotModelled>& second);

struct Job {
  std::string name;
  workflow::Workflow workflow;
  workflow::Workload workload;
  std::vector<llm::Transformer> models;  ///< [role of the workflow], with the role's head
  cluster::Cluster cluster;
  Software software;
  Limits limits = {};
  std::vector<TaskPin> fixed = {};             ///< [task of the workflow] its fixed settings; empty: no task has any
  std::vector<PinPlaces> fixed_places = {};    ///< positions of `fixed` in the job file
  FusionPin fixed_fusion = {};                 ///< fixed fusion of all plans
  std::vector<std::string> placements = {};    ///< names of the placements to search; empty: all
  std::string origin = {};                     ///< sentence that describes the job's source; empty: a job file
  std::vector<NotModelled> not_modelled = {};  ///< settings of this source that the job cannot express
  base::FilePlace training_place = {};         ///< position of Software::training
  base::FilePlace efficiency_place = {};       ///< position of Software::efficiency
};

/// Whether `efficiency`, a value of Software::efficiency, is the path of a file rather than the name of a bundled set.
bool is_efficiency_file(std::string_view efficiency);

/// Returns the model of a task's role. REQUIRES: the task has a role.
const llm::Transformer& model_of(const Job& job, workflow::TaskId task);

/// Everything in a job that affects plans and predictions, as canonical JSON (base/hash.h).
///
/// The result does not depend on the form of the job file. Amounts are in bytes, bytes/s, FLOP/s, seconds and ns.
/// Lengths are points of a distribution, and models are shapes. Adjacent groups of equal nodes are merged. Giving a
/// setting its default value is the same as omitting it. Efficiency and profile files are represented by their names
/// without folders, not by their contents. The names of the job, algorithm, models and networks are left out.
/// docs/formats.md#hashes describes the members.
std::string canonical_job(const Job& job);

/// SHA-256 of canonical_job.
std::string job_hash(const Job& job);

}  // namespace dovetail::plan
