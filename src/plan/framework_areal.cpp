// Paths refer to inclusionAI/AReaL at 4aef98d8d. Each engine may have its own backend. Rules that follow from the
// actor's backend apply to every plan; the other rules restrict searches.
#include "plan/framework_rules.h"

namespace dovetail::plan {
namespace {

using llm::Layout, llm::Recomputation;
using workflow::TaskKind;

/// The actor's training, if all roles share one pool of GPUs. Engines on separate GPUs are another mode.
bool leaves_the_pool(const Job& job, std::size_t task) {
  return is_on_the_pool(job, task) && is_of_actor(job, task) && is_training(job, task);
}

/// areal/engine/fsdp_engine.py, areal/engine/megatron_engine.py, areal/experimental/engine/archon_engine.py, offload:
/// torch_memory_saver releases all memory of an engine. State that is stepped on the host stays there.
TaskRule offloads_together() {
  return offloads(
      TaskKind::train,
      "all or none of weights, gradients and optimizer; with `optimizer_on_host`, both or neither of weights and "
      "gradients",
      [](const Job&, const TaskPlan& planned) {
        const Offload& offload = planned.offload;
        return offload.weights == offload.gradients &&
               offload.optimizer == (offload.weights && !offload.optimizer_on_host);
      },
      [](const Job&, TaskPlan& planned) {
        Offload& offload = planned.offload;
        offload.weights = offload.gradients = offload.weights || offload.gradients || offload.optimizer;
        offload.optimizer = offload.weights && !offload.optimizer_on_host;
      });
}

/// areal/api/cli_args.py, MicroBatchSpec: a number of tokens, or a number of micro-batches.
TaskRule by_tokens_or_number() {
  return {.of = std::nullopt,
          .part = "micro_batch",
          .key = "",
          .accepted = "a map with `tokens` or `count`",
          .holds =
              [](const Job&, const TaskPlan& planned) {
                return planned.micro_batching.tokens > 0 || planned.micro_batching.count > 0;
              },
          .conform = [](const Job&, TaskPlan& planned) { planned.micro_batching = {.count = 1}; }};
}

/// areal/trainer/ppo/{actor,critic}.py: one engine runs compute_logp, compute_values and ppo_update, with one
/// `mb_spec`.
Agreement one_engine() {
  return {.what = "layout, micro-batches and offloading of weights",
          .part = "layout",
          .because = "AReaL trains and infers with one engine",
          .applies = is_trained,
          .same_role = true,
          .agree = [](const TaskPlan& a, const TaskPlan& b) {
            return same_engine_layout(a, b) && same_micro_batches(a, b) && a.offload.weights == b.offload.weights;
          }};
}

/// areal/trainer/rl_trainer.py, train: each call completes before the next.
IterationOrder one_by_one(const Job& job) {
  return in_sequence(
      job, {[](const Job& of, std::size_t task) { return is_value(of, task) && is_inference(of, task); }, is_reference,
            [](const Job& of, std::size_t task) {
              return is_inference(of, task) && is_trained(of, task) && !is_value(of, task);
            },
            [](const Job& of, std::size_t task) { return is_training(of, task) && !is_value(of, task); },
            [](const Job& of, std::size_t task) { return is_training(of, task) && is_value(of, task); }});
}

Framework areal() {
  Framework framework;
  framework.name = "areal";
  framework.max_steps_off_policy = workflow::max_steps_off_policy;
  // areal/reward: rewards are functions of the user's program.
  framework.reward_models = false;
  // areal/utils/functional/vocab_parallel.py: 1024.
  framework.loss_in_parts = true;
  framework.rules = engine_rules();
  framework.rules.push_back(searched(where(on_all_devices(), is_on_the_pool)));
  // areal/infra/scheduler/local.py: colocated engines have as many workers as the actor, which has one for each GPU. A
  // generation engine has one for each instance (areal/infra/controller/rollout_controller.py, train_controller.py).
  for (const TaskRule& rule :
       {layout<&Layout::tensor, 1>(TaskKind::generate), layout<&Layout::pipeline, 1>(TaskKind::generate)})
    framework.rules.push_back(searched(where(rule, is_on_the_pool)));
  framework.rules.push_back(searched(where(weights_offloaded(), [](const Job& job, std::size_t task) {
    return is_generation(job, task) && is_colocated(job, task);
  })));
  framework.rules.push_back(searched(where(no_offload(TaskKind::generate), is_apart)));
  framework.rules.push_back(offloads_together());
  framework.rules.push_back(searched(where(all_offloaded(), leaves_the_pool)));
  framework.rules.push_back(searched(undivided_shares()));
  framework.rules.push_back(where(by_tokens_or_number(), is_of_trainer));
  framework.rules.push_back(where(sequence_parallel_with_tensor(), is_of_trainer));
  framework.agreements = {one_engine()};
  framework.order = one_by_one;
  return framework;
}

bool has_adapters(const Job& job, std::size_t task) {
  return is_of_actor(job, task) && model_of(job, workflow::TaskId(task)).adapter_rank > 0;
}

/// FSDP. Archon, which also has pipelines and experts, is not searched (areal/api/alloc_mode.py).
Framework fsdp() {
  Framework framework = areal();
  framework.training = "fsdp2";
  add_of_actor(layout<&Layout::zero, 3>(), framework);
  for (const TaskRule& rule : {layout<&Layout::pipeline, 1>(), layout<&Layout::virtual_stages, 1>(),
                               layout<&Layout::expert, 1>(), layout<&Layout::expert_tensor, 1>()})
    framework.rules.push_back(searched(where(rule, is_of_trainer)));
  framework.rules.push_back(
      searched(layout<&Layout::recomputation, Recomputation::none, Recomputation::full>(TaskKind::train)));
  framework.rules.push_back(
      layout<&Layout::recomputation, Recomputation::none, Recomputation::selective, Recomputation::full>(
          TaskKind::train));
  return framework;
}

Framework megatron() {
  Framework framework = areal();
  framework.training = "megatron-policy";
  add_of_actor(layout<&Layout::zero, 1, 0>(TaskKind::train), framework);
  add_of_actor(layout<&Layout::zero, 0, 1>(TaskKind::infer), framework);
  // areal/engine/megatron_engine.py: no distributed optimizer with adapters.
  framework.rules.push_back(where(layout<&Layout::zero, 0>(), has_adapters));
  // areal/api/cli_args.py, MegatronEngineConfig: has no key for it.
  add_of_actor(stepped_on_devices(), framework);
  return framework;
}

}  // namespace

std::vector<Framework> areal_frameworks() { return {fsdp(), megatron()}; }

}  // namespace dovetail::plan
