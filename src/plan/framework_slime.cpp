// Paths refer to THUDM/slime at 624b824a8.
#include "plan/framework_rules.h"

namespace dovetail::plan {
namespace {

using llm::Layout;
using workflow::TaskKind;

bool has_task(const Job& job, TaskPredicate predicate) {
  for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task)
    if (predicate(job, task)) return true;
  return false;
}

/// Whether engines share the GPUs of training, on policy. They have separate GPUs without `--colocate`, or with a
/// frozen reward model in `--sglang-config`.
bool is_on_the_pool_without_reward(const Job& job, std::size_t task) {
  return is_on_policy(job, task) && !has_pools(job) && !has_task(job, is_reward);
}

/// slime/utils/arguments.py: `use_critic` sets `offload_train`.
bool leaves_for_critic(const Job& job, std::size_t task) { return is_training(job, task) && has_task(job, is_value); }
bool trains_on_the_pool(const Job& job, std::size_t task) { return is_training(job, task) && is_colocated(job, task); }

/// slime/backends/megatron_utils/actor.py, sleep: all state is offloaded, or none. A reference's weights replace the
/// actor's weights on the device. The actor's weights return from the host afterwards (_switch_model).
bool is_offloaded_together(const Job& job, const TaskPlan& planned) {
  const Offload& offload = planned.offload;
  return offload.weights == (offload.gradients || has_task(job, is_reference)) &&
         offload.optimizer == (offload.gradients && !is_all_on_host(job, offload));
}

void offload_together(const Job& job, TaskPlan& planned) {
  Offload& offload = planned.offload;
  offload.gradients = offload.gradients || offload.optimizer;
  offload.weights = offload.gradients || has_task(job, is_reference);
  offload.optimizer = offload.gradients && !is_all_on_host(job, offload);
}

/// slime/ray/placement_group.py: critic and reference share the actor's GPUs. slime/ray/rollout.py,
/// _split_train_data_by_dp: the batch is split once, by the actor's ranks, for inference and training. One set of flags
/// gives all roles the same Megatron-LM degrees.
Agreement one_trainer() {
  return {.what = "layout, micro-batches and offloading of weights",
          .part = "layout",
          .because = "slime has one set of flags and one split of the batch for all roles",
          .applies = is_of_trainer,
          .same_role = false,
          .agree = [](const TaskPlan& a, const TaskPlan& b) {
            return same_engine_layout(a, b) && same_micro_batches(a, b) && a.offload.weights == b.offload.weights;
          }};
}

}  // namespace

Framework slime_framework() {
  Framework framework;
  framework.name = "slime";
  framework.training = "megatron-policy";
  // train_async.py
  framework.max_steps_off_policy = 1;
  framework.not_computed = {{"adapters", [](const llm::Transformer& model) { return model.adapter_rank > 0; }}};
  framework.computed = "models without adapters";
  framework.rules = engine_rules();
  // `--sglang-ep-size` may be smaller than an engine's number of GPUs.
  for (TaskRule& rule : framework.rules)
    if (rule.key == base::key_of(&Layout::expert_tensor)) rule = searched(rule);
  framework.rules.push_back(searched(where(on_all_devices(), is_on_the_pool_without_reward)));
  framework.rules.push_back(searched(where(weights_offloaded(), [](const Job& job, std::size_t task) {
    return is_generation(job, task) && is_colocated(job, task);
  })));
  framework.rules.push_back(where(no_offload(TaskKind::generate), is_apart));
  framework.rules.push_back(offloads(
      TaskKind::train, "all training state, or only the weights if the job has a reference, or nothing if it has none",
      is_offloaded_together, offload_together));
  framework.rules.push_back(where(all_offloaded(), leaves_for_critic));
  framework.rules.push_back(searched(where(all_offloaded(), trains_on_the_pool)));
  framework.rules.push_back(where(weights_offloaded(), [](const Job& job, std::size_t task) {
    return is_reference(job, task) || (is_inference(job, task) && is_trained(job, task) && has_task(job, is_reference));
  }));
  framework.rules.push_back(searched(undivided_shares()));
  framework.rules.push_back(where(sequence_parallel_with_tensor(), is_of_trainer));
  // slime/backends/megatron_utils/arguments.py
  framework.rules.push_back(layout<&Layout::zero, 1>(TaskKind::train));
  framework.rules.push_back(where(layout<&Layout::zero, 1, 0>(TaskKind::infer), is_of_trainer));
  framework.agreements = {one_trainer()};
  // train.py runs the stages in order. train_async.py overlaps generation with them.
  framework.order = in_stages;
  // slime/utils/arguments.py, --update-weight-buffer-size.
  framework.sync_bucket = std::int64_t{512} << 20;
  return framework;
}

}  // namespace dovetail::plan
