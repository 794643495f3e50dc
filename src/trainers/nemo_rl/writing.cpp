#include "trainers/nemo_rl/writing.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace dovetail::trainers {
namespace {

using llm::Recomputation;

/// Collects what is set of `policy` or `value`.
class NemoRlChanges {
 public:
  NemoRlChanges(std::string role, bool megatron, std::vector<Change>& all)
      : role_(std::move(role)), megatron_(megatron), all_(all) {}

  void set(std::string_view name, std::string value, std::vector<Setter> with = {}) {
    all_.push_back({{fmt::format("{}.{}", role_, name), std::move(value)}, std::move(with)});
  }
  void set(std::string_view name, bool value) { set(name, std::string(value ? "true" : "false")); }
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  void set(std::string_view name, Number value) {
    set(name, fmt::format("{}", value));
  }

  void add_layout(const llm::Layout& layout) { megatron_ ? add_megatron(layout) : add_dtensor(layout); }

  void add_micro_batches(const plan::TaskPlan& planned, bool trains) {
    const plan::MicroBatching& cut = planned.micro_batching;
    if (cut.tokens > 0)
      set(trains ? "sequence_packing.train_mb_tokens" : "sequence_packing.logprob_mb_tokens",
          fmt::format("{:.0f}", cut.tokens));
    else
      set(trains ? "train_micro_batch_size" : "logprob_batch_size", fmt::format("{:.0f}", cut.sequences));
  }

  void add_offload(const plan::Offload& offload) {
    if (megatron_)
      set("megatron_cfg.optimizer.optimizer_cpu_offload", offload.optimizer_on_host);
    else
      set("dtensor_cfg.cpu_offload", offload.optimizer_on_host);
  }

 private:
  void add_dtensor(const llm::Layout& layout) {
    set("dtensor_cfg.tensor_parallel_size", layout.tensor);
    set("dtensor_cfg.context_parallel_size", layout.context);
    set("dtensor_cfg.sequence_parallel", layout.sequence_parallel);
    set("dtensor_cfg.activation_checkpointing", layout.recomputation == Recomputation::full);
  }

  void add_megatron(const llm::Layout& layout) {
    set("megatron_cfg.tensor_model_parallel_size", layout.tensor);
    set("megatron_cfg.pipeline_model_parallel_size", layout.pipeline);
    set("megatron_cfg.context_parallel_size", layout.context);
    set("megatron_cfg.expert_model_parallel_size", layout.expert);
    set("megatron_cfg.expert_tensor_parallel_size", layout.expert_tensor);
    set("megatron_cfg.sequence_parallel", layout.sequence_parallel);
    set("megatron_cfg.optimizer.use_distributed_optimizer", layout.zero > 0);
    const bool uneven = layout.stage_layers.size() > 1;
    set("megatron_cfg.num_layers_in_first_pipeline_stage",
        uneven ? fmt::format("{}", layout.stage_layers.front()) : "null");
    set("megatron_cfg.num_layers_in_last_pipeline_stage",
        uneven ? fmt::format("{}", layout.stage_layers.back()) : "null");
    set("megatron_cfg.activation_checkpointing", layout.recomputation != Recomputation::none);
    if (layout.recomputation != Recomputation::none)
      set("megatron_cfg.recompute_granularity", std::string(base::enum_name(layout.recomputation)));
  }

  std::string role_;
  bool megatron_;
  std::vector<Change>& all_;
};

void add_engine(const plan::TaskPlan& planned, std::vector<Change>& all) {
  const auto set = [&all](std::string_view key, std::string value) {
    all.push_back({{std::string(key), std::move(value)}, {}});
  };
  const std::string keys = "policy.generation.vllm_cfg.";
  const std::string more = "++policy.generation.vllm_kwargs.";
  set(keys + "tensor_parallel_size", fmt::format("{}", planned.layout.tensor));
  set(keys + "pipeline_parallel_size", fmt::format("{}", planned.layout.pipeline));
  set(keys + "expert_parallel_size", fmt::format("{}", planned.layout.expert));
  set(keys + "gpu_memory_utilization", fmt::format("{}", planned.engine.memory_utilization));
  set(keys + "enforce_eager", planned.engine.cuda_graphs ? "false" : "true");
  set(more + "max_num_seqs", fmt::format("{}", planned.engine.max_num_seqs));
  set(more + "max_num_batched_tokens", fmt::format("{}", planned.engine.max_num_batched_tokens));
  set(more + "enable_chunked_prefill", planned.engine.chunked_prefill ? "true" : "false");
}

std::vector<Change> nemo_rl_changes(const plan::Job& job, const plan::Plan& plan) {
  const bool megatron = job.software.training != "fsdp2";
  std::vector<Change> all;
  if (const auto* const generated = find_planned(job, plan, "actor_generate")) add_engine(*generated, all);
  for (const auto& [settings, role] : {std::pair("policy", "actor"), std::pair("value", "critic")}) {
    NemoRlChanges changes(settings, megatron, all);
    const plan::TaskPlan* const trained = find_planned(job, plan, fmt::format("{}_train", role));
    const plan::TaskPlan* passed = find_planned(job, plan, fmt::format("{}_infer", role));
    // The reference's passes are cut as those of the policy.
    if (passed == nullptr && role == std::string_view("actor")) passed = find_planned(job, plan, "reference_infer");
    if (trained == nullptr) continue;
    changes.add_layout(trained->layout);
    changes.add_offload(trained->offload);
    changes.add_micro_batches(*trained, true);
    if (passed != nullptr) changes.add_micro_batches(*passed, false);
  }
  return all;
}

}  // namespace

const TrainerWriter nemo_rl_writer{.name = "nemo-rl", .changes_of = nemo_rl_changes};

}  // namespace dovetail::trainers
