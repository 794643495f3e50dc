// Files are those of THUDM/slime at 624b824a8.
#include "plan/framework_rules.h"
#include "plan/framework_table.h"

namespace dovetail::plan {
namespace {

using llm::Layout;
using workflow::TaskKind;

bool has_task(const Job& job, TaskPredicate is_asked) {
  for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task)
    if (is_asked(job, task)) return true;
  return false;
}

/// Without `--colocate`, and with a frozen model that judges in `--sglang-config`, engines have GPUs of their own.
bool is_on_the_pool(const Job& job, std::size_t task) {
  return is_on_policy(job, task) && !has_pools(job) && !has_task(job, is_reward);
}

/// slime/utils/arguments.py: `use_critic` sets `offload_train`.
bool leaves_for_critic(const Job& job, std::size_t task) { return is_training(job, task) && has_task(job, is_value); }
bool leaves_the_pool(const Job& job, std::size_t task) { return is_training(job, task) && is_colocated(job, task); }

/// slime/backends/megatron_utils/actor.py, sleep: all of it is away, or nothing. Where there is a reference its weights
/// come from the host in place of the actor's, which come back from there (_switch_model).
bool leaves_whole(const Job& job, const TaskPlan& planned) {
  const Offload& offload = planned.offload;
  return offload.weights == (offload.gradients || has_task(job, is_reference)) &&
         offload.optimizer == (offload.gradients && !is_all_on_host(job, offload));
}

void leave_whole(const Job& job, TaskPlan& planned) {
  Offload& offload = planned.offload;
  offload.gradients = offload.gradients || offload.optimizer;
  offload.weights = offload.gradients || has_task(job, is_reference);
  offload.optimizer = offload.gradients && !is_all_on_host(job, offload);
}

/// slime/ray/placement_group.py: critic and reference have the actor's GPUs. slime/ray/rollout.py,
/// _split_train_data_by_dp: what they compute is cut once, by the actor's ranks, for passes and trainings. All have
/// Megatron-LM's degrees from one set of flags.
Agreement one_trainer() {
  return {.what = "layout, micro-batches and whether weights are offloaded",
          .part = "layout",
          .because = "slime has one set of flags, and one cut of the batch, for all roles and passes",
          .concerns = is_of_trainer,
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
  // `--sglang-ep-size` may be less than an engine's GPUs.
  for (TaskRule& rule : framework.rules)
    if (rule.key == base::key_of(&Layout::expert_tensor)) rule = searched(rule);
  framework.rules.push_back(searched(where(on_all_devices(), is_on_the_pool)));
  framework.rules.push_back(searched(where(weights_offloaded(), [](const Job& job, std::size_t task) {
    return is_generation(job, task) && is_colocated(job, task);
  })));
  framework.rules.push_back(where(no_offload(TaskKind::generate), is_apart));
  framework.rules.push_back(offloads(TaskKind::train,
                                     "all that it has, or nothing but weights that a reference takes the place of",
                                     leaves_whole, leave_whole));
  framework.rules.push_back(where(all_offloaded(), leaves_for_critic));
  framework.rules.push_back(searched(where(all_offloaded(), leaves_the_pool)));
  framework.rules.push_back(where(weights_offloaded(), [](const Job& job, std::size_t task) {
    return is_reference(job, task) || (is_inference(job, task) && is_trained(job, task) && has_task(job, is_reference));
  }));
  framework.rules.push_back(searched(whole_shares()));
  framework.rules.push_back(where(sequence_parallel_with_tensor(), is_of_trainer));
  // slime/backends/megatron_utils/arguments.py
  framework.rules.push_back(layout<&Layout::zero, 1>(TaskKind::train));
  framework.rules.push_back(where(layout<&Layout::zero, 1, 0>(TaskKind::infer), is_of_trainer));
  framework.agreements = {one_trainer()};
  // train.py; train_async.py generates beside.
  framework.order = in_stages;
  // slime/utils/arguments.py, --update-weight-buffer-size.
  framework.sync_bucket = std::int64_t{512} << 20;
  return framework;
}

}  // namespace dovetail::plan
