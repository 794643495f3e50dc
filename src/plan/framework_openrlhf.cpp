#include "plan/framework_rules.h"

namespace dovetail::plan {
namespace {

using llm::Layout, llm::Recomputation;
using workflow::TaskKind;

/// Whether all roles share one pool of GPUs, on policy (the hybrid engine). Separate pools are another mode.
bool is_hybrid(const Job& job, std::size_t task) { return is_on_policy(job, task) && !has_pools(job); }

/// openrlhf/utils/deepspeed/deepspeed.py: `--ds.enable_sleep` moves gradients and all optimizer states; bf16 weights
/// stay. With `--ds.adam_offload` the optimizer is always on the host.
bool sleeps_whole(const Job&, const TaskPlan& planned) {
  const Offload& offload = planned.offload;
  return !offload.weights && (offload.optimizer_on_host ? !offload.optimizer : offload.gradients == offload.optimizer);
}

/// All roles share one set of `--ds.*`. Frozen roles are sharded if training uses ZeRO 3 (get_ds_eval_config).
Agreement one_configuration() {
  return {.what = "tensor parallelism, ring attention and use of ZeRO 3",
          .part = "layout",
          .because = "OpenRLHF has one set of --ds.* options for all roles",
          .applies = [](const Job& job, std::size_t task) { return is_training(job, task) || is_inference(job, task); },
          .same_role = false,
          .same_mesh = false,
          .agree =
              [](const TaskPlan& a, const TaskPlan& b) {
                return a.layout.tensor == b.layout.tensor && a.layout.context == b.layout.context &&
                       (a.layout.zero == 3) == (b.layout.zero == 3);
              }};
}

Agreement one_training() {
  return {.what = "ZeRO stage, recomputation, micro-batches and offload",
          .part = "layout",
          .because = "OpenRLHF trains actor and critic with the same flags",
          .applies = is_training,
          .same_role = false,
          .same_mesh = false,
          .agree = [](const TaskPlan& a, const TaskPlan& b) {
            return a.layout.zero == b.layout.zero && a.layout.recomputation == b.layout.recomputation &&
                   same_micro_batches(a, b) && a.offload == b.offload;
          }};
}

Agreement one_pass() {
  return {.what = "micro-batches",
          .part = "micro_batch",
          .because = "OpenRLHF has one micro-batch setting for all inference",
          .applies = is_inference,
          .same_role = false,
          .same_mesh = false,
          .agree = same_micro_batches};
}

Agreement one_micro_batch_unit() {
  return {.what = "micro-batch unit (tokens or sequences)",
          .part = "micro_batch",
          .because = "--train.dynamic_batch_enable applies to training and inference",
          .applies = [](const Job& job, std::size_t task) { return is_training(job, task) || is_inference(job, task); },
          .same_role = false,
          .same_mesh = false,
          .agree = same_micro_batch_rule};
}

}  // namespace

Framework openrlhf_framework() {
  Framework framework;
  framework.name = "openrlhf";
  framework.training = "deepspeed-zero";
  framework.max_steps_off_policy = workflow::max_steps_off_policy;
  framework.pads_rows = true;
  framework.rules = engine_rules();
  for (const TaskRule& rule :
       {searched(where(on_all_devices(), is_hybrid)), layout<&Layout::pipeline, 1>(), layout<&Layout::expert, 1>(),
        layout<&Layout::expert_tensor, 1>(TaskKind::train), layout<&Layout::expert_tensor, 1>(TaskKind::infer),
        layout<&Layout::virtual_stages, 1>(), layout<&Layout::sequence_parallel, false>(),
        layout<&Layout::recomputation, Recomputation::none, Recomputation::full>(TaskKind::train),
        searched(layout<&Layout::zero, 3>(TaskKind::train)), searched(layout<&Layout::zero, 3>(TaskKind::infer)),
        // Both are vLLM's defaults: no flag passes them on (openrlhf/trainer/ray/vllm_engine.py).
        engine<&Engine::max_num_seqs, 256>(), engine<&Engine::max_num_batched_tokens, 8192>(),
        engine<&Engine::chunked_prefill, true>(), undivided_shares()})
    framework.rules.push_back(rule);
  framework.rules.push_back(
      offloads(TaskKind::train,
               "gradients and optimizer together, or nothing; or `optimizer_on_host`, with or without gradients",
               sleeps_whole, [](const Job&, TaskPlan& planned) {
                 planned.offload.weights = false;
                 if (planned.offload.optimizer_on_host)
                   planned.offload.optimizer = false;
                 else
                   planned.offload.gradients = planned.offload.optimizer;
               }));
  framework.rules.push_back(where(no_offload(TaskKind::infer), is_trained));
  framework.agreements = {one_configuration(), one_training(), one_pass(), one_micro_batch_unit()};
  framework.order = in_stages;
  // openrlhf/trainer/ray/vllm_engine.py, sleep(level=1).
  framework.engine_copies = [](const Job&) { return true; };
  return framework;
}

}  // namespace dovetail::plan
