#include "plan/framework_rules.h"

namespace dovetail::plan {
namespace {

using llm::Layout, llm::Recomputation;
using workflow::TaskKind;

/// Whether training and generation share all GPUs, on policy. In another mode, a reward model is an environment with
/// its own GPUs, and training and generation use the others.
bool has_one_pool(const Job& job, std::size_t task) {
  for (std::size_t other = 0; other < job.workflow.tasks.size(); ++other)
    if (is_reward(job, other)) return false;
  return is_on_policy(job, task) && !has_pools(job);
}

/// lm_policy.py: log-probabilities and the reference run in the training workers.
Agreement one_layout(bool (*concerns)(const Job&, std::size_t)) {
  return {.what = "layout",
          .part = "layout",
          .because = "NeMo-RL runs inference in the training workers",
          .applies = concerns,
          .same_role = false,
          .agree = same_engine_layout};
}

/// Tasks of the policy. The critic (value model) has its own workers.
bool is_of_policy(const Job& job, std::size_t task) { return is_of_trainer(job, task) && !is_value(job, task); }

/// `sequence_packing` and `dynamic_batching` apply to both training and inference: micro-batches are packed by tokens,
/// or cut by sequences.
Agreement nemo_rl_micro_batch_unit() {
  return {.what = "micro-batch unit (tokens or sequences)",
          .part = "micro_batch",
          .because = "NeMo-RL packs training and inference in the same way",
          .applies = is_trained,
          .same_role = true,
          .agree = same_micro_batch_rule};
}

Agreement nemo_rl_inference() {
  return {
      .what = "micro-batches",
      .part = "micro_batch",
      .because = "NeMo-RL has one micro-batch setting for inference of policy and reference",
      .applies = [](const Job& job, std::size_t task) { return is_inference(job, task) && is_of_policy(job, task); },
      .same_role = false,
      .agree = same_micro_batches};
}

bool has_value(const Job& job) {
  for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task)
    if (is_value(job, task)) return true;
  return false;
}

TaskRule stays_on_devices() {
  return offloads(
      std::nullopt, "no offloading, except of an optimizer that is stepped on the host",
      [](const Job&, const TaskPlan& planned) {
        return planned.offload == Offload{.optimizer_on_host = planned.offload.optimizer_on_host};
      },
      [](const Job&, TaskPlan& planned) {
        planned.offload = {.optimizer_on_host = planned.offload.optimizer_on_host};
      });
}

Framework nemo_rl() {
  Framework framework;
  framework.name = "nemo-rl";
  framework.max_steps_off_policy = workflow::max_steps_off_policy;
  framework.pads_rows = true;
  framework.rules = engine_rules();
  framework.rules.push_back(searched(where(on_all_devices(), has_one_pool)));
  // vllm_cfg.pipeline_parallel_size needs async_engine, which belongs to asynchronous generation.
  framework.rules.push_back(searched(layout<&Layout::pipeline, 1>(TaskKind::generate)));
  framework.rules.push_back(undivided_shares());
  framework.rules.push_back(where(sequence_parallel_with_tensor(), is_of_trainer));
  // grpo.py, prepare_for_generation: weights, gradients and optimizer are offloaded before engines wake.
  framework.rules.push_back(searched(where(all_offloaded(), [](const Job& job, std::size_t task) {
    return is_colocated(job, task) && is_training(job, task);
  })));
  // grpo.py: they stay on the devices if engines have their own GPUs. PPO's policy and value model are offloaded for
  // each other.
  framework.rules.push_back(searched(where(stays_on_devices(), [](const Job& job, std::size_t task) {
    return is_apart(job, task) && is_of_policy(job, task) && is_trained(job, task) && !has_value(job);
  })));
  // lm_policy.py, use_reference_model: the reference's weights are on the host between uses.
  framework.rules.push_back(searched(where(weights_offloaded(), [](const Job& job, std::size_t task) {
    return is_reference(job, task) || (is_colocated(job, task) && !is_training(job, task) && !is_reward(job, task));
  })));
  // env.reward_model.batch_size, and value.train_micro_batch_size, because DTensor does not pack.
  framework.rules.push_back(searched(where(by_sequences(), is_reward)));
  framework.agreements = {one_layout(is_of_policy), one_layout(is_value), nemo_rl_micro_batch_unit(),
                          nemo_rl_inference()};
  framework.order = in_stages;
  // nemo_rl/models/generation/vllm/vllm_worker.py, sleep(level=1).
  framework.engine_copies = [](const Job& job) { return job.software.engine == EngineKind::vllm; };
  return framework;
}

Framework nemo_rl_megatron() {
  Framework framework = nemo_rl();
  framework.training = "nemo-rl-megatron";
  framework.rules.push_back(layout<&Layout::zero, 1, 0>(TaskKind::train));
  framework.rules.push_back(where(layout<&Layout::zero, 0, 1>(TaskKind::infer), is_of_trainer));
  return framework;
}

Framework dtensor() {
  Framework framework = nemo_rl();
  framework.training = "fsdp2";
  framework.rules.push_back(searched(where(by_sequences(), is_value)));
  // Only the automodel backend shards experts, and only those of some models.
  for (const TaskRule& rule :
       {layout<&Layout::pipeline, 1>(), searched(layout<&Layout::expert, 1>()), layout<&Layout::expert_tensor, 1>(),
        layout<&Layout::virtual_stages, 1>(), layout<&Layout::zero, 3>()})
    framework.rules.push_back(where(rule, is_of_trainer));
  framework.rules.push_back(layout<&Layout::recomputation, Recomputation::none, Recomputation::full>(TaskKind::train));
  return framework;
}

}  // namespace

std::vector<Framework> nemo_rl_frameworks() { return {nemo_rl_megatron(), dtensor()}; }

}  // namespace dovetail::plan
