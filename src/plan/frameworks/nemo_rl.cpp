#include "plan/frameworks/all.h"
#include "plan/frameworks/rules.h"

namespace dovetail::plan {
namespace {

using llm::Layout, llm::Recomputation;
using workflow::TaskKind;

/// A reward model is an environment with GPUs of its own; what is left of a cluster is another mode.
bool is_colocated(const Job& job, std::size_t) {
  for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task)
    if (is_reward(job, task)) return false;
  return job.workload.steps_off_policy == 0;
}

/// grpo.py, prepare_for_generation: before engines wake, weights leave, and gradients and optimizer.
bool all_leaves(const Job&, const TaskPlan& planned) {
  const Offload& offload = planned.offload;
  return offload.weights && offload.gradients && offload.optimizer != offload.optimizer_on_host;
}

/// lm_policy.py: log-probabilities and reference run in the workers of training.
Agreement one_layout(bool (*concerns)(const Job&, std::size_t)) {
  return {.what = "the parallel degrees",
          .part = "layout",
          .because = "NeMo-RL's passes run in the workers of training",
          .concerns = concerns,
          .same_role = false,
          .agree = [](const TaskPlan& a, const TaskPlan& b) {
            return same_degrees(a, b) && (a.layout.zero == 3) == (b.layout.zero == 3);
          }};
}

/// The critic is the value model, with workers of its own.
bool is_of_value(const Job& job, std::size_t task) {
  return is_trained(job, task) &&
         job.workflow.roles[job.workflow.role_of[task]->index()].head == workflow::Head::scalar;
}
bool is_of_policy(const Job& job, std::size_t task) { return is_of_trainer(job, task) && !is_of_value(job, task); }

/// Packed by tokens, or cut by sequences, training and passes alike: `sequence_packing` and `dynamic_batching` are of
/// both.
Agreement one_way_of_cutting() {
  return {.what = "micro-batches by tokens, or by sequences",
          .part = "micro_batch",
          .because = "NeMo-RL packs training and passes alike",
          .concerns = is_trained,
          .same_role = true,
          .agree = [](const TaskPlan& a, const TaskPlan& b) {
            return (a.micro_batching.tokens > 0) == (b.micro_batching.tokens > 0);
          }};
}

Agreement one_pass() {
  return {
      .what = "micro-batches",
      .part = "micro_batch",
      .because = "NeMo-RL cuts the passes of policy and reference alike",
      .concerns = [](const Job& job, std::size_t task) { return is_inference(job, task) && is_of_policy(job, task); },
      .same_role = false,
      .agree = same_micro_batches};
}

Framework nemo_rl() {
  Framework framework;
  framework.name = "nemo-rl";
  framework.max_steps_off_policy = workflow::max_steps_off_policy;
  framework.pads_rows = true;
  framework.rules = engine_rules();
  framework.rules.push_back(searched(where(on_all_devices(), is_colocated)));
  framework.rules.push_back(whole_shares());
  framework.rules.push_back(searched(
      where(offloads(std::nullopt, "all that it has", all_leaves,
                     [](const Job&, TaskPlan& planned) {
                       planned.offload.weights = planned.offload.gradients = true;
                       planned.offload.optimizer = !planned.offload.optimizer_on_host;
                     }),
            [](const Job& job, std::size_t task) { return is_colocated(job, task) && is_training(job, task); })));
  framework.rules.push_back(searched(
      where(offloads(
                std::nullopt, "weights", [](const Job&, const TaskPlan& planned) { return planned.offload.weights; },
                [](const Job&, TaskPlan& planned) { planned.offload.weights = true; }),
            [](const Job& job, std::size_t task) { return is_colocated(job, task) && !is_training(job, task); })));
  framework.agreements = {one_layout(is_of_policy), one_layout(is_of_value), one_way_of_cutting(), one_pass()};
  framework.order = in_stages;
  return framework;
}

Framework megatron() {
  Framework framework = nemo_rl();
  framework.training = "nemo-rl-megatron";
  framework.rules.push_back(layout<&Layout::zero, 1, 0>(TaskKind::train));
  framework.rules.push_back(where(layout<&Layout::zero, 0, 1>(TaskKind::infer), is_of_trainer));
  return framework;
}

Framework dtensor() {
  Framework framework = nemo_rl();
  framework.training = "fsdp2";
  for (const TaskRule& rule :
       {layout<&Layout::pipeline, 1>(), layout<&Layout::expert, 1>(), layout<&Layout::expert_tensor, 1>(),
        layout<&Layout::virtual_stages, 1>(), layout<&Layout::zero, 3>()})
    framework.rules.push_back(where(rule, is_of_trainer));
  framework.rules.push_back(layout<&Layout::recomputation, Recomputation::full, Recomputation::none>(TaskKind::train));
  return framework;
}

}  // namespace

std::vector<Framework> nemo_rl_frameworks() { return {megatron(), dtensor()}; }

}  // namespace dovetail::plan
