// Paths refer to alibaba/ROLL at 8eb27cc2. Each role may have its own backend. Rules that follow from the actor's
// backend apply to every plan; the other rules restrict searches.
#include "plan/framework_rules.h"

namespace dovetail::plan {
namespace {

using llm::Layout, llm::Recomputation;
using workflow::TaskKind;

/// Inference in the trainer's workers: all except reward models.
bool is_pass(const Job& job, std::size_t task) { return is_inference(job, task) && is_of_trainer(job, task); }

/// roll/pipeline/base_worker.py: one worker runs compute_log_probs, compute_values and train_step.
Agreement one_worker() {
  return {.what = "layout and offloading of weights",
          .part = "layout",
          .because = "ROLL trains and infers with one worker",
          .applies = is_trained,
          .same_role = true,
          .agree = [](const TaskPlan& a, const TaskPlan& b) {
            return same_engine_layout(a, b) && a.offload.weights == b.offload.weights;
          }};
}

/// roll/pipeline/rlvr/rlvr_pipeline.py, run: the reference completes first, then inference of critic and actor
/// together, then both trainings.
IterationOrder in_order(const Job& job) {
  return in_sequence(
      job,
      {is_reference, [](const Job& of, std::size_t task) { return is_inference(of, task) && is_trained(of, task); },
       is_training});
}

Framework roll() {
  Framework framework;
  framework.name = "roll";
  framework.max_steps_off_policy = workflow::max_steps_off_policy;
  framework.pads_rows = true;
  framework.rules = engine_rules();
  framework.rules.push_back(searched(where(on_all_devices(), is_on_the_pool)));
  // roll/configs/base_config.py, is_actor_infer_colocated: engines that share GPUs sleep, and so do reward models.
  framework.rules.push_back(searched(where(weights_offloaded(), [](const Job& job, std::size_t task) {
    return (is_generation(job, task) || is_reward(job, task)) && is_colocated(job, task);
  })));
  framework.rules.push_back(searched(where(no_offload(TaskKind::generate), is_apart)));
  // roll/utils/context_managers.py, state_offload_manger: states are loaded for inference and offloaded after it.
  framework.rules.push_back(where(weights_offloaded(), is_pass));
  framework.rules.push_back(searched(undivided_shares()));
  // `infer_batch_size` of a reward model is a number of sequences.
  framework.rules.push_back(searched(where(by_sequences(), is_reward)));
  framework.agreements = {one_worker()};
  framework.order = in_order;
  // roll/configs/base_config.py, model_update_buffer_size_mb.
  framework.sync_bucket = std::int64_t{1024} << 20;
  // roll/distributed/strategy/vllm_strategy.py: sleep_level defaults to 1.
  framework.engine_copies = [](const Job& job) { return job.software.engine == EngineKind::vllm; };
  return framework;
}

/// roll/distributed/strategy/megatron_strategy.py, offload_states: weights, gradients and optimizer are offloaded at
/// the beginning of each step (rlvr_pipeline.py).
Framework roll_megatron() {
  Framework framework = roll();
  framework.training = "roll-megatron";
  framework.rules.push_back(where(sequence_parallel_with_tensor(), is_of_trainer));
  add_of_actor(all_offloaded(), framework);
  add_of_actor(stepped_on_devices(), framework);
  add_of_actor(layout<&Layout::zero, 1, 0>(TaskKind::train), framework);
  add_of_actor(layout<&Layout::zero, 0, 1>(TaskKind::infer), framework);
  return framework;
}

/// Hugging Face models under a sharding backend. Their rows are not packed: roll/configs/worker_config.py has
/// `use_sequence_packing` and `use_dynamic_batching_in_train` for Megatron only.
Framework sharded() {
  Framework framework = roll();
  framework.packs_rows = false;
  for (const TaskRule& rule :
       {layout<&Layout::tensor, 1>(), layout<&Layout::pipeline, 1>(), layout<&Layout::virtual_stages, 1>(),
        layout<&Layout::expert_tensor, 1>(), layout<&Layout::sequence_parallel, false>(), by_sequences()})
    add_of_actor(rule, framework);
  add_of_actor(layout<&Layout::recomputation, Recomputation::none, Recomputation::full>(TaskKind::train), framework);
  return framework;
}

/// roll/distributed/strategy/fsdp2_strategy.py, offload_states: only weights are offloaded. With `offload_policy` the
/// optimizer is stepped on the host.
Framework fsdp2() {
  Framework framework = sharded();
  framework.training = "fsdp2";
  const TaskRule leaves = offloads(
      TaskKind::train, "weights, with or without `optimizer_on_host`",
      [](const Job&, const TaskPlan& planned) {
        return planned.offload.weights && !planned.offload.gradients && !planned.offload.optimizer;
      },
      [](const Job&, TaskPlan& planned) {
        planned.offload = {.weights = true, .optimizer_on_host = planned.offload.optimizer_on_host};
      });
  add_of_actor(leaves, framework);
  framework.rules.push_back(where(layout<&Layout::zero, 3, 2>(), is_of_actor));
  framework.rules.push_back(searched(where(layout<&Layout::zero, 3>(), is_of_trainer)));
  return framework;
}

/// `deepspeed_train` of earlier versions.
Framework deepspeed() {
  Framework framework = sharded();
  framework.training = "deepspeed-zero";
  add_of_actor(layout<&Layout::expert, 1>(), framework);
  add_of_actor(all_offloaded(), framework);
  framework.rules.push_back(where(layout<&Layout::zero, 3, 2, 1>(), is_of_actor));
  framework.rules.push_back(searched(where(layout<&Layout::zero, 3>(), is_of_trainer)));
  return framework;
}

}  // namespace

std::vector<Framework> roll_frameworks() { return {roll_megatron(), fsdp2(), deepspeed()}; }

}  // namespace dovetail::plan
