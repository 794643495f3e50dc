#include <algorithm>

#include "plan/framework_rules.h"

namespace dovetail::plan {
namespace {

using llm::Layout, llm::Recomputation;
using workflow::TaskKind;

/// verl/workers/engine/base.py: `param_offload` moves weights and gradients together.
TaskRule weights_go_with_gradients() {
  return offloads(
      TaskKind::train, "weights and gradients together or not at all, with or without the optimizer",
      [](const Job&, const TaskPlan& planned) { return planned.offload.weights == planned.offload.gradients; },
      [](const Job&, TaskPlan& planned) { planned.offload.weights = planned.offload.gradients; });
}

/// verl/workers/engine_workers.py: a trained role infers with its training engine in evaluation mode.
Agreement verl_engine() {
  return {.what = "devices, layout and offloading of weights",
          .part = "layout",
          .because = "verl trains and infers with one engine",
          .applies = is_trained,
          .same_role = true,
          .agree = [](const TaskPlan& a, const TaskPlan& b) {
            return same_engine_layout(a, b) && a.offload.weights == b.offload.weights;
          }};
}

/// verl/workers/engine_workers.py, init_model: both batch sizes are dynamic, or neither is.
Agreement verl_micro_batch_unit() {
  return {.what = "micro-batch unit (tokens or sequences)",
          .part = "micro_batch",
          .because = "verl fails if a role's training and inference use different units",
          .applies = is_trained,
          .same_role = true,
          .agree = same_micro_batch_rule};
}

Framework verl() {
  Framework framework;
  framework.name = "verl";
  framework.max_steps_off_policy = workflow::max_steps_off_policy;
  framework.pads_rows = true;
  framework.rules = engine_rules();
  framework.rules.push_back(searched(where(on_all_devices(), is_on_the_pool)));
  framework.rules.push_back(undivided_shares());
  framework.rules.push_back(weights_go_with_gradients());
  framework.agreements = {verl_engine(), verl_micro_batch_unit()};
  framework.order = in_stages;
  // verl/trainer/config/rollout/rollout.yaml, checkpoint_engine.update_weights_bucket_megabytes.
  framework.sync_bucket = std::int64_t{2048} << 20;
  // verl/workers/rollout/vllm_rollout/vllm_async_server.py: level 1 with adapters, otherwise 2.
  framework.engine_copies = [](const Job& job) {
    return job.software.engine == EngineKind::vllm &&
           std::ranges::any_of(job.models, [](const llm::Transformer& model) { return model.adapter_rank > 0; });
  };
  return framework;
}

/// verl/workers/engine/verl_fsdp/transformer_impl.py.
Framework verl_fsdp() {
  Framework framework = verl();
  framework.training = "verl-fsdp";
  for (const TaskRule& rule :
       {layout<&Layout::tensor, 1>(), layout<&Layout::pipeline, 1>(), layout<&Layout::expert, 1>(),
        layout<&Layout::expert_tensor, 1>(), layout<&Layout::zero, 3>(), layout<&Layout::virtual_stages, 1>(),
        layout<&Layout::sequence_parallel, false>()})
    framework.rules.push_back(where(rule, is_of_trainer));
  framework.rules.push_back(layout<&Layout::recomputation, Recomputation::none, Recomputation::full>(TaskKind::train));
  // `forward_only`: weights are read from the host layer by layer, with any `param_offload`.
  framework.rules.push_back(where(weights_offloaded(), is_reference));
  framework.rules.push_back(stepped_on_devices());
  return framework;
}

/// verl/workers/engine/verl_megatron/transformer_impl.py: all engines use the process groups of the engine that is
/// built first.
Framework verl_megatron() {
  Framework framework = verl();
  framework.training = "megatron-policy";
  framework.rules.push_back(where(sequence_parallel_with_tensor(), is_of_trainer));
  framework.rules.push_back(layout<&Layout::zero, 1, 0>(TaskKind::train));
  framework.rules.push_back(where(layout<&Layout::zero, 0, 1>(TaskKind::infer), is_of_trainer));
  // Only FSDP has critic.forward_micro_batch_size_per_gpu.
  framework.agreements.push_back(
      {.what = "number of sequences in a micro-batch",
       .part = "micro_batch",
       .because = "verl's Megatron backend has no separate micro-batch size for the critic's inference",
       .applies = [](const Job& job, std::size_t task) { return is_trained(job, task) && is_scalar(job, task); },
       .same_role = true,
       .agree = [](const TaskPlan& a,
                   const TaskPlan& b) { return a.micro_batching.sequences == b.micro_batching.sequences; }});
  framework.agreements.push_back(
      {.what = "parallel degrees",
       .part = "layout",
       .because = "verl's Megatron backend puts all roles in the process groups of the role that it builds first",
       .applies = is_of_trainer,
       .same_role = false,
       .agree = same_degrees});
  return framework;
}

}  // namespace

std::vector<Framework> verl_frameworks() { return {verl_fsdp(), verl_megatron()}; }

}  // namespace dovetail::plan
