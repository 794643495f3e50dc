#include "trainers/openrlhf/writing.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "trainers/openrlhf/flags.h"

namespace dovetail::trainers {
namespace {

/// A budget is that of each of the GPUs that share a sequence.
std::string tokens_per_gpu(const plan::TaskPlan& planned) {
  return fmt::format("{:.0f}", planned.micro_batching.tokens / (planned.layout.context * planned.layout.tensor));
}

void add_training(const plan::TaskPlan& planned, ChangeList& changes) {
  const llm::Layout& layout = planned.layout;
  changes.set("--ds.zero_stage", layout.zero);
  changes.set("--ds.tensor_parallel_size", layout.tensor);
  changes.set("--ds.ring_attn_size", layout.context);
  changes.turn("--actor.gradient_checkpointing_enable", layout.recomputation == llm::Recomputation::full);
  changes.turn("--ds.adam_offload", planned.offload.optimizer_on_host);
  changes.turn("--ds.enable_sleep", planned.offload.gradients);
  const bool dynamic = planned.micro_batching.tokens > 0;
  changes.turn("--train.dynamic_batch_enable", dynamic);
  if (dynamic)
    changes.set("--train.max_tokens_per_gpu", tokens_per_gpu(planned));
  else
    changes.set("--train.micro_batch_size", fmt::format("{:.0f}", planned.micro_batching.sequences));
}

std::vector<Change> openrlhf_changes(const plan::Job& job, const plan::Plan& plan,
                                     const syntax::SettingTree& /*settings*/) {
  ChangeList changes;
  const auto planned = [&](std::string_view task) { return find_planned(job, plan, task); };
  if (const auto* const generated = planned("actor_generate")) {
    changes.set("--vllm.num_engines", generated->layout.data);
    changes.set("--vllm.tensor_parallel_size", generated->layout.tensor);
    changes.set("--vllm.gpu_memory_utilization", fmt::format("{}", generated->engine.memory_utilization));
    changes.turn("--vllm.enforce_eager", !generated->engine.cuda_graphs);
    changes.turn("--vllm.enable_sleep", generated->offload.weights);
  }
  if (const auto* const trained = planned("actor_train")) add_training(*trained, changes);
  if (const auto* const passed = planned("actor_infer")) {
    if (passed->micro_batching.tokens > 0)
      changes.set("--rollout.max_tokens_per_gpu", tokens_per_gpu(*passed));
    else
      changes.set("--rollout.micro_batch_size", fmt::format("{:.0f}", passed->micro_batching.sequences));
  }
  if (const auto* const passed = planned("reference_infer")) changes.turn("--ref.offload", passed->offload.weights);
  if (const auto* const passed = planned("reward_infer")) changes.turn("--reward.offload", passed->offload.weights);
  return std::move(changes.all);
}

}  // namespace

const TrainerWriter openrlhf_writer{.name = "openrlhf",
                                    .changes_of = openrlhf_changes,
                                    .ways_of = openrlhf_ways,
                                    .flags = openrlhf_flags,
                                    .whole = openrlhf_whole};

}  // namespace dovetail::trainers
